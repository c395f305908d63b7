"""Records of TensorFlow's event files, which TensorBoard reads; made without TensorFlow."""

from __future__ import annotations

import struct
from collections.abc import Mapping

# Fields of TensorFlow's messages, as tags of the wire format: number << 3 | type.
_EVENT_WALL_TIME, _EVENT_STEP, _EVENT_FILE_VERSION, _EVENT_SUMMARY, _EVENT_SESSION_LOG = 0x09, 0x10, 0x1A, 0x2A, 0x3A
_SUMMARY_VALUE = 0x0A
_VALUE_TAG, _VALUE_SIMPLE_VALUE = 0x0A, 0x15
_SESSION_LOG_STATUS, _START = 0x08, 1


def head(time: float) -> bytes:
    """The first record of a file; TensorBoard honours `start` in files of this version."""
    return _record(time, 0, _EVENT_FILE_VERSION, b"brain.Event:2")


def start(step: int, time: float) -> bytes:
    """A record after which TensorBoard forgets the points of earlier files of the run from this step on."""
    return _record(time, step, _EVENT_SESSION_LOG, bytes((_SESSION_LOG_STATUS, _START)))


def scalars(step: int, time: float, values: Mapping[str, float]) -> bytes:
    """A record with a point of each curve.

    Args:
        step: Number of finished steps.
        time: Seconds since 1970.
        values: The points by the names of their curves; stored with 32 bits.
    """
    summary = b""
    for name, value in values.items():
        tag = name.encode()
        point = _field(_VALUE_TAG, tag) + bytes((_VALUE_SIMPLE_VALUE,)) + struct.pack("<f", _float32(value))
        summary += _field(_SUMMARY_VALUE, point)
    return _record(time, step, _EVENT_SUMMARY, summary)


def _float32(value: float) -> float:
    """The value, or infinity if it is too large for 32 bits."""
    try:
        struct.pack("<f", value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value


def _record(time: float, step: int, field: int, content: bytes) -> bytes:
    event = bytes((_EVENT_WALL_TIME,)) + struct.pack("<d", time)
    event += bytes((_EVENT_STEP,)) + _varint(step) + _field(field, content)
    length = struct.pack("<Q", len(event))
    return length + _checksum(length) + event + _checksum(event)


def _field(tag: int, content: bytes) -> bytes:
    return bytes((tag,)) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _table() -> tuple[int, ...]:
    """The remainders of all bytes for CRC-32C."""
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return tuple(table)


_TABLE = _table()


def _checksum(data: bytes) -> bytes:
    """CRC-32C, masked as in TFRecord files."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
