"""Limits of a task's resources: limits that the kernel enforces, limits that the agent enforces, and their messages."""

import asyncio
import re
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.duration_pb2 import Duration

from tensorflow_ignite.agent.process import ProcessId
from tensorflow_ignite.v1.agent_pb2 import TaskLimits

SAMPLE_SECONDS = 0.5
# Between SIGTERM and SIGKILL for a task that has reached its time limit: it may save its state.
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
    """A limit that a task has exceeded: the message, the seconds of grace, and whether a retry cannot help."""

    text: str
    grace: float
    permanent: bool


def kernel_limits(limits: TaskLimits) -> dict[str, tuple[int, int]]:
    """Returns the limits that the kernel enforces, soft and hard, by the ends of their names in `resource`.

    They are hard, so that the script cannot raise them, and not above the agent's own limits.
    """
    cpu = limits.cpu_time.seconds + (limits.cpu_time.nanos > 0)
    values = {"DATA": limits.memory_bytes, "NOFILE": limits.open_files, "CPU": cpu}
    return {name: _kernel_limit(name, value) for name, value in values.items() if value > 0}


def numbered(limits: TaskLimits) -> list[tuple[int, int, int]]:
    """Returns the limits that the kernel enforces, each as its number, the soft and the hard limit."""
    return [(getattr(resource, f"RLIMIT_{name}"), *values) for name, values in kernel_limits(limits).items()]


def launch_argument(limits: TaskLimits) -> str:
    """Returns the limits that the kernel enforces, as an argument of launch.py: `,NOFILE=64:64`."""
    return "".join(f",{name}={soft}:{hard}" for name, (soft, hard) in kernel_limits(limits).items())


def _kernel_limit(name: str, requested: int) -> tuple[int, int]:
    highest = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]
    bound = sys.maxsize if highest == resource.RLIM_INFINITY else highest
    soft = min(requested, bound)
    # At the soft limit of processor time a process gets SIGXCPU, which names the cause; at the hard limit SIGKILL.
    return soft, min(soft + 1, bound) if name == "CPU" else soft


def is_cpu_time(exit_code: int) -> bool:
    """Whether a task was ended by its limit of processor time."""
    return exit_code == -signal.SIGXCPU


def explanation(limits: TaskLimits, exit_code: int, text: str) -> str:
    """Returns the limit that explains the failure of a task; empty: none.

    Args:
        limits: The task's limits.
        exit_code: As in its status.
        text: The end of its output.
    """
    if limits.HasField("cpu_time") and is_cpu_time(exit_code):
        return _rule("a process of a task may use", f"{_hours(limits.cpu_time)} of processor time", "tasks.cpuHours")
    if limits.memory_bytes and _NO_MEMORY.search(text):
        return _rule(
            "a process of a task may use", f"{size_text(limits.memory_bytes)} of memory", "tasks.memoryMegabytes"
        )
    if limits.open_files and _NO_FILE.search(text):
        return _rule("a process of a task may have", f"{limits.open_files} open files", "tasks.openFiles")
    return ""


class LimitMonitor:
    """Checks the limits that the kernel does not enforce: run time, and the sum over a task's processes."""

    def __init__(
        self,
        task_name: str,
        limits: TaskLimits,
        find: Callable[[], set[ProcessId]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Starts the task's run time now.

        Args:
            task_name: The task, as text.
            limits: The task's limits.
            find: Returns every living process of the task.
            clock: Seconds of a monotonic clock.
        """
        self._task_name = task_name
        self._limits = limits
        self._find = find
        self._clock = clock
        self._started = self._sampled_at = clock()

    @property
    def observes_processes(self) -> bool:
        """Whether there is a limit for the sum over the task's processes."""
        return bool(self._limits.processes or self._limits.memory_bytes)

    async def breach(self) -> Breach | None:
        """Returns the limit that the task has exceeded, if any; samples its processes every half second."""
        now = self._clock()
        if now - self._sampled_at < SAMPLE_SECONDS:
            return None
        self._sampled_at = now
        run_time = self._limits.run_time.ToTimedelta().total_seconds()
        if 0 < run_time <= now - self._started:
            event = f"{self._task_name} was ended: it ran for {_hours(self._limits.run_time)}"
            rule = _rule("a task may run for", _hours(self._limits.run_time), "tasks.timeLimitHours")
            return Breach(f"{event}; {rule}", TIME_GRACE_SECONDS, permanent=True)
        if not self.observes_processes:
            return None
        return await asyncio.to_thread(self._exceeded)

    def _exceeded(self) -> Breach | None:
        found = self._find()
        if 0 < self._limits.processes < len(found):
            rule = _rule("a task may have", f"{self._limits.processes} at a time", "tasks.processes")
            return Breach(f"{self._task_name} was killed: it had {len(found)} processes; {rule}", 0, permanent=False)
        # The kernel limits the memory of a single process; reading the memory of all is expensive.
        if self._limits.memory_bytes and len(found) > 1:
            used = sum(map(_resident_bytes, found))
            if used > self._limits.memory_bytes:
                rule = _rule("a task may use", size_text(self._limits.memory_bytes), "tasks.memoryMegabytes")
                all_of_it = f"its {len(found)} processes used {size_text(used)} of memory together"
                event = f"{self._task_name} was killed: {all_of_it}"
                return Breach(f"{event}; {rule}", 0, permanent=False)
        return None


def _rule(verb: str, limit: str, setting: str) -> str:
    return f"{verb} {limit} ({setting}); make the script use less, or raise {setting} in the service's configuration"


def _resident_bytes(process: ProcessId) -> int:
    """Bytes of anonymous memory of a process, without files and segments; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * _KIBIBYTE for line in lines if line.startswith(("Pss_Anon:", "SwapPss:")))


def size_text(size: int) -> str:
    """Bytes for people."""
    return f"{size / _GIBIBYTE:.2f} GiB"


def _hours(duration: Duration) -> str:
    seconds = duration.ToTimedelta().total_seconds()
    return f"{seconds / _HOUR:.4g} h" if seconds >= _HOUR / 2 else f"{seconds:.4g} s"
