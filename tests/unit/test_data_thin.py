"""Values as they travel to thin clients, and who asks for them."""

from __future__ import annotations

import datetime
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyignite.exceptions import AuthenticationError

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport.thin import binary_format, scan, types, values
from tensorflow_ignite.data.transport.thin.connection import BinaryType, Page
from tensorflow_ignite.data.transport.thin.failures import RequestRejected, translate
from tensorflow_ignite.data.transport.thin.page_rows import FIELD_OF_VALUE, KEY, VALUE, PageRows, located
from tensorflow_ignite.data.transport.thin.scalars import Mismatch
from tensorflow_ignite.net import credentials
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.v1 import data_pb2

POINT = 77
COMPACT, FULL = 32, 0


class KnownTypes:
    """A cluster that knows one type, of which it learns a second version only when asked again."""

    def __init__(self) -> None:
        self.refreshed = 0

    def __call__(self, number: int) -> BinaryType | None:
        if number != POINT:
            return None
        return BinaryType("Point", {"x": 3, "Name": 9}, {1: "x", 2: "Name"}, {10: (1,)}, {})

    def refresh(self, number: int) -> BinaryType | None:
        self.refreshed += 1
        found = self(number)
        return found and BinaryType(found.name, found.fields, found.names, {10: (1,), 11: (2, 1)}, {})


def text(value: str) -> bytes:
    data = value.encode()
    return bytes([binary_format.STRING]) + struct.pack("<i", len(data)) + data


def number(value: int) -> bytes:
    return bytes([binary_format.INT]) + struct.pack("<i", value)


def array(code: int, head: bytes, *elements: bytes) -> bytes:
    return bytes([code]) + head + b"".join(elements)


def point(schema: int, footer: int, **fields: bytes) -> bytes:
    """An object whose fields have offsets of one byte."""
    numbers = {"x": 1, "name": 2}
    body, footed = b"", b""
    for name, value in fields.items():
        offset = 24 + len(body)
        footed += bytes([offset]) if footer == COMPACT else struct.pack("<iB", numbers[name], offset)
        body += value
    flags = 1 | 2 | 8 | footer
    head = struct.pack("<BBhiiiii", 103, 1, flags, POINT, 0, 24 + len(body) + len(footed), schema, 24 + len(body))
    return head + body + footed


def wrapped(value: bytes, before: bytes = b"") -> bytes:
    """As nodes send objects: within bytes, at an offset."""
    return (
        bytes([binary_format.WRAPPED])
        + struct.pack("<i", len(before + value))
        + before
        + value
        + struct.pack("<i", len(before))
    )


def read(value: bytes, kind: pa.DataType, nulls: str = "error", mark: str = "") -> Any:
    return values.reader(types.marked("column", kind, mark), nulls, KnownTypes())(bytearray(value), 0)


def page(*entries: bytes) -> Page:
    return Page(bytearray(b"head" + b"".join(entries)), 4, len(entries) // 2)


def rows(schema: list[pa.Field], nulls: str = "error", skip: bool = False) -> PageRows:
    return PageRows(pa.schema(schema), nulls, skip, KnownTypes(), "cache 'a'")


X = located(pa.field("x", pa.int32()), FIELD_OF_VALUE)
NAME = located(pa.field("name", pa.utf8()), FIELD_OF_VALUE)
ID = located(pa.field("_key", pa.int32()), KEY)


def test_the_end_of_every_value_is_found() -> None:
    inner = wrapped(point(10, COMPACT, x=number(1)), b"ab")
    nested = array(
        binary_format.COLLECTION,
        struct.pack("<ib", 2, 1),
        inner,
        array(binary_format.MAP, struct.pack("<ib", 1, 1), text("k"), inner),
    )
    for value in [
        number(5),
        text("ä"),
        inner,
        nested,
        array(binary_format.OBJECTS, struct.pack("<ii", -1, 1), nested),
        # An array of a type that is not registered names it.
        array(binary_format.OBJECTS, struct.pack("<i", 0) + text("some.Type") + struct.pack("<i", 1), number(1)),
        array(13, struct.pack("<ihh", 2, 1, 2)),
        array(binary_format.STRINGS, struct.pack("<i", 2), text("a"), bytes([binary_format.NULL])),
        bytes([binary_format.DECIMAL]) + struct.pack("<ii", 2, 1) + b"\x05",
        bytes([binary_format.ENUM]) + struct.pack("<ii", 4, 1),
        bytes([binary_format.SERIALIZED]) + struct.pack("<i", 3) + b"abc",
    ]:
        assert binary_format.skip(bytearray(value + b"behind"), 0) == len(value)
    with pytest.raises(binary_format.MalformedDataError, match="code 200"):
        binary_format.skip(bytearray([200]), 0)


@given(st.integers(-(2**200), 2**200), st.integers(-5, 40))
def test_decimals_are_exact(unscaled: int, scale: int) -> None:
    magnitude = abs(unscaled).to_bytes(abs(unscaled).bit_length() // 8 + 1, "big")
    signed = bytes([magnitude[0] | (128 if unscaled < 0 else 0)]) + magnitude[1:]
    value = bytes([binary_format.DECIMAL]) + struct.pack("<ii", scale, len(magnitude)) + signed
    decoded = read(value, pa.utf8(), mark="decimal").decode()
    assert Decimal(decoded).compare_total(Decimal(decoded)) == 0
    assert int(Decimal(decoded).scaleb(0).as_tuple().sign) == (unscaled < 0)
    sign, digits, exponent = Decimal(decoded).as_tuple()
    assert int("".join(map(str, digits))) * (-1 if sign else 1) * 10 ** (exponent + max(scale, 0)) == unscaled * 10 ** (
        max(scale, 0) - scale
    )


def test_a_value_is_taken_for_a_wider_type_and_never_for_a_narrower() -> None:
    assert read(number(-7), pa.int64()) == -7
    assert read(number(-7), pa.float64()) == -7
    for kind in (pa.int16(), pa.float32(), pa.bool_(), pa.utf8(), pa.list_(pa.int32())):
        with pytest.raises(Mismatch, match="column is int, which is not read as"):
            read(number(-7), kind)
    assert read(array(12, struct.pack("<i", 2), b"\xff\x01"), pa.list_(pa.uint8(), 2)).tolist() == [255, 1]
    assert read(array(12, struct.pack("<i", 2), b"\xff\x01"), pa.list_(pa.int8())).tolist() == [-1, 1]
    with pytest.raises(errors.UnsupportedTypeError, match="'column' is requested as duration"):
        read(number(1), pa.duration("s"))


def test_a_moment_beyond_what_nanoseconds_hold_is_a_mismatch() -> None:
    kind = pa.timestamp("ns", "UTC")
    assert read(bytes([binary_format.TIMESTAMP]) + struct.pack("<qi", -1, 999_999), kind) == -1
    with pytest.raises(Mismatch, match="64 bits"):
        read(bytes([binary_format.TIMESTAMP]) + struct.pack("<qi", 10**13, 0), kind)


def test_a_day_of_sql_is_read_through_java_s_own_serialization() -> None:
    # As a node sent 2021-02-03, in UTC; half a day more or less for local time.
    day = bytes.fromhex("fe0f000000663aded5409766004c306577010000")
    assert abs(read(day, pa.date32()) - 18661) <= 1
    assert types.of_value(bytearray(day), 0, KnownTypes()).type == pa.date32()
    with pytest.raises(Mismatch, match="Java's own serialization"):
        read(day.replace(b"\x3a", b"\x3b"), pa.date32())


def test_a_day_before_1582_is_that_of_the_julian_calendar_as_in_sql() -> None:
    def stored(day: int) -> bytes:
        return bytes([binary_format.DATE]) + struct.pack("<q", day * 86_400_000 + 43_200_000)

    kind, first = pa.date32(), datetime.date(1970, 1, 1).toordinal()
    # The day after 4 October 1582 was 15 October.
    for day, name in (
        (-141_427, (1582, 10, 15)),
        (-141_428, (1582, 10, 4)),
        (-171_655, (1500, 1, 1)),
        (-719_164, (1, 1, 1)),
    ):
        assert read(stored(day), kind) == datetime.date(*name).toordinal() - first
    with pytest.raises(Mismatch, match="1500-02-29 is a day that Arrow does not have"):
        read(stored(-171_596), kind)


@pytest.mark.parametrize("footer", [COMPACT, FULL])
def test_fields_are_found_by_name_in_every_version_of_a_type(footer: int) -> None:
    collected = rows([NAME, X, ID], nulls="keep")
    old, new = point(10, footer, x=number(1)), point(11, footer, name=text("n"), x=number(2))
    collected.add(page(number(5), wrapped(old, b"xyz"), number(6), new))
    assert collected.batch().to_pylist() == [{"name": None, "x": 1, "_key": 5}, {"name": "n", "x": 2, "_key": 6}]


def test_a_value_that_is_repeated_is_found_where_it_first_stood() -> None:
    handle = bytes([binary_format.HANDLE]) + struct.pack("<i", 5)
    twice = array(binary_format.COLLECTION, struct.pack("<ib", 2, 1), number(9), handle)
    assert read(twice, pa.list_(pa.int32())) == [9, 9]


def test_nulls_and_mismatched_rows_are_handled_as_requested_and_named_by_their_key() -> None:
    entries = page(number(5), wrapped(point(10, COMPACT, x=bytes([binary_format.NULL]))), number(6), text("no object"))
    with pytest.raises(errors.RowMismatchError, match="cache 'a': the row with key 5 does not fit: x is null"):
        rows([X]).add(entries)
    with pytest.raises(errors.RowMismatchError, match="key 6 does not fit: it is String, not an object with fields"):
        rows([X], nulls="default").add(entries)
    skipping = rows([X, ID], nulls="default", skip=True)
    skipping.add(entries)
    assert (skipping.skipped, skipping.batch().to_pylist()) == (1, [{"x": 0, "_key": 5}])


def test_a_batch_of_no_rows_has_the_columns() -> None:
    empty = rows([X, located(pa.field("value", pa.list_(pa.float32(), 3)), VALUE)]).batch()
    assert (empty.num_rows, empty.schema.names) == (0, ["x", "value"])
    assert not empty.schema.field("x").metadata


def test_types_that_disagree_have_no_type_and_open_ones_take_the_other() -> None:
    known_types = KnownTypes()
    mixed = array(binary_format.COLLECTION, struct.pack("<ib", 2, 1), number(1), text("a"))
    with pytest.raises(types.TypeConflict, match="int32 and string"):
        types.of_value(bytearray(mixed), 0, known_types)
    empty = types.of_value(bytearray(array(binary_format.COLLECTION, struct.pack("<ib", 0, 1))), 0, known_types)
    full = types.of_value(
        bytearray(array(binary_format.COLLECTION, struct.pack("<ib", 1, 1), number(1))), 0, known_types
    )
    assert not types.known(empty.type)
    assert types.merge(empty, full).type == types.merge(full, empty).type == pa.list_(pa.int32())
    found = types.of_value(bytearray(point(10, FULL, x=number(1))), 0, known_types)
    assert found.type == pa.struct({"x": pa.int32(), "Name": pa.utf8()})


def test_sql_is_refused_before_any_call() -> None:
    with pytest.raises(errors.SqlInvalidError, match="where= cannot be read with transport='thin'"):
        scan.describe(["nowhere:1"], data_pb2.ReadCommand(cache="a", where="x > 1"))


SECRET = "swordfish"


def test_credentials_are_read_as_a_pair_a_mapping_or_from_the_environment(tmp_path: Path) -> None:
    assert credentials.from_argument(("me", SECRET)) == Credentials("me", SECRET)
    assert credentials.from_argument({"cafile": tmp_path / "ca.pem"}) == Credentials(cafile=str(tmp_path / "ca.pem"))
    assert credentials.from_argument(None) is None
    assert credentials.from_dataset_environment({}) is None
    env = {"USERNAME": "me", "PASSWORD": SECRET, "CERTFILE": "c", "KEYFILE": "k", "CERT_PASSWORD": "p", "CAFILE": "a"}
    decoded = credentials.from_dataset_environment({f"IGNITE_DATASET_{name}": value for name, value in env.items()})
    assert decoded == Credentials("me", SECRET, "c", "k", "p", "a")
    assert decoded.encrypted
    assert not Credentials("me", SECRET).encrypted


@pytest.mark.parametrize(
    "wrong", [SECRET, ("me", SECRET, "more"), {"pass": SECRET}, {"password": SECRET}, {"keyfile": "k"}, ("", SECRET), 5]
)
def test_credentials_that_cannot_be_read_are_refused_and_not_repeated(wrong: Any) -> None:
    with pytest.raises(errors.InvalidRequestError) as caught:
        credentials.from_argument(wrong)
    assert SECRET not in str(caught.value)


def test_credentials_are_found_by_their_name_in_this_process_and_in_the_environment_of_another() -> None:
    mine = Credentials("me", SECRET)
    name = credentials.store(mine)
    assert credentials.store(Credentials("me", SECRET)) == name
    assert SECRET not in name
    assert credentials.stored(name) is mine
    assert credentials.stored("0" * 32) is None, "a name of another process"
    assert credentials.stored("") is None
    env = {"IGNITE_DATASET_USERNAME": "other", "IGNITE_DATASET_PASSWORD": "x"}
    assert credentials.from_dataset_environment(env) == Credentials("other", "x")
    assert credentials.store(None) == ""


def test_a_password_that_pyignite_cannot_send_is_refused_and_not_repeated() -> None:
    with pytest.raises(errors.InvalidRequestError, match="ASCII") as caught:
        scan.describe(["nowhere:1"], data_pb2.ReadCommand(cache="a"), credentials=Credentials("me", "pässword"))
    assert "pässword" not in str(caught.value)


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (AuthenticationError("no"), errors.InvalidRequestError),
        (RequestRejected(1000, "Cache does not exist"), errors.CacheNotFoundError),
        (RequestRejected(10, "inactive"), errors.ClusterNotActiveError),
        (RequestRejected(1, "what"), errors.InternalError),
        (TimeoutError(), errors.RequestTimeoutError),
        (ConnectionRefusedError(111, "Connection refused"), errors.ConnectionFailedError),
        (FileNotFoundError(2, "No such file"), errors.InvalidRequestError),
    ],
)
def test_an_error_of_a_node_becomes_a_class_of_ours(raised: Exception, error: type[Exception]) -> None:
    decoded = translate(raised, "h:1", "cache 'a' was not read", "a")
    assert type(decoded) is error
    assert str(decoded).startswith("cache 'a' was not read: ")


def test_a_nodes_message_is_shown_without_its_stack_and_details() -> None:
    message = "class org.apache.ignite.IgniteCheckedException: Failed to read [tx=" + "x" * 9_000 + "]\n\tat a.B.c()"
    text = str(translate(RequestRejected(1, message), "h:1", "cache 'a' was not read"))
    assert "says: Failed to read (status 1 " in text
