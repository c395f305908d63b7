"""Converts arrays and lists to Arrow columns."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.base.libraries import is_of
from tensorflow_ignite.data.epochs.tensor_schema import SHAPE_KEY
from tensorflow_ignite.data.epochs.tensors import Array

# The units of Arrow's dates and times.
_UNITS = ("D", "s", "ms", "us", "ns")


def table_of(data: Mapping[str, Any]) -> pa.Table:
    """A table of arrays and lists, which have one entry for each row.

    Args:
        data: Columns by name: numpy arrays of any shape ``[rows, ...]``, masked arrays, ragged or other tensors, lists
            with one entry for each row, or a mapping of columns, which becomes a struct.

    Raises:
        InvalidRequestError: If there is no column, or the columns differ in length, or a shape has no elements.
        UnsupportedTypeError: If Arrow has no type for the values of a column.
    """
    if not data:
        raise errors.InvalidRequestError("there is no column to load. Give at least one, such as {'label': labels}")
    fields, columns = _columns("", data)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _columns(prefix: str, data: Mapping[str, Any]) -> tuple[list[pa.Field], list[pa.Array]]:
    fields, columns = [], []
    for name, values in data.items():
        if not isinstance(name, str) or not name:
            raise errors.InvalidRequestError(
                f"{name!r} is not the name of a column. A name is a text that is not empty"
            )
        array, shape = column_of(prefix + name, values)
        metadata = {SHAPE_KEY: json.dumps(shape).encode()} if len(shape) > 1 else None
        fields.append(pa.field(name, array.type, nullable=is_nullable(array), metadata=metadata))
        columns.append(array)
    lengths = {prefix + field.name: len(column) for field, column in zip(fields, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        raise errors.InvalidRequestError(
            f"columns differ in length: {lengths}. Each column needs one entry for each row"
        )
    return fields, columns


def column_of(name: str, values: Any) -> tuple[pa.Array, tuple[int, ...]]:
    """One column, and the static shape of each of its values (empty: a single value).

    Raises:
        InvalidRequestError: If the values are no column.
        UnsupportedTypeError: If Arrow has no type for the values.
    """
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values, ()
    if type(values).__name__ == "Series" and is_of(type(values), "pandas", "polars"):
        return _series(name, values)
    if isinstance(values, Mapping):
        if not values:
            raise errors.InvalidRequestError(f"column {name!r} is a mapping without entries. A struct needs a field")
        fields, columns = _columns(f"{name}.", values)
        return pa.StructArray.from_arrays(columns, fields=fields), ()
    if hasattr(values, "row_splits") and hasattr(values, "values"):
        inner, shape = column_of(name, values.values)
        return pa.ListArray.from_arrays(_offsets(values.row_splits), shaped(inner, shape)), ()
    if isinstance(values, np.ndarray) or not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
        array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
        if array.ndim == 0:
            raise errors.InvalidRequestError(
                f"column {name!r} is a single value, {values!r:.80}. A column needs one entry for each row"
            )
        return _array(name, array)
    return _listed(name, list(values)), ()


def _series(name: str, series: Any) -> tuple[pa.Array, tuple[int, ...]]:
    if is_of(type(series), "polars"):
        # An array of numpy has no nulls: integers beside one would become floats, and lose digits.
        return series.to_arrow() if str(series.dtype) != "Object" else to_arrow(name, series.to_list()), ()
    if hasattr(series, "sparse"):
        series = series.sparse.to_dense()
    # NaN is a number in a column with a type of numpy, and a missing value in pandas' own types and among objects.
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf":
        return _array(name, series.to_numpy())
    return to_arrow(name, series, from_pandas=True), ()


def shaped(array: pa.Array, shape: tuple[int, ...]) -> pa.Array:
    """Values of a shape as nested lists of fixed length, because list elements have no metadata for a shape."""
    if len(shape) < 2:
        return array
    array = array.flatten()
    for size in reversed(shape):
        array = pa.FixedSizeListArray.from_arrays(array, size)
    return array


def is_nullable(array: pa.Array) -> bool:
    """Whether the field of a column must be nullable."""
    return bool(array.null_count > 0 or pa.types.is_null(array.type))


def _offsets(splits: Any) -> pa.Array:
    splits = np.asarray(splits)
    if len(splits) and splits[-1] > np.iinfo(np.int32).max:
        raise errors.InvalidRequestError(
            f"a ragged column holds {splits[-1]} values in one batch. Lists of Arrow have up to 2^31 - 1 values. Give "
            "the rows in several batches"
        )
    return pa.array(splits.astype(np.int32))


def _listed(name: str, values: list[Any]) -> pa.Array:
    if any(isinstance(value, np.ndarray) and value.ndim > 1 for value in values[:1]):
        raise errors.InvalidRequestError(
            f"column {name!r} is a list of arrays of several dimensions. A column of arrays is one array. If all have "
            f"one shape, give np.stack(values)"
        )
    return to_arrow(name, values)


def to_arrow(name: str, values: Any, from_pandas: bool = False) -> pa.Array:
    """Values of Python or pandas as one array.

    Raises:
        UnsupportedTypeError: If the values have no common type.
    """
    try:
        array = pa.array(values, from_pandas=from_pandas)
    except OverflowError as error:
        raise errors.UnsupportedTypeError(
            f"column {name!r} has an integer that no integer of 64 bits holds: {error}. A cache stores integers of "
            "-2^63 to 2^63 - 1. Convert the values to text, decimal.Decimal or float first"
        ) from error
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise errors.UnsupportedTypeError(
            f"column {name!r} mixes values of several types: {error}. A column holds values of one type. Convert the "
            f"values to one type first"
        ) from error
    if pa.types.is_temporal(array.type):
        _require_alike_times(name, values)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _require_alike_times(name: str, values: Any) -> None:
    """Refuses Python's dates and times that Arrow would cut to days, or move by the offset of their zone."""
    is_object = str(getattr(values, "dtype", "")) == "object"
    entries = values if isinstance(values, list) else values.tolist() if is_object else []
    # pandas' missing time is not equal to itself.
    times = [entry for entry in entries if isinstance(entry, (datetime.date, datetime.time)) and entry == entry]
    kinds = {
        ("datetime" if isinstance(entry, datetime.datetime) else type(entry).__name__)
        + (" with a zone" if getattr(entry, "tzinfo", None) else "")
        for entry in times
    }
    if len(kinds) > 1 or "time with a zone" in kinds:
        raise errors.UnsupportedTypeError(
            f"column {name!r} has values of the types {', '.join(sorted(kinds))}. A column holds dates, or times, or "
            "datetimes of which all have a zone or none has one; a time alone has no zone. Convert the values to one "
            "type first"
        )


def _array(name: str, array: Array) -> tuple[pa.Array, tuple[int, ...]]:
    shape = array.shape[1:]
    if 0 in shape:
        raise errors.InvalidRequestError(f"column {name!r} has shape {list(array.shape)}: a row of it has no elements")
    mask = np.ma.getmaskarray(array).reshape(-1) if isinstance(array, np.ma.MaskedArray) else None
    kind = array.dtype.kind
    if kind in "OUST":
        entries = np.ma.getdata(array).reshape(-1).tolist()
        if mask is not None:
            entries = [None if hidden else entry for entry, hidden in zip(entries, mask.tolist(), strict=True)]
        if kind == "O":
            _require_entries(name, entries)
        flat = _listed(name, entries)
        if kind in "UT" and not entries:
            flat = flat.cast(pa.string())
        if kind == "S" and not entries:
            flat = flat.cast(pa.binary())
    elif (kind in "biuf" and array.dtype.itemsize <= 8) or kind == "M":
        data = np.ma.getdata(array)
        if kind == "M" and np.datetime_data(array.dtype)[0] not in _UNITS:
            raise errors.UnsupportedTypeError(
                f"column {name!r} is of type {array.dtype}; times are counted in days, seconds or parts of them. "
                "Convert the array first, with .astype('datetime64[s]') or 'datetime64[D]'"
            )
        native = np.ascontiguousarray(data, data.dtype.newbyteorder("="))
        flat = pa.array(native.reshape(-1), mask=mask)
    else:
        raise errors.UnsupportedTypeError(
            f"column {name!r} is of type {array.dtype}; a cache stores booleans, integers, floats up to 64 bits, "
            f"dates, times and text. Convert the array first, for example with .astype('float32')"
        )
    if not shape:
        return flat, ()
    return pa.FixedSizeListArray.from_arrays(flat, math.prod(shape)), tuple(shape)


def _require_entries(name: str, entries: list[Any]) -> None:
    """Refuses a mix of text and other values, which mostly is a mistake, and which Arrow might convert."""
    kinds = {type(entry) for entry in entries} - {type(None)}
    if len(kinds) > 1 and kinds & {str, bytes}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise errors.UnsupportedTypeError(
            f"column {name!r} is an array of Python objects of types {names}; a column holds values of one "
            f"type. Convert the values to one type first"
        )
