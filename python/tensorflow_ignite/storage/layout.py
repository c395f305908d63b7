"""Where the bytes of a file are: which part of which block of which extent."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tensorflow_ignite.storage.blocks import address_of
from tensorflow_ignite.v1 import storage_pb2

__all__ = ["Block", "Layout", "Piece"]


@dataclass(frozen=True)
class Block:
    """One block of a file.

    Attributes:
        extent: Id of its extent.
        number: In the extent.
        start: Of its first byte, in the file.
        bytes: That belong to the file; what is stored may go on behind them.
        holder: ``host:port`` of the node that holds it; None: unknown.
    """

    extent: str
    number: int
    start: int
    bytes: int
    holder: str | None


@dataclass(frozen=True)
class Piece:
    """A part of a block, that is a part of what is asked for.

    Attributes:
        block: The block.
        offset: Of the first byte, in the block.
        bytes: How many.
        position: Of the first byte, in what is asked for.
    """

    block: Block
    offset: int
    bytes: int
    position: int


class Layout:
    """The extents of a file, in order."""

    def __init__(self, extents: Sequence[Any], holders: Sequence[Any]) -> None:
        """Takes messages Extent, and BlockHolders for each, if any."""
        self.extents = [extent for extent in extents if extent.bytes > 0]
        kept = [place for place, extent in enumerate(extents) if extent.bytes > 0]
        unknown = storage_pb2.BlockHolders()
        self._holders = [holders[place] if place < len(holders) else unknown for place in kept]
        self._starts: list[int] = []
        self.bytes = 0
        for extent in self.extents:
            self._starts.append(self.bytes)
            self.bytes += extent.bytes

    def block_at(self, offset: int) -> Block | None:
        """The block with a byte of the file; None behind the end."""
        if not 0 <= offset < self.bytes:
            return None
        place = bisect.bisect_right(self._starts, offset) - 1
        extent = self.extents[place]
        number = (offset - self._starts[place]) // extent.block_bytes
        first = number * extent.block_bytes
        return Block(
            extent.id,
            number,
            self._starts[place] + first,
            min(extent.block_bytes, extent.bytes - first),
            address_of(self._holders[place], number),
        )

    def pieces(self, offset: int, count: int) -> Iterator[Piece]:
        """The parts of blocks that a range is made of; ends at the end of the file."""
        position = 0
        while position < count and (block := self.block_at(offset + position)) is not None:
            begin = offset + position - block.start
            size = min(block.bytes - begin, count - position)
            yield Piece(block, begin, size, position)
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
