"""Epochs over streams of this process: shares, snapshots and orders."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs import epoch, input_totals, rows_per_worker, shuffling
from tensorflow_ignite.data.epochs.epoch import Epoch, Keep, RowOrder, SnapshotTarget
from tensorflow_ignite.data.epochs.prefetch import EpochReader, Stream
from tensorflow_ignite.data.epochs.row_batch import RowBatch
from tensorflow_ignite.data.epochs.rows_per_worker import NOT_COUNTED, OPEN, PAD, STRICT, WRAP, EpochLength, EpochStart
from tensorflow_ignite.data.epochs.snapshots import Snapshots
from tensorflow_ignite.data.epochs.tensor_schema import Column, columns_of
from tensorflow_ignite.data.epochs.tensors import arrays_of

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("name", pa.string()), pa.field("list", pa.list_(pa.int32()))])
COLUMNS = columns_of(SCHEMA)
BY_PARTITION = RowOrder()


def batch_of(numbers: list[int]) -> pa.RecordBatch:
    """A batch whose other columns follow from its numbers."""
    columns = [numbers, [f"row {number}" for number in numbers], [[number] * (number % 3) for number in numbers]]
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


class Source:
    """What a cluster would send: lists of batches, which may be changed between passes."""

    def __init__(self, *streams: list[list[int]]) -> None:
        self.streams = list(streams)
        self.opened: list[tuple[int, bool]] = []
        self.followed: list[bool] = []

    def __call__(self, epoch: int, start: EpochStart, keep: Keep | None, follow: bool) -> list[Stream]:
        self.followed.append(follow)
        self.opened.append((epoch, keep is not None and keep(1)))
        return [_Stream(batches) for batches in self.streams]


class _Stream:
    def __init__(self, batches: list[list[int]]) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return (batch_of(numbers) for numbers in self._batches)

    def cancel(self) -> None:
        pass


def epoch_of(
    source: Source, length: EpochLength = NOT_COUNTED, order: RowOrder = BY_PARTITION, **options: Any
) -> Epoch:
    return Epoch(source, COLUMNS, length, order, "cache 'c'", zeros=SCHEMA, **options)


def batches_of(epoch: Epoch, offset: int = 0, columns: tuple[Column, ...] = COLUMNS) -> Iterator[RowBatch]:
    reader = EpochReader(epoch.batches, columns)
    while (batch := reader.take(offset)) is not None:
        yield batch
        offset += batch.rows
    reader.close()
    reader.join(20)


def ids(epoch: Epoch, offset: int = 0) -> list[int]:
    """The numbers of all rows, checked to be whole; those of weight 0 are -1."""
    found: list[int] = []
    for batch in batches_of(epoch, offset):
        assert batch.arrays is not None
        numbers, names, values, splits = batch.arrays
        for place, number in enumerate(numbers.tolist()):
            own = values[splits[place] : splits[place + 1]].tolist()
            if batch.real:
                assert (names[place], own) == (f"row {number}".encode(), [number] * (number % 3))
            else:
                assert (number, names[place], own) == (0, b"", [])
        found += numbers.tolist() if batch.real else [-1] * batch.rows
    return found


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    for thread in threading.enumerate():
        if thread.name == "tensorflow-ignite-reader":
            thread.join(20)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    ("uneven", "counts", "index", "length"),
    [
        ("repeat", [5, 3], 1, EpochLength(3, 5, WRAP)),
        ("drop", [5, 3], 0, EpochLength(5, 3, WRAP)),
        ("pad", [5, 0], 1, EpochLength(0, 5, PAD)),
        ("repeat", [4, 4], 0, EpochLength(4, 4, WRAP)),
    ],
)
def test_workers_agree_on_the_rows_of_an_epoch(uneven: Any, counts: list[int], index: int, length: EpochLength) -> None:
    assert rows_per_worker.agreed_length(uneven, counts, index, "c") == length


@pytest.mark.parametrize("uneven", ["repeat", "drop"])
def test_a_worker_without_rows_is_an_error_that_names_the_way_out(uneven: Any) -> None:
    with pytest.raises(errors.CacheEmptyError, match=r"worker 1 has no row of cache 'c'.*\[3, 0\].*uneven=\"pad\""):
        rows_per_worker.agreed_length(uneven, [3, 0], 0, "c")


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (EpochLength(3, 3, WRAP), [0, 1, 2]),
        (EpochLength(3, 8, WRAP), [0, 1, 2, 0, 1, 2, 0, 1]),
        (EpochLength(3, 2, WRAP), [0, 1]),
        (EpochLength(3, 5, PAD), [0, 1, 2, -1, -1]),
        (EpochLength(), [0, 1, 2]),
        (EpochLength(fill=OPEN), [0, 1, 2]),
    ],
)
@pytest.mark.parametrize("batches", [[[0, 1, 2]], [[0], [1], [2]], [[0, 1], [], [2]]])
def test_an_epoch_has_exactly_the_rows_of_its_share(
    length: EpochLength, expected: list[int], batches: list[list[int]]
) -> None:
    warnings: list[str] = []
    assert ids(epoch_of(Source(batches), length, warn=warnings.append)) == expected
    assert warnings == []
    for offset in range(len(expected) + 1):
        assert ids(epoch_of(Source(batches), length), offset) == expected[offset:]


@pytest.mark.parametrize(
    ("arriving", "expected"), [([0, 1], [0, 1, 0, 1]), ([0, 1, 2, 3, 4, 5], [0, 1, 2, 3])], ids=["fewer", "more"]
)
def test_a_cache_that_is_written_is_cut_or_begun_again_with_a_warning(arriving: list[int], expected: list[int]) -> None:
    warnings: list[str] = []
    source = Source([[number] for number in arriving])
    assert ids(epoch_of(source, EpochLength(4, 4, WRAP), warn=warnings.append)) == expected
    (warning,) = warnings
    assert f"{len(arriving)} rows arrived, 4 were expected" in warning


def test_a_cache_that_became_empty_is_an_error_where_rows_are_needed() -> None:
    with pytest.raises(errors.RowMismatchError, match="has no row any more, 4 were counted"):
        ids(epoch_of(Source([]), EpochLength(4, 4, WRAP), warn=lambda _: None))
    assert ids(epoch_of(Source([]), EpochLength(4, 4, PAD), warn=lambda _: None)) == [-1] * 4


def test_zeros_are_rows_of_every_type() -> None:
    schema = pa.schema(
        [
            ("byte", pa.int8()),
            ("flag", pa.bool_()),
            ("text", pa.large_string()),
            ("when", pa.timestamp("ns", "UTC")),
            ("price", pa.decimal128(10, 2)),
            ("pixels", pa.list_(pa.list_(pa.uint8(), 3), 2)),
            ("words", pa.list_(pa.list_(pa.string()))),
            ("tags", pa.map_(pa.string(), pa.int64())),
            ("point", pa.struct([("x", pa.float64()), ("names", pa.list_(pa.string()))])),
            ("fixed", pa.binary(4)),
            ("id", pa.uuid()),
            ("image", pa.fixed_shape_tensor(pa.uint8(), [2, 3])),
            ("word", pa.dictionary(pa.int32(), pa.string())),
            (
                "nested",
                pa.struct([("id", pa.uuid()), ("ids", pa.list_(pa.uuid())), ("by_id", pa.map_(pa.uuid(), pa.uuid()))]),
            ),
        ]
    )
    batch = epoch.zeros(schema, 5)
    batch.validate(full=True)
    assert (batch.num_rows, batch.schema) == (5, schema)
    assert all(not column.null_count for column in batch.columns)
    numbers = [array for array in arrays_of(batch, columns_of(schema)) if array.dtype != object]
    assert not any(array.any() for array in numbers)
    missing = [array for array in arrays_of(batch, columns_of(schema, "mask"), real=False) if array.dtype != object]
    assert not any(array.any() for array in missing)


def target(snapshots: Snapshots, name: str = "d", limit: int = 1 << 30) -> SnapshotTarget:
    return SnapshotTarget(snapshots, name, lambda: limit)


def addresses(epoch: Epoch) -> list[int]:
    """Where the numbers of each batch lie."""
    return [batch.arrays[0].ctypes.data for batch in batches_of(epoch)]


@pytest.mark.parametrize("window", [None, 4], ids=["plain", "shuffled"])
def test_a_mask_marks_the_rows_that_fill_an_epoch(window: int | None) -> None:
    columns = columns_of(SCHEMA, "mask")
    epoch = Epoch(
        Source([[1, 2]]),
        columns,
        EpochLength(2, 5, PAD),
        RowOrder(0, 7, window),
        "cache 'c'",
        zeros=SCHEMA,
        warn=lambda _: None,
    )
    masks: dict[str, list[bool]] = {"id": [], "name": [], "list": []}
    for batch in batches_of(epoch, columns=columns):
        _, ids, names, text_mask, _, elements, splits = batch.arrays or ()
        assert len(splits) == batch.rows + 1
        masks["id"] += ids.tolist()
        masks["name"] += text_mask.tolist()
        masks["list"] += elements.tolist()
        assert len(names) == batch.rows
    there = [True] * 2 + [False] * 3
    assert masks == {"id": there, "name": there, "list": [True] * 3}


def test_later_epochs_use_the_same_memory_and_make_no_calls() -> None:
    snapshots, source = Snapshots(), Source([[1, 2], [3]], [[4]])
    first = ids(epoch_of(source, EpochLength(4, 4, STRICT), target=target(snapshots)))
    source.streams = [[[99]]]
    second, third = (epoch_of(source, EpochLength(4, 4, STRICT), target=target(snapshots)) for _ in range(2))
    assert ids(second) == ids(third) == first == [1, 2, 4, 3]
    assert addresses(second) == addresses(third)
    assert all(address % 64 == 0 for address in addresses(second))
    assert source.opened == [(0, True)]
    assert input_totals.snapshot_bytes() >= snapshots.size > 0
    # The dataset is no more.
    snapshots.drop("d")
    assert (snapshots.get("d"), snapshots.size) == (None, 0)


def test_partitions_are_followed_unless_rows_were_given_out_in_the_order_before() -> None:
    source = Source([[1], [2]], [[3]])
    assert ids(epoch_of(source)) == [1, 3, 2]
    assert ids(epoch_of(source), offset=1) == [3, 2]
    # An epoch that takes its rows a second time has not given them out before.
    assert ids(epoch_of(source, EpochLength(3, 5, WRAP))) == [1, 3, 2, 1, 3]
    assert source.followed == [True, False, True, True]


def test_two_datasets_and_two_iterators_keep_apart() -> None:
    snapshots = Snapshots()
    one, other = Source([[1], [2]]), Source([[3]])
    first, second = (
        EpochReader(epoch_of(one, target=target(snapshots)).batches, COLUMNS),
        EpochReader(epoch_of(one, target=target(snapshots)).batches, COLUMNS),
    )
    for offset in range(3):
        batches = [reader.take(offset) for reader in (first, second)]
        assert [batch.rows if batch else 0 for batch in batches] == [int(offset < 2)] * 2
    # Only one of them fills it.
    assert one.opened == [(0, True), (0, False)]
    assert ids(epoch_of(other, target=target(snapshots, "e"))) == [3]
    assert ids(epoch_of(one, target=target(snapshots))) == [1, 2]
    assert len(one.opened) == 2


def test_an_epoch_that_is_cut_short_keeps_nothing() -> None:
    snapshots, source = Snapshots(), Source([[number] for number in range(50)])
    reader = EpochReader(epoch_of(source, target=target(snapshots)).batches, COLUMNS)
    reader.take(0)
    reader.close()
    reader.join(20)
    del reader
    assert (snapshots.get("d"), snapshots.size) == (None, 0)
    assert ids(epoch_of(source, target=target(snapshots))) == list(range(50))
    assert snapshots.get("d") is not None


def test_rows_that_an_epoch_leaves_out_are_kept_in_the_snapshot() -> None:
    snapshots, source = Snapshots(), Source([[0], [1], [2], [3]])
    for _ in range(2):
        assert ids(epoch_of(source, EpochLength(4, 2, WRAP), target=target(snapshots))) == [0, 1]
    snapshot = snapshots.get("d")
    assert snapshot is not None
    assert sum(batch.rows for batch in snapshot.batches) == 4
    assert len(source.opened) == 1


def test_a_snapshot_that_is_too_large_is_read_again_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    snapshots, source = Snapshots(), Source([[number] for number in range(50)])
    for _ in range(3):
        assert ids(epoch_of(source, target=target(snapshots, limit=500))) == list(range(50))
    assert len(source.opened) == 3
    assert [record.message for record in caplog.records if "is read anew each epoch" in record.message] != []
    assert len(caplog.records) == 1
    assert snapshots.size == 0


def test_the_oldest_snapshot_makes_room_and_does_not_come_back(caplog: pytest.LogCaptureFixture) -> None:
    snapshots = Snapshots()
    old, new = Source([[number] for number in range(20)]), Source([[number] for number in range(20)])
    ids(epoch_of(old, target=target(snapshots, "old")))
    limit = snapshots.size * 3 // 2
    for _ in range(2):
        ids(epoch_of(new, target=target(snapshots, "new", limit)))
        ids(epoch_of(old, target=target(snapshots, "old", limit)))
    assert (len(old.opened), len(new.opened)) == (3, 1)
    assert snapshots.get("old") is None
    assert snapshots.size <= limit
    assert len(caplog.records) == 1


MANY = [[list(range(begin, begin + 10)) for begin in range(0, 300, 10)]]


def shuffled(epoch: int, seed: int = 7, base: int = -1, window: int = 40) -> RowOrder:
    return RowOrder(epoch, seed, window, base)


def test_each_row_comes_once_in_its_window_in_an_order_of_its_epoch_and_seed() -> None:
    runs = [
        ids(epoch_of(Source(*MANY), EpochLength(300, 300, STRICT), shuffled(*of))) for of in [(0, 7), (1, 7), (0, 8)]
    ]
    for run in runs:
        assert sorted(run) == list(range(300))
        assert run != sorted(run)
        for begin in range(0, 300, 40):
            assert sorted(run[begin : begin + 40]) == list(range(begin, min(300, begin + 40)))
    assert len({tuple(run) for run in runs}) == 3
    assert ids(epoch_of(Source(*MANY), EpochLength(300, 300, STRICT), shuffled(0))) == runs[0]


@pytest.mark.parametrize("size", [1, 1_000])
def test_a_window_that_is_too_large_for_one_column_has_the_same_order(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of Arrow has less than 2 GiB of texts."""
    expected = ids(epoch_of(Source(*MANY), order=shuffled(0)))
    monkeypatch.setattr(shuffling, "JOINED_BYTES", size)
    assert ids(epoch_of(Source(*MANY), order=shuffled(0))) == expected


def test_a_shuffled_epoch_goes_on_from_any_row() -> None:
    whole = ids(epoch_of(Source(*MANY), EpochLength(300, 400, WRAP), shuffled(2)))
    assert len(whole) == 400
    for offset in (1, 39, 40, 299, 300, 355, 400):
        assert ids(epoch_of(Source(*MANY), EpochLength(300, 400, WRAP), shuffled(2)), offset) == whole[offset:]


def test_shuffled_snapshots_mix_their_batches_anew_each_epoch() -> None:
    snapshots, source = Snapshots(), Source(*MANY)
    ids(epoch_of(source, order=shuffled(0), target=target(snapshots)))
    runs = []
    for number in (1, 2):
        kept = snapshots.get("d")
        runs.append(ids(epoch_of(source, order=shuffled(number, base=0), target=target(snapshots), snapshot=kept)))
        assert sorted(runs[-1]) == list(range(300))
        # Rows of far batches meet in one window.
        assert np.ptp(runs[-1][:40]) > 60
    assert runs[0] != runs[1]
    assert source.opened == [(0, True)]
    # Another process that goes on with that epoch reads the batches again.
    assert ids(epoch_of(Source(*MANY), order=shuffled(2, base=0)), 123) == runs[1][123:]
