"""Blocks on their way: to the node that holds them, else to any; in memory shared with it, else in messages."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial

from tensorflow_ignite.errors import FileCorruptError
from tensorflow_ignite.rpc import NodeConnection
from tensorflow_ignite.storage.memory import BlockMemory, Place
from tensorflow_ignite.storage.wire import encode_block
from tensorflow_ignite.v1 import storage_pb2

__all__ = ["address_of", "get_block", "put_block"]

# A block that arrives as another one than was sent is asked for again so often, in all.
_TRIES = 2


def get_block(
    connection: NodeConnection,
    memory: BlockMemory,
    request: storage_pb2.ReadBlocksRequest,
    size: int,
    holder: str | None,
) -> memoryview:
    """Reads a block, or a part of it.

    Args:
        connection: Of a `wire.FileStub`.
        memory: What the nodes of this host share with this process.
        request: Which one.
        size: Bytes that are wanted, at most; a message may bring more.
        holder: ``"host:port"`` of the node that holds it; None: unknown.

    Returns:
        The data; they keep the whole message that came in memory, or their place in shared memory.

    Raises:
        FileCorruptError: The block is lost, or is not what was written.
        FileChangedError: The extent is not of any file any more.
    """
    place = memory.place(holder, size)
    if place is not None:
        laid = storage_pb2.ReadBlocksRequest()
        laid.CopyFrom(request)
        laid.place.CopyFrom(place.told)
        laid.bytes = size
        got = memory.ask(place, "get_block", laid)
        if got is not None:
            return place.view[: got.laid_bytes]
    for _ in range(_TRIES):
        data, checksum, _ = connection.call("get_block", lambda: request, first=holder)
        if zlib.crc32(data) == checksum:
            return data  # type: ignore[no-any-return]
    raise FileCorruptError(
        f"block {request.numbers[0]} of extent {request.extent_id} arrived {_TRIES} times with another CRC-32 than its "
        "node has sent with it. What a node sends was verified there just before. Check the memory and the network of "
        "this machine."
    )


def put_block(
    connection: NodeConnection,
    memory: BlockMemory,
    extent: str,
    number: int,
    data: memoryview,
    holder: str | None,
) -> Callable[[], None]:
    """Prepares to store a block; one that is there is replaced.

    Args:
        connection: Of a `wire.FileStub`.
        memory: What the nodes of this host share with this process.
        extent: Id of the extent.
        number: Of the block.
        data: Of the block; they are copied now, and may be changed afterwards.
        holder: ``"host:port"`` of the node that is to hold it; None: unknown.

    Returns:
        What stores it.
    """
    place = memory.place(holder, len(data))
    if place is None:
        message = encode_block(extent, number, (data,), len(data), zlib.crc32(data))
        return lambda: _put_message(connection, message, holder)
    place.view[:] = data
    return partial(_put_from, connection, memory, extent, number, place)


def _put_message(connection: NodeConnection, message: bytes, holder: str | None) -> None:
    connection.call("put_block", lambda: message, first=holder)


def _put_from(connection: NodeConnection, memory: BlockMemory, extent: str, number: int, place: Place) -> None:
    request = storage_pb2.PutBlocksRequest(extent_id=extent, number=number, place=place.told)
    if memory.ask(place, "put_block", request.SerializeToString()) is None:
        data = place.view
        _put_message(connection, encode_block(extent, number, (data,), len(data), zlib.crc32(data)), place.address)


def address_of(holders: storage_pb2.BlockHolders, number: int) -> str | None:
    """The node that holds a block; None: unknown."""
    position = holders.holders[number] if number < len(holders.holders) else -1
    return holders.addresses[position] if position >= 0 else None
