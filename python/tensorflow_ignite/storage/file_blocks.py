"""The blocks of a file: which bytes of the file are in which block of which extent."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorflow_ignite.storage.blocks import address_of
from tensorflow_ignite.v1 import storage_pb2


@dataclass(frozen=True)
class Block:
    """One block of a file, as long as its file has it: the last one grows when the file is appended to.

    Attributes:
        extent: Id of its extent.
        number: Number of the block in the extent.
        start: Offset of its first byte in the file.
        bytes: Its bytes that belong to the file; the stored block may be longer.
        owner: ``host:port`` of its owner; None: unknown.
    """

    extent: str
    number: int
    start: int
    bytes: int
    owner: str | None = field(compare=False)


@dataclass(frozen=True)
class BlockRange:
    """The part of a block that is in a requested range of the file.

    Attributes:
        block: The block.
        offset: Offset of the first byte in the block.
        bytes: Number of bytes.
        position: Offset of the first byte in the requested range.
    """

    block: Block
    offset: int
    bytes: int
    position: int


class Layout:
    """The extents of a file, in order."""

    def __init__(self, extents: Sequence[Any], holders: Sequence[Any]) -> None:
        """Reads messages Extent, and the message BlockHolders of each, if the response has them."""
        self.extents = [extent for extent in extents if extent.bytes > 0]
        positions = [position for position, extent in enumerate(extents) if extent.bytes > 0]
        unknown = storage_pb2.BlockHolders()
        self._holders = [holders[position] if position < len(holders) else unknown for position in positions]
        self._starts: list[int] = []
        self.bytes = 0
        for extent in self.extents:
            self._starts.append(self.bytes)
            self.bytes += extent.bytes

    def block_at(self, offset: int) -> Block | None:
        """The block with a byte of the file; None behind the end."""
        if not 0 <= offset < self.bytes:
            return None
        position = bisect.bisect_right(self._starts, offset) - 1
        extent = self.extents[position]
        number = (offset - self._starts[position]) // extent.block_bytes
        first = number * extent.block_bytes
        return Block(
            extent.id,
            number,
            self._starts[position] + first,
            min(extent.block_bytes, extent.bytes - first),
            address_of(self._holders[position], number),
        )

    def ranges(self, offset: int, count: int) -> Iterator[BlockRange]:
        """The parts of blocks that a range is made of; ends at the end of the file."""
        position = 0
        while position < count and (block := self.block_at(offset + position)) is not None:
            begin = offset + position - block.start
            size = min(block.bytes - begin, count - position)
            yield BlockRange(block, begin, size, position)
            position += size

    def continues(self, before: Layout) -> bool:
        """Whether it begins with all that another one has."""
        if self.bytes < before.bytes or len(self.extents) < len(before.extents):
            return False
        pairs = list(zip(before.extents, self.extents, strict=False))
        return all(
            old.id == new.id and (old.bytes == new.bytes or (new.bytes > old.bytes and old is before.extents[-1]))
            for old, new in pairs
        )
