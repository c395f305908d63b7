"""What benchmarks keep of a run: the samples of each figure, and the machine."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field

import psutil

Samples = dict[str, list[float]]


@dataclass
class Passes:
    """What was measured.

    Attributes:
        passes: All samples of each figure; a figure of several sizes has one name for each, ``NAME SIZE``.
    """

    passes: Samples = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """One more sample of a figure."""
        self.passes.setdefault(name, []).append(value)


def machine(load_before: float) -> dict[str, object]:
    """The machine, and its load average before the run."""
    return {
        "processors": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": platform.platform(),
        "load_before": load_before,
    }
