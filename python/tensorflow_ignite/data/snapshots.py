"""Batches that are kept for later epochs, within what memory the process may use for them; knows no cluster."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa

from tensorflow_ignite.data.tensors import Array

_log = logging.getLogger(__name__)

# Of the memory that is available when a job's first snapshot begins, the tasks of a node may use this part together.
PART_OF_MEMORY = 4

_CONTROL_GROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Part:
    """A batch on its way to TensorFlow.

    Attributes:
        batch: Its rows.
        arrays: The same as arrays for TensorFlow; None: not made yet.
        real: Whether these are rows of the cache; others have weight 0.
    """

    batch: pa.RecordBatch
    arrays: list[Array] | None = None
    real: bool = True

    @property
    def rows(self) -> int:
        """Their number."""
        return int(self.batch.num_rows)

    @property
    def size(self) -> int:
        """Bytes of memory that stay with it, about."""
        # Texts are objects of Python beside the batch.
        texts = sum(48 * array.size for array in self.arrays or () if array.dtype == object)
        return int(self.batch.get_total_buffer_size()) + texts

    def slice(self, begin: int, rows: int) -> Part:
        """So many rows of it; itself when they are all."""
        if begin == 0 and rows >= self.rows:
            return self
        return Part(self.batch.slice(begin, rows), None, self.real)


@dataclass(frozen=True)
class Snapshot:
    """All batches of one pass, in its order.

    Attributes:
        parts: The batches.
        epoch: Number of the epoch whose order they have.
        told: What else is known of the pass; never looked into here.
    """

    parts: tuple[Part, ...]
    epoch: int
    told: Any


class _State:
    def __init__(self) -> None:
        self.size = 0
        self.filling: object | None = None
        self.snapshot: Snapshot | None = None
        # Once given up it is not begun again: two datasets would drive each other out for ever.
        self.given_up = False


class Snapshots:
    """The snapshots of a process, by the names of their datasets. Any thread may call."""

    def __init__(self) -> None:
        """Holds nothing yet."""
        # Re-entrant: who grows a snapshot under it asks for the size of all.
        self._lock = threading.RLock()
        self._states: dict[str, _State] = {}

    def get(self, name: str) -> Snapshot | None:
        """The complete snapshot of a dataset; None when there is none."""
        with self._lock:
            state = self._states.get(name)
            return state.snapshot if state else None

    def begin(self, name: str, limit: int, what: str) -> Filling | None:
        """Begins to fill one; None when another iterator does, or when it was given up.

        Args:
            name: Of the dataset.
            limit: Bytes that all snapshots of the process may have together.
            what: What is read, for messages.
        """
        with self._lock:
            state = self._states.setdefault(name, _State())
            if state.filling or state.snapshot or state.given_up:
                return None
            state.filling = filling = Filling(self, name, limit, what)
            return filling

    def drop(self, name: str) -> None:
        """Forgets the snapshot of a dataset that is no more."""
        with self._lock:
            self._states.pop(name, None)

    @property
    def size(self) -> int:
        """Bytes of all snapshots."""
        with self._lock:
            return sum(state.size for state in self._states.values())

    def _grow(self, filling: Filling, size: int) -> bool:
        with self._lock:
            state = self._filled_by(filling)
            if state is None:
                return False
            others = [(name, other) for name, other in self._states.items() if other is not state]
            while self.size + size > filling.limit:
                # Dictionaries keep the order in which their entries were made: the oldest goes first.
                oldest = next(((name, other) for name, other in others if other.snapshot), None)
                if oldest is None:
                    self._give_up(filling, state, size)
                    return False
                others.remove(oldest)
                _log.warning(
                    "%s takes the memory of an older snapshot of %s: all together may have %s, of memory=",
                    filling.what,
                    _bytes(oldest[1].size),
                    _bytes(filling.limit),
                )
                oldest[1].snapshot, oldest[1].size, oldest[1].given_up = None, 0, True
            state.size += size
            return True

    def _give_up(self, filling: Filling, state: _State, size: int) -> None:
        _log.warning(
            "%s is read anew each epoch: a snapshot needs more than %s, and all of this process may have %s. Raise "
            "memory=, or choose snapshot=False",
            filling.what,
            _bytes(state.size + size - 1),
            _bytes(filling.limit),
        )
        state.filling, state.size, state.given_up = None, 0, True

    def _end(self, filling: Filling, snapshot: Snapshot | None) -> None:
        with self._lock:
            state = self._filled_by(filling)
            if state is not None:
                state.filling, state.snapshot = None, snapshot
                if snapshot is None:
                    state.size = 0

    def _filled_by(self, filling: Filling) -> _State | None:
        with self._lock:
            state = self._states.get(filling.name)
            return state if state is not None and state.filling is filling else None


class Filling:
    """A snapshot that is being filled by one pass."""

    def __init__(self, home: Snapshots, name: str, limit: int, what: str) -> None:
        """Made by :meth:`Snapshots.begin`."""
        self.name, self.limit, self.what = name, limit, what
        self._home = home
        self._parts: list[Part] = []

    def goes_on(self, _: int) -> bool:
        """Whether batches are still kept, of whatever size; any thread may ask."""
        return self._home._filled_by(self) is not None

    def add(self, part: Part) -> bool:
        """Keeps a batch; False when memory does not allow it, and everything that was kept has been let go."""
        if not self._home._grow(self, part.size):
            self._parts.clear()
            return False
        self._parts.append(part)
        return True

    def complete(self, epoch: int, told: Any) -> None:
        """The pass has come to its end: later ones may use it."""
        self._home._end(self, Snapshot(tuple(self._parts), epoch, told))

    def abandon(self) -> None:
        """The pass was cut short; after :meth:`complete` this changes nothing."""
        self._home._end(self, None)
        self._parts.clear()


def default_limit(tasks: int) -> int:
    """Bytes that snapshots may have in one of so many tasks that share this machine."""
    return _available() // PART_OF_MEMORY // max(1, tasks)


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
