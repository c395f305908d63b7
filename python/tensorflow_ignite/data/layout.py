"""Which tensors the columns of an Arrow schema become, as a tree that travels inside a graph.

Nested objects are nested dicts, maps a dict of ``keys`` and ``values``. Lists around them belong to each leaf: a list
of objects is a dict of ragged tensors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from tensorflow_ignite import errors

# Field metadata: the shape of one row's value as a JSON list, when it has more dimensions than one.
SHAPE_KEY = b"tensorflow_ignite.shape"

# Field metadata: what a plain Arrow type hides, "uuid", "decimal" or "enum".
TYPE_KEY = b"tensorflow-ignite.type"
DECIMAL = b"decimal"

# Stands after the name of a column in that of its mask.
MASK_SUFFIX = "_mask"

KEYS, VALUES = "keys", "values"

_T = TypeVar("_T")


@dataclass(frozen=True)
class Column:
    """How one column, or one field of a nested object, becomes a tensor or a dict of them.

    Attributes:
        name: The column's name.
        dtype: Name of the TensorFlow type: ``float32``, ``string``, …; empty for a dict.
        shape: Static shape of one value; of one innermost value, when ragged.
        ragged: Number of ragged dimensions around it, those of the objects that hold it included.
        children: The entries of a dict.
        nulls: What becomes of nulls: an ``"error"``, a ``"default"``, or a default and a ``"mask"`` beside it.
    """

    name: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    ragged: int = 0
    children: tuple[Column, ...] = ()
    nulls: str = "error"

    @property
    def masked(self) -> bool:
        """Whether a tensor of booleans, True where there is a value, stands beside this one."""
        return self.nulls == "mask"


class Wanted(NamedTuple):
    """The tensor that a reader wants of a leaf.

    Attributes:
        dtype: Name of the TensorFlow type.
        shape: Static shape of one innermost value; None: as it comes.
    """

    dtype: str
    shape: tuple[int, ...] | None = None


#: Leaves by their path of names, such as ``("point", "x")``; elements of lists have their list's.
WantedTensors = Mapping[tuple[str, ...], Wanted]


def columns_of(schema: pa.Schema, nulls: str = "error", wanted: WantedTensors | None = None) -> tuple[Column, ...]:
    """The columns of a schema, in its order.

    Args:
        schema: As the batches will have it.
        nulls: What becomes of nulls: ``"error"``, ``"default"`` or ``"mask"``.
        wanted: Leaves that shall be other tensors than their type alone would give.

    Raises:
        UnsupportedTypeError: If a type has no tensor, or not the one that is wanted.
        SchemaUnknownError: If a shape does not fit the values.
        InvalidRequestError: If two tensors would have one name.
    """
    return _columns(schema, _Builder(nulls, wanted or {}, strict=True))


def _columns(schema: pa.Schema, builder: _Builder) -> tuple[Column, ...]:
    columns = tuple(builder.column(field.name, field, (field.name,)) for field in schema)
    _check_names("the columns", columns)
    return columns


def columns_like(schema: pa.Schema, layout: Sequence[Column]) -> tuple[Column, ...]:
    """The columns of a schema, each as in ``layout`` where its type allows: equal to ``layout`` when batches fit it.

    Raises:
        TensorFlowIgniteError: As :func:`columns_of`.
    """
    wanted = {path: Wanted(leaf.dtype, leaf.shape) for path, leaf in _leaves(layout)}
    nulls = {leaf.nulls for _, leaf in _leaves(layout)}
    return _columns(schema, _Builder(nulls.pop() if len(nulls) == 1 else "error", wanted, strict=False))


def layout_of(columns: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Columns from what :func:`dataclasses.asdict` makes of them, once it has been JSON."""
    return tuple(
        Column(**{**column, "shape": tuple(column["shape"]), "children": layout_of(column["children"])})
        for column in columns
    )


def types_of(layout: Sequence[Column]) -> list[str]:
    """Names of the types of the arrays that :func:`~tensorflow_ignite.data.tensors.arrays_of` makes, in their order."""
    names: list[str] = []
    for _, leaf in _leaves(layout):
        names += [leaf.dtype, *(["bool"] * leaf.masked), *(["int64"] * leaf.ragged)]
    return names


def pack(
    layout: Sequence[Column], tensors: Sequence[_T], make: Callable[[_T, tuple[int, ...], list[_T]], Any]
) -> dict[str, Any]:
    """Gives flat arrays or tensors the form of an element: a dict of columns, nested for nested objects.

    Args:
        layout: The columns.
        tensors: In the order of :func:`types_of`.
        make: Makes one tensor from its values, ``[None, *shape]``, that shape, and its row splits from the outermost to
            the innermost, none when it is dense.
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
    """For messages: ``pixels:uint8[28, 28], words:string[None], point:{x:float64, y:float64}``."""
    return ", ".join(
        f"{column.name}:{{{describe(column.children)}}}"
        if column.children
        else f"{column.name}:{column.dtype}{[None] * column.ragged + list(column.shape) or ''}"
        for column in layout
    )


def _leaves(layout: Sequence[Column], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Column]]:
    for column in layout:
        if column.children:
            yield from _leaves(column.children, (*path, column.name))
        else:
            yield (*path, column.name), column


def storage_of(kind: pa.DataType) -> pa.DataType:
    """The type of the values behind dictionaries and extensions."""
    while True:
        if types.is_dictionary(kind):
            kind = kind.value_type
        elif isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        else:
            return kind


def is_list(kind: pa.DataType) -> bool:
    """Whether it is a list of any length; maps are lists of entries."""
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether it is text or bytes."""
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_string_view(kind)
        or types.is_binary_view(kind)
    )


class _Builder:
    """Builds columns, each with the dimensions around it: None for a list, a number for one of fixed length.

    When it is not strict, what is wanted and cannot be had is left as its type gives it.
    """

    def __init__(self, nulls: str, wanted: WantedTensors, *, strict: bool) -> None:
        self._nulls = nulls
        self._wanted = wanted
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
                    f"column {'.'.join(path)!r} of type {field.type} names a field twice; the fields of a nested "
                    f"object need names of their own. Choose other columns with columns=[...]"
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
        ragged = max((place + 1 for place, size in enumerate(dims) if size is None), default=0)
        shape = tuple(size for size in dims[ragged:] if size is not None)
        told = metadata.get(SHAPE_KEY)
        wanted = self._wanted.get(path)
        if told is not None and own and own[-1] is not None:
            # Fixed lists of the objects around it are no part of the shape that a column says of itself.
            outer = tuple(size for size in around[ragged:] if size is not None)
            shape = _reshaped(path, shape, (*outer, *(int(size) for size in json.loads(told))), "in its metadata")
        choices = _choices(kind, metadata.get(TYPE_KEY) == DECIMAL)
        if not choices:
            raise _without_tensor(path, whole)
        dtype = choices[0]
        if wanted is not None:
            said = shape if wanted.shape is None else wanted.shape
            if self._strict or math.prod(said) == math.prod(shape):
                shape = _reshaped(path, shape, said, "as it is wanted")
            if self._strict or wanted.dtype in choices:
                dtype = _chosen(path, whole, choices, wanted.dtype)
        return Column(name, dtype, shape, ragged, nulls=self._nulls)


def _reshaped(path: tuple[str, ...], found: tuple[int, ...], said: tuple[int, ...], where: str) -> tuple[int, ...]:
    if math.prod(said) == math.prod(found):
        return said
    raise errors.SchemaUnknownError(
        f"column {'.'.join(path)!r} has shape {list(said)} {where}, but its values have {math.prod(found)} elements. "
        f"A shape must have as many elements as each value. Load the cache again, or correct schema="
    )


def _chosen(path: tuple[str, ...], kind: pa.DataType, choices: tuple[str, ...], wanted: str) -> str:
    if wanted in choices:
        return wanted
    raise errors.UnsupportedTypeError(
        f"column {'.'.join(path)!r} of type {kind} cannot become a tensor of {wanted}, only of {' or '.join(choices)}. "
        f"Correct schema=, or convert it with tf.cast in Dataset.map"
    )


def _choices(kind: pa.DataType, decimal: bool) -> tuple[str, ...]:
    """The types that a tensor of it may have, that which it has unless told first."""
    if types.is_decimal(kind) or (decimal and is_text(kind)):
        return "float64", "string", "float32"
    if types.is_integer(kind) or types.is_floating(kind):
        return (str(np.dtype(kind.to_pandas_dtype()).name),)
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
        f"have, and lists, maps and objects of these. Choose other columns with columns=[...]"
    )


def _check_names(where: str, columns: Sequence[Column]) -> None:
    names = [column.name for column in columns]
    names += [column.name + MASK_SUFFIX for column in columns if column.masked and not column.children]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise errors.InvalidRequestError(
            f"{where} would have two tensors named {', '.join(twice)}; nulls='mask' adds NAME{MASK_SUFFIX} beside "
            f"each NAME, and each name is used once. Choose other columns with columns=[...], or nulls='default'"
        )
