"""Orders of partitions and rows that are drawn from a seed; works on whole batches, and knows no cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa

# A window that is not given in rows holds about so many bytes, and no more rows than this.
WINDOW_BYTES = 64 << 20
WINDOW_ROWS = 65_536

# What a batch of shuffled rows should have in bytes, about.
PIECE_BYTES = 4 << 20

_T = TypeVar("_T")


def order(items: Sequence[_T], seed: int, *numbers: int) -> list[_T]:
    """The items in the order that belongs to these numbers, the same in every process."""
    return [items[place] for place in _random(seed, *numbers).permutation(len(items))]


def windows(batches: Iterable[pa.RecordBatch], rows: int, seed: int, *numbers: int) -> Iterator[pa.RecordBatch]:
    """The same rows in another order: those of each window are spread over it at random.

    Args:
        batches: Record batches of one schema.
        rows: Rows of a window; 0: as WINDOW_BYTES and WINDOW_ROWS allow, going by the first batch.
        seed: Decides the order, together with ``numbers``.
        numbers: Such as the number of the epoch.

    Yields:
        Batches of at most about PIECE_BYTES in memory of their own.
    """
    random = _random(seed, *numbers)
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        rows = rows or max(1, min(WINDOW_ROWS, WINDOW_BYTES // _row_bytes(batch)))
        begin = 0
        while batch.num_rows - begin >= rows - count:
            end = begin + rows - count
            yield from _permuted([*held, batch.slice(begin, end - begin)], random)
            held, count, begin = [], 0, end
        if begin < batch.num_rows:
            held.append(batch.slice(begin))
            count += batch.num_rows - begin
    if held:
        yield from _permuted(held, random)


def _permuted(held: list[pa.RecordBatch], random: np.random.Generator) -> Iterator[pa.RecordBatch]:
    whole = pa.concat_batches(held) if len(held) > 1 else held[0]
    places = random.permutation(whole.num_rows)
    step = max(1, PIECE_BYTES // _row_bytes(whole))
    # Slices of a multiple of 64 rows begin on a multiple of 64 bytes, whatever the type: TensorFlow need not copy them.
    step -= step % 64 if step > 64 else 0
    for begin in range(0, len(places), step):
        # Taken piece by piece: each is in memory that begins on a boundary as TensorFlow wants it.
        yield whole.take(pa.array(places[begin : begin + step]))


def _row_bytes(batch: pa.RecordBatch) -> int:
    return max(1, int(batch.nbytes) // max(1, int(batch.num_rows)))


def _random(*numbers: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(numbers)))
