"""Which column of a cache becomes which input of a model, and its arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.tensor_schema import columns_of, describe, storage_of
from tensorflow_ignite.models.signature import Signature, TensorSpec, converts

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class InputColumn:
    """One input of a model, and the column with its values.

    Attributes:
        spec: The input.
        column: Name of the column.
        requested: The type in which the column is read; None: the type of the cache.
    """

    spec: TensorSpec
    column: str
    requested: pa.DataType | None = None

    def array(self, values: Array) -> Array:
        """The values of a batch in the shape of the input: a list of 64 numbers may be an image of 8 x 8."""
        shape = _row_shape(self.spec)
        return values if shape is None or values.shape[1:] == shape else values.reshape(len(values), *shape)


def input_columns(
    signature: Signature, schema: pa.Schema, columns: Sequence[str], keep: Sequence[str], subject: str
) -> tuple[InputColumn, ...]:
    """Chooses a column for each input: by name; for a model with one input, the only column that fits.

    Args:
        signature: The inputs of the model.
        schema: The columns of the cache, including the columns that the caller names.
        columns: The columns that the caller names for the model; empty: all of the cache may be.
        keep: The columns that the caller keeps.
        subject: Names model and cache in error texts, such as "model digits:3 and cache 'images'".

    Raises:
        InvalidRequestError: No choice of columns fits.
    """
    available = list(columns) or list(schema.names)
    names = [spec.name for spec in signature.inputs]
    if set(names) <= set(available) and (not columns or len(columns) == len(names)):
        pairs = list(zip(signature.inputs, names, strict=True))
    elif len(names) == 1:
        pairs = [(signature.inputs[0], _only(signature, schema, columns, keep, subject))]
    else:
        raise errors.InvalidRequestError(
            f"{subject}: the inputs {names} and the columns {available} differ. {_requirement(signature)}. A column "
            "becomes the input of its name; only a model with one input takes a column of another name. Name the "
            "columns so, or give others with columns= (--columns)"
        )
    return tuple(_fitted(spec, schema, name, signature, subject) for spec, name in pairs)


def _only(signature: Signature, schema: pa.Schema, columns: Sequence[str], keep: Sequence[str], subject: str) -> str:
    """The column for the only input of a model, which has another name."""
    if len(columns) == 1:
        return str(columns[0])
    fitting = (
        []
        if columns
        else [name for name in schema.names if name not in keep and _fit(signature.inputs[0], schema.field(name))]
    )
    if len(fitting) == 1:
        return str(fitting[0])
    found = f"{len(columns)} columns are given" if columns else f"of {schema.names}, {fitting or 'none'} fit it"
    raise errors.InvalidRequestError(
        f"{subject}: the model has one input, and {found}. {_requirement(signature)}. One column becomes this input. "
        "Name the column with columns= (--columns)"
    )


def _fitted(spec: TensorSpec, schema: pa.Schema, name: str, signature: Signature, subject: str) -> InputColumn:
    field = schema.field(name)
    fitted = _fit(spec, field)
    if fitted is None:
        try:
            found = describe(columns_of(pa.schema([field])))
        except errors.TensorFlowIgniteError:
            found = f"{name}:{field.type}"
        raise errors.InvalidRequestError(
            f"{subject}: the column {found} cannot become the input {spec}. {_requirement(signature)}. Numbers become "
            "numbers of their kind, or floats; a list has as many elements as the input needs. Name another column "
            "with columns= (--columns), or load the values with a fitting type"
        )
    return fitted


def _requirement(signature: Signature) -> str:
    return f"The model takes {', '.join(map(str, signature.inputs))}, of which the first axis is the rows"


def _row_shape(spec: TensorSpec) -> tuple[int, ...] | None:
    """The shape of one value; None: it is not fixed."""
    inner = None if spec.shape is None else spec.shape[1:]
    return None if inner is None or None in inner else tuple(size for size in inner if size is not None)


def _fit(spec: TensorSpec, field: pa.Field) -> InputColumn | None:
    """The column as this input; None: it does not fit."""
    try:
        (column,) = columns_of(pa.schema([field]))
    except errors.TensorFlowIgniteError:
        return None
    if column.children or not _converts(column.dtype, spec.dtype):
        return None
    shape = _row_shape(spec)
    if column.ragged:
        kind = storage_of(field.type)
        if column.ragged > 1 or column.shape or not shape or not (types.is_list(kind) or types.is_large_list(kind)):
            return None
        # Its lists may all have the length that the model needs; the node checks each.
        return InputColumn(spec, field.name, pa.list_(kind.value_type, math.prod(shape)))
    if shape is None:
        fits = spec.shape is None or _agree(spec.shape[1:], column.shape)
    else:
        fits = math.prod(shape) == math.prod(column.shape)
    return InputColumn(spec, field.name) if fits else None


def _agree(expected: tuple[int | None, ...], found: tuple[int, ...]) -> bool:
    return len(expected) == len(found) and all(
        size in (None, other) for size, other in zip(expected, found, strict=True)
    )


def _converts(given: str, expected: str) -> bool:
    if "string" in (given, expected):
        return given == expected
    try:
        return converts(np.dtype(given), np.dtype(expected))
    except TypeError:
        # Types that only TensorFlow has, such as bfloat16.
        return np.dtype(given).kind == "f"
