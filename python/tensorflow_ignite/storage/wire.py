"""Encoding and decoding of the two messages with blocks, without the copies that protobuf's code makes.

On the wire, a streaming call with a single message is the same as a call without streaming, so the transfer of one
block is a unary call here.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc

from tensorflow_ignite.v1 import storage_pb2, storage_pb2_grpc

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_SERVICE = "/tensorflow_ignite.v1.FileService/"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DATA, _CHECKSUM, _LAID = 2, 3, 4


class GotBlock(NamedTuple):
    """A response with a block.

    Attributes:
        data: The data, as a view of the message.
        checksum: CRC-32 of the data.
        written_bytes: Bytes that the node has written into shared memory instead.
    """

    data: memoryview
    checksum: int
    written_bytes: int


class FileStub(storage_pb2_grpc.FileServiceStub):
    """The file service, with `put_block` and `get_block` for one block each, and `share` and `unshare` for memory.

    `put_block` takes a PutBlocksRequest as bytes, as `encode_block` returns it; `get_block` takes a ReadBlocksRequest
    and returns a `GotBlock`.
    """

    def __init__(self, channel: grpc.Channel) -> None:
        """Makes the methods of a channel to a node."""
        super().__init__(channel)  # type: ignore[no-untyped-call]
        self.put_block: Any = channel.unary_unary(
            f"{_SERVICE}PutBlocks", response_deserializer=storage_pb2.PutBlocksResponse.FromString
        )
        self.get_block: Any = channel.unary_unary(
            f"{_SERVICE}ReadBlocks",
            request_serializer=storage_pb2.ReadBlocksRequest.SerializeToString,
            response_deserializer=decode_block,
        )
        memory = storage_pb2_grpc.BlockMemoryServiceStub(channel)  # type: ignore[no-untyped-call]
        self.share, self.unshare = memory.ShareMemory, memory.UnshareMemory


def encode_block(extent: str, number: int, pieces: Sequence[ReadableBuffer], length: int, checksum: int) -> bytes:
    """Encodes a PutBlocksRequest, and copies each byte of the data once.

    Args:
        extent: Id of the extent.
        number: Number of the block.
        pieces: The data.
        length: Length of all pieces together, in bytes.
        checksum: CRC-32 of the data.
    """
    name = extent.encode()
    head = b"".join((b"\x0a", _varint(len(name)), name, b"\x10", _varint(number), b"\x1a", _varint(length)))
    return b"".join((head, *pieces, b"\x25", struct.pack("<I", checksum)))


def decode_block(message: bytes) -> GotBlock:
    """Decodes a ReadBlocksResponse.

    Raises:
        ValueError: The message is malformed.
    """
    view = memoryview(message)
    data, checksum, laid, position = view[:0], 0, 0, 0
    while position < len(view):
        tag, position = _read_varint(message, position)
        field, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            number, position = _read_varint(message, position)
            laid = number if field == _LAID else laid
            continue
        if kind == _BYTES:
            length, position = _read_varint(message, position)
        elif kind in (_FIXED32, _FIXED64):
            length = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"field {field} has the kind {kind}")
        value = view[position : position + length]
        if len(value) != length:
            raise ValueError(f"field {field} ends after {len(value)} of {length} bytes")
        position += length
        if field == _DATA:
            data = value
        elif field == _CHECKSUM:
            checksum = struct.unpack("<I", value)[0]
    return GotBlock(data, checksum, laid)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _read_varint(message: Any, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(message) or shift > 63:
            raise ValueError("a number has no end")
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
