"""A file of the cluster beyond 2 GiB, on real nodes: `make soak`."""

from __future__ import annotations

import numpy as np
import pytest

from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster

PIECE = 16 << 20
SIZE = (2 << 30) + PIECE + 12_345
# Where a number of 31 or 32 bits would turn round, and the end.
PLACES = [0, (1 << 30) - 5, (2 << 30) - 5, (2 << 30), (2 << 30) + 3, SIZE - 20]

pytestmark = pytest.mark.timeout(3600)


def _content(offset: int, count: int) -> bytes:
    """A range of a content that is nowhere the same: its eight-byte words count up."""
    first = offset // 8
    words = np.arange(first, first + count // 8 + 2, dtype="<u8").tobytes()
    return words[offset - 8 * first :][:count]


def test_a_file_beyond_two_gigabytes_is_written_read_anywhere_and_removed() -> None:
    with LocalCluster(nodes=2, data_region_bytes=3 << 30) as cluster:
        files = Files.at(tuple(cluster.addresses))
        with files.open_writer("/big") as writer:
            for offset in range(0, SIZE, PIECE):
                writer.write(_content(offset, min(PIECE, SIZE - offset)))
            assert writer.position == SIZE
        assert files.stat("/big").bytes == SIZE
        assert files.usage("/").bytes == SIZE
        with files.open_reader("/big") as reader:
            for place in PLACES:
                assert reader.read(place, 100) == _content(place, min(100, SIZE - place))
            across = bytearray(3 * PIECE)
            count = reader.read_into(SIZE - 2 * PIECE, memoryview(across))
            assert count == 2 * PIECE
            assert across[:count] == _content(SIZE - 2 * PIECE, 2 * PIECE)
        with files.open_writer("/big", "a") as writer:
            assert writer.position == SIZE
            writer.write(b"more")
        with files.open_reader("/big") as reader:
            assert reader.read(SIZE - 8, 100) == _content(SIZE - 8, 8) + b"more"
        files.remove("/big")
        # There is room for it once only: that it can be written again shows that it is gone.
        with files.open_writer("/again") as writer:
            for offset in range(0, SIZE, PIECE):
                writer.write(_content(offset, min(PIECE, SIZE - offset)))
        assert files.usage("/").bytes == SIZE
