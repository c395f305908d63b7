"""Reads single values of Ignite's binary format: a function for each Arrow type.

A value of a narrower type is read as a wider one if nothing is lost (an int as a long); any other difference is a
mismatch. A java.sql.Date is midnight, and a java.sql.Time a time on 1970-01-01, in the local time of the node, which
must be the local time of this process.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as types

from tensorflow_ignite.data.transport.thin import binary_format
from tensorflow_ignite.data.transport.thin.binary_format import int_at
from tensorflow_ignite.data.transport.thin.types import TYPE_KEY, show

Read = Callable[[bytearray, int], Any]


class Mismatch(Exception):
    """A value that does not fit its column; the text has the location and the reason."""


def is_text(kind: pa.DataType) -> bool:
    """Whether its values are text or bytes of any length."""
    return bool(types.is_string(kind) or types.is_large_string(kind) or is_binary(kind))


def is_binary(kind: pa.DataType) -> bool:
    """Whether its values are bytes of any length."""
    return bool(types.is_binary(kind) or types.is_large_binary(kind))


def _number(form: str) -> Read:
    unpack = struct.Struct(form).unpack_from
    return lambda data, at: unpack(data, at + 1)[0]


_INTS = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
WIDER = {
    binary_format.BYTE: ("<b", [*_INTS, pa.float64()]),
    binary_format.SHORT: ("<h", [*_INTS[1:], pa.float64()]),
    binary_format.INT: ("<i", [*_INTS[2:], pa.float64()]),
    binary_format.LONG: ("<q", _INTS[3:]),
    binary_format.FLOAT: ("<f", [pa.float32(), pa.float64()]),
    binary_format.DOUBLE: ("<d", [pa.float64()]),
    binary_format.CHAR: ("<H", [pa.uint16(), *_INTS[2:]]),
    binary_format.BOOL: ("<?", [pa.bool_()]),
}


def scalars(field: pa.Field) -> dict[int, Read]:
    """The functions that read single values as the type of the field, by type code; empty if there are none."""
    kind = field.type
    if types.is_timestamp(kind):
        return _timestamps(field)
    if is_text(kind):
        return _texts(field)
    if types.is_fixed_size_binary(kind):
        return {binary_format.BYTES: _sized_bytes(field)}
    if types.is_decimal(kind):
        return {binary_format.DECIMAL: _fitting(field)}
    if types.is_date32(kind):
        return {
            binary_format.DATE: lambda data, at: _day(_long(data, at)),
            binary_format.SERIALIZED: _sql_day(field),
        }
    if types.is_time32(kind) and kind.unit == "ms":
        return {binary_format.TIME: lambda data, at: _local(_long(data, at)) % 86_400_000}
    if kind == pa.uint8():
        return {binary_format.BYTE: _number("<B")}
    found = {code: _number(form) for code, (form, wider) in WIDER.items() if kind in wider}
    if kind == pa.int32():
        found |= {binary_format.ENUM: _ordinal, binary_format.BINARY_ENUM: _ordinal}
    return found


def _ordinal(data: bytearray, at: int) -> int:
    return int_at(data, binary_format.after_type(data, at + 1))


_long = _number("<q")
# Days since 1970 of 15 October 1582, and days from 1 March 4801 B.C. to 1970 in the Julian calendar.
_FIRST_GREGORIAN, _DAYS_BEFORE_1970 = -141_427, 2_472_670


def _local(milliseconds: int) -> int:
    """The local time of a moment, both in milliseconds since 1970."""
    try:
        return milliseconds + time.localtime(milliseconds // 1000).tm_gmtoff * 1000
    except (OverflowError, OSError, ValueError) as error:
        raise Mismatch(f"{milliseconds} ms since 1970 has no local time") from error


def _sql_day(field: pa.Field) -> Read:
    def read(data: bytearray, at: int) -> int:
        if not binary_format.is_sql_date(data, at):
            raise Mismatch(f"{field.name} is {binary_format.name(data[at])}, which is not read as {show(field.type)}")
        return _day(_long(data, at + binary_format.SQL_DATE_AT - 1))

    return read


def _day(milliseconds: int) -> int:
    """The day of a java.sql.Date: before 15 October 1582 of the Julian calendar, of which year, month and day stay."""
    day = _local(milliseconds) // 86_400_000
    if day >= _FIRST_GREGORIAN:
        return day
    # Years begin in March, so that 29 February is their last day.
    year, of_year = divmod(4 * (day + _DAYS_BEFORE_1970) + 3, 1461)
    month, of_month = divmod(5 * (of_year // 4) + 2, 153)
    year, month = year - 4800 + month // 10, (month + 2) % 12 + 1
    try:
        return date(year, month, of_month // 5 + 1).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError as error:
        raise Mismatch(f"{year:04}-{month:02}-{of_month // 5 + 1:02} is a day that Arrow does not have") from error


def _timestamps(field: pa.Field) -> dict[int, Read]:
    moment = struct.Struct("<qi").unpack_from

    def nanoseconds(data: bytearray, at: int) -> int:
        milliseconds, rest = moment(data, at + 1)
        value: int = milliseconds * 1_000_000 + rest
        if not -(2**63) < value < 2**63:
            raise Mismatch(f"{field.name} is {milliseconds} ms since 1970, outside of what 64 bits of ns hold")
        return value

    def of_date(data: bytearray, at: int) -> int:
        value: int = _long(data, at) * 1_000_000
        if not -(2**63) < value < 2**63:
            raise Mismatch(f"{field.name} is {value} ns since 1970, outside of what 64 bits of ns hold")
        return value

    if field.type.unit == "ms":
        return {binary_format.DATE: _long}
    return {binary_format.TIMESTAMP: nanoseconds, binary_format.DATE: of_date} if field.type.unit == "ns" else {}


def _sized_bytes(field: pa.Field) -> Read:
    expected = field.type.byte_width

    def read(data: bytearray, at: int) -> bytes:
        value = _bytes(data, at)
        if len(value) != expected:
            raise Mismatch(f"{field.name} has {len(value)} bytes, not {expected}")
        return value

    return read


def _bytes(data: bytearray, at: int) -> bytes:
    return bytes(data[at + 5 : at + 5 + int_at(data, at + 1)])


def _uuid(data: bytearray, at: int) -> bytes:
    # Two little-endian numbers.
    text = data[at + 8 : at : -1].hex() + data[at + 16 : at + 8 : -1].hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}".encode()


def _decimal(data: bytearray, at: int) -> Decimal:
    scale, length = struct.unpack_from("<ii", data, at + 1)
    magnitude = data[at + 9 : at + 9 + length]
    negative = magnitude[0] >= 128
    magnitude[0] &= 127
    digits = tuple(map(int, str(int.from_bytes(magnitude, "big"))))
    return Decimal((int(negative), digits, -scale))


def _plain(data: bytearray, at: int) -> bytes:
    return format(_decimal(data, at), "f").encode()


def _fitting(field: pa.Field) -> Read:
    precision, scale = field.type.precision, field.type.scale

    def read(data: bytearray, at: int) -> Decimal:
        value = _decimal(data, at)
        _, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        kept = len(digits) + exponent + scale
        if value and (kept > precision or any(digits[max(kept, 0) :])):
            raise Mismatch(f"{field.name} is {value:f}, which {show(field.type)} does not hold")
        return value

    return read


def _texts(field: pa.Field) -> dict[int, Read]:
    mark = (field.metadata or {}).get(TYPE_KEY)
    found: dict[int, Read] = {binary_format.STRING: _bytes, binary_format.UUID: _uuid, binary_format.DECIMAL: _plain}
    if is_binary(field.type):
        found[binary_format.BYTES] = _bytes
    only = {b"uuid": binary_format.UUID, b"decimal": binary_format.DECIMAL}.get(mark or b"")
    return {only: found[only]} if only else found
