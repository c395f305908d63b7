"""One epoch: one or more passes over the rows of a process, shuffled, cached, and cut or filled to their number.

Works on streams of record batches, and knows neither cluster nor graph.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs import emission, shuffling
from tensorflow_ignite.data.epochs.changes import IDENTITY_COLUMNS, Changes, Position, split, together
from tensorflow_ignite.data.epochs.cutting import groups
from tensorflow_ignite.data.epochs.emission import Emission
from tensorflow_ignite.data.epochs.prefetch import Prefetcher, PrefetchThreads, Stream, round_robin
from tensorflow_ignite.data.epochs.row_batch import RowBatch
from tensorflow_ignite.data.epochs.rows_per_worker import BEGIN, OPEN, PAD, STRICT, EpochLength, EpochStart
from tensorflow_ignite.data.epochs.snapshots import Snapshot, Snapshots, SnapshotWriter
from tensorflow_ignite.data.epochs.tensor_schema import Column, check_layout, storage_of, zero_of
from tensorflow_ignite.data.epochs.tensors import Array, arrays_of
from tensorflow_ignite.data.epochs.unit_rows import UnitRows, with_later_rows
from tensorflow_ignite.data.epochs.used_rows import Unit, UsedRows

_log = logging.getLogger(__name__)

# The rows before a refresh, those that have changed, and those after it.
REFRESH_COPIES = 3
# Longer than the time after which the others notice that a node has frozen.
SECONDS_TO_SETTLE = 20.0
SECONDS_BETWEEN_TRIES = 0.5
# What nodes answer if a plan names others than the present owners, or partitions that do not exist.
_OUTDATED = (errors.ConnectionFailedError, errors.PartitionNotLocalError, errors.InvalidRequestError)

# Size of a batch of rows of weight 0, in bytes, about.
ZEROS_BYTES = 1 << 20

# Random numbers for the order of cached batches, and for the rows of a window, independent of those for partitions.
_BATCHES, _ROWS = 1, 2

Batches = Generator[RowBatch, None, None]
Keep = Callable[[int], bool]


@runtime_checkable
class IdentifiedStream(Stream, Protocol):
    """A stream after which it is known from where its partitions are to be read later.

    Attributes:
        partitions: The partitions that it reads.
        is_mixed: As of :class:`RowBatch`.
    """

    partitions: frozenset[int]
    is_mixed: bool

    def outcome(self) -> Changes:
        """What the nodes say after the last row."""


@dataclass(frozen=True)
class SnapshotTarget:
    """Where the batches of an epoch are cached for later epochs.

    Attributes:
        snapshots: All snapshots of the process.
        name: Name of the dataset.
        limit: Returns the bytes that all snapshots may have together.
    """

    snapshots: Snapshots
    name: str
    limit: Callable[[], int]


@dataclass(frozen=True)
class RowOrder:
    """The order of the rows of an epoch.

    Attributes:
        epoch: Number of the epoch.
        seed: Determines the order, together with the number of the epoch.
        window: Number of rows that are shuffled together; 0: determined by their size; None: nothing is shuffled.
        base: Number of the epoch whose cached rows are shuffled; -1: the rows are read.
        start: Where the epoch begins; the first row if rows are shuffled.
    """

    epoch: int = 0
    seed: int = 0
    window: int | None = None
    base: int = -1
    start: EpochStart = BEGIN


@dataclass(frozen=True)
class Resumption:
    """Rows of an epoch that earlier processes have used.

    Attributes:
        rows: Number of rows that this worker has used, including rows that fill an epoch.
        filled: Number of these rows that fill the epoch.
        used: The rows that all workers have used, without rows that fill. Empty: rows are not identified, and the first
            ``rows`` rows have been used.
        lead: Number of rows that come before the unused ones, and that the consumer leaves out: it begins with a whole
            batch, of which it has used a part. They stand for the used ones, and may be any rows.
    """

    rows: int
    filled: int = 0
    used: tuple[UsedRows, ...] = ()
    lead: int = 0

    def find(self, identities: Array) -> Array:
        """Which rows have been used: bool, for identities of shape [rows, 2]."""
        found = np.zeros(len(identities), bool)
        for part in self.used:
            found |= part.find(identities)
        return found


@dataclass(frozen=True)
class Epoch:
    """The rows that one iterator reads.

    Attributes:
        streams: Opens the streams of an epoch. Arguments: its number; where it begins; a function that says whether a
            batch of this size will be cached, or None without a snapshot; whether partitions may be followed to new
            owners, which changes the order of rows.
        layout: The expected layout of each column.
        length: Number of rows.
        order: Order of rows.
        subject: Names the rows in error texts, such as "cache 'x'".
        target: Where batches are cached; None: nowhere.
        snapshot: The snapshot that existed when the epoch began.
        plan: Stored with the snapshot that this epoch writes.
        zeros: Schema of rows of weight 0.
        warn: Logs that the number of rows differs from the counted one, once for a dataset.
        changes: Opens the streams of what has changed since positions of partitions. None: a snapshot is not refreshed,
            and streams have no identities. Otherwise ``streams`` returns such streams too.
        agree: Returns the number of rows on which the workers agree when the epoch begins. Arguments: the rows of this
            process, -1 if they are not known; a function that waits some seconds. None: it is ``length``.
        extend: Returns by how many rows the workers extend the epoch, at the end on which they have agreed. Arguments:
            how often it was called; further rows that this process has; a function that waits some seconds; whether the
            consumer waits for the next batch. None: further rows are left out.
        set_own: Called with the rows of this process, without rows that fill the epoch, when all have arrived.
        end: Called when the length is known, with it and that number.
        counts_by_reading: Whether ``agree`` needs the number of rows, which is known only after reading.
        resumption: What earlier processes have used of this epoch; None: nothing.
        begin: Called when reading begins, or begins again, with what will have been given; None: rows without
            identities.
        set_window: Called with the number of rows of a window, when it was determined by their size.
    """

    streams: Callable[[int, EpochStart, Keep | None, bool], Sequence[Stream]]
    layout: tuple[Column, ...]
    length: EpochLength
    order: RowOrder
    subject: str
    target: SnapshotTarget | None = None
    snapshot: Snapshot | None = None
    plan: Any = None
    zeros: pa.Schema | None = None
    warn: Callable[[str], None] = _log.warning
    changes: Callable[[Mapping[int, Position]], Sequence[IdentifiedStream]] | None = None
    agree: Callable[[int, Callable[[float], None]], EpochLength] | None = None
    extend: Callable[[int, int, Callable[[float], None], Callable[[], bool]], int] | None = None
    set_own: Callable[[int], None] = lambda rows: None
    end: Callable[[EpochLength, int], None] = lambda length, arrived: None
    counts_by_reading: bool = False
    resumption: Resumption | None = None
    begin: Callable[[Emission], None] = lambda emission: None
    set_window: Callable[[int], None] = lambda rows: None

    def batches(self, threads: PrefetchThreads, is_restart: bool) -> Iterator[RowBatch]:
        """The batches from the first row on.

        Args:
            threads: The threads that read.
            is_restart: Whether the consumer has had some of the rows, so that all must come in the same order.

        Raises:
            TensorFlowIgniteError: If a node fails, or other rows arrive than were expected.
        """
        reading = _EpochPass(self, threads, is_restart)
        if self.order.window is None:
            return reading.batches()
        # Shuffling copies; a thread does it while the consumer is busy.
        ahead = threads.start(self._converted(reading.batches()), lambda: None)
        reading.is_awaited = lambda: ahead.is_awaited
        return iter(ahead)

    def _converted(self, batches: Batches) -> Batches:
        with closing(batches):
            for batch in batches:
                yield replace(batch, arrays=arrays_of(batch.records, self.layout, batch.real))


_FROM_THE_BEGINNING = Resumption(0)


class _EpochPass:
    """Reads an epoch from its start.

    Attributes:
        is_awaited: Whether the consumer waits for the next batch.
    """

    def __init__(self, epoch: Epoch, threads: PrefetchThreads, is_restart: bool) -> None:
        self._epoch = epoch
        self._threads = threads
        self._is_restart = is_restart
        # After a restart, rather the one that this epoch has refreshed.
        known = epoch.target.snapshots.get(epoch.target.name) if epoch.target and is_restart else None
        self._snapshot = known or epoch.snapshot
        self._writer: SnapshotWriter | None = None
        self._length = epoch.length
        self._numbers = epoch.order.seed, epoch.order.epoch, _ROWS
        self._emission = Emission(self._numbers)
        epoch.begin(self._emission)
        self._resumption = epoch.resumption or _FROM_THE_BEGINNING
        # Rows of all passes, used ones among them, and windows.
        self._arrived = self._windows = 0
        # How often the workers have agreed on further rows, and whether none has any.
        self._extensions, self._is_over = 0, False
        # Rows of the whole epoch, without those that fill it.
        self._own = 0
        self.is_awaited: Callable[[], bool] = lambda: True

    def batches(self) -> Batches:
        """The rows of the epoch's length, without those that have been used."""
        resumption = self._resumption
        if resumption.rows and not resumption.used:
            return _after(self._all_batches(), resumption.rows)
        return self._all_batches()

    def _all_batches(self) -> Batches:
        yield from self._filled_batches()
        if self._epoch.extend is not None:
            self._end()

    def _filled_batches(self) -> Batches:
        self._refresh()
        if self._epoch.agree is not None:
            self._length = self._epoch.agree(self._own_rows(), self._threads.sleep)
        length = self._length
        exact = length.fill not in (OPEN, STRICT)
        yielded = 0
        lead = self._resumption.lead
        # Rows that have filled the epoch before follow the last own row.
        filled = self._resumption.filled
        for number in count():
            arrived = 0
            with closing(self._pass(number)) as batches:
                for batch in batches:
                    if lead and batch.rows:
                        yield batch.take(np.arange(lead) % batch.rows)
                        yielded, lead = lead, 0
                    arrived += batch.rows
                    if number and filled and yielded == self._resumption.lead:
                        before, filled = filled, filled - min(filled, batch.rows)
                        batch = batch.slice(before - filled, batch.rows - before + filled)
                    while batch.rows and (not exact or self._has_room(yielded, batch.rows if number == 0 else 0)):
                        part = batch.slice(0, self._length.rows - yielded) if exact else batch
                        batch = batch.slice(part.rows, batch.rows - part.rows)
                        yielded += part.rows
                        yield part
                    if exact and yielded == self._length.rows and not (number == 0 and self._must_read_all()):
                        if number == 0:
                            self._end_of_own(max(arrived, length.own - self._resumption.lead))
                            return
                        if not self._has_room(yielded, 0):
                            return
            if number == 0:
                self._emission.complete()
                self._compare(arrived + self._resumption.lead)
                self._end_of_own(arrived)
            if not exact or not self._has_room(yielded, 0):
                return
            if length.fill == PAD:
                while self._has_room(yielded, 0):
                    rows = self._length.rows - yielded
                    yield from self._zeros(rows)
                    yielded += rows
                return
            if not arrived and not self._arrived:
                raise errors.RowMismatchError(
                    f"{self._epoch.subject} has no row any more, {length.own} were counted. An epoch of this worker "
                    f"has {length.rows} rows, as on all workers; missing rows are filled by repeating those that "
                    "exist. Load rows, and start the job again"
                )

    def _has_room(self, yielded: int, rows: int) -> bool:
        """Whether the epoch is longer than the rows before; at its end, the workers extend it if one has further rows.

        Args:
            yielded: Number of rows before.
            rows: Number of further rows of this process.
        """
        extend = self._epoch.extend
        if yielded == self._length.rows and extend is not None and not self._is_over:
            further = extend(self._extensions, rows, self._threads.sleep, self.is_awaited)
            self._extensions += 1
            self._is_over = not further
            self._length = replace(self._length, rows=self._length.rows + further)
        return yielded < self._length.rows

    def _end_of_own(self, arrived: int) -> None:
        """All rows of this process have arrived; rows that fill the epoch may follow."""
        resumption = self._resumption
        before = resumption.rows + resumption.lead - resumption.filled if resumption.used else 0
        self._own = arrived + before
        self._epoch.set_own(self._own)
        if self._epoch.extend is None:
            self._end()

    def _end(self) -> None:
        """Reports the length and the rows of the whole epoch."""
        length = self._length
        if self._resumption.used:
            length = replace(length, rows=length.rows + self._resumption.rows if length.rows >= 0 else -1)
        self._epoch.end(length, self._own)

    def _own_rows(self) -> int:
        """The rows of this process, before an epoch begins; -1: not known."""
        if self._resumption.used:
            return self._unused_rows()
        if self._snapshot is None and self._epoch.counts_by_reading:
            rows = sum(batch.rows for batch in self._read(self._epoch.order.epoch))
            # Without a snapshot the rows are read a second time.
            self._snapshot = self._cached()
            return self._snapshot.rows if self._snapshot else rows
        return self._snapshot.rows if self._snapshot else -1

    def _unused_rows(self) -> int:
        found, known = self._resumption.lead, self._snapshot
        for batch in known.batches if known else self._read(self._epoch.order.epoch):
            found += batch.rows
            if batch.identities is not None:
                found -= int(np.count_nonzero(self._resumption.find(batch.identities)))
        self._snapshot = known or self._cached()
        return found

    def _refresh(self) -> None:
        """Brings the snapshot up to date; without one, the rows are read."""
        target, snapshot = self._epoch.target, self._snapshot
        if target is None or snapshot is None or not snapshot.positions or self._is_restart:
            return
        limit = target.limit()
        unknown = sum(not position.feed for position in snapshot.positions.values())
        # Most rows would be read again, and be in memory several times meanwhile.
        is_too_large = 2 * unknown > len(snapshot.positions) and REFRESH_COPIES * snapshot.size > limit
        change: Callable[[Snapshot], Snapshot | None] = (lambda _: None) if is_too_large else self._changed
        self._snapshot = target.snapshots.refresh(target.name, snapshot, change, limit, self._epoch.subject)

    def _changed(self, snapshot: Snapshot) -> Snapshot | None:
        """The snapshot after what has changed since it was read."""
        streams, rows = self._read_changes(snapshot.positions)
        changes = together([stream.outcome() for stream in streams])
        # A cache that was created again may have fewer partitions.
        gone = snapshot.positions.keys() - changes.positions.keys()
        newer = snapshot.changed(replace(changes, whole=changes.whole | gone), rows)
        if newer is None or newer.batches is snapshot.batches:
            return newer
        batches = tuple(self._with_arrays(batch) for batch in newer.batches)
        return replace(newer, batches=batches, positions=changes.positions)

    def _read_changes(self, positions: Mapping[int, Position]) -> tuple[Sequence[IdentifiedStream], list[RowBatch]]:
        """What has changed; read again where the plan was wrong, since no row of it has been given yet."""
        assert self._epoch.changes is not None
        deadline: float | None = None
        while True:
            try:
                streams = self._epoch.changes(positions)
                return streams, list(self._prefetched(streams))
            except _OUTDATED as error:
                # A node may have died after the last refresh; the others need a while to notice it.
                if deadline is None:
                    settling = isinstance(error, errors.ConnectionFailedError)
                    deadline = time.monotonic() + SECONDS_TO_SETTLE * settling
                elif time.monotonic() >= deadline:
                    raise
                else:
                    self._threads.sleep(SECONDS_BETWEEN_TRIES)

    def _with_arrays(self, batch: RowBatch) -> RowBatch:
        if batch.arrays is not None or self._epoch.order.window is not None:
            return batch
        return replace(batch, arrays=arrays_of(batch.records, self._epoch.layout))

    def _must_read_all(self) -> bool:
        """Whether rows beyond the length are read: for a snapshot, or because there should be none, or may be some."""
        return self._writer is not None or self._length.own == self._length.rows or self._epoch.extend is not None

    def _compare(self, arrived: int) -> None:
        length, subject = self._length, self._epoch.subject
        if self._epoch.agree is not None:
            self._report(arrived)
            return
        if length.own < 0 or arrived == length.own or length.fill == OPEN:
            return
        if length.fill == STRICT:
            raise errors.RowMismatchError(
                f"{subject} was not read as expected: {arrived} rows arrived, {length.own} were expected. The number "
                "of rows of a dataset is fixed when it is made. Make the dataset again once the cache is no longer "
                "written, or read whatever rows exist in each epoch with snapshot=False"
            )
        self._epoch.warn(
            f"{subject} is written while it is read, or leaves out rows that do not fit "
            f'(on_mismatch="skip"): {arrived} rows arrived, {length.own} were expected. An epoch has {length.rows} '
            "rows on every worker; missing rows are filled, further rows are left out"
        )

    def _report(self, arrived: int) -> None:
        rows, fill = self._length.rows, self._length.fill
        if arrived == rows:
            return
        difference = (
            f"{arrived - rows} are left out, and the next epoch begins with them"
            if arrived > rows
            else f"{rows - arrived} rows of weight 0 are added"
            if fill == PAD
            else f"{rows - arrived} are repeated"
        )
        self._epoch.warn(
            f"{self._epoch.subject} has {arrived} rows in epoch {self._epoch.order.epoch}; an epoch has {rows} on "
            f"every worker, as agreed when it began: {difference}. This is said once"
        )

    def _pass(self, number: int) -> Batches:
        order = self._epoch.order
        if order.window is None:
            return self._plain(number)
        if order.base < 0:
            return self._shuffled(number, self._cached_or_read(order.epoch))
        batches = self._base_batches()
        if _has_identities(batches):
            return self._units(number, batches)
        return self._shuffled(number, iter(shuffling.order(batches, order.seed, order.epoch, _BATCHES)))

    def _plain(self, number: int) -> Batches:
        # In a rotated order, the partition with which a stream begins may come again at the end.
        divided: dict[frozenset[int], int] | None = {} if self._epoch.order.start.rows else None
        with closing(self._cached_or_read(self._epoch.order.epoch)) as batches:
            for batch in batches:
                self._arrived += batch.rows
                if batch.identities is None or number:
                    yield batch
                    continue
                if self._resumption.used:
                    used = self._resumption.find(batch.identities)
                    batch = batch.take(np.flatnonzero(~used)) if used.any() else batch
                if batch.rows:
                    self._emission.add_batch(batch.rows, emission.runs(batch, divided))
                    yield batch

    def _shuffled(self, number: int, batches: Iterator[RowBatch]) -> Batches:
        for held in groups(batches, self._window_rows):
            yield from self._window(number, held)
            # Its memory is free while the next window is read.
            del held

    def _units(self, number: int, batches: Sequence[RowBatch]) -> Batches:
        """The units of a snapshot, in windows of whole ones."""
        order, found = self._epoch.order, UnitRows(batches)
        rows = self._window_rows(batches[0])
        held: list[RowBatch] = []
        units: list[Unit] = []
        for unit in shuffling.order(found.units(rows), order.seed, order.epoch, _BATCHES):
            held += found.rows(unit, *self._numbers)
            units.append(unit)
            if sum(batch.rows for batch in held) >= rows:
                yield from self._window(number, held, frozenset(units))
                held, units = [], []
        if held:
            yield from self._window(number, held, frozenset(units))

    def _window(self, number: int, held: Sequence[RowBatch], units: frozenset[Unit] = frozenset()) -> Batches:
        """The rows of a window in an order of their identities, or in a random order if they have none."""
        numbers = (*self._numbers, number) if number else self._numbers
        rows = sum(batch.rows for batch in held)
        self._arrived += rows
        known = [batch.identities for batch in held if batch.identities is not None]
        if not known:
            self._windows += 1
            yield from _pieces(held, shuffling.permutation(rows, *numbers, self._windows))
            return
        identities = np.concatenate(known)
        priorities = shuffling.priorities(identities[:, 0], *numbers)
        indices = np.argsort(priorities)
        if not number:
            if self._resumption.used:
                indices = indices[~self._resumption.find(identities)[indices]]
            if len(indices):
                found = [] if units else [run for batch in held for run in emission.runs(batch)]
                self._emission.add_window(len(indices), priorities[indices], found, units)
        yield from _pieces(held, indices)

    def _window_rows(self, first: RowBatch) -> int:
        window = self._epoch.order.window
        if not window:
            window = shuffling.window_of(first.records)
            self._epoch.set_window(window)
        return window

    def _base_batches(self) -> tuple[RowBatch, ...]:
        """All rows; read again if they are not cached any more."""
        base, snapshot = self._epoch.order.base, self._snapshot
        if snapshot is None or (snapshot.epoch != base and not _has_identities(snapshot.batches)):
            self._snapshot = snapshot = Snapshot(tuple(self._read(base)), base, None)
        return snapshot.batches

    def _cached_or_read(self, epoch: int) -> Batches:
        """The batches in the order of an epoch, from memory if they are cached."""
        start, is_plain, target = self._epoch.order.start, self._epoch.order.window is None, self._epoch.target
        snapshot = self._snapshot or self._cached()
        if snapshot is None and start != BEGIN and target and target.snapshots.can_begin(target.name):
            # In the order of the first epoch, so that later ones are those of a process that has read all of them.
            with closing(self._read(epoch)) as batches:
                for _ in batches:
                    if self._writer is None:
                        break
            snapshot = self._cached()
        if snapshot is not None and (is_plain or snapshot.epoch == epoch):
            cached = with_later_rows(snapshot.batches) if is_plain else snapshot.batches
            return (batch for batch in _from(tuple(cached), start.rows))
        return self._read(epoch, start)

    def _cached(self) -> Snapshot | None:
        target = self._epoch.target
        return target.snapshots.get(target.name) if target else None

    def _read(self, epoch: int, start: EpochStart = BEGIN) -> Batches:
        """The batches from their nodes; they become a snapshot if all arrive."""
        target = self._epoch.target
        writer = target.snapshots.begin(target.name, target.limit(), self._epoch.subject) if target else None
        self._writer = writer
        try:
            streams = self._epoch.streams(epoch, start, writer.is_active if writer else None, not self._is_restart)
            with closing(self._prefetched(streams)) as batches:
                for batch in batches:
                    if writer is not None and not writer.add(batch):
                        writer = self._writer = None
                    yield batch
            if writer is not None:
                outcomes = [stream.outcome() for stream in streams if isinstance(stream, IdentifiedStream)]
                positions = together(outcomes).positions if self._epoch.changes is not None else {}
                writer.complete(epoch, self._epoch.plan, positions)
        finally:
            if writer is not None:
                writer.abandon()
            self._writer = None

    def _prefetched(self, streams: Sequence[Stream]) -> Batches:
        """The batches of streams in turn, which threads read; these end with the generator."""
        sources: list[Prefetcher[RowBatch]] = []
        try:
            for stream in streams:
                sources.append(self._threads.start(self._received(stream), stream.cancel))
            yield from round_robin(sources)
        finally:
            for source in sources:
                source.cancel()

    def _received(self, stream: Stream) -> Batches:
        layout = self._epoch.layout
        checked: pa.Schema | None = None
        for records in stream:
            identities, partitions, is_mixed = None, frozenset[int](), False
            if isinstance(stream, IdentifiedStream):
                partitions, is_mixed = stream.partitions, stream.is_mixed
                # Rows of a SELECT, and rows of a node of an earlier version, have none.
                if records.schema.names[-len(IDENTITY_COLUMNS) :] == [*IDENTITY_COLUMNS]:
                    records, identities = split(records)
            if checked is None or not records.schema.equals(checked):
                check_layout(records.schema, layout, self._epoch.subject)
                checked = records.schema
            arrays = arrays_of(records, layout) if self._epoch.order.window is None else None
            yield RowBatch(records, arrays, True, identities, partitions, is_mixed)

    def _zeros(self, rows: int) -> Batches:
        assert self._epoch.zeros is not None
        step = max(1, ZEROS_BYTES // max(1, zeros(self._epoch.zeros, 1).nbytes))
        for begin in range(0, rows, step):
            yield RowBatch(zeros(self._epoch.zeros, min(step, rows - begin)), None, False)


def _has_identities(batches: Sequence[RowBatch]) -> bool:
    return bool(batches) and all(batch.identities is not None for batch in batches)


def _pieces(window: Sequence[RowBatch], indices: Array) -> Batches:
    for records in shuffling.pieces([batch.records for batch in window], indices):
        yield RowBatch(records)


def _after(batches: Batches, rows: int) -> Batches:
    """The rows after a number of them."""
    with closing(batches):
        for batch in batches:
            left = min(rows, batch.rows)
            rows -= left
            if left < batch.rows:
                yield batch.slice(left, batch.rows - left)


def _from(batches: Sequence[RowBatch], begin: int) -> Sequence[RowBatch]:
    """The batches from a row on, and then those before it."""
    for index, batch in enumerate(batches):
        if begin < batch.rows:
            if not begin:
                return [*batches[index:], *batches[:index]]
            rest, first = batch.slice(begin, batch.rows - begin), batch.slice(0, begin)
            return [rest, *batches[index + 1 :], *batches[:index], first]
        begin -= batch.rows
    return batches


def zeros(schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Rows of zeros, empty texts and empty lists."""

    def column(field: pa.Field) -> pa.Array:
        stored = field.with_type(storage_of(field.type))
        return pa.repeat(pa.scalar(zero_of(stored), stored.type), rows).cast(field.type)

    return pa.RecordBatch.from_arrays([column(field) for field in schema], schema=schema)
