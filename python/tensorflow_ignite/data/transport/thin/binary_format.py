"""Ignite's binary format: the positions of values in a message.

The position of a value is the position of its type code. Ignite's documentation of its binary client protocol, "Data
format", describes the format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tensorflow_ignite.data.transport.thin.connection import BinaryType

(BYTE, SHORT, INT, LONG, FLOAT, DOUBLE, CHAR, BOOL, STRING, UUID, DATE) = range(1, 12)
BYTES, STRINGS, UUIDS, DATES, OBJECTS, COLLECTION, MAP = 12, 20, 21, 22, 23, 24, 25
WRAPPED, ENUM, ENUMS, DECIMAL, DECIMALS, TIMESTAMP, TIMESTAMPS, TIME, TIMES, BINARY_ENUM = (
    *range(27, 32),
    *range(33, 35),
    *range(36, 39),
)
NULL, HANDLE, OBJECT = 101, 102, 103

# Format letter of struct for the elements of arrays of numbers.
NUMBER_ARRAYS = {12: "b", 13: "h", 14: "i", 15: "q", 16: "f", 17: "d", 18: "H", 19: "?"}
# Type code of the elements of other arrays.
ELEMENTS = {STRINGS: STRING, UUIDS: UUID, DATES: DATE, DECIMALS: DECIMAL, TIMESTAMPS: TIMESTAMP, TIMES: TIME}


# Java serialization, for classes that implement Externalizable.
SERIALIZED = 254

# Content of a java.sql.Date: one byte for Externalizable, the class, two bytes of its version, the milliseconds.
_SQL_DATE_SIZE = 15
_SQL_DATE = struct.pack("<Bi", 0x66, 0x40D5DE3A)
SQL_DATE_AT = 12

_HAS_SCHEMA, _HAS_RAW, _BYTE_OFFSETS, _SHORT_OFFSETS, _COMPACT = 2, 4, 8, 16, 32


_NAMES = dict(
    zip(
        range(BYTE, MAP + 1),
        [
            *("byte", "short", "int", "long", "float", "double", "char", "boolean", "String", "UUID", "Date"),
            *("byte[]", "short[]", "int[]", "long[]", "float[]", "double[]", "char[]", "boolean[]"),
            *("String[]", "UUID[]", "Date[]", "Object[]", "collection", "map"),
        ],
        strict=True,
    )
)
_NAMES |= {ENUM: "enum", BINARY_ENUM: "enum", ENUMS: "enum[]", DECIMAL: "Decimal", DECIMALS: "Decimal[]", NULL: "null"}
_NAMES |= {TIMESTAMP: "Timestamp", TIMESTAMPS: "Timestamp[]", TIME: "Time", TIMES: "Time[]", OBJECT: "object"}
_NAMES |= {SERIALIZED: "object of Java's own serialization"}


def name(code: int) -> str:
    """The name of a type code, for error texts."""
    return _NAMES.get(code, f"value of code {code}")


class MalformedDataError(Exception):
    """A value of an unknown type; the text names the type."""


_INT = struct.Struct("<i").unpack_from


def int_at(data: bytearray, at: int) -> int:
    """The int at a position."""
    found: int = _INT(data, at)[0]
    return found


def unwrap(data: bytearray, at: int) -> int:
    """The position of the object in a wrapper."""
    return at + 5 + int_at(data, at + 5 + int_at(data, at + 1))


def after_type(data: bytearray, at: int) -> int:
    """The position after the number of a type; after the number 0 comes a name."""
    return at + 4 if int_at(data, at) else skip(data, at + 4)


_SIZES = {BYTE: 2, SHORT: 3, INT: 5, LONG: 9, FLOAT: 5, DOUBLE: 9, CHAR: 3, BOOL: 2, UUID: 17, DATE: 9}
_SIZES |= {TIMESTAMP: 13, TIME: 9, NULL: 1, HANDLE: 5}


def skip(data: bytearray, at: int) -> int:
    """The position after a value.

    Raises:
        MalformedDataError: If its type code is not known.
    """
    code = data[at]
    size = _SIZES.get(code)
    if size is not None:
        return at + size
    if code == WRAPPED:
        return at + 9 + int_at(data, at + 1)
    if code == OBJECT:
        return at + int_at(data, at + 12)
    if code in (STRING, SERIALIZED):
        return at + 5 + int_at(data, at + 1)
    if code in NUMBER_ARRAYS:
        return at + 5 + int_at(data, at + 1) * struct.calcsize(NUMBER_ARRAYS[code])
    if code == DECIMAL:
        return at + 9 + int_at(data, at + 5)
    if code in (ENUM, BINARY_ENUM):
        return after_type(data, at + 1) + 4
    at, count = items(data, at)
    for _ in range(count):
        at = skip(data, at)
    return at


def is_sql_date(data: bytearray, at: int) -> bool:
    """Whether an object of Java serialization is a java.sql.Date, by the hash of the class name and the size."""
    return int_at(data, at + 1) == _SQL_DATE_SIZE and data[at + 5 : at + 10] == _SQL_DATE


def items(data: bytearray, at: int) -> tuple[int, int]:
    """Position of the first element, and number of elements; each key and each value of a map is an element.

    Raises:
        MalformedDataError: If the value is no array of objects, collection or map.
    """
    code = data[at]
    if code in (OBJECTS, ENUMS):
        at = after_type(data, at + 1)
        return at + 4, int_at(data, at)
    if code in (COLLECTION, MAP):
        return at + 6, int_at(data, at + 1) * (2 if code == MAP else 1)
    if code in ELEMENTS:
        return at + 5, int_at(data, at + 1)
    raise MalformedDataError(f"a value of code {code} of Ignite's binary format")


def positions(data: bytearray, at: int) -> Iterator[int]:
    """The position of each element of :func:`items`."""
    at, count = items(data, at)
    for _ in range(count):
        yield at
        at = skip(data, at)


@dataclass(frozen=True)
class Footer:
    """The offsets of the fields of an object; the same form for all objects of one type, version and flags.

    Attributes:
        form: Form of the footer, for struct.
        numbers: Numbers of the fields, in the order of the footer.
        stride: 1 if the footer has offsets only, 2 if the number of a field precedes each offset.
    """

    form: struct.Struct
    numbers: tuple[int, ...]
    stride: int

    def offsets(self, data: bytearray, begin: int) -> tuple[int, ...]:
        """The offset of each field from the start of its object, in the order of the numbers."""
        found = self.form.unpack_from(data, begin)
        return found if self.stride == 1 else found[1::2]


def footer(data: bytearray, at: int, kind: BinaryType) -> Footer:
    """The footer of the object at a position.

    Raises:
        KeyError: If ``kind`` does not have this version of the type.
    """
    (flags,) = struct.unpack_from("<h", data, at + 2)
    length, schema, begin = struct.unpack_from("<iii", data, at + 12)
    if not flags & _HAS_SCHEMA:
        return Footer(struct.Struct("<"), (), 1)
    letter, size = ("B", 1) if flags & _BYTE_OFFSETS else ("H", 2) if flags & _SHORT_OFFSETS else ("i", 4)
    if flags & _COMPACT:
        numbers = kind.schemas[schema]
        return Footer(struct.Struct("<" + letter * len(numbers)), numbers, 1)
    # The last offset is the offset of raw data, which have no names.
    end = length - (4 if flags & _HAS_RAW else 0)
    form = struct.Struct("<" + f"i{letter}" * ((end - begin) // (4 + size)))
    return Footer(form, form.unpack_from(data, at + begin)[::2], 2)


def fields(data: bytearray, at: int, kind: BinaryType) -> dict[str, int]:
    """The position of each field of an object, by name.

    Raises:
        KeyError: As :func:`footer`.
    """
    found = footer(data, at, kind)
    return {
        kind.names[number]: at + offset
        for number, offset in zip(found.numbers, found.offsets(data, at + int_at(data, at + 20)), strict=True)
        if number in kind.names
    }
