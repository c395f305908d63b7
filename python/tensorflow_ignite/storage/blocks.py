"""Transfer of blocks: to or from their owner, else any node; in memory shared with the node, else in messages."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial

from tensorflow_ignite.errors import FileCorruptError
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.storage.memory import BlockMemory, SharedRange
from tensorflow_ignite.storage.wire import encode_block
from tensorflow_ignite.v1 import storage_pb2

# Calls for one block, if its checksum is wrong when it arrives.
_MAX_ATTEMPTS = 2


def get_block(
    connection: NodeConnection,
    memory: BlockMemory,
    request: storage_pb2.ReadBlocksRequest,
    size: int,
    owner: str | None,
) -> memoryview:
    """Reads a block, or a part of it.

    Args:
        connection: Connection with a `wire.FileStub`.
        memory: Memory that this process shares with nodes of its host.
        request: The block, and the range in it.
        size: Largest number of bytes that the caller uses; a message may bring more.
        owner: ``"host:port"`` of the block's owner; None: unknown.

    Returns:
        The data. The view keeps the whole message, or the range of the shared memory, in use.

    Raises:
        FileLostError: All copies of the block are lost.
        FileCorruptError: The block's checksum is wrong.
        FileChangedError: The extent belongs to no file any more.
    """
    shared = memory.allocate(owner, size)
    if shared is not None:
        request_in_memory = storage_pb2.ReadBlocksRequest()
        request_in_memory.CopyFrom(request)
        request_in_memory.range.CopyFrom(shared.message)
        request_in_memory.bytes = size
        got = memory.call(shared, "get_block", request_in_memory)
        if got is not None:
            return shared.view[: got.written_bytes]
    for _ in range(_MAX_ATTEMPTS):
        data, checksum, _ = connection.call("get_block", lambda: request, first=owner)
        if zlib.crc32(data) == checksum:
            return data  # type: ignore[no-any-return]
    raise FileCorruptError(
        f"block {request.numbers[0]} of extent {request.extent_id} arrived {_MAX_ATTEMPTS} times with a wrong CRC-32. "
        "A node verifies each block before it sends it. Check the memory and the network of this machine."
    )


def put_block(
    connection: NodeConnection,
    memory: BlockMemory,
    extent: str,
    number: int,
    data: memoryview,
    owner: str | None,
) -> Callable[[], None]:
    """Prepares to store a block; a block that exists is replaced.

    Args:
        connection: Connection with a `wire.FileStub`.
        memory: Memory that this process shares with nodes of its host.
        extent: Id of the extent.
        number: Number of the block in the extent.
        data: Bytes of the block; copied now, so the caller may change them afterwards.
        owner: ``"host:port"`` of the block's owner; None: unknown.

    Returns:
        A function that stores the block.
    """
    shared = memory.allocate(owner, len(data))
    if shared is None:
        message = encode_block(extent, number, (data,), len(data), zlib.crc32(data))
        return lambda: _put_message(connection, message, owner)
    shared.view[:] = data
    return partial(_put_from, connection, memory, extent, number, shared)


def _put_message(connection: NodeConnection, message: bytes, owner: str | None) -> None:
    connection.call("put_block", lambda: message, first=owner)


def _put_from(connection: NodeConnection, memory: BlockMemory, extent: str, number: int, shared: SharedRange) -> None:
    request = storage_pb2.PutBlocksRequest(extent_id=extent, number=number, range=shared.message)
    if memory.call(shared, "put_block", request.SerializeToString()) is None:
        data = shared.view
        _put_message(connection, encode_block(extent, number, (data,), len(data), zlib.crc32(data)), shared.address)


def address_of(holders: storage_pb2.BlockHolders, number: int) -> str | None:
    """Returns ``"host:port"`` of the owner of a block; None: unknown."""
    position = holders.holders[number] if number < len(holders.holders) else -1
    return holders.addresses[position] if position >= 0 else None
