"""Reads values of Ignite's binary format as Python values for pyarrow: a function for each Arrow type."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.tensor_schema import numpy_dtype, zero_of
from tensorflow_ignite.data.transport.thin import binary_format
from tensorflow_ignite.data.transport.thin.binary_format import int_at
from tensorflow_ignite.data.transport.thin.scalars import WIDER, Mismatch, Read, scalars
from tensorflow_ignite.data.transport.thin.types import Types, show

NO_VALUE = bytearray([binary_format.NULL])


def reader(field: pa.Field, nulls: str, known_types: Types) -> Read:
    """The function that reads the values of a field.

    Args:
        field: Type and metadata of the column; its name, or path, appears in error texts.
        nulls: ``"error"``: a null is a mismatch; ``"default"``: zero, False or empty; ``"keep"``: None.
        known_types: Metadata of object types.

    Returns:
        A function of a message and a position in it. It raises Mismatch or MalformedDataError.

    Raises:
        UnsupportedTypeError: If no value of Ignite becomes one of this type.
    """
    kind = field.type
    by_code = _containers(field, nulls, known_types) or scalars(field)
    if not by_code:
        raise errors.UnsupportedTypeError(
            f"column {field.name!r} is requested as {show(kind)}. The thin client protocol has no value of that type. "
            f"Request another type with schema=, or remove the column from schema="
        )
    default = default_of(field)

    def read(data: bytearray, at: int) -> Any:
        code = data[at]
        found = by_code.get(code)
        if found is not None:
            return found(data, at)
        if code == binary_format.NULL:
            if nulls == "error":
                raise Mismatch(f"{field.name} is null")
            return default if nulls == "default" else None
        if code == binary_format.HANDLE:
            return read(data, at - int_at(data, at + 1))
        if code == binary_format.WRAPPED:
            return read(data, binary_format.unwrap(data, at))
        raise Mismatch(f"{field.name} is {binary_format.name(code)}, which is not read as {show(kind)}")

    return read


def default_of(field: pa.Field) -> Any:
    """The value that replaces a null."""
    if types.is_struct(field.type):
        return {member.name: default_of(member) for member in field.type}
    inner, count = _flat(field.type)
    if types.is_fixed_size_list(field.type) and _is_number(inner):
        return np.zeros(count, numpy_dtype(inner))
    return zero_of(field)


def _is_number(kind: pa.DataType) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _flat(kind: pa.DataType) -> tuple[pa.DataType, int]:
    """Type and number of the innermost elements of nested lists of fixed length."""
    count = 1
    while types.is_fixed_size_list(kind):
        kind, count = kind.value_type, count * kind.list_size
    return kind, count


def _sized(field: pa.Field, read: Read) -> Read:
    expected = _flat(field.type)[1]

    def checked(data: bytearray, at: int) -> Any:
        value = read(data, at)
        if len(value) != expected:
            raise Mismatch(f"{field.name} has {len(value)} elements, not {expected}")
        return value

    return checked


def _containers(field: pa.Field, nulls: str, known_types: Types) -> dict[int, Read]:
    kind, name = field.type, field.name
    if types.is_struct(kind):
        members = ObjectReader([member.name for member in kind], list(kind), nulls, known_types, f"{name}.")
        names = [member.name for member in kind]
        return {binary_format.OBJECT: lambda data, at: dict(zip(names, members.read(data, at), strict=True))}
    if types.is_map(kind):
        key = reader(kind.key_field.with_name(f"{name}'s key"), "error", known_types)
        item = reader(kind.item_field.with_name(f"{name}'s value"), nulls, known_types)
        return {binary_format.MAP: lambda data, at: _pairs(data, at, key, item)}
    if types.is_list(kind) or types.is_large_list(kind):
        return _lists(name, kind.value_field, nulls, known_types)
    if types.is_fixed_size_list(kind):
        innermost = kind
        while types.is_fixed_size_list(innermost.value_type):
            innermost = innermost.value_type
        found = _lists(name, innermost.value_field, nulls, known_types)
        return {code: _sized(field, read) for code, read in found.items()}
    return {}


def _pairs(data: bytearray, at: int, key: Read, item: Read) -> list[tuple[Any, Any]]:
    both = list(binary_format.positions(data, at))
    return [(key(data, one), item(data, other)) for one, other in zip(both[::2], both[1::2], strict=True)]


def _lists(name: str, item: pa.Field, nulls: str, known_types: Types) -> dict[int, Read]:
    element = reader(item.with_name(f"{name}[]"), nulls, known_types)

    def elements(data: bytearray, at: int) -> list[Any]:
        return [element(data, one) for one in binary_format.positions(data, at)]

    found: dict[int, Read] = {binary_format.OBJECTS: elements, binary_format.COLLECTION: elements}
    for code, letter in binary_format.NUMBER_ARRAYS.items():
        wider = WIDER[code - 11][1]
        if item.type in wider or (code == binary_format.BYTES and item.type == pa.uint8()):
            found[code] = _array("B" if item.type == pa.uint8() else letter, item.type)
    plain = scalars(item)
    for code, one in binary_format.ELEMENTS.items():
        if one in plain:
            found[code] = elements
    if binary_format.ENUM in plain:
        found[binary_format.ENUMS] = elements
    return found


def _array(letter: str, kind: pa.DataType) -> Read:
    given, expected = np.dtype(letter).newbyteorder("<"), numpy_dtype(kind)

    def read(data: bytearray, at: int) -> Any:
        return np.frombuffer(data, given, int_at(data, at + 1), at + 5).astype(expected, copy=False)

    return read


class ObjectReader:
    """Reads the fields of objects by name, for any type and version."""

    def __init__(
        self, names: list[str], fields: list[pa.Field], nulls: str, known_types: Types, path: str = ""
    ) -> None:
        """Prepares the fields.

        Args:
            names: Names of the fields of objects, without regard to case, as in Ignite.
            fields: Types of the fields.
            nulls: As of :func:`reader`; a missing field is null.
            known_types: Metadata of object types.
            path: Prefix of the names in error texts.
        """
        self._names = [name.lower() for name in names]
        self._readers = [reader(field.with_name(path + field.name), nulls, known_types) for field in fields]
        self._types = known_types
        self._footers: dict[tuple[int, int, int], tuple[binary_format.Footer, list[tuple[Read, int]]]] = {}
        self._head = struct.Struct("<hi8xii").unpack_from

    def read(self, data: bytearray, at: int) -> list[Any]:
        """The fields of the object at a position, in order.

        Raises:
            Mismatch: If a value does not fit its field.
            MalformedDataError: If the cluster has no metadata of the object's type.
        """
        flags, number, schema, begin = self._head(data, at + 2)
        known = self._footers.get((number, schema, flags))
        if known is None:
            known = self._learn(data, at, (number, schema, flags))
        footer, readers = known
        offsets = footer.offsets(data, at + begin)
        return [read(data, at + offsets[index]) if index >= 0 else read(NO_VALUE, 0) for read, index in readers]

    def _learn(
        self, data: bytearray, at: int, version: tuple[int, int, int]
    ) -> tuple[binary_format.Footer, list[tuple[Read, int]]]:
        kind = self._types(version[0])
        if kind is None:
            raise binary_format.MalformedDataError(f"objects of type {version[0]}, of which the cluster knows no field")
        try:
            footer = binary_format.footer(data, at, kind)
        except KeyError:
            # This version of the type is newer than the cached metadata.
            kind = self._types.refresh(version[0]) or kind
            footer = binary_format.footer(data, at, kind)
        places = {kind.names.get(number, "").lower(): index for index, number in enumerate(footer.numbers)}
        readers = [(read, places.get(name, -1)) for read, name in zip(self._readers, self._names, strict=True)]
        found = self._footers[version] = (footer, readers)
        return found


def to_array(field: pa.Field, values: tuple[Any, ...]) -> pa.Array:
    """An Arrow array of values that were read for a field."""
    kind = field.type
    inner = _flat(kind)[0] if types.is_fixed_size_list(kind) else kind.value_type if types.is_list(kind) else None
    if inner is None or not _is_number(inner) or not all(isinstance(value, np.ndarray) for value in values):
        return pa.array(values, type=kind)
    flat = pa.array(np.concatenate(values) if values else np.empty(0, numpy_dtype(inner)), type=inner)
    if types.is_list(kind):
        offsets = np.zeros(len(values) + 1, np.int32)
        np.cumsum([len(value) for value in values], out=offsets[1:])
        return pa.ListArray.from_arrays(pa.array(offsets), flat, type=kind)
    return _nested(kind, flat)


def _nested(kind: pa.DataType, flat: pa.Array) -> pa.Array:
    if types.is_fixed_size_list(kind.value_type):
        flat = _nested(kind.value_type, flat)
    return pa.FixedSizeListArray.from_arrays(flat, type=kind)
