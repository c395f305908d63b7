"""A snapshot of rows after changes has the present rows, and keeps the batches in which nothing has changed."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pytest

from tensorflow_ignite.data.epochs import refresh
from tensorflow_ignite.data.epochs.changes import Changes, IdentityIndex, Position, split, together
from tensorflow_ignite.data.epochs.row_batch import RowBatch
from tensorflow_ignite.data.epochs.snapshots import Snapshot, Snapshots
from tensorflow_ignite.data.epochs.tensors import Array

PARTITIONS = 8


def identity(key: int) -> tuple[int, int]:
    generator = random.Random(key)
    return generator.getrandbits(64) - 2**63, (generator.getrandbits(46) << 16) | (key % PARTITIONS)


def identities(keys: Iterable[int]) -> Array:
    return np.array([identity(key) for key in keys], np.int64).reshape(-1, 2)


def batch(rows: dict[int, int]) -> RowBatch:
    records = pa.record_batch({"value": pa.array(list(rows.values()), pa.int64())})
    return RowBatch(records, identities=identities(rows))


def values(snapshot: Snapshot) -> list[int]:
    return sorted(value for each in snapshot.batches for value in each.records["value"].to_pylist())


def cut(rows: dict[int, int], size: int) -> list[RowBatch]:
    items = list(rows.items())
    return [batch(dict(items[begin : begin + size])) for begin in range(0, len(items), size)]


def snapshot_of(*batches: RowBatch) -> Snapshot:
    return Snapshot(batches, 0, None, {partition: Position(1, 0) for partition in range(PARTITIONS)})


def changed(snapshot: Snapshot, changes: Changes, batches: list[RowBatch]) -> Snapshot:
    newer = snapshot.changed(changes, batches)
    assert newer is not None
    return newer


def test_a_snapshot_after_random_changes_has_the_present_rows() -> None:
    chance = random.Random(5)
    rows = {key: key for key in range(500)}
    snapshot = snapshot_of(*cut(rows, 64))
    for number in range(1, 30):
        new = {chance.randrange(600): 1000 * number + each for each in range(chance.randrange(40))}
        removed = {key for key in chance.sample(sorted(rows), 10) if key not in new}
        whole = frozenset(chance.sample(range(PARTITIONS), number % 3 == 0))
        rows = {key: value for key, value in rows.items() if key not in removed} | new
        put = {key: value for key, value in rows.items() if key in new or key % PARTITIONS in whole}
        gone = [key for key in removed if key % PARTITIONS not in whole]
        changes = Changes(identities(gone), whole, {0: Position(1, number)})
        snapshot = changed(snapshot, changes, cut(put, 16))
        assert values(snapshot) == sorted(rows.values())
        assert snapshot.rows == len(rows)
        assert snapshot.positions[0] == Position(1, number)
        assert snapshot.positions[1] == Position(1, 0)
        assert all(each.identities is not None and len(each.identities) == each.rows for each in snapshot.batches)


def test_batches_without_changes_are_kept_as_they_are() -> None:
    batches = cut({key: key for key in range(400)}, 100)
    newer = changed(snapshot_of(*batches), Changes(), [batch({250: -1})])
    assert [each is old for each, old in zip(newer.batches, batches, strict=True)] == [True, True, False, True]
    assert changed(snapshot_of(*batches), Changes(positions={3: Position(1, 9)}), []).batches == tuple(batches)


def test_many_small_changes_do_not_make_many_batches() -> None:
    snapshot = snapshot_of(*cut({key: key for key in range(1000)}, 100))
    for number in range(200):
        snapshot = changed(snapshot, Changes(), [batch({number: -number})])
    assert values(snapshot) == sorted([*(-number for number in range(200)), *range(200, 1000)])
    assert len(snapshot.batches) <= 25


@pytest.mark.parametrize("size", [1, 4_000])
def test_rows_that_are_too_large_for_one_column_are_replaced_too(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column of Arrow has less than 2 GiB of texts, and its nodes may send more."""
    monkeypatch.setattr(refresh, "JOINED_BYTES", size)
    rows = {key: key for key in range(500)}
    put = {key: -key for key in range(450, 600)}
    newer = changed(snapshot_of(*cut(rows, 50)), Changes(whole=frozenset({3})), cut(put, 40))
    whole = {key: value for key, value in rows.items() if key % PARTITIONS != 3}
    assert values(newer) == sorted((whole | put).values())
    assert all(each.size <= max(size, cut(rows, 50)[0].size) for each in newer.batches)


def test_rows_without_identities_are_replaced_by_their_partitions() -> None:
    first = RowBatch(pa.record_batch({"value": pa.array([1, 2])}), partitions=frozenset({0, 1}))
    second = RowBatch(pa.record_batch({"value": pa.array([3])}), partitions=frozenset({2}))
    again = RowBatch(pa.record_batch({"value": pa.array([4, 5, 6])}), partitions=frozenset({0, 1}))
    assert values(changed(snapshot_of(first, second), Changes(whole=frozenset({0, 1})), [again])) == [3, 4, 5, 6]
    assert snapshot_of(first, second).changed(Changes(whole=frozenset({1})), [again]) is None


def test_rows_whose_first_numbers_are_equal_are_distinguished() -> None:
    given = np.array([[9, 1], [7, 2], [7, 1]], np.int64)
    rows = np.array([[7, 0], [7, 2], [7, 3], [9, 1], [8, 1], [7, 1], [10, 1]], np.int64)
    at, source = IdentityIndex(given).find(rows)
    assert (at.tolist(), source.tolist()) == ([1, 3, 5], [1, 0, 2])


COLUMNS = {
    "number": (pa.float32(), lambda value: float(value)),
    "list": (pa.list_(pa.int64(), 3), lambda value: [value, value + 1, value + 2]),
    "nested": (pa.list_(pa.list_(pa.int32(), 2), 2), lambda value: [[value, 1], [2, value]]),
    "text": (pa.string(), lambda value: "x" * (value % 7) + str(value)),
    "flag": (pa.bool_(), lambda value: value % 3 == 0),
    "ragged": (pa.list_(pa.int32()), lambda value: [value] * (value % 4)),
    "null": (pa.int64(), lambda value: None if value % 5 == 0 else value),
    "object": (pa.struct([("a", pa.int8())]), lambda value: {"a": value % 100}),
    "time": (pa.timestamp("us"), lambda value: value),
}


@pytest.mark.parametrize("sliced", [False, True], ids=["whole", "sliced"])
@pytest.mark.parametrize("name", COLUMNS)
def test_rows_of_every_type_are_replaced(name: str, sliced: bool) -> None:
    kind, value_of = COLUMNS[name]

    def rows(keys: Iterable[int], version: int) -> RowBatch:
        keys = list(keys)
        values = pa.array([value_of(key + version) for key in keys], kind)
        column = pa.concat_arrays([values.slice(0, 1), values]).slice(1) if sliced else values
        return RowBatch(pa.RecordBatch.from_arrays([column], [name]), identities=identities(keys))

    before = snapshot_of(rows(range(50), 0), rows(range(50, 80), 0))
    newer = changed(before, Changes(identities([3, 60])), [rows([7, 55], 1_000), rows([49, 100], 1_000)])
    versions = {key: 1_000 if key in (7, 49, 55, 100) else 0 for key in [*range(80), 100] if key not in (3, 60)}
    found = [value for each in newer.batches for value in each.records.column(0).to_pylist()]
    expected = pa.array([value_of(key + version) for key, version in versions.items()], kind).to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    for each in newer.batches:
        assert each.identities is not None
        each.records.validate(full=True)


def test_the_identities_of_a_batch_are_its_last_columns() -> None:
    records = pa.record_batch(
        {"value": pa.array([1.5]), "_identity_high": pa.array([2**63 - 1]), "_identity_low": pa.array([-5])}
    )
    rest, found = split(records)
    assert rest.schema.names == ["value"]
    assert found.tolist() == [[2**63 - 1, -5]]


def test_the_changes_of_streams_are_taken_together() -> None:
    first = Changes(identities([1]), frozenset({2}), {0: Position(1, 2)})
    second = Changes(identities([3]), frozenset({5}), {1: Position(4, 5)})
    both = together([first, second])
    assert (both.removed.tolist(), both.whole) == (identities([1, 3]).tolist(), {2, 5})
    assert both.positions == {0: (1, 2), 1: (4, 5)}
    assert (len(together([]).removed), together([]).whole) == (0, frozenset())


def test_a_snapshot_that_outgrows_the_memory_is_removed() -> None:
    snapshots = Snapshots()
    writer = snapshots.begin("name", 10_000, "cache 'x'")
    assert writer is not None
    writer.add(batch({1: 1}))
    writer.complete(0, None, {0: Position(1, 0)})
    old = snapshots.get("name")
    assert old is not None

    def refreshed(rows: int) -> Snapshot | None:
        put = [batch({key: key for key in range(rows)})]
        return snapshots.refresh("name", old, lambda now: now.changed(Changes(), put), 10_000, "cache 'x'")

    small = refreshed(10)
    assert small is not None
    assert (snapshots.get("name"), snapshots.size) == (small, small.size)
    large = refreshed(10_000)
    assert large is not None
    assert (snapshots.get("name"), snapshots.size) == (None, 0)
    assert refreshed(1) is None
