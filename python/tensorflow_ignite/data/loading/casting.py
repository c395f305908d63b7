"""Batches as the cache stores them: plain Arrow types, those of ``schema=``, and the same in every batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from tensorflow_ignite import errors
from tensorflow_ignite.data.loading.uuids import TYPE_KEY, UUID, is_uuid, text_of
from tensorflow_ignite.data.tensors import SHAPE_KEY


class Casting:
    """Casts record batches to one schema, which is found at the first and holds for all."""

    def __init__(self, wanted: pa.Schema | Mapping[str, Any] | None) -> None:
        """Takes what the caller wants.

        Args:
            wanted: Types of some or all columns: a pyarrow.Schema, or by name a pyarrow type or field, a numpy type
                (of the innermost values, where the column holds arrays), or None (as it is).

        Raises:
            InvalidRequestError: If one of them is no type.
        """
        self._wanted: dict[str, pa.Field | None] = {}
        for name, kind in (wanted or {}).items() if not isinstance(wanted, pa.Schema) else _named(wanted):
            self._wanted[name] = (
                kind if kind is None or isinstance(kind, pa.Field) else pa.field(name, _type(name, kind))
            )
        self._whole = isinstance(wanted, pa.Schema)

    @property
    def names(self) -> list[str]:
        """Names of the columns that are wanted, in their order."""
        return list(self._wanted)

    @property
    def whole(self) -> pa.Schema | None:
        """All that is known of rows of which there is none; None when that is not enough."""
        return pa.schema(list(self._wanted.values())) if self._whole else None

    def field(self, field: pa.Field) -> pa.Field:
        """The field as it is loaded.

        Raises:
            UnsupportedTypeError: If nothing tells its type.
        """
        wanted = self._wanted.get(field.name)
        kind = _plain(field.type) if wanted is None else _innermost(_plain(field.type), wanted.type)
        if types.is_null(kind):
            raise errors.UnsupportedTypeError(
                f"column {field.name!r} holds None in each row, or there is none; a column needs a type. Give it: "
                f"schema={{{field.name!r}: pyarrow.string()}}, for example"
            )
        marks = {TYPE_KEY: UUID} if is_uuid(field.type) and types.is_string(kind) else {}
        metadata = marks | dict(field.metadata or {}) | dict((wanted.metadata if wanted is not None else None) or {})
        return pa.field(field.name, kind, field.nullable, metadata or None)

    def schema(self, raw: pa.Schema) -> pa.Schema:
        """The schema as it is loaded.

        Raises:
            InvalidRequestError: If a column is wanted that is not there, or a name comes twice.
            UnsupportedTypeError: If nothing tells the type of a column.
        """
        if len(set(raw.names)) < len(raw.names):
            raise errors.InvalidRequestError(f"the rows have two columns of one name: {raw.names}. Rename one")
        missing = [name for name in self._wanted if name not in raw.names]
        if missing:
            raise errors.InvalidRequestError(
                f"schema= names column {missing[0]!r}, which the rows do not have; they have {', '.join(raw.names)}. "
                f"Correct the name, or leave it out"
            )
        return pa.schema([self.field(field) for field in raw])

    def batch(self, batch: pa.RecordBatch, schema: pa.Schema, number: int) -> pa.RecordBatch:
        """A batch of that schema.

        Args:
            batch: Rows as they come.
            schema: As :meth:`schema` told of the first batch.
            number: Of the batch, from 0, for messages.

        Raises:
            InvalidRequestError: If its columns or their types are not those of the first.
            UnsupportedTypeError: If a value does not fit its type.
        """
        if batch.schema.names != schema.names:
            if sorted(batch.schema.names) != sorted(schema.names):
                raise errors.InvalidRequestError(
                    f"batch {number} has columns {batch.schema.names}, the first one {schema.names}. Every batch has "
                    f"the columns of the first. Correct what makes the batches"
                )
            batch = batch.select(schema.names)
        columns = [
            self._column(found, column, field, number)
            for found, column, field in zip(batch.schema, batch.columns, schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _column(self, found: pa.Field, column: pa.Array, field: pa.Field, number: int) -> pa.Array:
        free = self._wanted.get(field.name) is not None or types.is_null(found.type)
        if not free and not _same(_plain(found.type), field.type):
            raise errors.InvalidRequestError(
                f"column {field.name!r} is of type {found.type} in batch {number}, and of {field.type} in the first "
                f"one. A column has one type. Give it with schema=, or correct what makes the batches"
            )
        if (found.metadata or {}).get(SHAPE_KEY) != (field.metadata or {}).get(SHAPE_KEY) and not free:
            raise errors.InvalidRequestError(
                f"column {field.name!r} has another shape in batch {number} than in the first one. Arrays of a column "
                f"have one shape. Reshape them, or load them as lists"
            )
        if column.type == field.type:
            return column
        try:
            return _stored(column).cast(field.type)
        except (pa.ArrowException, ValueError) as error:
            raise errors.UnsupportedTypeError(
                f"column {field.name!r} of type {column.type} cannot be loaded as {field.type}: {error} (batch "
                f"{number}). Only casts that lose nothing are made. Choose another type with schema="
            ) from error


def _named(schema: pa.Schema) -> list[tuple[str, pa.Field]]:
    return [(field.name, field) for field in schema]


def _type(name: str, kind: Any) -> pa.DataType:
    if isinstance(kind, pa.DataType):
        return kind
    # TensorFlow's types say which of numpy's they are.
    dtype = getattr(kind, "as_numpy_dtype", kind)
    try:
        found = np.dtype(dtype)
        if found.kind in "US":
            return pa.string() if found.kind == "U" else pa.binary()
        return pa.from_numpy_dtype(found)
    except (TypeError, pa.ArrowException) as error:
        raise errors.InvalidRequestError(
            f"schema={{{name!r}: {kind!r}}} is no type; it is one of pyarrow, such as pyarrow.float32(), or of numpy, "
            f"such as numpy.float32"
        ) from error


def _innermost(kind: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """The wanted type, put at the innermost place when it is that of a single value and the column holds lists."""
    if types.is_nested(wanted):
        return wanted
    if types.is_fixed_size_list(kind):
        return pa.list_(_innermost(kind.value_type, wanted), kind.list_size)
    if types.is_list(kind):
        return pa.list_(_innermost(kind.value_type, wanted))
    return wanted


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type without what only says how Arrow lays it out: dictionaries, 64-bit offsets, views, extensions."""
    if is_uuid(kind):
        return pa.string()
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _plain(kind.value_type)
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)), kind.list_size)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_list_view(kind) or types.is_large_list_view(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    if types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    if types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    return kind


def _same(kind: pa.DataType, other: pa.DataType) -> bool:
    """Whether types are alike but for the nullability of what is inside."""
    if types.is_nested(kind) and kind.id == other.id and kind.num_fields == other.num_fields:
        sizes = not types.is_fixed_size_list(kind) or kind.list_size == other.list_size
        pairs = [(kind.field(at), other.field(at)) for at in range(kind.num_fields)]
        named = not types.is_struct(kind) or all(one.name == two.name for one, two in pairs)
        return sizes and named and all(_same(one.type, two.type) for one, two in pairs)
    return bool(kind == other)


def _stored(column: pa.Array) -> pa.Array:
    if is_uuid(column.type):
        return text_of(column)
    return column.storage if isinstance(column.type, pa.BaseExtensionType) else column
