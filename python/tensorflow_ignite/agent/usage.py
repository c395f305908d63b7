"""How much memory a task uses: memory of its processes, and memory of its GPUs."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tensorflow_ignite.agent import gpus
from tensorflow_ignite.agent.process import ProcessId

SAMPLE_SECONDS = 5.0
# A smaller change is not reported alone.
_CHANGE = 0.05


class Usage(NamedTuple):
    """Memory in bytes; 0: not known."""

    memory: int = 0
    device_memory: int = 0

    def differs(self, other: "Usage") -> bool:
        """Whether the numbers of two samples differ by more than 5 %."""
        return any(abs(a - b) > _CHANGE * max(a, b) for a, b in zip(self, other, strict=True))


class UsageMonitor:
    """Samples the memory of one task."""

    def __init__(self, find: Callable[[], set[ProcessId]], gpu_ids: Sequence[str]) -> None:
        """Has no sample.

        Args:
            find: Returns every living process of the task.
            gpu_ids: Ids of the GPUs that are assigned to the task.
        """
        self._find = find
        self._gpus = tuple(gpu_ids)
        self._sampled_at = float("-inf")

    async def sample(self) -> Usage | None:
        """A new sample; None: the last one is less than 5 s old."""
        if time.monotonic() - self._sampled_at < SAMPLE_SECONDS:
            return None
        self._sampled_at = time.monotonic()
        return await asyncio.to_thread(self._measure)

    def _measure(self) -> Usage:
        memory = sum(map(_resident_bytes, self._find()))
        return Usage(memory, gpus.used_bytes(self._gpus) if self._gpus else 0)


def _resident_bytes(process: ProcessId) -> int:
    """Resident memory of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError):
        return 0
