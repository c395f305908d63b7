"""An epoch that other processes continue: each row is used once, and in the same order by the same workers."""

from __future__ import annotations

import functools
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tensorflow_ignite.data.epochs import shuffling
from tensorflow_ignite.data.epochs.changes import Changes
from tensorflow_ignite.data.epochs.emission import Emission
from tensorflow_ignite.data.epochs.epoch import Epoch, Resumption, RowOrder, SnapshotTarget
from tensorflow_ignite.data.epochs.prefetch import EpochReader
from tensorflow_ignite.data.epochs.row_batch import RowBatch
from tensorflow_ignite.data.epochs.rows_per_worker import (
    BEGIN,
    MILLION,
    NOT_COUNTED,
    PAD,
    WRAP,
    EpochLength,
    EpochStart,
)
from tensorflow_ignite.data.epochs.snapshots import Snapshots
from tensorflow_ignite.data.epochs.tensor_schema import columns_of
from tensorflow_ignite.data.epochs.unit_rows import with_later_rows
from tensorflow_ignite.data.epochs.used_rows import UsedRows

SCHEMA = pa.schema([pa.field("id", pa.int64())])
COLUMNS = columns_of(SCHEMA)
PARTITIONS = 12
ORDERS = {"plain": None, "small windows": 7, "large windows": 64, "one window": 1000}

Rows = Mapping[int, Sequence[int]]


def identities_of(numbers: Sequence[int], partition: int) -> Any:
    """As a node makes them of keys: any numbers, and that of the partition."""
    high = shuffling.priorities(np.array(numbers, np.int64), 99).view(np.int64)
    low = (shuffling.priorities(np.array(numbers, np.int64), 98).view(np.int64) & ~0xFFFF) | partition
    return high, low


def rows_of(begin: int, end: int) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
    for row in range(begin, end):
        # Of different sizes; the first partition is large, the last one is empty.
        found[min(row % PARTITIONS, row % 5) % (PARTITIONS - 1)].append(row)
    return found


class _Stream:
    def __init__(self, rows: Rows, order: Sequence[int], size: int, is_mixed: bool) -> None:
        self.partitions, self.is_mixed = frozenset(order), is_mixed
        self._rows, self._order, self._size = rows, order, size

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        values = [(row, partition) for partition in self._order for row in self._rows[partition]]
        if self.is_mixed:
            # As a database finds them.
            values.sort(key=lambda value: value[0] * 7919 % 1009)
        for begin in range(0, len(values), self._size):
            part = values[begin : begin + self._size]
            if self.is_mixed:
                part.sort(key=lambda value: value[1])
            high, low = zip(*(identities_of([row], partition) for row, partition in part), strict=True)
            columns = [[row for row, _ in part], np.concatenate(high), np.concatenate(low)]
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, pa.int64()) for column in columns], names=["id", "_identity_high", "_identity_low"]
            )

    def cancel(self) -> None:
        pass

    def outcome(self) -> Changes:
        return Changes()


class Exchange:
    """The agreement of workers on further rows."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._changed = threading.Condition()
        self._rounds: list[dict[int, int]] = []

    def extend(self, worker: int, number: int, rows: int, sleep: Any, is_awaited: Any) -> int:
        with self._changed:
            if number == len(self._rounds):
                self._rounds.append({})
            of_round = self._rounds[number]
            assert worker not in of_round
            of_round[worker] = rows
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: len(of_round) == self._workers, 20)
            return max(of_round.values())

    @property
    def is_complete(self) -> bool:
        further = [max(of_round.values()) for of_round in self._rounds]
        return all(further[:-1]) and further[-1] == 0 and len(self._rounds[-1]) == self._workers


class Worker:
    """A process that reads some partitions, from one or several streams."""

    def __init__(
        self, rows: Rows, partitions: Sequence[int], streams: int = 2, size: int = 9, is_mixed: bool = False
    ) -> None:
        self.rows, self.streams, self.size, self.is_mixed = rows, streams, size, is_mixed
        self.partitions = list(partitions)
        self.snapshots = Snapshots()
        self.emission: Emission | None = None
        self.begun: Callable[[Emission], None] = lambda emission: None
        self.ended = 0, 0
        self.extend: Any = None

    def _streams(self, epoch: int, start: EpochStart, keep: Any, follow: bool) -> list[Any]:
        order = shuffling.order(self.partitions, 5, epoch) if self.window is not None else self.partitions
        begin = len(order) * start.share // MILLION
        order = [*order[begin:], *order[:begin]]
        parts = [order[number :: self.streams] for number in range(self.streams)]
        return [_Stream(self.rows, part, self.size, self.is_mixed) for part in parts]

    def read(
        self,
        number: int,
        window: int | None,
        resumption: Resumption | None = None,
        *,
        length: EpochLength = NOT_COUNTED,
        caches: bool = True,
        start: EpochStart = BEGIN,
    ) -> list[int]:
        """The rows of an epoch; those that only fill it are -1."""
        self.window = window
        target = SnapshotTarget(self.snapshots, "d", lambda: 1 << 40) if caches else None
        known = self.snapshots.get("d")
        base = known.epoch if known and window is not None else -1
        order = RowOrder(number, 5, window, base, start)
        epoch = Epoch(self._streams, COLUMNS, length, order, "c", target, known, zeros=SCHEMA)
        epoch = replace(epoch, resumption=resumption, begin=self._begin, end=self._end)
        if length is not NOT_COUNTED:
            epoch = replace(epoch, agree=lambda own, sleep: replace(length, own=max(own, length.own)))
            epoch = replace(epoch, extend=self.extend)
        return self._all(epoch)

    def _begin(self, emission: Emission) -> None:
        self.emission = emission
        self.begun(emission)

    def _end(self, length: EpochLength, arrived: int) -> None:
        self.ended = length.rows, arrived

    def _all(self, epoch: Epoch) -> list[int]:
        reader, found = EpochReader(epoch.batches, COLUMNS), list[int]()
        while (batch := reader.take(len(found))) is not None:
            assert batch.arrays is not None
            found += batch.arrays[0].tolist() if batch.real else [-1] * batch.rows
        reader.close()
        reader.join(20)
        return found

    def used(self, rows: int) -> UsedRows:
        assert self.emission is not None
        found = self.emission.used(rows)
        assert found is not None
        return UsedRows.from_bytes(found.to_bytes())


@pytest.mark.parametrize("window", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("later", [False, True], ids=["first epoch", "epoch of a snapshot"])
@pytest.mark.parametrize("is_mixed", [False, True], ids=["cache", "condition"])
def test_another_process_goes_on_with_the_next_row_in_the_same_order(
    window: int | None, later: bool, is_mixed: bool
) -> None:
    rows = rows_of(0, 300)
    worker = Worker(rows, range(PARTITIONS), is_mixed=is_mixed)
    if later:
        worker.read(0, window)
    whole = worker.read(1, window)
    assert sorted(whole) == list(range(300))
    for taken in (1, 7, 8, 100, 137, 299):
        other = Worker(rows, range(PARTITIONS), is_mixed=is_mixed)
        if later:
            other.read(0, window)
        assert other.read(1, window, Resumption(taken, 0, (worker.used(taken),))) == whole[taken:]


@pytest.mark.parametrize("is_mixed", [False, True], ids=["cache", "condition"])
@pytest.mark.parametrize("caches", [True, False], ids=["snapshot", "no snapshot"])
@pytest.mark.parametrize("window", ORDERS.values(), ids=ORDERS)
def test_other_workers_read_the_rows_that_the_epoch_has_not_used_once(
    window: int | None, caches: bool, is_mixed: bool
) -> None:
    """Three workers become two, with partitions of any of them, while rows are put and removed."""
    random.seed(7)
    before = rows_of(0, 400)
    workers = [Worker(before, range(number, PARTITIONS, 3), is_mixed=is_mixed) for number in range(3)]
    read = [worker.read(0, window, caches=caches) for worker in workers]
    for _ in range(5):
        taken = [random.randrange(len(rows) + 1) for rows in read]
        used = tuple(worker.used(number) for worker, number in zip(workers, taken, strict=True))
        gone = set(random.sample(range(400), 40))
        after = {number: [row for row in rows if row not in gone] + [1000 + number] for number, rows in before.items()}
        for rows in after.values():
            # A new row may come anywhere.
            rows.sort(key=lambda row: row * 7919 % 1009)
        others = [Worker(after, range(number, PARTITIONS, 2), 3, 11, is_mixed) for number in range(2)]
        had = [row for rows, number in zip(read, taken, strict=True) for row in rows[:number]]
        now = [row for worker in others for row in worker.read(0, window, Resumption(0, 0, used), caches=caches)]
        counts = {row: had.count(row) + now.count(row) for row in range(400) if row not in gone}
        assert set(counts.values()) == {1}


@pytest.mark.parametrize("window", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("fill", [WRAP, PAD])
@pytest.mark.parametrize("lead", [0, 5, 40])
def test_rows_that_fill_an_epoch_go_on_where_they_were(window: int | None, fill: str, lead: int) -> None:
    """Also if the consumer begins with a whole batch, and leaves out ``lead`` rows."""
    rows = rows_of(0, 90)
    length = EpochLength(-1, 130, fill)
    worker = Worker(rows, range(PARTITIONS))
    whole = worker.read(0, window, length=length)
    assert len(whole) == 130
    for taken in (0, 50, 90, 104, 129):
        other, before = Worker(rows, range(PARTITIONS)), min(lead, taken)
        used = (worker.used(taken),)
        resumption = Resumption(taken - before, max(0, taken - 90), used, before) if taken else None
        rest = other.read(0, window, resumption, length=replace(length, rows=130 - taken + before))
        assert rest[before:] == whole[taken:]
        # All rows of the worker, and none that fills.
        assert other.ended == (130, 90)


@pytest.mark.parametrize("caches", [True, False], ids=["snapshot", "no snapshot"])
@pytest.mark.parametrize("window", ORDERS.values(), ids=ORDERS)
def test_rows_that_were_put_meanwhile_do_not_move_the_rows_that_a_consumer_leaves_out(
    window: int | None, caches: bool
) -> None:
    worker = Worker(rows_of(0, 300), range(PARTITIONS))
    whole = worker.read(0, window, caches=caches)
    for taken in (5, 100, 297, 300):
        gone = set(random.Random(taken).sample(range(300), 40))
        rows = {number: [row for row in part if row not in gone] for number, part in rows_of(0, 400).items()}
        other = Worker(rows, range(PARTITIONS))
        resumption = Resumption(taken - 4, 0, (worker.used(taken),), 4)
        read = other.read(0, window, resumption, length=EpochLength(-1, 420, PAD), caches=caches)
        assert len(read) == 420
        counts = Counter(whole[:taken] + read[4:])
        assert {counts[row] for row in range(300) if row not in gone} == {1}
        used = (worker.used(taken), other.used(2))
        assert Worker(rows, range(PARTITIONS)).read(0, window, Resumption(0, 0, used)) == [
            row for row in read[6:] if row >= 0
        ]


@pytest.mark.parametrize("window", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("fill", [WRAP, PAD])
@pytest.mark.parametrize("later", [[0, 0, 0], [7, 0, 0], [3, 40, 0], [150, 90, 120]])
def test_workers_extend_an_epoch_by_rows_that_were_put_after_they_had_counted(
    window: int | None, fill: str, later: list[int]
) -> None:
    counts, exchanged = [30, 20, 10], Exchange(3)
    rows = [rows_of(1000 * number, 1000 * number + counts[number] + later[number]) for number in range(3)]

    def read(number: int) -> tuple[list[int], tuple[int, int]]:
        worker = Worker(rows[number], range(PARTITIONS))
        worker.extend = functools.partial(exchanged.extend, number)
        return worker.read(0, window, length=EpochLength(counts[number], 30, fill), caches=False), worker.ended

    with ThreadPoolExecutor(3) as threads:
        found, ended = map(list, zip(*threads.map(read, range(3)), strict=True))
    most = max(counts[number] + later[number] for number in range(3))
    assert {len(worker) for worker in found} == {max(30, most)}
    for number, worker in enumerate(found):
        own = counts[number] + later[number]
        # Rows that fill follow the last own one.
        assert sorted(worker[:own]) == list(range(1000 * number, 1000 * number + own))
        assert set(worker[own:]) <= ({-1} if fill == PAD else set(worker[:own]))
    assert ended == [(max(30, most), counts[number] + later[number]) for number in range(3)]
    # All have exchanged the same numbers of times, up to a time at which none had further rows.
    assert exchanged.is_complete


@pytest.mark.parametrize("is_mixed", [False, True], ids=["cache", "condition"])
@pytest.mark.parametrize("begin", [1, 50, 131, 299])
def test_an_epoch_that_begins_with_the_rows_that_the_last_one_left_out_goes_on(begin: int, is_mixed: bool) -> None:
    rows = rows_of(0, 300)
    worker = Worker(rows, range(PARTITIONS), 3, is_mixed=is_mixed)
    worker.read(0, None)
    start = EpochStart(begin, begin * MILLION // 300)
    whole = worker.read(1, None, start=start)
    assert sorted(whole) == list(range(300))
    assert Worker(rows, range(PARTITIONS), 3, is_mixed=is_mixed).read(1, None, start=start) == whole
    for taken in (1, 100, 299):
        resumption = Resumption(taken, 0, (worker.used(taken),))
        same = Worker(rows, range(PARTITIONS), 3, is_mixed=is_mixed)
        assert same.read(1, None, resumption, start=start) == whole[taken:]
        assert same.read(2, None, start=start) == whole
        for caches in (True, False):
            rest = Worker(rows, range(PARTITIONS)).read(1, None, resumption, start=start, caches=caches)
            assert sorted(whole[:taken] + rest) == list(range(300))


@pytest.mark.parametrize("window", ORDERS.values(), ids=ORDERS)
def test_an_epoch_goes_on_again_and_again(window: int | None) -> None:
    rows = rows_of(0, 300)
    whole = Worker(rows, range(PARTITIONS)).read(0, window)
    found, used, had = list[int](), tuple[UsedRows, ...](), 0
    for step in (13, 50, 1, 99, 200):
        worker = Worker(rows, range(PARTITIONS))
        read = worker.read(0, window, Resumption(had, 0, used) if used else None)
        found += read[:step]
        had += step
        part = worker.used(min(step, len(read)))
        used = (used[0].union(part),) if used else (part,)
    assert found == whole


def test_a_large_partition_of_a_snapshot_is_shuffled_in_parts() -> None:
    rows = {number: list(range(1000)) if number == 3 else [] for number in range(PARTITIONS)}
    worker = Worker(rows, range(PARTITIONS), size=50)
    worker.read(0, 100)
    whole = worker.read(1, 100)
    assert sorted(whole) == list(range(1000))
    assert max(np.bincount(np.array(whole[:100]) // 100)) < 40
    used = worker.used(555)
    assert len(used.to_bytes()) < 2000
    other = Worker(rows, range(PARTITIONS), size=50)
    other.read(0, 100)
    assert other.read(1, 100, Resumption(555, 0, (used,))) == whole[555:]


def test_what_is_stored_does_not_grow_with_the_rows() -> None:
    sizes = []
    for count in (2_000, 20_000):
        worker = Worker(rows_of(0, count), range(PARTITIONS), size=500)
        worker.read(0, None)
        worker.read(1, None)
        worker.read(2, 100_000)
        sizes.append(len(worker.used(count // 2).to_bytes()))
    assert sizes[1] < 1.2 * sizes[0]


def test_a_consumer_that_is_far_behind_is_reported() -> None:
    emission = Emission((1,))
    for _ in range(40):
        emission.add_window(100_000, np.arange(100_000, dtype=np.uint64), units=frozenset())
    assert emission.used(5) is None
    assert emission.used(3_900_000) is not None


@pytest.mark.parametrize("window", ORDERS.values(), ids=ORDERS)
def test_it_is_said_when_an_epoch_does_not_begin_with_the_rows_of_before(window: int | None) -> None:
    worker = Worker(rows_of(0, 300), range(PARTITIONS))
    worker.read(0, window)
    assert worker.emission is not None
    given = worker.emission.given()
    assert given[0] == 300
    for rows, changed in ((rows_of(0, 300), 0), (rows_of(1, 301), 1), (rows_of(0, 299), 1), (rows_of(0, 400), 1)):
        said, other = list[int](), Worker(rows, range(PARTITIONS))
        other.begun = lambda emission, said=said: emission.expect(given, lambda: said.append(1))
        other.read(0, window)
        assert len(said) == changed


def test_rows_that_were_put_later_are_given_with_their_partition() -> None:
    """So that at most one partition of a stream is partly used."""

    def batch(rows: Sequence[tuple[int, int]], partitions: frozenset[int]) -> RowBatch:
        high, low = zip(*(identities_of([row], partition) for row, partition in rows), strict=True)
        records = pa.RecordBatch.from_arrays([pa.array([row for row, _ in rows], pa.int64())], schema=SCHEMA)
        return RowBatch(records, None, True, np.stack([np.concatenate(high), np.concatenate(low)], 1), partitions)

    one, two = frozenset({0, 1}), frozenset({2})
    batches = [
        batch([(1, 0), (2, 0), (3, 1)], one),
        batch([(4, 2)], two),
        batch([(5, 1), (6, 1)], one),
        batch([(7, 0), (8, 1), (9, 1), (10, 5)], frozenset()),
    ]
    found = [(each.records.column(0).to_pylist(), each.partitions) for each in with_later_rows(batches)]
    assert found == [
        ([1, 2], one),
        ([7], one),
        ([3], one),
        ([4], two),
        ([5, 6], one),
        ([8, 9], one),
        ([10], frozenset()),
    ]
    assert list(with_later_rows(batches[:3])) == batches[:3]
