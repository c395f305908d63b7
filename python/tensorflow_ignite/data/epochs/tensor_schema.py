"""The layout of tensors for the columns of an Arrow schema, as a tree that travels inside a graph.

A nested object becomes a nested dict, a map a dict of ``keys`` and ``values``. The dimensions of a list of objects are
dimensions of each leaf: the list becomes a dict of ragged tensors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from tensorflow_ignite import errors

# Name of the column that holds the key of a row.
KEY_COLUMN = "_key"

# Field metadata: the shape of one row's value as a JSON list, when it has more dimensions than one.
SHAPE_KEY = b"tensorflow_ignite.shape"

# Field metadata: the stored type that a plain Arrow type stands for, "uuid", "decimal" or "enum".
TYPE_KEY = b"tensorflow-ignite.type"
DECIMAL = b"decimal"

# The name of a mask is the name of its column with this suffix.
MASK_SUFFIX = "_mask"

KEYS, VALUES = "keys", "values"

_T = TypeVar("_T")


@dataclass(frozen=True)
class Column:
    """The tensor, or dict of tensors, of one column or one field of a nested object.

    Attributes:
        name: Name of the column.
        dtype: Name of the TensorFlow type: ``float32``, ``string``, …; empty for a dict.
        shape: Static shape of one value; of a ragged column, of one innermost value.
        ragged: Number of ragged dimensions, including the dimensions of the enclosing objects.
        children: The entries of a dict.
        nulls: How nulls are treated: an ``"error"``, a ``"default"`` value, or a default value and a ``"mask"``.
    """

    name: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    ragged: int = 0
    children: tuple[Column, ...] = ()
    nulls: str = "error"

    @property
    def masked(self) -> bool:
        """Whether a second tensor of booleans is True where there is a value."""
        return self.nulls == "mask"


class RequestedTensor(NamedTuple):
    """The tensor that a reader requests for a leaf.

    Attributes:
        dtype: Name of the TensorFlow type.
        shape: Static shape of one innermost value; None: the shape of the column.
    """

    dtype: str
    shape: tuple[int, ...] | None = None


#: Requested tensors by the path of the leaf, such as ``("point", "x")``. List elements have the path of their list.
RequestedTensors = Mapping[tuple[str, ...], RequestedTensor]


def columns_of(
    schema: pa.Schema, nulls: str = "error", requested: RequestedTensors | None = None
) -> tuple[Column, ...]:
    """The columns of a schema, in its order.

    Args:
        schema: Schema of the batches.
        nulls: How nulls are treated: ``"error"``, ``"default"`` or ``"mask"``.
        requested: Requested tensors, where they differ from the tensors of the stored type.

    Raises:
        UnsupportedTypeError: If a type has no tensor, or not the requested one.
        SchemaUnknownError: If a shape does not fit the values.
        InvalidRequestError: If two tensors would have one name.
    """
    return _columns(schema, _Builder(nulls, requested or {}, strict=True))


def _columns(schema: pa.Schema, builder: _Builder) -> tuple[Column, ...]:
    columns = tuple(builder.column(field.name, field, (field.name,)) for field in schema)
    _check_names("the columns", columns)
    return columns


def columns_like(schema: pa.Schema, layout: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of a schema, as in ``layout`` where the types allow it: equal to ``layout`` if the batches fit it.

    Raises:
        TensorFlowIgniteError: As :func:`columns_of`.
    """
    requested = {path: RequestedTensor(leaf.dtype, leaf.shape) for path, leaf in leaves(layout)}
    nulls = {leaf.nulls for _, leaf in leaves(layout)}
    return _columns(schema, _Builder(nulls.pop() if len(nulls) == 1 else "error", requested, strict=False))


def check_layout(schema: pa.Schema, layout: tuple[Column, ...], subject: str) -> None:
    """Checks that batches have the columns for which a dataset was made.

    Args:
        schema: Of a batch.
        layout: The layout of each column.
        subject: Names the rows in error texts, such as "cache 'x'".

    Raises:
        RowMismatchError: They have other columns.
    """
    found = columns_like(schema, layout)
    if found != layout:
        raise errors.RowMismatchError(
            f"{subject} arrives as {describe(found)}, but the dataset was made for {describe(layout)}. The columns of "
            f"a dataset are fixed when it is made. Make the dataset again"
        )


def layout_of(columns: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Columns from the JSON form of :func:`dataclasses.asdict`."""
    return tuple(
        Column(**{**column, "shape": tuple(column["shape"]), "children": layout_of(column["children"])})
        for column in columns
    )


def types_of(layout: Sequence[Column]) -> list[str]:
    """Names of the types of the arrays that `tensors.arrays_of` returns, in their order."""
    names: list[str] = []
    for _, leaf in leaves(layout):
        names += [leaf.dtype, *(["bool"] * leaf.masked), *(["int64"] * leaf.ragged)]
    return names


def pack(
    layout: Sequence[Column], tensors: Sequence[_T], make: Callable[[_T, tuple[int, ...], list[_T]], Any]
) -> dict[str, Any]:
    """Makes an element of flat arrays or tensors: a dict of columns, nested for nested objects.

    Args:
        layout: The columns.
        tensors: The arrays, in the order of :func:`types_of`.
        make: Makes one tensor of its values, ``[None, *shape]``, that shape, and its row splits from the outermost to
            the innermost, none for a dense tensor.
    """
    remaining = iter(tensors)

    def packed(columns: Sequence[Column]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for column in columns:
            if column.children:
                made[column.name] = packed(column.children)
                continue
            values = next(remaining)
            mask = next(remaining) if column.masked else None
            splits = [next(remaining) for _ in range(column.ragged)]
            made[column.name] = make(values, column.shape, splits)
            if mask is not None:
                made[column.name + MASK_SUFFIX] = make(mask, column.shape, splits)
        return made

    return packed(layout)


def describe(layout: Sequence[Column]) -> str:
    """The layout in error texts: ``pixels:uint8[28, 28], words:string[None], point:{x:float64, y:float64}``."""
    return ", ".join(
        f"{column.name}:{{{describe(column.children)}}}"
        if column.children
        else f"{column.name}:{column.dtype}{[None] * column.ragged + list(column.shape) or ''}"
        for column in layout
    )


def leaves(layout: Sequence[Column], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Column]]:
    """The columns that are no dict, in their order, each with its path."""
    for column in layout:
        if column.children:
            yield from leaves(column.children, (*path, column.name))
        else:
            yield (*path, column.name), column


def storage_of(kind: pa.DataType) -> pa.DataType:
    """The type with the types of the values in place of dictionaries and extension types, also inside of it."""

    def stored(field: pa.Field) -> pa.Field:
        return field.with_type(storage_of(field.type))

    if types.is_dictionary(kind):
        return storage_of(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return storage_of(kind.storage_type)
    if types.is_struct(kind):
        return pa.struct([stored(member) for member in kind])
    if types.is_map(kind):
        return pa.map_(stored(kind.key_field), stored(kind.item_field))
    if types.is_fixed_size_list(kind):
        return pa.list_(stored(kind.value_field), kind.list_size)
    if types.is_list(kind):
        return pa.list_(stored(kind.value_field))
    return pa.large_list(stored(kind.value_field)) if types.is_large_list(kind) else kind


def is_list(kind: pa.DataType) -> bool:
    """Whether the type is a list of any length; a map is a list of entries."""
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether the type is text or bytes."""
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_string_view(kind)
        or types.is_binary_view(kind)
    )


def zero_of(field: pa.Field) -> Any:
    """The Python value that stands for a missing one: zero, False, an empty text or an empty list."""
    kind = field.type
    if types.is_struct(kind):
        return {member.name: zero_of(member) for member in kind}
    if types.is_fixed_size_list(kind):
        return [zero_of(kind.value_field)] * kind.list_size
    if types.is_nested(kind):
        return []
    if types.is_fixed_size_binary(kind):
        return bytes(kind.byte_width)
    if is_text(kind):
        return b"0" if (field.metadata or {}).get(TYPE_KEY) == DECIMAL else b""
    if types.is_decimal(kind):
        return Decimal(0)
    return False if types.is_boolean(kind) else 0


class _Builder:
    """Builds columns. The enclosing dimensions (``around``) are None for a list, a number for a list of fixed length.

    Unless it is strict, a requested tensor that the type does not allow is ignored.
    """

    def __init__(self, nulls: str, requested: RequestedTensors, *, strict: bool) -> None:
        self._nulls = nulls
        self._requested = requested
        self._strict = strict

    def column(self, name: str, field: pa.Field, path: tuple[str, ...], around: tuple[int | None, ...] = ()) -> Column:
        metadata = dict(field.metadata or {})
        dims: tuple[int | None, ...] = ()
        kind = storage_of(field.type)
        while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            dims = (*dims, kind.list_size if types.is_fixed_size_list(kind) else None)
            metadata.update(kind.value_field.metadata or {})
            kind = storage_of(kind.value_type)
        if types.is_map(kind):
            entries = {KEYS: kind.key_field, VALUES: kind.item_field}
            return self._dict(name, path, entries, (*around, *dims, None))
        if types.is_struct(kind):
            if not kind.num_fields:
                raise _without_tensor(path, field.type)
            entries = {child.name: child for child in kind}
            if len(entries) < kind.num_fields:
                raise errors.InvalidRequestError(
                    f"column {'.'.join(path)!r} of type {field.type} names a field twice. The fields of a nested "
                    f"object need different names. Choose other columns with columns=[...]"
                )
            return self._dict(name, path, entries, (*around, *dims))
        return self._leaf(name, path, field.type, kind, metadata, around, dims)

    def _dict(
        self, name: str, path: tuple[str, ...], entries: Mapping[str, pa.Field], around: tuple[int | None, ...]
    ) -> Column:
        children = tuple(self.column(key, child, (*path, key), around) for key, child in entries.items())
        _check_names(f"column {'.'.join(path)!r}", children)
        return Column(name, children=children, nulls=self._nulls)

    def _leaf(
        self,
        name: str,
        path: tuple[str, ...],
        whole: pa.DataType,
        kind: pa.DataType,
        metadata: Mapping[bytes, bytes],
        around: tuple[int | None, ...],
        own: tuple[int | None, ...],
    ) -> Column:
        dims = (*around, *own)
        ragged = max((position + 1 for position, size in enumerate(dims) if size is None), default=0)
        shape = tuple(size for size in dims[ragged:] if size is not None)
        shape_metadata = metadata.get(SHAPE_KEY)
        requested = self._requested.get(path)
        if shape_metadata is not None and own and own[-1] is not None:
            # The shape in the metadata does not include lists of fixed length of the enclosing objects.
            outer = tuple(size for size in around[ragged:] if size is not None)
            shape = _reshaped(
                path, shape, (*outer, *(int(size) for size in json.loads(shape_metadata))), "in its metadata"
            )
        choices = _choices(kind, metadata.get(TYPE_KEY) == DECIMAL)
        if not choices:
            raise _without_tensor(path, whole)
        dtype = choices[0]
        if requested is not None:
            target = shape if requested.shape is None else requested.shape
            if self._strict or math.prod(target) == math.prod(shape):
                shape = _reshaped(path, shape, target, "in the request")
            if self._strict or requested.dtype in choices:
                dtype = _chosen(path, whole, choices, requested.dtype)
        return Column(name, dtype, shape, ragged, nulls=self._nulls)


def _reshaped(path: tuple[str, ...], found: tuple[int, ...], target: tuple[int, ...], where: str) -> tuple[int, ...]:
    if math.prod(target) == math.prod(found):
        return target
    raise errors.SchemaUnknownError(
        f"column {'.'.join(path)!r} has shape {list(target)} {where}, but its values have {math.prod(found)} elements. "
        f"A shape must have the number of elements of each value. Load the cache again, or give a shape of "
        f"{math.prod(found)} elements with schema="
    )


def _chosen(path: tuple[str, ...], kind: pa.DataType, choices: tuple[str, ...], requested: str) -> str:
    if requested in choices:
        return requested
    raise errors.UnsupportedTypeError(
        f"column {'.'.join(path)!r} of type {kind} cannot become a tensor of {requested}. Its tensor is of "
        f"{' or '.join(choices)}. Request one of these with schema=, and convert it with tf.cast in Dataset.map"
    )


def numpy_dtype(kind: pa.DataType) -> np.dtype[Any]:
    """The numpy type of a number or boolean; `to_pandas_dtype` of pyarrow 25 needs pandas."""
    dtype: np.dtype[Any] = pa.array([], kind).to_numpy(zero_copy_only=False).dtype
    return dtype


def _choices(kind: pa.DataType, decimal: bool) -> tuple[str, ...]:
    """The types that its tensor may have; the first is the default."""
    if types.is_decimal(kind) or (decimal and is_text(kind)):
        return "float64", "string", "float32"
    if types.is_integer(kind) or types.is_floating(kind):
        return (str(numpy_dtype(kind).name),)
    if types.is_boolean(kind):
        return ("bool",)
    if types.is_timestamp(kind) or types.is_date64(kind) or types.is_time64(kind) or types.is_duration(kind):
        return ("int64",)
    if types.is_date32(kind) or types.is_time32(kind):
        return ("int32",)
    return ("string",) if is_text(kind) else ()


def _without_tensor(path: tuple[str, ...], kind: pa.DataType) -> errors.UnsupportedTypeError:
    return errors.UnsupportedTypeError(
        f"column {'.'.join(path)!r} of type {kind} has no tensor. Numbers, booleans, text, bytes, dates and times "
        f"have a tensor, and lists, maps and objects of these. Choose other columns with columns=[...]"
    )


def _check_names(where: str, columns: Sequence[Column]) -> None:
    names = [column.name for column in columns]
    names += [column.name + MASK_SUFFIX for column in columns if column.masked and not column.children]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise errors.InvalidRequestError(
            f"{where} would have two tensors named {', '.join(twice)}. nulls='mask' adds NAME{MASK_SUFFIX} beside "
            f"each NAME, and each name is used once. Choose other columns with columns=[...], or nulls='default'"
        )
