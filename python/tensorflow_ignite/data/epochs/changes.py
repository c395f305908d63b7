"""What has changed in rows since they were read, and the rows that follow; whole arrays, knows no cluster.

A row is identified by two 64-bit numbers that its node makes of its key; the lowest 16 bits of the second one are the
number of its partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tensorflow_ignite.data.epochs.tensors import Array

IDENTITY_COLUMNS = ("_identity_high", "_identity_low")
IDENTITY_BYTES = 16
PARTITION_MASK = 0xFFFF

# A filter in front of the exact comparison: a table with an entry for these bits of the first number.
_FILTER_BITS = 20
_FILTER_MASK = (1 << _FILTER_BITS) - 1


class Position(NamedTuple):
    """What has been read of a partition; a number of its owner."""

    feed: int
    sequence: int


#: Nothing has been read: the partition is read whole.
NO_POSITION = Position(0, 0)


def as_array(positions: Sequence[Position]) -> Array:
    """Positions as int64, shape [partitions, 2]."""
    return np.array(positions, np.uint64).reshape(-1, 2).view(np.int64)


def as_positions(array: Array) -> tuple[Position, ...]:
    """The positions of :func:`as_array`."""
    return tuple(Position(feed, sequence) for feed, sequence in array.view(np.uint64).tolist())


def split(records: pa.RecordBatch) -> tuple[pa.RecordBatch, Array]:
    """The columns of a batch, and the identity of each row: int64, shape [rows, 2], in memory of its own."""
    columns = records.num_columns - len(IDENTITY_COLUMNS)
    identities = np.stack([records.column(columns + part).to_numpy() for part in range(2)], axis=1)
    return records.select(list(range(columns))), identities


@dataclass(frozen=True)
class Changes:
    """What has changed in partitions, apart from the rows themselves.

    Attributes:
        removed: Identities of removed rows; int64, shape [rows, 2].
        whole: Partitions that were read whole.
        positions: Of the partitions that were read, by number.
    """

    removed: Array = field(default_factory=lambda: np.empty((0, 2), np.int64))
    whole: frozenset[int] = frozenset()
    positions: Mapping[int, Position] = field(default_factory=dict)


def together(parts: Sequence[Changes]) -> Changes:
    """The changes of several streams as one."""
    return Changes(
        np.concatenate([Changes().removed, *(part.removed for part in parts)]),
        frozenset().union(*(part.whole for part in parts)),
        {partition: position for part in parts for partition, position in part.positions.items()},
    )


class IdentityIndex:
    """Finds identities among given ones."""

    def __init__(self, identities: Array) -> None:
        """Makes the tables.

        Args:
            identities: The given ones, each once; int64, shape [n, 2], n above 0.
        """
        # By both numbers, so that a row is found by its first one.
        self._order = np.lexsort((identities[:, 1], identities[:, 0]))
        self._sorted = identities[self._order]
        self._filter = np.zeros(1 << _FILTER_BITS, bool)
        self._filter[identities[:, 0] & _FILTER_MASK] = True

    def find(self, identities: Array) -> tuple[Array, Array]:
        """Indices of the identities that are among the given ones, ascending, and the indices of these there."""
        candidates = np.flatnonzero(self._filter[identities[:, 0] & _FILTER_MASK])
        rows = identities[candidates]
        at = np.searchsorted(self._sorted[:, 0], rows[:, 0])
        found = np.full(len(rows), -1)
        active = np.arange(len(rows))
        # Several identities may have the same first number, though hardly ever.
        while len(active):
            active = active[at[active] < len(self._sorted)]
            active = active[self._sorted[at[active], 0] == rows[active, 0]]
            equal = self._sorted[at[active], 1] == rows[active, 1]
            found[active[equal]] = at[active[equal]]
            active = active[~equal]
            at[active] += 1
        hits = found >= 0
        return candidates[hits], self._order[found[hits]]
