"""What a task may use: limits that the kernel keeps, those that its agent looks after, and how a breach is told."""

import asyncio
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.duration_pb2 import Duration

from tensorflow_ignite.agent.process import ProcessId
from tensorflow_ignite.v1.agent_pb2 import TaskLimits

LOOK_SECONDS = 0.5
# Between SIGTERM and SIGKILL for a task whose time is over: it may save what it has.
TIME_GRACE_SECONDS = 5.0
_GIBIBYTE = 1 << 30
_KIBIBYTE = 1 << 10
_HOUR = 3600.0
_NO_MEMORY = re.compile(
    r"MemoryError|bad_alloc|Unable to allocate|Cannot allocate memory|RESOURCE_EXHAUSTED|ResourceExhaustedError"
)
_NO_FILE = re.compile(r"Too many open files|EMFILE")


@dataclass(frozen=True)
class Breach:
    """A limit that a task has reached: what to tell of it, and how the task is ended."""

    text: str
    grace: float
    for_good: bool


def launch_argument(limits: TaskLimits) -> str:
    """The limits that the kernel keeps, as launch.py takes them: `,DATA=1073741824,NOFILE=64`."""
    cpu = limits.cpu_time.seconds + (limits.cpu_time.nanos > 0)
    kept = {"DATA": limits.memory_bytes, "NOFILE": limits.open_files, "CPU": cpu}
    return "".join(f",{name}={value}" for name, value in kept.items() if value > 0)


def is_cpu_time(exit_code: int) -> bool:
    """Whether a task ended since its processor time was over."""
    return exit_code == -signal.SIGXCPU


def explanation(limits: TaskLimits, exit_code: int, text: str) -> str:
    """Which limit explains the end of a task that failed by itself; empty when none does.

    Args:
        limits: The task's.
        exit_code: As in its status.
        text: What it said last.
    """
    if limits.HasField("cpu_time") and is_cpu_time(exit_code):
        return _rule("a process of a task may use", f"{_hours(limits.cpu_time)} of processor time", "taskCpuHours")
    if limits.memory_bytes and _NO_MEMORY.search(text):
        return _rule("a process of a task may use", f"{_size(limits.memory_bytes)} of memory", "taskMemoryMegabytes")
    if limits.open_files and _NO_FILE.search(text):
        return _rule("a process of a task may have", f"{limits.open_files} open files", "taskOpenFiles")
    return ""


class Guard:
    """Looks after what no limit of the kernel keeps: how long a task runs, and what its processes use together."""

    def __init__(self, who: str, limits: TaskLimits, find: Callable[[], set[ProcessId]]) -> None:
        """Begins the task's time now.

        Args:
            who: The task, as text.
            limits: The task's.
            find: Every living process of it.
        """
        self._who = who
        self._limits = limits
        self._find = find
        self._started = self._looked = time.monotonic()

    async def breach(self) -> Breach | None:
        """The limit that the task has reached by now; looks at its processes every half second."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return None
        self._looked = now
        run_time = self._limits.run_time.ToTimedelta().total_seconds()
        if 0 < run_time <= now - self._started:
            told = f"{self._who} was ended: it ran for {_hours(self._limits.run_time)}"
            rule = _rule("a task may run for", _hours(self._limits.run_time), "taskTimeLimitHours")
            return Breach(f"{told}; {rule}", TIME_GRACE_SECONDS, for_good=True)
        if not (self._limits.processes or self._limits.memory_bytes):
            return None
        return await asyncio.to_thread(self._used_too_much)

    def _used_too_much(self) -> Breach | None:
        found = self._find()
        if 0 < self._limits.processes < len(found):
            rule = _rule("a task may have", f"{self._limits.processes} at a time", "taskProcesses")
            return Breach(f"{self._who} was killed: it had {len(found)} processes; {rule}", 0, for_good=False)
        # The memory of one process is the kernel's to limit; to add it up is dear.
        if self._limits.memory_bytes and len(found) > 1:
            used = sum(map(_resident_bytes, found))
            if used > self._limits.memory_bytes:
                rule = _rule("a task may use", _size(self._limits.memory_bytes), "taskMemoryMegabytes")
                told = f"{self._who} was killed: its {len(found)} processes used {_size(used)} of memory together"
                return Breach(f"{told}; {rule}", 0, for_good=False)
        return None


def _rule(verb: str, limit: str, setting: str) -> str:
    return f"{verb} {limit} ({setting}); let it use less, or raise {setting} in the service's configuration"


def _resident_bytes(process: ProcessId) -> int:
    """Its part of what is its own, and not of files or segments; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * _KIBIBYTE for line in lines if line.startswith(("Pss_Anon:", "SwapPss:")))


def _size(size: int) -> str:
    return f"{size / _GIBIBYTE:.2f} GiB"


def _hours(duration: Duration) -> str:
    seconds = duration.ToTimedelta().total_seconds()
    return f"{seconds / _HOUR:.4g} h" if seconds >= _HOUR / 2 else f"{seconds:.4g} s"
