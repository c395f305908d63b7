"""Blocks on their way: to the node that holds them, else to any; each verified where it arrives."""

from __future__ import annotations

import zlib

from tensorflow_ignite.errors import FileCorruptError
from tensorflow_ignite.rpc import NodeConnection
from tensorflow_ignite.v1 import storage_pb2

__all__ = ["address_of", "get_block", "put_block"]

# A block that arrives as another one than was sent is asked for again so often, in all.
_TRIES = 2


def get_block(
    connection: NodeConnection, extent: str, number: int, offset: int, count: int, holder: str | None
) -> memoryview:
    """Reads a block, or a part of it.

    Args:
        connection: Of a `wire.FileStub`.
        extent: Id of the extent.
        number: Of the block.
        offset: Of the first byte in the block.
        count: Bytes; 0: to the block's end.
        holder: ``"host:port"`` of the node that holds it; None: unknown.

    Returns:
        The data; they keep the whole message that came in memory.

    Raises:
        FileCorruptError: The block is lost, or is not what was written.
        FileChangedError: The extent is not of any file any more.
    """
    request = storage_pb2.ReadBlocksRequest(extent_id=extent, numbers=(number,), offset=offset, bytes=count)
    for _ in range(_TRIES):
        data, checksum = connection.call("get_block", lambda: request, first=holder)
        if zlib.crc32(data) == checksum:
            return data  # type: ignore[no-any-return]
    raise FileCorruptError(
        f"block {number} of extent {extent} arrived {_TRIES} times with another CRC-32 than its node has sent with it. "
        "What a node sends was verified there just before. Check the memory and the network of this machine."
    )


def put_block(connection: NodeConnection, message: bytes, holder: str | None) -> None:
    """Stores a block, as `wire.encode_block` made it; one that is there is replaced."""
    connection.call("put_block", lambda: message, first=holder)


def address_of(holders: storage_pb2.BlockHolders, number: int) -> str | None:
    """The node that holds a block; None: unknown."""
    position = holders.holders[number] if number < len(holders.holders) else -1
    return holders.addresses[position] if position >= 0 else None
