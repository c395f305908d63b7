"""Number of rows of an epoch on each worker, and how missing rows are filled; knows no cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tensorflow_ignite import errors

Uneven = Literal["repeat", "drop", "pad"]
UNEVEN: tuple[Uneven, ...] = ("repeat", "drop", "pad")

#: An attribute of datasets whose number of rows may differ from epoch to epoch.
ROWS_OF_NOW = "_tensorflow_ignite_rows_of_now"
#: An attribute of datasets of whole batches: their `Input`.
INPUT = "_tensorflow_ignite_input"
#: An attribute of datasets with rows of weight 0, which only fill epochs.
PADDED = "_tensorflow_ignite_padded"

MILLION = 1_000_000
# A million has 20 bits.
_ROW_BITS = 43

# An epoch has the rows that exist.
OPEN = "open"
# A number of rows that differs from the counted one is an error.
STRICT = "strict"
# Exactly the agreed number of rows: further rows are left out, missing ones repeat the first.
WRAP = "wrap"
# Exactly the agreed number of rows: further rows are left out, missing ones are rows of weight 0.
PAD = "pad"


class Input(NamedTuple):
    """What a dataset of whole batches reads.

    Attributes:
        request: The `request.Request`; None: nothing that is known.
        rows: Number of rows of each element but the last.
        least: The smallest number of rows of an element.
        epochs: Number of epochs that an iterator reads; below 0: without an end.
    """

    request: Any
    rows: int
    least: int
    epochs: int


@dataclass(frozen=True)
class EpochLength:
    """The number of rows of an epoch in one process.

    Attributes:
        own: Number of rows that were counted in the partitions of the process; -1: not counted.
        rows: Number of rows of an epoch; -1: all that exist.
        fill: How a difference is treated: OPEN, STRICT, WRAP or PAD.
    """

    own: int = -1
    rows: int = -1
    fill: str = OPEN


NOT_COUNTED = EpochLength()


class EpochStart(NamedTuple):
    """Where an epoch begins in the order of rows, so that what the last one has left out comes first.

    Attributes:
        rows: Number of rows before it, in the order of cached batches.
        share: The part of the rows before it, in millionths, in the order of partitions.
    """

    rows: int = 0
    share: int = 0

    def next(self, length: EpochLength, arrived: int) -> EpochStart:
        """The start of the epoch after one of this length, of which this process has read ``arrived`` rows."""
        if not 0 <= length.rows < arrived:
            return self
        share = (self.share + length.rows * MILLION // arrived) % MILLION
        return EpochStart((self.rows + length.rows) % arrived, share)

    def number(self) -> int:
        """Both in one number of 63 bits."""
        return self.share << _ROW_BITS | min(self.rows, (1 << _ROW_BITS) - 1)

    @classmethod
    def of(cls, number: int) -> EpochStart:
        """The start of :meth:`number`."""
        return cls(number & ((1 << _ROW_BITS) - 1), number >> _ROW_BITS)


BEGIN = EpochStart()


def agreed_length(
    uneven: Uneven, counts: Sequence[int], index: int, cache: str, *, continues: bool = False
) -> EpochLength:
    """The length of an epoch of worker ``index`` of a job whose workers must take equal steps.

    Args:
        uneven: ``"repeat"`` and ``"pad"``: the length is the largest count; ``"drop"``: the smallest.
        counts: Number of rows of each worker.
        index: Index of the worker.
        cache: Name of the cache, for error texts.
        continues: Whether the epoch continues, and rows are counted that it has not used: a worker that has used all
            of its rows repeats used ones.

    Raises:
        CacheEmptyError: If a worker has no row where it needs one.
    """
    if not continues:
        check_counts(uneven, counts, cache)
    rows = min(counts) if uneven == "drop" else max(counts)
    return EpochLength(counts[index], rows, PAD if uneven == "pad" else WRAP)


def check_counts(uneven: Uneven, counts: Sequence[int], cache: str) -> None:
    """Checks that each worker has a row if it needs one.

    Raises:
        CacheEmptyError: If a worker has no row where it needs one.
    """
    if uneven == "pad" or all(counts):
        return
    need = (
        "worker {} has no row of cache {!r} to repeat: rows a worker are {}, and each needs at least one. "
        if uneven == "repeat"
        else 'worker {} has no row of cache {!r}, so that uneven="drop" leaves none to any: rows a worker are {}. '
    ).format(list(counts).index(0), cache, list(counts))
    raise errors.CacheEmptyError(
        f'{need}Use uneven="pad", which fills with rows of weight 0, load more rows, or read the cache whole on every '
        f'worker with tfi.dataset({cache!r}, partitions="all")'
    )
