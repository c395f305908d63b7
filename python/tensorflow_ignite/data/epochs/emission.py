"""The rows that an epoch has given so far, with their identities up to each of the last rows.

A consumer is behind the reader, since threads and TensorFlow prefetch. So the last batches are kept one by one, and
only older batches become one sum.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tensorflow_ignite.data.epochs.row_batch import RowBatch
from tensorflow_ignite.data.epochs.shuffling import priorities
from tensorflow_ignite.data.epochs.tensors import Array
from tensorflow_ignite.data.epochs.unit_rows import runs_of
from tensorflow_ignite.data.epochs.used_rows import Unit, UsedRows, UsedWindow

#: A consumer may be behind by at least this number of rows.
KEPT_ROWS = 1 << 20

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Run:
    """Rows of one partition, one after another as a stream brings them.

    Attributes:
        stream: Identifies the source that brings one partition after the other: a stream; or, if a stream mixes its
            partitions, one partition of the stream.
        partition: The number of the partition.
        identities: The first numbers of the identities; int64.
    """

    stream: Hashable
    partition: int
    identities: Array


def runs(batch: RowBatch, divided: dict[frozenset[int], int] | None = None) -> list[Run]:
    """The runs of an identified batch.

    Args:
        batch: The batch.
        divided: Of each stream, the partition whose rows it may bring in two parts, with other partitions between them;
            a stream that is not there brings such a partition first. None: no stream does.
    """
    identities = batch.identities
    assert identities is not None
    found = []
    for partition, begin, end in runs_of(batch):
        is_divided = divided is not None and divided.setdefault(batch.partitions, partition) == partition
        stream = (batch.partitions, partition) if batch.is_mixed or is_divided else batch.partitions
        found.append(Run(stream, partition, identities[begin:end, 0]))
    return found


@dataclass
class _Sum:
    """What has been given: whole partitions and units, and of each stream the rows of its present partition."""

    units: set[Unit] = field(default_factory=set)
    present: dict[Hashable, tuple[int, list[Array]]] = field(default_factory=dict)

    def copy(self) -> _Sum:
        return _Sum(set(self.units), {stream: (number, [*rows]) for stream, (number, rows) in self.present.items()})

    def add(self, run: Run) -> None:
        partition, rows = self.present.get(run.stream, (run.partition, []))
        if partition != run.partition:
            # A stream reads one partition after the other.
            self.units.add(Unit(partition))
            rows = []
        rows.append(run.identities)
        self.present[run.stream] = run.partition, rows


@dataclass(frozen=True)
class _Given:
    """Rows that were given together: a batch in its order, or a window in the order of priorities."""

    begin: int
    rows: int
    runs: Sequence[Run] = ()
    units: frozenset[Unit] = frozenset()
    priorities: Array | None = None

    def checksum(self, rows: int) -> int:
        """The checksum of the first rows; the checksums of the parts of an epoch are added."""
        numbers = self.priorities
        if numbers is None:
            numbers = np.concatenate([_NONE, *(run.identities for run in self.runs)]).view(np.uint64)
        places = np.arange(self.begin, self.begin + min(rows, len(numbers)), dtype=np.uint64)
        # An odd factor for each place: the order matters too.
        return int(np.sum(numbers[: len(places)] * (2 * places + 1), dtype=np.uint64))


class Emission:
    """The rows that one epoch of a process has given. Any thread may call."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        """Nothing is given yet.

        Args:
            numbers: Those that determine the order: seed and epoch.
        """
        self._numbers = numbers
        self._lock = threading.Lock()
        self._sum = _Sum()
        self._summed = 0
        self._given: deque[_Given] = deque()
        self._rows = 0
        self._is_complete = False
        self._checksum = 0
        self._expected = 0, 0
        self._warn: Callable[[], None] = lambda: None

    def given(self) -> tuple[int, int]:
        """The number of rows that were given, and a checksum of their identities and their order."""
        with self._lock:
            return self._rows, self._checksum_of(self._rows)

    def expect(self, given: tuple[int, int], warn: Callable[[], None]) -> None:
        """Calls a function once, as soon as the first rows differ from the rows that an earlier process has given."""
        self._expected, self._warn = given, warn

    def _checksum_of(self, rows: int) -> int:
        parts = [each.checksum(rows - each.begin) for each in self._given if rows > each.begin]
        return (self._checksum + sum(parts)) % 2**64

    def _compare(self) -> None:
        """Compares the rows with the expected ones, as soon as the expected number of rows, or all, were given."""
        (rows, checksum), warn = self._expected, self._warn
        if rows and (self._rows >= rows or self._is_complete):
            self._expected = 0, 0
            if self._rows < rows or self._checksum_of(rows) != checksum:
                warn()

    def add_batch(self, rows: int, found: Sequence[Run]) -> None:
        """Rows are given in the order of their runs."""
        self._add(rows, runs=found)

    def add_window(
        self, rows: int, priorities: Array, found: Sequence[Run] = (), units: frozenset[Unit] = frozenset()
    ) -> None:
        """Rows are given in the order of their priorities, after all rows of the window before.

        Args:
            rows: Number of rows that are given.
            priorities: Their priorities, ascending; uint64.
            found: The runs in which they have arrived; or
            units: the units that they are.
        """
        self._add(rows, tuple(found), units, priorities)

    def _add(
        self,
        rows: int,
        runs: Sequence[Run],
        units: frozenset[Unit] = frozenset(),
        priorities: Array | None = None,
    ) -> None:
        with self._lock:
            self._given.append(_Given(self._rows, rows, runs, units, priorities))
            self._rows += rows
            self._compare()
            while len(self._given) > 1 and self._rows - self._given[0].begin - self._given[0].rows >= KEPT_ROWS:
                oldest = self._given.popleft()
                _add_all(self._sum, oldest)
                self._checksum += oldest.checksum(oldest.rows)
                self._summed = oldest.begin + oldest.rows

    def complete(self) -> None:
        """No further row comes: each partition that has begun is given whole."""
        with self._lock:
            self._is_complete = True
            self._compare()

    def used(self, rows: int) -> UsedRows | None:
        """The first rows that were given; None: not known any more, since the consumer is too far behind."""
        with self._lock:
            if rows < self._summed:
                return None
            total, given = self._sum.copy(), list(self._given)
            is_whole = self._is_complete and rows >= self._rows
        windows: tuple[UsedWindow, ...] = ()
        parts: list[Run] = []
        for each in given:
            left = rows - each.begin
            if left >= each.rows:
                _add_all(total, each)
            elif left > 0 and each.priorities is not None:
                limit = int(each.priorities[left - 1])
                units, parts = _part_of_window(total, each, np.uint64(limit), self._numbers)
                windows = (UsedWindow(self._numbers, limit, units),) if units else ()
                break
            elif left > 0:
                for run in each.runs:
                    if left > 0:
                        total.add(Run(run.stream, run.partition, run.identities[:left]))
                    left -= len(run.identities)
                break
        if is_whole:
            total.units |= {Unit(partition) for partition, _ in total.present.values()}
            total.present.clear()
        listed: dict[int, list[Array]] = {}
        for partition, arrays in total.present.values():
            listed.setdefault(partition, []).extend(arrays)
        for run in parts:
            listed.setdefault(run.partition, []).append(run.identities)
        return UsedRows(
            frozenset(total.units),
            windows,
            {partition: np.unique(np.concatenate(arrays)) for partition, arrays in listed.items()},
            self._numbers,
        )


def _add_all(total: _Sum, given: _Given) -> None:
    total.units |= given.units
    for run in given.runs:
        total.add(run)


def _part_of_window(
    before: _Sum, given: _Given, limit: np.uint64, numbers: tuple[int, ...]
) -> tuple[frozenset[Unit], list[Run]]:
    """The units that lie in a window as a whole, and of its other partitions the rows up to a limit of priorities."""
    if given.units:
        return given.units, []
    after = before.copy()
    _add_all(after, given)
    begun = {Unit(partition) for partition, _ in before.present.values()}
    units = frozenset(after.units - before.units - begun)
    parts = [
        Run(run.stream, run.partition, run.identities[priorities(run.identities, *numbers) <= limit])
        for run in given.runs
        if Unit(run.partition) not in units
    ]
    return units, parts
