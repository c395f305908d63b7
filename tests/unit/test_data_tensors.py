"""Arrow columns as arrays."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data.tensors import SHAPE_KEY, Column, arrays_of, columns_of


def batch_of(array: pa.Array, metadata: dict[bytes, bytes] | None = None) -> pa.RecordBatch:
    """A batch with one column, ``c``."""
    return pa.RecordBatch.from_arrays([array], schema=pa.schema([pa.field("c", array.type, metadata=metadata)]))


def read(array: pa.Array) -> list[np.ndarray[Any, Any]]:
    """The arrays of one column."""
    batch = batch_of(array)
    return arrays_of(batch, columns_of(batch.schema))


@pytest.mark.parametrize(
    "dtype",
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"],
)
def test_numbers_keep_their_type_and_edges_without_a_copy(dtype: str) -> None:
    limits = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    array = pa.array(np.array([limits.min, 0, limits.max], dtype))
    (values,) = read(array)
    assert columns_of(batch_of(array).schema) == (Column("c", dtype),)
    assert values.dtype == dtype
    assert values.tolist() == array.to_pylist()
    assert values.ctypes.data == array.buffers()[1].address


def test_booleans_and_text_have_their_values() -> None:
    assert read(pa.array([True, False, True]))[0].tolist() == [True, False, True]
    assert read(pa.array(["ä", "", "x\0y"]))[0].tolist() == ["ä".encode(), b"", b"x\0y"]
    assert read(pa.array([b"\xff", b"\0"]))[0].tolist() == [b"\xff", b"\0"]
    assert read(pa.array(["a"], pa.large_string()))[0].tolist() == [b"a"]


def test_lists_of_fixed_length_are_dense_views() -> None:
    array = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(12, dtype=np.float32)), 4)
    (values,) = read(array)
    assert values.tolist() == array.to_pylist()
    assert values.ctypes.data == array.values.buffers()[1].address
    nested = pa.FixedSizeListArray.from_arrays(array, 3)
    assert columns_of(batch_of(nested).schema) == (Column("c", "float32", (3, 4)),)
    assert read(nested)[0].tolist() == nested.to_pylist()


def test_a_shape_in_the_metadata_is_the_shape_of_a_row() -> None:
    array = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(12)), 6)
    batch = batch_of(array, {SHAPE_KEY: b"[2, 3]"})
    columns = columns_of(batch.schema)
    assert columns == (Column("c", "int64", (2, 3)),)
    assert arrays_of(batch, columns)[0].tolist() == np.arange(12).reshape(2, 2, 3).tolist()
    with pytest.raises(errors.SchemaUnknownError, match="6 elements"):
        columns_of(batch_of(array, {SHAPE_KEY: b"[2, 4]"}).schema)


def test_lists_of_any_length_are_values_and_splits() -> None:
    values, splits = read(pa.array([[1, 2], [], [3]]))
    assert (values.tolist(), splits.tolist(), splits.dtype) == ([1, 2, 3], [0, 2, 2, 3], np.int64)
    values, outer, inner = read(pa.array([[["a"], []], [], [["b", "c"]]]))
    assert values.tolist() == [b"a", b"b", b"c"]
    assert (outer.tolist(), inner.tolist()) == ([0, 2, 2, 3], [0, 1, 1, 3])


def test_slices_and_empty_batches_have_their_own_rows_only() -> None:
    assert read(pa.array([1, 2, 3]).slice(1, 1))[0].tolist() == [2]
    assert [part.tolist() for part in read(pa.array([[1, 2], [3], [4]]).slice(1, 2))] == [[3, 4], [0, 1, 2]]
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(6)), 2)
    assert read(fixed.slice(2, 1))[0].tolist() == [[4, 5]]
    assert [part.tolist() for part in read(pa.array([], pa.list_(pa.int32())))] == [[], [0]]
    assert read(fixed.slice(0, 0))[0].shape == (0, 2)


def test_an_array_keeps_the_memory_that_it_looks_into() -> None:
    array = pa.array(np.full(1 << 20, 7))
    (values,) = read(array)
    del array
    gc.collect()
    pa.array(np.zeros(1 << 20, np.int64))
    assert (values == 7).all()


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1, None]),
        pa.array(["a", None]),
        pa.array([[1], None]),
        pa.array([[1, None]]),
        pa.array([[1, 2], None], pa.list_(pa.int8(), 2)),
        pa.array([[1, None]], pa.list_(pa.int8(), 2)),
    ],
)
def test_null_in_any_place_is_an_error_that_names_the_column(array: pa.Array) -> None:
    with pytest.raises(errors.UnsupportedTypeError, match="column 'c' holds 1 null"):
        read(array)


@pytest.mark.parametrize("kind", [pa.date32(), pa.decimal128(5, 2), pa.struct([("x", pa.int8())]), pa.null()])
def test_a_type_without_a_tensor_is_refused_by_name(kind: pa.DataType) -> None:
    with pytest.raises(errors.UnsupportedTypeError, match="column 'c' of type"):
        columns_of(pa.schema([("c", kind)]))
