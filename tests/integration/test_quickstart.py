"""What a newcomer sees first."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

import psutil
import pytest

from tensorflow_ignite.testing.leaks import CLUSTER_MARKER
from tensorflow_ignite.testing.patience import patiently

SECONDS = patiently(180)


@contextmanager
def quickstart() -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """Runs it; nothing of it may be left at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tensorflow_ignite.cli", "quickstart"], stdout=subprocess.PIPE, text=True
    )
    try:
        yield process, cast("IO[str]", process.stdout)
        process.wait(SECONDS)
    finally:
        process.kill()
        process.wait()
        cast("IO[str]", process.stdout).close()
    assert not [other for other in psutil.process_iter(["environ"]) if belongs_to_quickstart(other, process.pid)]


def belongs_to_quickstart(process: psutil.Process, pid: int) -> bool:
    """Whether a cluster's process was started by that one; a node has the process id of its owner."""
    environment = process.info["environ"] or {}
    try:
        return CLUSTER_MARKER in environment and f"--parent-pid={pid}" in process.cmdline()
    except psutil.NoSuchProcess:
        return False


def test_quickstart_loses_a_node_resumes_and_says_so_in_its_last_line() -> None:
    with quickstart() as (process, output):
        lines = output.read().splitlines()
    assert process.returncode == 0, lines
    last = re.fullmatch(r"quickstart: ok accuracy=(\S+) attempts=(\d+) resumed_from_step=(\d+) seconds=\S+", lines[-1])
    assert last, lines
    assert float(last[1]) >= 0.9
    # One more, if the machine was too busy for a lease.
    assert int(last[2]) >= 2
    assert int(last[3]) > 0


@pytest.mark.full
def test_quickstart_cleans_up_when_it_is_interrupted_in_the_middle() -> None:
    with quickstart() as (process, output):
        for line in output:
            if "every task runs" in line:
                process.send_signal(signal.SIGINT)
                break
        rest = output.read()
    assert process.returncode == 130
    assert rest.splitlines()[-1] == "quickstart: interrupted by SIGINT"
