"""Random orders of partitions and rows, determined by a seed; works on whole batches, and knows no cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tensorflow_ignite.data.epochs.tensors import Array

# Limits of a window whose number of rows the caller does not give.
WINDOW_BYTES = 64 << 20
WINDOW_ROWS = 65_536

# Another random number for the same row.
_PARTS = 3

# Size of a batch of shuffled rows, in bytes, about.
PIECE_BYTES = 4 << 20

# The most bytes of batches that become one: a column of Arrow has less than 2 GiB of texts or bytes.
JOINED_BYTES = 1 << 30

_T = TypeVar("_T")
_UNSIGNED = np.uint64


def order(items: Sequence[_T], seed: int, *numbers: int) -> list[_T]:
    """The items in the order that the seed and the numbers determine, the same in every process."""
    return [items[index] for index in _random(seed, *numbers).permutation(len(items))]


def priorities(identities: Array, *numbers: int) -> Array:
    """Random numbers that decide the order of rows, whatever other rows there are: uint64, one for each row.

    Args:
        identities: The first numbers of the rows' identities; int64.
        numbers: Determine the order: a seed, the number of an epoch.
    """
    salt = np.random.SeedSequence(numbers).generate_state(1, _UNSIGNED)[0]
    # The last steps of SplitMix64.
    mixed: Array = identities.view(_UNSIGNED) ^ salt
    mixed = (mixed ^ (mixed >> _UNSIGNED(30))) * _UNSIGNED(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> _UNSIGNED(27))) * _UNSIGNED(0x94D049BB133111EB)
    mixed ^= mixed >> _UNSIGNED(31)
    return mixed


def buckets(identities: Array, parts: int, *numbers: int) -> Array:
    """A number below ``parts``, a power of two, for each row, which its identity and the numbers determine."""
    found: Array = priorities(identities, *numbers, _PARTS) & _UNSIGNED(parts - 1)
    return found


def window_of(first: pa.RecordBatch) -> int:
    """Rows of a window whose number the caller does not give, by the size of the first batch of rows."""
    return max(1, min(WINDOW_ROWS, WINDOW_BYTES // _row_bytes(first)))


def pieces(window: Sequence[pa.RecordBatch], indices: Array) -> Iterator[pa.RecordBatch]:
    """Rows of a window in the order of indices, as batches of at most about PIECE_BYTES, each in new memory."""
    groups = grouped(window, lambda batch: batch.nbytes / JOINED_BYTES)
    parts = [pa.concat_batches(group) if len(group) > 1 else group[0] for group in groups]
    step = max(1, PIECE_BYTES // max(_row_bytes(part) for part in parts))
    # A slice of a multiple of 64 rows begins at a multiple of 64 bytes for every type, so TensorFlow need not copy it.
    step -= step % 64 if step > 64 else 0
    for begin in range(0, len(indices), step):
        # Each call of take() returns memory that begins at a multiple of 64 bytes.
        yield _take(parts, indices[begin : begin + step])


def grouped(
    items: Sequence[_T], weight: Callable[[_T], float], alike: Callable[[_T, _T], bool] = lambda one, other: True
) -> list[list[_T]]:
    """Items that follow one another, in groups of alike ones whose weights are together at most 1."""
    groups: list[list[_T]] = []
    total = 0.0
    for item in items:
        total += weight(item)
        if groups and total <= 1 and alike(groups[-1][-1], item):
            groups[-1].append(item)
        else:
            groups.append([item])
            total = weight(item)
    return groups


def _take(parts: Sequence[pa.RecordBatch], indices: Array) -> pa.RecordBatch:
    """The rows at indices of all parts together."""
    if len(parts) == 1:
        return parts[0].take(pa.array(indices))
    ends = np.cumsum([part.num_rows for part in parts])
    owners = np.searchsorted(ends, indices, side="right")
    found = [
        part.take(pa.array(indices[owners == number] - (ends[number] - part.num_rows)))
        for number, part in enumerate(parts)
    ]
    return pa.concat_batches(found).take(pa.array(np.argsort(np.argsort(owners, kind="stable"))))


def permutation(rows: int, *numbers: int) -> Array:
    """A random order of rows that have no identity."""
    order: Array = _random(*numbers).permutation(rows)
    return order


def _row_bytes(batch: pa.RecordBatch) -> int:
    return max(1, int(batch.nbytes) // max(1, int(batch.num_rows)))


def _random(*numbers: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(numbers)))
