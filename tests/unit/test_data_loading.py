"""Arrays and lists as Arrow columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.tensor_schema import columns_of
from tensorflow_ignite.data.epochs.tensors import arrays_of
from tensorflow_ignite.data.loading.columns import table_of
from tensorflow_ignite.data.loading.load import load


@pytest.mark.parametrize(
    "array",
    [
        np.array([0, 255], np.uint8),
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(24, dtype=">i4").reshape(2, 3, 4),
        np.arange(48, dtype=np.int16).reshape(2, 2, 3, 4)[:, ::-1],
        np.array([True, False]),
        np.array([[True, False], [False, False]]),
        np.zeros((0, 5), np.float64),
    ],
)
def test_loaded_rows_come_back_with_type_and_shape(array: np.ndarray[Any, Any]) -> None:
    table = table_of({"c": array})
    batches = table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    (back,) = arrays_of(batches[0], columns_of(table.schema))
    assert back.dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "ä"], pa.string()),
        (np.array(["a", "bcd"]), pa.string()),
        (np.array(["a", "bcd"], object), pa.string()),
        ([b"a", b"\xff"], pa.binary()),
        ([1, 2], pa.int64()),
        ([[1.5], []], pa.list_(pa.float64())),
    ],
)
def test_lists_and_text_become_columns(values: Any, kind: pa.DataType) -> None:
    table = table_of({"c": values})
    assert table.schema.field("c").type == kind
    assert table.column("c").to_pylist() == list(values)


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        ({}, errors.InvalidRequestError, "no column"),
        ({"": np.zeros(2)}, errors.InvalidRequestError, "name of a column"),
        ({"a": np.zeros(2), "b": np.zeros(3)}, errors.InvalidRequestError, r"\{'a': 2, 'b': 3\}"),
        ({"a": np.float32(1)}, errors.InvalidRequestError, "single value"),
        ({"a": "text"}, errors.InvalidRequestError, "single value"),
        ({"a": np.zeros((2, 0))}, errors.InvalidRequestError, "no elements"),
        ({"a": np.zeros(2, complex)}, errors.UnsupportedTypeError, "complex128"),
        ({"a": np.zeros(2, "m8[s]")}, errors.UnsupportedTypeError, "timedelta64"),
        ({"a": {}}, errors.InvalidRequestError, "struct needs a field"),
        ({"a": {"x": np.zeros(2), "y": np.zeros(1)}}, errors.InvalidRequestError, r"\{'a.x': 2, 'a.y': 1\}"),
        ({"a": [np.zeros((2, 2))]}, errors.InvalidRequestError, "np.stack"),
        ({"a": np.array([1, "x"], object)}, errors.UnsupportedTypeError, "int, str"),
        ({"a": [1, "x"]}, errors.UnsupportedTypeError, "column 'a' mixes"),
    ],
)
def test_types_that_no_cache_stores_are_refused_by_column(data: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        table_of(data)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"if_exists": "overwrite"}, "if_exists='overwrite' is unknown"),
        ({"backups": -1}, "backups=-1"),
        ({"partitions": 0}, "partitions=0"),
        ({"key": "id"}, "key='id' is not a column"),
        ({"key": "a"}, "at least one column besides the key"),
        ({"affinity": "a"}, "affinity='a' and key=None"),
        ({"affinity": "a", "key": "a"}, "affinity='a' and key='a'"),
        ({"affinity": "b", "key": "a"}, "affinity='b' is not a column"),
        ({"schema": {"b": "int8"}}, "schema= names column 'b'"),
        ({"schema": {"a": "no type"}}, "is no type"),
    ],
)
def test_options_are_checked_before_any_call(options: Any, text: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match=text):
        load("c", {"a": np.zeros(2)}, address="localhost:1", **options)
