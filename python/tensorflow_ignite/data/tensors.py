"""Arrow columns as the arrays that TensorFlow takes, without a copy where both lay them out alike.

TensorFlow aliases an array whose address is a multiple of 64. The arrays made here keep the Arrow buffer alive that
they look into, and no buffer is ever written again, so that a tensor may live as long as it likes.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as types

from tensorflow_ignite import errors

# Field metadata: the shape of one row's value as a JSON list, when it has more dimensions than one.
SHAPE_KEY = b"tensorflow_ignite.shape"

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Column:
    """How one column becomes a tensor.

    Attributes:
        name: The column's name.
        dtype: Name of the TensorFlow type: ``float32``, ``string``, …
        shape: Static shape of one value; of one innermost value, when ragged.
        ragged: Number of ragged dimensions around it.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] = ()
    ragged: int = 0


def columns_of(schema: pa.Schema) -> tuple[Column, ...]:
    """The columns of a schema, in its order.

    Raises:
        TensorFlowIgniteError: If the type of a column has no tensor.
    """
    return tuple(_column(field) for field in schema)


def _column(field: pa.Field) -> Column:
    kind, ragged = field.type, 0
    while types.is_list(kind) or types.is_large_list(kind):
        kind, ragged = kind.value_type, ragged + 1
    shape: tuple[int, ...] = ()
    while types.is_fixed_size_list(kind):
        kind, shape = kind.value_type, (*shape, kind.list_size)
    named = (field.metadata or {}).get(SHAPE_KEY)
    if named is not None and shape:
        wanted = tuple(int(size) for size in json.loads(named))
        if math.prod(wanted) != math.prod(shape):
            raise errors.SchemaUnknownError(
                f"column {field.name!r} says shape {list(wanted)} in its metadata, but its values have "
                f"{math.prod(shape)} elements. Load the cache again"
            )
        shape = wanted
    return Column(field.name, _dtype(field, kind), shape, ragged)


def _dtype(field: pa.Field, kind: pa.DataType) -> str:
    if types.is_integer(kind) or types.is_floating(kind):
        return str(np.dtype(kind.to_pandas_dtype()).name)
    if types.is_boolean(kind):
        return "bool"
    if _is_text(kind):
        return "string"
    raise errors.UnsupportedTypeError(
        f"column {field.name!r} of type {field.type} has no tensor. Numbers, booleans, text, bytes and lists of these "
        f"have. Choose other columns with columns=[...]"
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    )


def arrays_of(batch: pa.RecordBatch, columns: tuple[Column, ...]) -> list[Array]:
    """The arrays of a batch: for each column its values, then its row splits from the outermost to the innermost.

    Args:
        batch: Rows with exactly these columns.
        columns: As :func:`columns_of` tells for the schema of the batch.

    Returns:
        ``1 + column.ragged`` arrays for each column. Values of a dense column are ``[rows, *shape]``, those of a ragged
        one ``[elements, *shape]``; splits are int64.

    Raises:
        TensorFlowIgniteError: If a value is null.
    """
    arrays: list[Array] = []
    for column, array in zip(columns, batch.columns, strict=True):
        splits: list[Array] = []
        for _ in range(column.ragged):
            _forbid_nulls(column, array)
            offsets = array.offsets.to_numpy().astype(np.int64)
            splits.append(offsets - offsets[0])
            array = array.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
        arrays += [_values(column, array), *splits]
    return arrays


def _values(column: Column, array: pa.Array) -> Array:
    while types.is_fixed_size_list(array.type):
        _forbid_nulls(column, array)
        array = array.flatten()
    _forbid_nulls(column, array)
    if _is_text(array.type):
        # Bytes objects are made in one go in C, and are what TensorFlow takes for strings; str would be encoded again.
        large = types.is_large_string(array.type) or types.is_large_binary(array.type)
        values = array.cast(pa.large_binary() if large else pa.binary()).to_numpy(zero_copy_only=False)
    else:
        values = array.to_numpy(zero_copy_only=not types.is_boolean(array.type))
    shaped: Array = values.reshape((-1, *column.shape))
    return shaped


def _forbid_nulls(column: Column, array: pa.Array) -> None:
    if array.null_count:
        raise errors.UnsupportedTypeError(
            f"column {column.name!r} holds {array.null_count} null value(s) in one batch of {len(array)}. A tensor has "
            f"no null. Choose other columns with columns=[...], or store a value in their place "
        )
