"""The columns of the results: the key, the kept columns, the predictions, the version, and the time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.tensor_schema import KEY_COLUMN, SHAPE_KEY
from tensorflow_ignite.models.signature import TensorSpec, shape_text

#: What predicted a row: NAME:NUMBER of the model, or the name of the script.
VERSION_COLUMN = "model_version"
TIME_COLUMN = "predicted_at"

_TIME = pa.timestamp("us", "UTC")
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ResultColumns:
    """The schema of the results, of which the outputs are a part.

    Attributes:
        keep: The columns that are copied.
        outputs: The columns that are predicted.
        key: The column with the keys.
    """

    key: pa.Field
    keep: tuple[pa.Field, ...]
    outputs: tuple[pa.Field, ...]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches that are written."""
        marks = [pa.field(VERSION_COLUMN, pa.string(), False), pa.field(TIME_COLUMN, _TIME, False)]
        return pa.schema([self.key, *self.keep, *self.outputs, *marks])

    def batch(
        self, rows: pa.RecordBatch, predicted: Mapping[str, Array], version: str, now: datetime
    ) -> pa.RecordBatch:
        """The results of some rows.

        Args:
            rows: Rows of the cache, with the key and the kept columns.
            predicted: Arrays by the names of the outputs.
            version: The version that predicted them.
            now: The time of the prediction.

        Raises:
            RowMismatchError: The outputs differ from the outputs of the first batch.
        """
        if list(predicted) != [field.name for field in self.outputs]:
            raise errors.RowMismatchError(
                f"{version} has predicted {list(predicted)}, and before {[field.name for field in self.outputs]}. "
                "Every batch has the same outputs, in the same order. Return the same names for each batch"
            )
        number = rows.num_rows
        outputs = [output_array(predicted[field.name], field, number, version) for field in self.outputs]
        copied = [rows.column(field.name) for field in (self.key, *self.keep)]
        marks = [pa.repeat(version, number), pa.repeat(pa.scalar(now, _TIME), number)]
        return pa.record_batch([*copied, *outputs, *marks], schema=self.schema)


def result_columns(rows: pa.Schema, keep: Sequence[str], outputs: Sequence[pa.Field], subject: str) -> ResultColumns:
    """The columns of the results.

    Args:
        rows: The columns of the cache, with its key.
        keep: Names of the columns to copy.
        outputs: The columns that are predicted.
        subject: Names model and cache in error texts.

    Raises:
        InvalidRequestError: Two columns have one name.
    """
    key = rows.field(KEY_COLUMN)
    # Fields of a key are columns of the results anyway.
    in_key = {child.name for child in key.type} if types.is_struct(key.type) else set()
    kept = tuple(rows.field(name) for name in keep if name not in in_key)
    names: dict[str, str] = {}
    for name, origin in (
        *((name, "a field of the key") for name in in_key),
        *((field.name, "a kept column") for field in kept),
        *((field.name, "an output") for field in outputs),
        *((name, "a column of every result") for name in (VERSION_COLUMN, TIME_COLUMN)),
    ):
        other = names.setdefault(name.lower(), origin)
        if other is not origin or (origin == "an output" and [f.name for f in outputs].count(name) > 1):
            raise errors.InvalidRequestError(
                f"{subject}: {name!r} is {other} and {origin}. Each column of the results has a name of its own, in "
                "upper case too. Leave it out of keep= (--keep), or rename the output of the model"
            )
    return ResultColumns(key, kept, tuple(outputs))


def output_field(spec: TensorSpec, subject: str) -> pa.Field:
    """The column for an output of a model: a number if it has one for each row, otherwise a list.

    Raises:
        UnsupportedTypeError: A cache has no column for its values.
    """
    element = _element_type(spec.dtype)
    kind = _column_type(element, spec.shape[1:]) if element is not None and spec.shape else None
    if kind is None or not spec.shape:
        raise errors.UnsupportedTypeError(
            f"{subject}: the output {spec} cannot become a column. An output has rows as its first axis, and elements "
            "of 8 to 64 bits, unsigned up to 32, or text; an axis of any size is the only further one. Give the model "
            "another signature, and name it with signature= (--signature)"
        )
    # As tensorflow_ignite.load does with arrays.
    metadata = (
        {SHAPE_KEY: json.dumps(spec.shape[1:]).encode()} if len(spec.shape) > 2 and None not in spec.shape[1:] else None
    )
    return pa.field(spec.name, kind, False, metadata)


def field_of_array(name: str, array: Any, subject: str) -> pa.Field:
    """The column for what a script has returned for the first batch.

    Raises:
        UnsupportedTypeError: A cache has no column for its values.
    """
    values = np.asarray(array)
    text = values.dtype.kind in "SUO"
    return output_field(TensorSpec(name, "string" if text else values.dtype.name, values.shape or None), subject)


def output_array(array: Any, field: pa.Field, rows: int, subject: str) -> pa.Array:
    """The values of an output as a column.

    Raises:
        RowMismatchError: It has another number of rows, or its values do not fit the column.
    """
    values = np.asarray(array)
    if values.ndim == 0 or len(values) != rows:
        raise errors.RowMismatchError(
            f"{subject} has predicted {field.name!r} of shape {shape_text(values.shape)} for {rows} rows. The first "
            "axis of an output is the rows. Return a value for each row"
        )
    is_list = types.is_nested(field.type)
    try:
        found = _leaf(values.reshape(-1), field.type.value_type if is_list else field.type)
        if is_list and rows:
            return _listed(found, field.type, rows)
        if len(found) != rows:
            raise ValueError(f"a row has {len(found) // rows} elements, and not 1")
        return found
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise errors.RowMismatchError(
            f"{subject} has predicted {field.name!r} of type {values.dtype}{shape_text(values.shape)}, which does not "
            f"fit its column of {field.type} ({error}). The first batch decides the type of a column. Return values of "
            "one type and shape"
        ) from error


def _element_type(dtype: str) -> pa.DataType | None:
    if dtype == "string":
        return pa.string()
    if dtype == "bfloat16":
        return pa.float32()
    try:
        kind = pa.from_numpy_dtype(np.dtype(dtype))
    except (TypeError, pa.ArrowException):
        return None
    fits = types.is_boolean(kind) or types.is_floating(kind) or (types.is_integer(kind) and kind != pa.uint64())
    return kind if fits else None


def _column_type(kind: pa.DataType, dims: Sequence[int | None]) -> pa.DataType | None:
    """The type of a column for values of a shape; None: there is none."""
    if tuple(dims) in ((), (1,)):
        return kind
    if None not in dims:
        return pa.list_(kind, math.prod(size for size in dims if size is not None))
    return pa.list_(kind) if len(dims) == 1 else None


def _leaf(values: Array, kind: pa.DataType) -> pa.Array:
    if types.is_string(kind):
        found = pa.array(values.astype(object) if values.dtype.kind == "S" else values)
        # TensorFlow has bytes; a column of text is UTF-8.
        return found if types.is_string(found.type) else found.cast(pa.string())
    if values.dtype.kind not in "biuf":
        values = values.astype(np.float32)
    return pa.array(np.ascontiguousarray(values)).cast(kind)


def _listed(found: pa.Array, kind: pa.DataType, rows: int) -> pa.Array:
    """The elements of all rows as one list for each row."""
    if types.is_fixed_size_list(kind):
        if len(found) != rows * kind.list_size:
            raise ValueError(f"a row has {len(found) // rows} elements, and not {kind.list_size}")
        return pa.FixedSizeListArray.from_arrays(found, type=kind)
    offsets = np.arange(rows + 1, dtype=np.int32) * (len(found) // rows)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), found, type=kind)
