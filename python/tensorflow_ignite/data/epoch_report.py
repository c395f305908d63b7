"""How many rows the last epochs of this process had: what a task reports to its job."""

from __future__ import annotations

import threading
from collections import deque
from typing import NamedTuple

# A report of progress has the last ones.
MOST_EPOCHS = 5


class EpochReport(NamedTuple):
    """The rows of one epoch of a dataset that was read to its end.

    Attributes:
        cache: Name of the cache.
        epoch: Number of the epoch, from 0.
        rows: Rows that were read.
        left_out: Of these, rows that the epoch has left out.
        filled: Rows that were repeated, or added with weight 0.
    """

    cache: str
    epoch: int
    rows: int
    left_out: int = 0
    filled: int = 0


_lock = threading.Lock()
_reports: deque[EpochReport] = deque(maxlen=MOST_EPOCHS)


def add(report: EpochReport) -> None:
    """Adds the newest one."""
    with _lock:
        _reports.append(report)


def recent() -> tuple[EpochReport, ...]:
    """The last ones, oldest first."""
    with _lock:
        return tuple(_reports)
