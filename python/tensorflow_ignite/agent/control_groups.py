"""The control groups of this process, whose limits hold for its tasks too."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")


def control_groups() -> list[Path]:
    """Returns the folders of this process's control groups (version 2), from the innermost to the outermost."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        innermost = _ROOT / next(line[3:].lstrip("/") for line in lines if line.startswith("0::"))
    except (OSError, StopIteration):
        return []
    return [group for group in (innermost, *innermost.parents) if group.is_relative_to(_ROOT)]
