"""The command line as a process of its own, in pipes or on a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tensorflow_ignite.testing.patience import patiently

LIMIT = patiently(60)  # seconds, also on a busy machine; a command that takes longer hangs
PYTHON = Path(__file__).parents[2] / "python"


def error_of(result: tuple[int, str, str], code: int = 1) -> str:
    """Standard error of a command that has failed: one clean block, and nothing on standard output."""
    assert result[:2] == (code, "")
    err = result[2]
    assert err.startswith("error: ")
    assert "Traceback" not in err
    assert "[code=" not in err
    return err


def start(*args: object, **options: Any) -> subprocess.Popen:
    """Starts a command; its output goes to pipes, as text, unless options of Popen say otherwise."""
    environment = {**os.environ, "PYTHONPATH": str(PYTHON), **options.pop("env", {})}
    command = [sys.executable, "-m", "tensorflow_ignite.cli", *map(str, args)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen(command, env=environment, **options)


def on_terminal(
    *args: object,
    env: dict[str, str] | None = None,
    on_output: Callable[[str], None] = lambda _: None,
    answers: Mapping[str, str] | None = None,
) -> str:
    """What a command that succeeds shows on a terminal."""
    ours, theirs = pty.openpty()
    ran = start(*args, stdin=theirs, stdout=theirs, stderr=theirs, env=env or {}, start_new_session=True)
    os.close(theirs)
    output = b""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 0.1)[0]:
            continue
        try:
            output += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        on_output(output.decode(errors="replace"))
        for prompt, answer in (answers or {}).items():
            if output.endswith(prompt.encode()):
                os.write(ours, f"{answer}\n".encode())
    os.close(ours)
    assert ran.wait(LIMIT) == 0
    return output.decode(errors="replace")
