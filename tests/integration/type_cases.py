"""Every type that a cache may hold, with values at its limits: for pyignite, in Arrow, and as tensors.

The one table of types for all tests that read values, over the service and over the thin client protocol.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyignite import datatypes as ignite

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
BEFORE = datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, datetime.timezone.utc)
LATE = datetime.datetime(2262, 4, 11, 23, 47, 16, 854000, datetime.timezone.utc)
NUMBER = uuid.UUID("12345678-9abc-def0-8123-456789abcdef")
DAY = 86_400_000


@dataclass(frozen=True)
class Case:
    """One type."""

    java: str
    hint: Any
    array: Any
    put: Sequence[Any]
    arrow: pa.DataType
    shown: Sequence[Any]
    dtype: str
    tensor: Sequence[Any]
    default: Any
    is_key: bool = True
    mark: str | None = None


def _number(java: str, hint: Any, array: Any, arrow: pa.DataType, values: Sequence[Any], **more: Any) -> Case:
    dtype = {"float": "float32", "double": "float64"}.get(str(arrow), str(arrow))
    return Case(java, hint, array, values, arrow, values, dtype, values, more.pop("default", 0), **more)


def _whole(java: str, hint: Any, array: Any, bits: int) -> Case:
    values = [-(2 ** (bits - 1)), -1, 2 ** (bits - 1) - 1]
    return _number(java, hint, array, getattr(pa, f"int{bits}")(), values)


def _text(values: Sequence[str]) -> dict[str, Any]:
    return {"shown": values, "dtype": "string", "tensor": [value.encode() for value in values], "default": b""}


def _time_of_day(value: datetime.timedelta) -> int:
    """What a clock shows in the time zone of this machine, which is that of its nodes."""
    moment = (EPOCH + value).astimezone().time()
    return ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1000 + moment.microsecond // 1000


TIMES = [datetime.timedelta(0), datetime.timedelta(milliseconds=1), datetime.timedelta(milliseconds=DAY - 1)]
CLOCKS = [_time_of_day(value) for value in TIMES]
# pyignite drops zeros at the end.
DECIMALS = [Decimal("-12345678901234567890.1234"), Decimal("0"), Decimal("1E+21")]
UUIDS = [NUMBER, uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)]

SINGLE = [
    _whole("byte", ignite.ByteObject, None, 8),
    _whole("short", ignite.ShortObject, ignite.ShortArrayObject, 16),
    _whole("int", ignite.IntObject, ignite.IntArrayObject, 32),
    _whole("long", ignite.LongObject, ignite.LongArrayObject, 64),
    _number("float", ignite.FloatObject, ignite.FloatArrayObject, pa.float32(), [-1.5, float("inf"), 2.0**-149]),
    _number("double", ignite.DoubleObject, ignite.DoubleArrayObject, pa.float64(), [5e-324, float("-inf"), 1.7e308]),
    _number("boolean", ignite.BoolObject, ignite.BoolArrayObject, pa.bool_(), [True, False], default=False),
    Case(
        "char", ignite.CharObject, ignite.CharArrayObject,
        ["a", "\0", "\uffff"], pa.uint16(), [97, 0, 65535], "uint16", [97, 0, 65535], 0,
    ),
    Case(
        "String", ignite.String, ignite.StringArrayObject,
        ["", "ä😀", "x\ny"], pa.utf8(), **_text(["", "ä😀", "x\ny"]),
    ),
    Case(
        "UUID", ignite.UUIDObject, ignite.UUIDArrayObject,
        UUIDS, pa.utf8(), mark="uuid", **_text([str(value) for value in UUIDS]),
    ),
    Case(
        "java.util.Date", ignite.DateObject, ignite.DateArrayObject,
        [EPOCH, BEFORE, LATE], pa.timestamp("ms", "UTC"), [0, -1, 9223372036854], "int64", [0, -1, 9223372036854], 0,
    ),
    Case(
        "java.sql.Timestamp", ignite.TimestampObject, ignite.TimestampArrayObject,
        [(EPOCH, 7), (BEFORE, 999_999), (LATE, 775_807)], pa.timestamp("ns", "UTC"),
        [7, -1, 2**63 - 1], "int64", [7, -1, 2**63 - 1], 0,
    ),
    Case(
        "java.sql.Time", ignite.TimeObject, ignite.TimeArrayObject,
        TIMES, pa.time32("ms"), CLOCKS, "int32", CLOCKS, 0,
    ),
    Case(
        "Decimal", ignite.DecimalObject, ignite.DecimalArrayObject,
        DECIMALS, pa.utf8(), ["-12345678901234567890.1234", "0", "1000000000000000000000"],
        "float64", [float(value) for value in DECIMALS], 0.0, mark="decimal",
    ),
    Case(
        "byte[]", ignite.ByteArrayObject, None,
        [b"\x00\xff\x80", b"", b"abc"], pa.binary(), [b"\x00\xff\x80", b"", b"abc"],
        "string", [b"\x00\xff\x80", b"", b"abc"], b"", is_key=False,
    ),
]  # fmt: skip


def _array(case: Case) -> Case:
    """Arrays of 0, 1 and 2 values of a type."""
    put, shown, tensor = ([list(values)[:size] for size in range(3)] for values in (case.put, case.shown, case.tensor))
    return Case(f"{case.java}[]", case.array, None, put, pa.list_(case.arrow), shown, case.dtype, tensor, [], False)


# All types that Ignite identifies by a code: single values, and arrays of them.
FIELDS = [*SINGLE, *(_array(case) for case in SINGLE if case.array)]
# Containers of any values.
CONTAINERS = [
    Case(
        "Object[]", ignite.ObjectArrayObject, None,
        [(-1, ["p", "q"]), (-1, [])], pa.list_(pa.utf8()), [["p", "q"], []], "string", [[b"p", b"q"], []], [], False,
    ),
    Case(
        "collection", ignite.CollectionObject, None,
        [(1, [1, 2, 3]), (1, [])], pa.list_(pa.int64()), [[1, 2, 3], []], "int64", [[1, 2, 3], []], [], False,
    ),
    Case(
        "map", ignite.MapObject, None,
        [(2, {"k": 1.5}), (2, {})], pa.map_(pa.utf8(), pa.float64()), [[("k", 1.5)], []],
        "float64", [{"keys": [b"k"], "values": [1.5]}, {"keys": [], "values": []}], [], False,
    ),
]  # fmt: skip


def hints(cases: Sequence[Case]) -> dict[str, Any]:
    """The fields of an object with a value of each type."""
    return {name_of(case): case.hint for case in cases}


def values(cases: Sequence[Case], number: int) -> dict[str, Any]:
    """The fields of the object with this number."""
    return {name_of(case): at(case.put, number) for case in cases}


def at(values: Sequence[Any], number: int) -> Any:
    """The value of the object with this number: the values of a type are used in turn."""
    return values[number % len(values)]


def name_of(case: Case) -> str:
    """A name for a column or a cache of a type."""
    return case.java.replace("[]", "s").replace(".", "_").lower()


def numbers(column: pa.ChunkedArray) -> list[Any]:
    """Values of a column; dates and times as numbers, which Python's own do not hold to the nanosecond."""
    return [_number_of(value) for chunk in column.chunks for value in chunk]


def _number_of(value: Any) -> Any:
    if not value.is_valid:
        return None
    if pa.types.is_map(value.type):
        return [(_number_of(value.values[i][0]), _number_of(value.values[i][1])) for i in range(len(value.values))]
    if pa.types.is_struct(value.type):
        return {name: _number_of(entry) for name, entry in value.items()}
    if pa.types.is_nested(value.type):
        return [_number_of(entry) for entry in value.values]
    return value.value if pa.types.is_temporal(value.type) else value.as_py()
