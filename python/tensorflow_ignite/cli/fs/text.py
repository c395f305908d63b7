"""Sizes, times and names as text."""

from __future__ import annotations

from datetime import datetime, timezone

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def size(count: int) -> str:
    """Bytes in the largest unit that leaves a whole number, to three digits: ``"999 B"``, ``"45.6 GB"``."""
    if count < 1_000:
        return f"{count} B"
    value, unit = float(count), 0
    # 999.5 would be printed as 1000.
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1_000, unit + 1
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{digits}f} {_UNITS[unit]}"


def local_time(seconds: float) -> str:
    """Seconds since the epoch, in this machine's zone."""
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}"


def utc_time(seconds: float) -> str:
    """Seconds since the epoch, for programs."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()
