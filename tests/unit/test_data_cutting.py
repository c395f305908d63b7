"""Batches of one size, cut out of batches of any sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tensorflow_ignite.data.epochs.cutting import ArrayBatch, groups
from tensorflow_ignite.data.epochs.tensor_schema import columns_of
from tensorflow_ignite.data.epochs.tensors import arrays_of

ROWS = 23
COLUMNS = {
    "number": pa.array(range(ROWS), pa.int32()),
    "fixed": pa.array([[row, row + 1] for row in range(ROWS)], pa.list_(pa.int8(), 2)),
    "text": pa.array([f"row {row}" for row in range(ROWS)]),
    "lists": pa.array([[row] * (row % 4) for row in range(ROWS)]),
    "nested": pa.array([[["w"] * (row % 3), []][: row % 5] for row in range(ROWS)]),
    "shaped": pa.array([[[row, 1]] * (row % 3) for row in range(ROWS)], pa.list_(pa.list_(pa.int64(), 2))),
    "object": pa.array([{"x": row, "points": [{"y": float(row)}] * (row % 2)} for row in range(ROWS)]),
    "some": pa.array([row if row % 2 else None for row in range(ROWS)]),
}
TABLE = pa.table(COLUMNS)


def batches(table: pa.Table, sizes: list[int], nulls: str = "mask") -> list[ArrayBatch]:
    """The rows in batches of these sizes, again and again."""
    layout, found, begin = columns_of(table.schema, nulls), [], 0
    while begin < table.num_rows:
        size = sizes[len(found) % len(sizes)]
        (records,) = table.slice(begin, size).combine_chunks().to_batches() or [
            pa.RecordBatch.from_pylist([], table.schema)
        ]
        found.append(ArrayBatch(layout, arrays_of(records, layout)))
        begin += size
    return found


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("sizes", [[1], [5], [23], [3, 0, 1, 7]], ids=str)
@pytest.mark.parametrize("size", [1, 4, 10, 23, 30])
def test_a_cut_batch_has_the_arrays_of_its_rows(name: str, sizes: list[int], size: int) -> None:
    table = TABLE.select([name])
    cut = [ArrayBatch.of(held) for held in groups(batches(table, sizes), lambda _: size)]
    for found, expected in zip(cut, batches(table, [size]), strict=True):
        assert found.num_rows == expected.num_rows
        for left, right in zip(found.arrays, expected.arrays, strict=True):
            assert left.dtype == right.dtype
            np.testing.assert_array_equal(left, right)


def test_rows_of_one_batch_are_not_copied() -> None:
    (whole,) = batches(TABLE.select(["number", "lists"]), [ROWS], nulls="error")
    for held in groups([whole], lambda _: 10):
        found = ArrayBatch.of(held)
        number, lists, _ = found.arrays
        assert np.shares_memory(number, whole.arrays[0])
        assert np.shares_memory(lists, whole.arrays[1])


def test_the_first_batch_with_rows_decides_on_the_size() -> None:
    asked: list[int] = []

    def size(batch: Any) -> int:
        asked.append(batch.num_rows)
        return 2

    parts = [pa.record_batch({"x": range(rows)}) for rows in (0, 3, 0, 4)]
    found = [[batch.num_rows for batch in held] for held in groups(parts, size)]
    assert asked == [3]
    assert found == [[2], [1, 1], [2], [1]]
