"""What a run has measured: each figure is printed, has a bound or none, and goes into a file."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

from record import machine


class Figures:
    """The figures of one run, in the order in which they were measured."""

    def __init__(self, file: Path, sizes: Mapping[str, int]) -> None:
        """Begins a run."""
        self._file = file
        self._sizes = dict(sizes)
        self._values: dict[str, float] = {}
        self._bounds: dict[str, float] = {}
        self._load = os.getloadavg()[0]
        self._began = time.monotonic()

    def add(self, name: str, value: float, *, most: float | None = None) -> None:
        """Prints and stores a figure; its unit is the end of its name."""
        self._values[name] = value
        if most is not None:
            self._bounds[name] = most
        bound = "" if most is None else f"  (at most {most:,.6g})"
        print(f"{time.monotonic() - self._began:7.0f} s  {name:<48} {_shown(value):>12}{bound}", flush=True)
        self._write()
        assert most is None or value <= most, f"{name}: {value:,.6g} is more than {most:,.6g}"

    def _write(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        found = {**self._values, "bounds": self._bounds, "sizes": self._sizes, "machine": machine(self._load)}
        self._file.write_text(json.dumps(found, indent=2) + "\n")


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 1_000 else f"{value:,.3f}"
