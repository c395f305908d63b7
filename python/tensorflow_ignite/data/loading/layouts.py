"""Columns without the variants of Arrow's layout: dictionaries, runs, views, 64-bit offsets, extension types."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from tensorflow_ignite.data.loading.uuids import is_uuid, text_of


def plain(kind: pa.DataType) -> pa.DataType:
    """The type without variants of its layout in Arrow."""
    if is_uuid(kind):
        return pa.string()
    if isinstance(kind, pa.BaseExtensionType):
        return plain(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return plain(kind.value_type)
    if types.is_decimal(kind) and kind.bit_width < 128:
        # Only newer versions of Arrow have these.
        return pa.decimal128(kind.precision, kind.scale)
    if types.is_uint64(kind):
        # Ignite has no such integers; the cast refuses a value that needs the last bit.
        return pa.int64()
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(plain(kind.value_type)), kind.list_size)
    if _is_list(kind):
        return pa.list_(kind.value_field.with_type(plain(kind.value_type)))
    if types.is_map(kind):
        return pa.map_(plain(kind.key_type), plain(kind.item_type))
    if types.is_struct(kind):
        return pa.struct([field.with_type(plain(field.type)) for field in kind])
    return kind


def stored(column: pa.Array) -> pa.Array:
    """The values of a column in a layout that Arrow casts to :func:`plain`, at any depth: it casts not every layout."""
    kind = column.type
    if is_uuid(kind):
        return text_of(column)
    if isinstance(kind, pa.BaseExtensionType):
        return stored(column.storage)
    if types.is_dictionary(kind):
        return stored(column.dictionary).take(column.indices)
    if types.is_run_end_encoded(kind):
        return stored(pc.run_end_decode(column))
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return column.cast(plain(kind))
    if kind == plain(kind) or not types.is_nested(kind):
        return column
    hidden = column.is_null()
    if types.is_struct(kind):
        children = [stored(child) for child in column.flatten()]
        fields = [field.with_type(child.type) for field, child in zip(kind, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=hidden)
    if types.is_fixed_size_list(kind):
        size = kind.list_size
        values = stored(column.values.slice(column.offset * size, len(column) * size))
        field = kind.value_field.with_type(values.type)
        return pa.FixedSizeListArray.from_arrays(values, type=pa.list_(field, size), mask=hidden)
    if types.is_map(kind):
        offsets = column.offsets.to_numpy()
        keys, items = map(stored, entries(column))
        return pa.MapArray.from_arrays(pa.array(offsets - offsets[0]), keys, items, mask=hidden)
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    values = stored(column.flatten())
    offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
    field = kind.value_field.with_type(values.type)
    return pa.ListArray.from_arrays(offsets, values, type=pa.list_(field), mask=hidden)


def entries(column: pa.MapArray) -> tuple[pa.Array, pa.Array]:
    """The keys and the items of all maps."""
    offsets = column.offsets.to_numpy()
    first, length = int(offsets[0]), int(offsets[-1] - offsets[0])
    return column.keys.slice(first, length), column.items.slice(first, length)


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        types.is_list(kind) or types.is_large_list(kind) or types.is_list_view(kind) or types.is_large_list_view(kind)
    )
