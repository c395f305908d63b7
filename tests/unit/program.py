"""The command line as a process of its own, in pipes or on a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT = 20  # seconds; what takes longer hangs
PYTHON = Path(__file__).parents[2] / "python"


def start(*args: object, **options: Any) -> subprocess.Popen:
    """Starts a command; its output goes to pipes, as text, unless options of Popen say otherwise."""
    environment = {**os.environ, "PYTHONPATH": str(PYTHON), **options.pop("env", {})}
    command = [sys.executable, "-m", "tensorflow_ignite.cli", *map(str, args)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen(command, env=environment, **options)


def on_terminal(*args: object, env: dict[str, str], seen: Callable[[str], None] = lambda _: None) -> str:
    """What a command that succeeds shows on a terminal.

    Args:
        args: The command.
        env: Added to its environment.
        seen: Told all that was shown so far, whenever there is more.
    """
    ours, theirs = pty.openpty()
    ran = start(*args, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 0.1)[0]:
            continue
        try:
            shown += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        seen(shown.decode(errors="replace"))
    os.close(ours)
    assert ran.wait(LIMIT) == 0
    return shown.decode(errors="replace")
