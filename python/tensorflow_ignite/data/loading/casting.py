"""Casts of batches to the types that the cache stores: plain Arrow types, or the types of ``schema=``."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.tensor_schema import SHAPE_KEY, TYPE_KEY
from tensorflow_ignite.data.loading import lossless
from tensorflow_ignite.data.loading.layouts import plain, stored
from tensorflow_ignite.data.loading.uuids import UUID, is_uuid

# Levels of nested types; a node refuses more.
MAX_DEPTH = 64
_SHOWN_CHARACTERS = 80
_DECIMAL = re.compile(r"decimal128\((\d+), ?(-?\d+)\)")
_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns), ?(?:tz=)?(\S+)\]")


class Casting:
    """Casts all record batches to one schema, which the first batch determines."""

    def __init__(self, requested: pa.Schema | Mapping[str, Any] | None) -> None:
        """Validates the requested types.

        Args:
            requested: Types of some or all columns: a pyarrow.Schema, or by name a pyarrow type or field, the name
                of a type, a numpy type (of the innermost values, if the column holds arrays), or None (not changed).

        Raises:
            InvalidRequestError: If a value is no type.
        """
        self._requested: dict[str, pa.Field | None] = {}
        for name, kind in (requested or {}).items() if not isinstance(requested, pa.Schema) else _named(requested):
            self._requested[name] = (
                kind if kind is None or isinstance(kind, pa.Field) else pa.field(name, _type(name, kind))
            )
        self._whole = isinstance(requested, pa.Schema)
        self._rows = 0

    @property
    def names(self) -> list[str]:
        """Names of the columns with a requested type, in their order."""
        return list(self._requested)

    @property
    def types(self) -> dict[str, pa.DataType | None]:
        """The requested types by name; None: the caller names the column alone."""
        return {name: None if found is None else found.type for name, found in self._requested.items()}

    @property
    def whole(self) -> pa.Schema | None:
        """The schema for an input without rows; None unless the request is a whole pyarrow.Schema."""
        return pa.schema(list(self._requested.values())) if self._whole else None

    def field(self, field: pa.Field) -> pa.Field:
        """The field as it is loaded.

        Raises:
            UnsupportedTypeError: If the type is not known.
        """
        requested = self._requested.get(field.name)
        _require_depth(field)
        if getattr(field.type, "extension_name", "") == "pandas.period":
            raise errors.UnsupportedTypeError(
                f"column {field.name!r} is of periods of pandas. A cache stores no periods, and would have their "
                "numbers alone. Convert the column first, with .dt.to_timestamp() or .astype(str)"
            )
        kind = plain(field.type) if requested is None else _innermost(plain(field.type), requested.type)
        if types.is_null(kind):
            raise errors.UnsupportedTypeError(
                f"column {field.name!r} holds None in each row, or there is none. A column needs a type. Give the "
                f"type, for example schema={{{field.name!r}: pyarrow.string()}}"
            )
        marks = {TYPE_KEY: UUID} if is_uuid(field.type) and types.is_string(kind) else {}
        metadata = (
            marks | dict(field.metadata or {}) | dict((requested.metadata if requested is not None else None) or {})
        )
        return pa.field(field.name, kind, field.nullable, metadata or None)

    def schema(self, raw: pa.Schema) -> pa.Schema:
        """The schema as it is loaded.

        Raises:
            InvalidRequestError: If a requested column does not exist, or two columns have one name.
            UnsupportedTypeError: If the type of a column is not known.
        """
        if len(set(raw.names)) < len(raw.names):
            raise errors.InvalidRequestError(f"the rows have two columns of one name: {raw.names}. Rename one of them")
        missing = [name for name in self._requested if name not in raw.names]
        if missing:
            raise errors.InvalidRequestError(
                f"schema= names column {missing[0]!r}, which the rows do not have; they have {', '.join(raw.names)}. "
                f"Name one of these, or remove the column from schema="
            )
        return pa.schema([self.field(field) for field in raw])

    def batch(self, batch: pa.RecordBatch, schema: pa.Schema, number: int) -> pa.RecordBatch:
        """A batch of that schema.

        Args:
            batch: Rows of the input.
            schema: The result of :meth:`schema` for the first batch.
            number: Number of the batch, from 0, for error texts.

        Raises:
            InvalidRequestError: If its columns or their types differ from the first batch.
            UnsupportedTypeError: If a value does not fit its type.
        """
        if batch.schema.names != schema.names:
            if sorted(batch.schema.names) != sorted(schema.names):
                raise errors.InvalidRequestError(
                    f"batch {number} has columns {batch.schema.names}, the first one {schema.names}. Every batch has "
                    f"the columns of the first. Make batches with these columns"
                )
            batch = batch.select(schema.names)
        columns = [
            self._column(found, column, field, number)
            for found, column, field in zip(batch.schema, batch.columns, schema, strict=True)
        ]
        self._rows += batch.num_rows
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _column(self, found: pa.Field, column: pa.Array, field: pa.Field, number: int) -> pa.Array:
        is_requested = self._requested.get(field.name) is not None or types.is_null(found.type)
        if not is_requested and not lossless.holds(field.type, plain(found.type)):
            raise errors.InvalidRequestError(
                f"column {field.name!r} is of type {found.type} in batch {number}, and of {field.type} in the first "
                f"one. A column has one type in all batches. Give the type with schema="
            )
        if (found.metadata or {}).get(SHAPE_KEY) != (field.metadata or {}).get(SHAPE_KEY) and not is_requested:
            raise errors.InvalidRequestError(
                f"column {field.name!r} has another shape in batch {number} than in the first one. Arrays of a column "
                f"have one shape. Reshape the arrays, or load them as lists"
            )
        if column.type == field.type:
            return column
        values = stored(column)
        try:
            return lossless.cast(values, field.type)
        except (pa.ArrowNotImplementedError, TypeError) as error:
            raise self._refused(column, field, str(error)) from error
        except lossless.REFUSED as error:
            row, reason = lossless.first_refused(values, field.type)
            value = f"{_shown(values[row])} in row {self._rows + row} (from 0)"
            raise self._refused(column, field, f"{value}: {reason}") from error

    def _refused(self, column: pa.Array, field: pa.Field, reason: str) -> errors.UnsupportedTypeError:
        return errors.UnsupportedTypeError(
            f"column {field.name!r} of type {column.type} cannot be loaded as {field.type}: {reason}. Only casts that "
            "lose nothing are made. Choose another type with schema="
        )


def _shown(value: pa.Scalar) -> str:
    """A value for an error text."""
    try:
        text = repr(value.as_py())
    except (ValueError, OverflowError):
        # Python has no such time.
        text = str(value.cast(pa.int64()) if types.is_temporal(value.type) else value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def _named(schema: pa.Schema) -> list[tuple[str, pa.Field]]:
    return [(field.name, field) for field in schema]


def _type(name: str, kind: Any) -> pa.DataType:
    if isinstance(kind, pa.DataType):
        return kind
    # A type of TensorFlow names its type of numpy.
    dtype = getattr(kind, "as_numpy_dtype", kind)
    try:
        found = np.dtype(dtype)
        if found.kind in "US":
            return pa.string() if found.kind == "U" else pa.binary()
        return pa.from_numpy_dtype(found)
    except (TypeError, ValueError, pa.ArrowException) as error:
        # After numpy's names: "float" has 64 bits there, as in Python, and 32 in Arrow.
        if isinstance(kind, str):
            with contextlib.suppress(ValueError):
                return _of_name(kind)
        raise errors.InvalidRequestError(
            f"schema={{{name!r}: {kind!r}}} is no type. Give a type of pyarrow, such as pyarrow.float32(), of numpy, "
            "such as numpy.float32, or the name of one: float32, string, date32, timestamp[ms], decimal128(10, 2)"
        ) from error


def _of_name(name: str) -> pa.DataType:
    """The type that Arrow prints so; Arrow itself reads no name of a type with several parts."""
    if found := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(found[1]), int(found[2]))
    if found := _TIMESTAMP.fullmatch(name):
        return pa.timestamp(found[1], found[2])
    return pa.type_for_alias(name)


def _require_depth(field: pa.Field) -> None:
    """Refuses types that are nested deeper than a node accepts, which would exceed Python's recursion limit too."""
    inner, depth = [field.type], 1
    while inner := [kind.field(at).type for kind in inner for at in range(kind.num_fields)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise errors.InvalidRequestError(
                f"column {field.name!r} is nested deeper than {MAX_DEPTH} levels. A column has at most {MAX_DEPTH}. "
                "Flatten it, or store it as text or bytes"
            )


def _innermost(kind: pa.DataType, requested: pa.DataType) -> pa.DataType:
    """The requested type; the type of a single value replaces the innermost type of lists."""
    if types.is_nested(requested):
        return requested
    if types.is_fixed_size_list(kind):
        return pa.list_(_innermost(kind.value_type, requested), kind.list_size)
    if types.is_list(kind):
        return pa.list_(_innermost(kind.value_type, requested))
    return requested
