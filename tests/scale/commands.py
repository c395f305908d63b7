"""How long commands take, from the start of a process to its end."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 7
SECONDS = 120.0
_PROGRAM = str(Path(sys.executable).with_name("tensorflow-ignite"))
#: What no command of ours can be faster than: the same interpreter with the library of its calls.
PYTHON_WITH_GRPC = (sys.executable, "-c", "import grpc")


@dataclass(frozen=True)
class Timing:
    """Medians of some rounds of one command."""

    seconds: float
    processor_seconds: float
    printed: str


def command_line(address: str, *arguments: str) -> list[str]:
    return [_PROGRAM, "--address", address, *arguments]


def timings(*commands: Sequence[str]) -> list[Timing]:
    """Runs commands in turns, so that each has the same neighbours on its machine; one that fails is an error."""
    # As a user's shell has it: no module of the tests on the path.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TENSORFLOW_", "PYTHON"))}
    seconds: list[list[float]] = [[] for _ in commands]
    processor: list[list[float]] = [[] for _ in commands]
    printed = [""] * len(commands)
    for _ in range(ROUNDS):
        for number, command in enumerate(commands):
            begin, used = time.monotonic(), _used()
            ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False)
            seconds[number].append(time.monotonic() - begin)
            processor[number].append(_used() - used)
            assert ran.returncode == 0, f"{command} ended with exit code {ran.returncode}: {ran.stderr}"
            printed[number] = ran.stdout
    medians = zip(map(statistics.median, seconds), map(statistics.median, processor), printed, strict=True)
    return [Timing(*each) for each in medians]


def median_seconds(call: Callable[[], object]) -> float:
    """The median of some rounds of a call."""
    seconds = []
    for _ in range(ROUNDS):
        begin = time.monotonic()
        call()
        seconds.append(time.monotonic() - begin)
    return statistics.median(seconds)


def _used() -> float:
    """Processor time of all processes that this one has started and waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
