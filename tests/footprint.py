"""What a process holds: memory, threads, file descriptors, and segments of shared memory."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path

import psutil

from tensorflow_ignite.testing.leaks import LeakError


@dataclass(frozen=True)
class Footprint:
    """The resources of a process at one moment, or the limits of their growth."""

    resident_bytes: int
    threads: int
    descriptors: int
    segments: int

    @classmethod
    def of(cls, pid: int) -> Footprint:
        """Measures a process of this user."""
        process = psutil.Process(pid)
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
        return cls(
            resident_bytes=process.memory_info().rss,
            threads=process.num_threads(),
            descriptors=process.num_fds(),
            segments=sum("/memfd:" in line for line in maps),
        )

    def require_flat(self, later: Footprint, tolerance: Footprint, owner: str) -> None:
        """Compares with the same process at a later moment."""
        before, after, allowed = asdict(self), asdict(later), asdict(tolerance)
        grown = [
            f"{field.name} grew from {before[field.name]:,} to {after[field.name]:,}, by more than "
            f"{allowed[field.name]:,}"
            for field in fields(Footprint)
            if after[field.name] - before[field.name] > allowed[field.name]
        ]
        if grown:
            raise LeakError(owner, grown)
