"""The Arrow type of a value of Ignite: by its type code, by the name of a Java class, or by samples of values.

``pa.null()`` is an unknown type, at any depth: for an Object[] or a map without sampled values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Protocol

import pyarrow as pa
import pyarrow.types as types

from tensorflow_ignite.data.transport.thin import binary_format
from tensorflow_ignite.data.transport.thin.connection import BinaryType

TYPE_KEY = b"tensorflow-ignite.type"
ENUM_KEY = b"tensorflow-ignite.enum"

UNKNOWN = pa.null()


class Types(Protocol):
    """Metadata of object types, by the number of the type."""

    def __call__(self, number: int) -> BinaryType | None:
        """The cached metadata."""

    def refresh(self, number: int) -> BinaryType | None:
        """The present metadata, from the cluster."""


def marked(name: str, kind: pa.DataType, mark: str = "", constants: Iterable[str] = ()) -> pa.Field:
    """A field with the stored type in its metadata."""
    metadata = {TYPE_KEY: mark.encode()} if mark else {}
    names = list(constants)
    if names:
        metadata[ENUM_KEY] = json.dumps(names).encode()
    return pa.field(name, kind, metadata=metadata or None)


def _mapped(key: pa.Field, item: pa.Field) -> pa.Field:
    return marked("", pa.map_(key.with_name("key").with_nullable(False), item.with_name("value")))


def _listed(item: pa.Field) -> pa.Field:
    return marked("", pa.list_(item.with_name("item")))


_SCALARS = {
    binary_format.BYTE: marked("", pa.int8()),
    binary_format.SHORT: marked("", pa.int16()),
    binary_format.INT: marked("", pa.int32()),
    binary_format.LONG: marked("", pa.int64()),
    binary_format.FLOAT: marked("", pa.float32()),
    binary_format.DOUBLE: marked("", pa.float64()),
    binary_format.CHAR: marked("", pa.uint16()),
    binary_format.BOOL: marked("", pa.bool_()),
    binary_format.STRING: marked("", pa.utf8()),
    binary_format.UUID: marked("", pa.utf8(), "uuid"),
    binary_format.DATE: marked("", pa.timestamp("ms", "UTC")),
    binary_format.DECIMAL: marked("", pa.utf8(), "decimal"),
    binary_format.TIMESTAMP: marked("", pa.timestamp("ns", "UTC")),
    binary_format.TIME: marked("", pa.time32("ms")),
    binary_format.ENUM: marked("", pa.int32(), "enum"),
}
# Without Object[], collections, maps and objects, whose code does not determine the types of their elements.
_BY_CODE = {
    **_SCALARS,
    binary_format.BINARY_ENUM: _SCALARS[binary_format.ENUM],
    binary_format.BYTES: marked("", pa.binary()),
    binary_format.ENUMS: _listed(_SCALARS[binary_format.ENUM]),
    **{code: _listed(_SCALARS[code - 11]) for code in binary_format.NUMBER_ARRAYS if code != binary_format.BYTES},
    **{code: _listed(_SCALARS[element]) for code, element in binary_format.ELEMENTS.items()},
}
_BY_CLASS = {
    "java.lang.Byte": binary_format.BYTE,
    "java.lang.Short": binary_format.SHORT,
    "java.lang.Integer": binary_format.INT,
    "java.lang.Long": binary_format.LONG,
    "java.lang.Float": binary_format.FLOAT,
    "java.lang.Double": binary_format.DOUBLE,
    "java.lang.Character": binary_format.CHAR,
    "java.lang.Boolean": binary_format.BOOL,
    "java.lang.String": binary_format.STRING,
    "java.util.UUID": binary_format.UUID,
    "java.util.Date": binary_format.DATE,
    "java.math.BigDecimal": binary_format.DECIMAL,
    "java.sql.Timestamp": binary_format.TIMESTAMP,
    "java.sql.Time": binary_format.TIME,
    **{
        name: code
        for code, name in enumerate(("byte", "short", "int", "long", "float", "double", "char"), binary_format.BYTE)
    },
    "boolean": binary_format.BOOL,
    **{f"[{letter}": code for code, letter in enumerate("BSIJFDCZ", binary_format.BYTES)},
    "[Ljava.lang.String;": binary_format.STRINGS,
    "[Ljava.util.UUID;": binary_format.UUIDS,
    "[Ljava.util.Date;": binary_format.DATES,
    "[Ljava.math.BigDecimal;": binary_format.DECIMALS,
    "[Ljava.sql.Timestamp;": binary_format.TIMESTAMPS,
    "[Ljava.sql.Time;": binary_format.TIMES,
}


def of_code(code: int) -> pa.Field:
    """The type of a type code."""
    return _BY_CODE.get(code, marked("", UNKNOWN))


def of_class(name: str, precision: int = -1, scale: int = -1) -> pa.Field:
    """The type of a class in a query entity; of a decimal also by its precision and scale in SQL."""
    if name == "java.sql.Date":
        return marked("", pa.date32())
    if name == "java.math.BigDecimal" and 0 < precision <= 38 and 0 <= scale <= precision:
        return marked("", pa.decimal128(precision, scale), "decimal")
    return of_code(_BY_CLASS.get(name, binary_format.OBJECT))


def known(kind: pa.DataType) -> bool:
    """Whether all parts of a type are known."""
    return not types.is_null(kind) and all(known(kind.field(number).type) for number in range(kind.num_fields))


class TypeConflict(Exception):
    """Values of one column, or of one nested position, have types without a common type."""


def merge(first: pa.Field, second: pa.Field) -> pa.Field:
    """The common type of both fields, with the name of the first.

    Raises:
        TypeConflict: If there is none.
    """
    one, other = first.type, second.type
    if types.is_null(other) or (first.metadata == second.metadata and one.equals(other, check_metadata=True)):
        return first
    if types.is_null(one):
        return second.with_name(first.name)
    if types.is_list(one) and types.is_list(other):
        return first.with_type(pa.list_(merge(one.value_field, other.value_field)))
    if types.is_map(one) and types.is_map(other):
        return _mapped(merge(one.key_field, other.key_field), merge(one.item_field, other.item_field)).with_name(
            first.name
        )
    if types.is_struct(one) and types.is_struct(other):
        return first.with_type(pa.struct(merge_all([*one, *other])))
    if one.equals(other):
        # The metadata differ: some samples of an enum do not have the names of its constants.
        return first if len(first.metadata or ()) >= len(second.metadata or ()) else second.with_name(first.name)
    raise TypeConflict(f"{show(one)} and {show(other)}")


def merge_all(fields: Iterable[pa.Field]) -> list[pa.Field]:
    """Fields of the same name merged, in the order in which names come first.

    Raises:
        TypeConflict: If two fields of one name have no common type; the text begins with the name.
    """
    merged: dict[str, pa.Field] = {}
    for field in fields:
        try:
            merged[field.name] = merge(merged[field.name], field) if field.name in merged else field
        except TypeConflict as disagreement:
            raise TypeConflict(f"{field.name}: {disagreement}") from disagreement
    return list(merged.values())


def show(kind: pa.DataType) -> str:
    """A type for error texts."""
    return str(kind).replace("null", "?")


def of_value(data: bytearray, at: int, known_types: Types) -> pa.Field:
    """The type of one value; of an object also by the metadata of the cluster.

    Raises:
        TypeConflict: If the elements of an array, a collection or a map have no common type.
        MalformedDataError: If values of this type cannot be read.
    """
    code = data[at]
    if code == binary_format.HANDLE:
        return of_value(data, at - binary_format.int_at(data, at + 1), known_types)
    if code == binary_format.WRAPPED:
        return of_value(data, binary_format.unwrap(data, at), known_types)
    if code in (binary_format.ENUM, binary_format.BINARY_ENUM):
        return _enum(binary_format.int_at(data, at + 1), known_types)
    if code == binary_format.ENUMS:
        return _listed(_enum(binary_format.int_at(data, at + 1), known_types))
    if code in (binary_format.OBJECTS, binary_format.COLLECTION):
        return _listed(_common(of_value(data, one, known_types) for one in binary_format.positions(data, at)))
    if code == binary_format.MAP:
        both = list(binary_format.positions(data, at))
        key = _common(of_value(data, one, known_types) for one in both[::2])
        item = _common(of_value(data, one, known_types) for one in both[1::2])
        return _mapped(key, item)
    if code == binary_format.OBJECT:
        return _object(data, at, known_types)
    if code == binary_format.SERIALIZED and binary_format.is_sql_date(data, at):
        return of_class("java.sql.Date")
    if code != binary_format.NULL and code not in _BY_CODE:
        raise binary_format.MalformedDataError(
            f"values of code {code} of Ignite's binary format, such as Java's own serialization makes"
        )
    return of_code(code)


def _common(fields: Iterable[pa.Field]) -> pa.Field:
    merged = marked("", UNKNOWN)
    for field in fields:
        merged = merge(merged, field)
    return merged


def _enum(number: int, known_types: Types) -> pa.Field:
    found = known_types(number)
    constants = found.constants if found else {}
    # The list of names is indexed by ordinal, so ordinals must have no gap.
    whole = sorted(constants) == [*range(len(constants))]
    return marked("", pa.int32(), "enum", [constants[ordinal] for ordinal in sorted(constants)] if whole else ())


def _object(data: bytearray, at: int, known_types: Types) -> pa.Field:
    number = binary_format.int_at(data, at + 4)
    found = known_types(number)
    if found is None:
        raise binary_format.MalformedDataError(f"objects of type {number}, of which the cluster knows no field")
    members = [of_code(code).with_name(name) for name, code in found.fields.items()]
    for name, position in binary_format.fields(data, at, found).items():
        code = found.fields[name]
        if code in (binary_format.ENUM, binary_format.ENUMS) or not known(of_code(code).type):
            members.append(of_value(data, position, known_types).with_name(name))
    return marked("", pa.struct(merge_all(members)))
