"""Random orders of partitions and rows, determined by a seed; works on whole batches, and knows no cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tensorflow_ignite.data.epochs.cutting import groups

# Limits of a window whose number of rows the caller does not give.
WINDOW_BYTES = 64 << 20
WINDOW_ROWS = 65_536

# Size of a batch of shuffled rows, in bytes, about.
PIECE_BYTES = 4 << 20

_T = TypeVar("_T")


def order(items: Sequence[_T], seed: int, *numbers: int) -> list[_T]:
    """The items in the order that the seed and the numbers determine, the same in every process."""
    return [items[index] for index in _random(seed, *numbers).permutation(len(items))]


def windows(batches: Iterable[pa.RecordBatch], rows: int, seed: int, *numbers: int) -> Iterator[pa.RecordBatch]:
    """The same rows, shuffled within each window.

    Args:
        batches: Record batches of one schema.
        rows: Number of rows of a window; 0: determined by WINDOW_BYTES, WINDOW_ROWS and the size of the first batch.
        seed: Determines the order, together with ``numbers``.
        numbers: Further numbers, such as that of the epoch.

    Yields:
        Batches of at most about PIECE_BYTES, each in new memory.
    """
    random = _random(seed, *numbers)

    def window(first: pa.RecordBatch) -> int:
        return rows or max(1, min(WINDOW_ROWS, WINDOW_BYTES // _row_bytes(first)))

    for held in groups(batches, window):
        yield from _permuted(held, random)
        # Its memory is free while the next window is read.
        del held


def _permuted(held: list[pa.RecordBatch], random: np.random.Generator) -> Iterator[pa.RecordBatch]:
    whole = pa.concat_batches(held) if len(held) > 1 else held[0]
    indices = random.permutation(whole.num_rows)
    step = max(1, PIECE_BYTES // _row_bytes(whole))
    # A slice of a multiple of 64 rows begins at a multiple of 64 bytes for every type, so TensorFlow need not copy it.
    step -= step % 64 if step > 64 else 0
    for begin in range(0, len(indices), step):
        # Each call of take() returns memory that begins at a multiple of 64 bytes.
        yield whole.take(pa.array(indices[begin : begin + step]))


def _row_bytes(batch: pa.RecordBatch) -> int:
    return max(1, int(batch.nbytes) // max(1, int(batch.num_rows)))


def _random(*numbers: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(numbers)))
