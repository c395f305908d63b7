"""Number of rows of an epoch on each worker, and how missing rows are filled; knows no cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tensorflow_ignite import errors

Uneven = Literal["repeat", "drop", "pad"]
UNEVEN: tuple[Uneven, ...] = ("repeat", "drop", "pad")

# An epoch has the rows that exist.
OPEN = "open"
# A number of rows that differs from the counted one is an error.
STRICT = "strict"
# Exactly the agreed number of rows: further rows are left out, missing ones repeat the first.
WRAP = "wrap"
# Exactly the agreed number of rows: further rows are left out, missing ones are rows of weight 0.
PAD = "pad"


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


def agreed_length(uneven: Uneven, counts: Sequence[int], index: int, cache: str) -> EpochLength:
    """The length of an epoch of worker ``index`` of a job whose workers must take equal steps.

    Args:
        uneven: ``"repeat"`` and ``"pad"``: the length is the largest count; ``"drop"``: the smallest.
        counts: Number of rows of each worker.
        index: Index of the worker.
        cache: Name of the cache, for error texts.

    Raises:
        CacheEmptyError: If a worker has no row where it needs one.
    """
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
