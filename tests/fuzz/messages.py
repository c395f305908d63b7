"""Messages that nobody should send: made up field by field, mutated, cut, or random; the same for the same seed."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from tensorflow_serving.apis import model_service_pb2, prediction_service_pb2

import tensorflow_ignite as tfi
from tensorflow_ignite.v1 import data_pb2, job_pb2, metrics_pb2, predict_pb2, shared_pb2, storage_pb2, tcp_pb2

CACHE = "fuzzed"
FLIGHT = "/arrow.flight.protocol.FlightService/"
_MODULES = (
    *(job_pb2, predict_pb2, metrics_pb2, storage_pb2, shared_pb2, tcp_pb2),
    *(prediction_service_pb2, model_service_pb2),
)
#: Model processes serve the first two; the others are not fuzzed.
_LEFT_OUT = {
    *("PredictService.Predict", "PredictService.Ping", "FileService.CheckBlocks"),
    *("NodeApiService.ListCaches", "NodeApiService.ReportTermination", "NodeApiService.AgreeOnRows"),
}
#: Requests that hold, of methods whose made ones would hardly ever be looked at.
_VALID: dict[str, Message] = {
    "UploadCode": job_pb2.UploadCodeRequest(digest="0" * 64, chunk=b"x"),
    "RemoveFile": storage_pb2.RemoveFileRequest(path="/fuzz/a"),
    "ReadOverTcp": tcp_pb2.ReadOverTcpRequest(command=data_pb2.ReadCommand(cache=CACHE, partitions=[0])),
}

_TEXTS = (
    "",
    CACHE,
    "/fuzz",
    "/fuzz/a",
    "/fuzz/a/b/c",
    "/fuzz/\u00e9\U0001f600",
    "/" + "/".join("d" * 20),
    "/" + "n" * 300,
    "/fuzz/" + "x/" * 2_000,
    "../../../../etc/passwd",
    "/../..",
    "..\\..\\windows",
    "/fuzz/nul\0byte",
    "line\nline\r\n",
    "\u202eright to left",
    "%s%n%1$s{0}${jndi:x}",
    "'; DROP TABLE fuzzed; --",
    "0" * 32,
    "f" * 64,
    "NaN",
    "tensorflow-ignite-jobs",
    "id = ?",
    "id IN (SELECT id FROM fuzzed)",
    "1 = 1) OR (1 = 1",
    "(" * 500 + "1" + ")" * 500,
    "NOT " * 300 + "id = 1",
    "CASE WHEN " * 50,
    "SELECT id FROM Fuzzed",
    "SELECT FILE_READ('/etc/passwd')",
    "SELECT id FROM Fuzzed UNION SELECT id FROM Fuzzed",
    "CREATE ALIAS X AS 'x'",
    "a" * 5_000,
    "\u20ac" * 3_000,
)
_LONG = ("y" * 1_000_000, "(" * 60_000, "a=1 AND " * 8_000)
_NUMBERS = (0, 1, -1, 2, 7, 255, 1024, 65_535, 2**20, 2**31 - 1, -(2**31))
_WIDE = (*_NUMBERS, 2**32, 2**40, 2**63 - 1, -(2**63))
_REPEATS = (1, 1, 1, 2, 3, 40)
_MAX_DEPTH = 4


@dataclass(frozen=True)
class Target:
    """A method, and what makes requests of it."""

    method: str
    kind: str
    make: Callable[[random.Random], list[bytes]]
    weight: int = 4


def targets() -> list[Target]:
    """The methods that a node serves, and those of the services of TensorFlow that it refuses."""
    services = [service for module in _MODULES for service in module.DESCRIPTOR.services_by_name.values()]
    methods = [method for service in services for method in service.methods]
    return [
        *(_of(method) for method in methods if f"{method.containing_service.name}.{method.name}" not in _LEFT_OUT),
        *(Target(FLIGHT + method, kind, make, weight) for method, kind, make, weight in _FLIGHT),
    ]


def made(rng: random.Random, kind: type[Message], depth: int = 0) -> Any:
    """A message whose fields have values that are wrong, large, or strange; some are left out."""
    message = kind()
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.35 or depth > _MAX_DEPTH:
            continue
        _set(rng, message, field, depth)
    return message


def _set(rng: random.Random, message: Any, field: FieldDescriptor, depth: int) -> None:
    entry = field.message_type is not None and field.message_type.GetOptions().map_entry
    if entry:
        value = field.message_type.fields_by_name["value"]
        entries = getattr(message, field.name)
        for _ in range(rng.choice(_REPEATS)):
            name = _text(rng)[:1_000]
            if value.message_type is None:
                entries[name] = _scalar(rng, value)
            else:
                entries[name].CopyFrom(made(rng, value.message_type._concrete_class, depth + 2))
    elif field.is_repeated and field.message_type is not None:
        for _ in range(rng.choice(_REPEATS)):
            getattr(message, field.name).append(made(rng, field.message_type._concrete_class, depth + 2))
    elif field.is_repeated:
        getattr(message, field.name).extend(_scalar(rng, field) for _ in range(rng.choice(_REPEATS)))
    elif field.message_type is not None:
        getattr(message, field.name).CopyFrom(made(rng, field.message_type._concrete_class, depth + 1))
    else:
        setattr(message, field.name, _scalar(rng, field))


def _scalar(rng: random.Random, field: FieldDescriptor) -> Any:
    if field.type == FieldDescriptor.TYPE_STRING:
        return _text(rng)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return rng.randbytes(rng.choice((0, 1, 16, 100, 5_000)))
    if field.type == FieldDescriptor.TYPE_BOOL:
        return rng.random() < 0.5
    if field.type == FieldDescriptor.TYPE_ENUM:
        return rng.choice((0, 1, 2, 3, 1_000, -1))
    if field.type in (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT):
        return rng.choice((0.0, -1.0, 1e308, float("nan"), float("inf")))
    if field.type in (FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_SFIXED64):
        return rng.choice(_WIDE)
    if field.type in (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64):
        return rng.choice(_WIDE) & 0xFFFFFFFFFFFFFFFF
    number = rng.choice(_NUMBERS)
    return number & 0xFFFFFFFF if field.type in (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32) else number


def _text(rng: random.Random) -> str:
    if rng.random() < 0.003:
        return rng.choice(_LONG)
    if rng.random() < 0.1:
        return "".join(chr(rng.choice((rng.randrange(1, 128), rng.randrange(0xA0, 0xD800)))) for _ in range(12))
    return rng.choice(_TEXTS)


def mutated(rng: random.Random, data: bytes) -> bytes:
    """The same bytes but for some: changed, cut, doubled, moved, or with a length that lies."""
    changed = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(changed)) if changed else 0
        how = rng.randrange(7)
        if how == 0 and changed:
            changed[place] ^= 1 << rng.randrange(8)
        elif how == 1:
            del changed[place:]
        elif how == 2:
            changed[place:place] = rng.randbytes(rng.randrange(1, 9))
        elif how == 3 and changed:
            changed[place] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif how == 4:
            changed[place : place + 4] = struct.pack("<i", rng.choice(_NUMBERS))
        elif how == 5:
            changed[place:place] = changed[place : place + rng.randrange(1, 50)]
        else:
            changed[place : place + 1] = b"\xff\xff\xff\xff\x07"
    return bytes(changed)


def _one(rng: random.Random, kind: type[Message], valid: Message | None = None) -> bytes:
    choice = rng.random()
    if choice < 0.1:
        return rng.randbytes(rng.choice((0, 1, 5, 50, 2_000)))
    message = valid if valid is not None and rng.random() < 0.5 else made(rng, kind)
    data = bytes(message.SerializeToString())
    return data if choice < 0.55 else mutated(rng, data)


def _of(method: MethodDescriptor) -> Target:
    kind = f"{_arity(method.client_streaming)}_{_arity(method.server_streaming)}"

    def make(rng: random.Random) -> list[bytes]:
        count = rng.choice((1, 2, 5)) if method.client_streaming else 1
        return [_one(rng, method.input_type._concrete_class, _VALID.get(method.name)) for _ in range(count)]

    path = f"/{method.containing_service.full_name}/{method.name}"
    return Target(path, kind, _shared if method.name == "ReadIntoMemory" else make)


def _arity(streams: bool) -> str:
    return "stream" if streams else "unary"


def _shared(rng: random.Random) -> list[bytes]:
    """Mostly an opening that holds, so that what is offered is looked at."""
    command = data_pb2.ReadCommand(cache=CACHE, partitions=[0])
    opening = shared_pb2.ReadIntoMemoryRequest(
        start=shared_pb2.ReadIntoMemoryStart(command=command, pid=rng.choice((1, 0, -1, 2**31 - 1)), nonce=b"\0" * 32)
    )
    first = opening.SerializeToString() if rng.random() < 0.7 else _one(rng, shared_pb2.ReadIntoMemoryRequest, opening)
    return [first, *(_one(rng, shared_pb2.ReadIntoMemoryRequest) for _ in range(rng.choice((0, 1, 3))))]


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _descriptor(rng: random.Random, command: bytes) -> bytes:
    """Of a command, or of a path, or of neither."""
    how = rng.random()
    if how < 0.8:
        return b"\x08\x02" + _field(2, command)
    return b"\x08\x01" + _field(3, _text(rng)[:1_000].encode()) if how < 0.95 else rng.randbytes(6)


def _read(rng: random.Random) -> bytes:
    command = made(rng, data_pb2.ReadCommand)
    if rng.random() < 0.8:
        command.cache = CACHE
    if rng.random() < 0.5:
        # What else is asked is only looked at when there is such a partition.
        del command.partitions[:]
        command.partitions.append(rng.choice((0, 1)))
    if rng.random() < 0.7:
        command.schema = b"" if rng.random() < 0.5 else mutated(rng, _SCHEMA.serialize().to_pybytes())
    if rng.random() < 0.4:
        command.sql = ""
        command.where = rng.choice(("id >= ?", "id = ? OR text LIKE ?", _text(rng)))
    return _perhaps_mutated(rng, command.SerializeToString())


def _info(rng: random.Random) -> list[bytes]:
    return [_perhaps_mutated(rng, _descriptor(rng, _read(rng)))]


def _get(rng: random.Random) -> list[bytes]:
    return [_perhaps_mutated(rng, _field(1, _read(rng)))]


def _perhaps_mutated(rng: random.Random, data: bytes) -> bytes:
    return mutated(rng, data) if rng.random() < 0.25 else data


_SCHEMA = pa.schema(
    {"id": pa.int64(), "text": pa.string(), "some": pa.list_(pa.float32()), "two": pa.list_(pa.int32(), 2)}
)


def rows(count: int = 20) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "id": pa.array(range(count), pa.int64()),
            "text": pa.array([f"text {n}" for n in range(count)]),
            "some": pa.array([[1.0] * (n % 4) for n in range(count)], pa.list_(pa.float32())),
            "two": pa.array([[n, n] for n in range(count)], pa.list_(pa.int32(), 2)),
        },
        schema=_SCHEMA,
    )


def _ipc(message: pa.Buffer) -> tuple[bytes, bytes]:
    """The header and the body of an IPC message, without its lengths."""
    data = message.to_pybytes()
    (length,) = struct.unpack_from("<i", data, 4)
    return data[8 : 8 + length], data[8 + length :]


_SCHEMA_HEADER = _ipc(_SCHEMA.serialize())[0]
_BATCH = _ipc(rows().serialize())


def _put(rng: random.Random) -> list[bytes]:
    """A load that would append rows, in which something is wrong; it never says that it is complete."""
    command = data_pb2.LoadCommand(cache=CACHE, existing=data_pb2.EXISTING_CACHE_APPEND, key_column="id", sealed=True)
    header, body = _BATCH
    how = rng.randrange(9)
    schema = mutated(rng, _SCHEMA_HEADER) if how == 0 else _SCHEMA_HEADER
    first = _field(1, b"\x08\x02" + _field(2, command.SerializeToString())) + _field(2, schema)
    if how == 1:
        first = mutated(rng, first)
    messages = [first]
    for _ in range(rng.choice((1, 2))):
        lying, damaged = (mutated(rng, header), body) if rng.random() < 0.6 else (header, mutated(rng, body))
        batch = _field(2, lying) + _field(1000, damaged)
        if how == 2:
            # Lengths that grow, as positions of lists do, but beyond what is there.
            place = rng.randrange(0, len(body) - 4, 4)
            cut = bytearray(body)
            struct.pack_into("<i", cut, place, rng.choice(_NUMBERS))
            batch = _field(2, header) + _field(1000, bytes(cut))
        elif how == 3:
            batch = _varint(1000 << 3 | 2) + _varint(2**31 - 1) + body[:10]
        elif how == 4:
            batch = rng.randbytes(rng.randrange(200))
        elif how == 5:
            batch = _field(2, _SCHEMA_HEADER)
        elif how == 6:
            batch = mutated(rng, _field(2, header) + _field(1000, body))
        messages.append(batch)
    return messages


def _flight_messages(rng: random.Random) -> list[bytes]:
    return [*_flight_message(rng), mutated(rng, _field(1, b"\x08\x02" + _field(2, b"x")))]


def _flight_message(rng: random.Random) -> list[bytes]:
    return [rng.randbytes(rng.randrange(100))]


_FLIGHT = (
    ("GetFlightInfo", "unary_unary", _info, 8),
    ("GetSchema", "unary_unary", _info, 8),
    ("DoGet", "unary_stream", _get, 12),
    ("DoPut", "stream_stream", _put, 12),
    ("DoExchange", "stream_stream", _put, 1),
    ("Handshake", "stream_stream", _flight_messages, 1),
    ("ListFlights", "unary_stream", _flight_message, 1),
    ("PollFlightInfo", "unary_unary", _flight_message, 1),
    ("DoAction", "unary_stream", _flight_message, 1),
    ("ListActions", "unary_stream", _flight_message, 1),
)


def prepare(address: str) -> None:
    tfi.load(CACHE, rows(), key="id", partitions=2, if_exists="replace", address=address)
