"""How many rows this process has read and keeps, and how long its datasets have waited for them, since its start."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol


class InputTotals(NamedTuple):
    """Totals of all datasets of this process.

    Attributes:
        rows: Rows that datasets have returned.
        waited: Seconds in which a dataset had no batch and waited for one, added up over datasets, including waits that
            have not ended.
    """

    rows: int = 0
    waited: float = 0.0


class Sized(Protocol):
    """Snapshots of a process, with their size in bytes."""

    @property
    def size(self) -> int:
        """Bytes of memory."""


_lock = threading.Lock()
_totals = InputTotals()
# The begins of the waits that have not ended.
_waits: dict[object, float] = {}
_thread = threading.local()
_snapshots: weakref.WeakSet[Sized] = weakref.WeakSet()


def add_rows(number: int) -> None:
    """Adds rows that a dataset has returned."""
    global _totals
    with _lock:
        _totals = _totals._replace(rows=_totals.rows + number)


@contextmanager
def waiting() -> Iterator[None]:
    """Adds the time of the block, a wait for nodes; a block within another one of its thread does not count again."""
    global _totals
    if getattr(_thread, "waits", False):
        yield
        return
    _thread.waits, wait = True, object()
    with _lock:
        _waits[wait] = time.monotonic()
    try:
        yield
    finally:
        _thread.waits = False
        with _lock:
            _totals = _totals._replace(waited=_totals.waited + time.monotonic() - _waits.pop(wait))


def totals() -> InputTotals:
    """The totals until now."""
    with _lock:
        now = time.monotonic()
        return _totals._replace(waited=_totals.waited + sum(now - began for began in _waits.values()))


def add_snapshots(snapshots: Sized) -> None:
    """Counts snapshots as long as they exist."""
    _snapshots.add(snapshots)


def snapshot_bytes() -> int:
    """Bytes of all snapshots of this process."""
    return sum(snapshots.size for snapshots in list(_snapshots))
