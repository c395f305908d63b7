"""Batches of an epoch that stay in memory for later epochs, within a limit of bytes; knows no cluster."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from tensorflow_ignite.data.epochs import input_totals
from tensorflow_ignite.data.epochs.changes import Changes, Position
from tensorflow_ignite.data.epochs.refresh import refreshed
from tensorflow_ignite.data.epochs.row_batch import RowBatch

_log = logging.getLogger(__name__)

# All tasks of a node may use 1 / MEMORY_DIVISOR of the memory that is available when the first snapshot begins.
MEMORY_DIVISOR = 4

_CONTROL_GROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Snapshot:
    """All batches of one pass, in its order, and the changes since.

    Attributes:
        batches: The batches.
        epoch: Number of the epoch in whose order the batches are.
        plan: An object of the caller, which belongs to the pass.
        positions: The position of each partition that was read; empty: the snapshot cannot be refreshed.
    """

    batches: tuple[RowBatch, ...]
    epoch: int
    plan: Any
    positions: Mapping[int, Position] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(batch.rows for batch in self.batches)

    @property
    def size(self) -> int:
        """Bytes of memory of all batches, about."""
        return sum(batch.size for batch in self.batches)

    def changed(self, changes: Changes, rows: Sequence[RowBatch]) -> Snapshot | None:
        """The snapshot after changes; None: the rows to replace are not known.

        Args:
            changes: The changes, without the rows.
            rows: The changed rows.
        """
        batches = refreshed(self.batches, changes, rows)
        positions = {**self.positions, **changes.positions}
        return None if batches is None else replace(self, batches=batches, positions=positions)


class _SnapshotState:
    def __init__(self) -> None:
        self.size = 0
        self.writer: object | None = None
        self.snapshot: Snapshot | None = None
        # Held while the snapshot is refreshed.
        self.refreshing = threading.Lock()
        # An abandoned snapshot is not started again: two datasets would remove each other's snapshots without end.
        self.abandoned = False


class Snapshots:
    """The snapshots of a process, by the names of their datasets. Any thread may call."""

    def __init__(self) -> None:
        """Has no snapshot."""
        # Re-entrant: _grow reads the size of all snapshots while it holds the lock.
        self._lock = threading.RLock()
        self._states: dict[str, _SnapshotState] = {}
        input_totals.add_snapshots(self)

    def get(self, name: str) -> Snapshot | None:
        """The complete snapshot of a dataset, or None."""
        with self._lock:
            state = self._states.get(name)
            return state.snapshot if state else None

    def can_begin(self, name: str) -> bool:
        """Whether :meth:`begin` starts a snapshot of a dataset: there is none, nor one that was abandoned."""
        with self._lock:
            state = self._states.get(name)
            return state is None or not (state.writer or state.snapshot or state.abandoned)

    def begin(self, name: str, limit: int, subject: str) -> SnapshotWriter | None:
        """Starts a snapshot; None if another iterator writes it, or if it was abandoned for lack of memory.

        Args:
            name: Name of the dataset.
            limit: Bytes that all snapshots of the process may have together.
            subject: Names the rows in error texts, such as "cache 'x'".
        """
        with self._lock:
            if not self.can_begin(name):
                return None
            state = self._states.setdefault(name, _SnapshotState())
            state.writer = writer = SnapshotWriter(self, name, limit, subject)
            return writer

    def refresh(
        self, name: str, snapshot: Snapshot, change: Callable[[Snapshot], Snapshot | None], limit: int, subject: str
    ) -> Snapshot | None:
        """Replaces a snapshot by a newer one.

        Args:
            name: Name of the dataset.
            snapshot: The snapshot that the caller has; another iterator may have refreshed it meanwhile.
            change: Returns the newer snapshot; None: it cannot be made from the older one.
            limit: As for :meth:`begin`.
            subject: As for :meth:`begin`.

        Returns:
            The newer snapshot. None: the dataset has none any more, and its rows must be read again.
        """
        with self._lock:
            state = self._states.get(name)
        if state is None:
            return change(snapshot)
        with state.refreshing:
            with self._lock:
                current = state.snapshot
            if current is None:
                return None
            newer = change(current)
            with self._lock:
                state.snapshot, state.size = newer, newer.size if newer else 0
                if newer is not None and not self._fits(state, limit, subject):
                    state.snapshot, state.size, state.abandoned = None, 0, True
            return newer

    def drop(self, name: str) -> None:
        """Removes the snapshot of a dataset that does not exist any more."""
        with self._lock:
            self._states.pop(name, None)

    @property
    def size(self) -> int:
        """Bytes of all snapshots."""
        with self._lock:
            return sum(state.size for state in self._states.values())

    def _grow(self, writer: SnapshotWriter, size: int) -> bool:
        with self._lock:
            state = self._state_of(writer)
            if state is None:
                return False
            state.size += size
            if self._fits(state, writer.limit, writer.subject):
                return True
            state.writer, state.size, state.abandoned = None, 0, True
            return False

    def _fits(self, state: _SnapshotState, limit: int, subject: str) -> bool:
        """Whether all snapshots fit into the limit, after older ones than this have been removed."""
        others = [other for other in self._states.values() if other is not state]
        while self.size > limit:
            # A dict is in the order of insertion, so the first snapshot is the oldest.
            oldest = next((other for other in others if other.snapshot), None)
            if oldest is None:
                _log.warning(
                    "%s is read anew each epoch: its snapshot needs more than %s, and all snapshots of this process "
                    "may have %s. Raise memory=, or choose snapshot=False",
                    subject,
                    _bytes(state.size - 1),
                    _bytes(limit),
                )
                return False
            others.remove(oldest)
            _log.warning(
                "%s takes the memory of an older snapshot of %s: all snapshots together may have %s (memory=)",
                subject,
                _bytes(oldest.size),
                _bytes(limit),
            )
            oldest.snapshot, oldest.size, oldest.abandoned = None, 0, True
        return True

    def _end(self, writer: SnapshotWriter, snapshot: Snapshot | None) -> None:
        with self._lock:
            state = self._state_of(writer)
            if state is not None:
                state.writer, state.snapshot = None, snapshot
                if snapshot is None:
                    state.size = 0

    def _state_of(self, writer: SnapshotWriter) -> _SnapshotState | None:
        with self._lock:
            state = self._states.get(writer.name)
            return state if state is not None and state.writer is writer else None


class SnapshotWriter:
    """Collects the batches of one pass for a snapshot."""

    def __init__(self, snapshots: Snapshots, name: str, limit: int, subject: str) -> None:
        """Made by :meth:`Snapshots.begin`."""
        self.name, self.limit, self.subject = name, limit, subject
        self._snapshots = snapshots
        self._batches: list[RowBatch] = []

    def is_active(self, _: int) -> bool:
        """Whether batches are still cached; the size of the next one is ignored. Any thread may call."""
        return self._snapshots._state_of(self) is not None

    def add(self, batch: RowBatch) -> bool:
        """Caches a batch; False if the limit does not allow it, and all batches of this snapshot were removed."""
        if not self._snapshots._grow(self, batch.size):
            self._batches.clear()
            return False
        self._batches.append(batch)
        return True

    def complete(self, epoch: int, plan: Any, positions: Mapping[int, Position]) -> None:
        """Makes the snapshot available to later epochs."""
        self._snapshots._end(self, Snapshot(tuple(self._batches), epoch, plan, positions))

    def abandon(self) -> None:
        """Removes the batches of an incomplete pass; does nothing after :meth:`complete`."""
        self._snapshots._end(self, None)
        self._batches.clear()


def default_limit(tasks: int) -> int:
    """Bytes that the snapshots of one task may have, if this number of tasks shares the machine."""
    return _available() // MEMORY_DIVISOR // max(1, tasks)


def _available() -> int:
    available = int(psutil.virtual_memory().available)
    try:
        limit = (_CONTROL_GROUP / "memory.max").read_text().strip()
        used = int((_CONTROL_GROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return available
    return available if limit == "max" else max(0, min(available, int(limit) - used))


def _bytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
