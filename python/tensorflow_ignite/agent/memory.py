"""Memory of this host, or of the agent's control groups, and of single processes."""

from __future__ import annotations

from pathlib import Path

from tensorflow_ignite.agent.control_groups import control_groups

_KIBIBYTE = 1 << 10


def available_bytes() -> int:
    """Memory that processes of this agent can still use: the least of the host's and of each control group's."""
    of_groups = [left for group in control_groups() if (left := _available_of_group(group)) is not None]
    return min([_available_of_host(), *of_groups])


def resident_bytes(pid: int) -> int:
    """Resident memory of a process without pages of files, which processes share; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * _KIBIBYTE for line in lines if line.startswith("RssAnon:"))


def _available_of_host() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * _KIBIBYTE for line in lines if line.startswith("MemAvailable:"))


def _available_of_group(group: Path) -> int | None:
    """Limit of a control group less its use; pages of files that are not in use do not count. None: no limit."""
    try:
        limit = (group / "memory.max").read_text().strip()
        if limit == "max":
            return None
        used = int((group / "memory.current").read_text())
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return max(0, int(limit) - used + int(statistics.get("inactive_file", 0)))
    except (OSError, ValueError):
        return None
