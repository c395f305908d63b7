"""How many rows an epoch has on each worker, and what fills it when there are fewer; knows no cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tensorflow_ignite import errors

Uneven = Literal["repeat", "drop", "pad"]
UNEVEN: tuple[Uneven, ...] = ("repeat", "drop", "pad")

# An epoch has the rows that are there.
OPEN = "open"
# Other rows than were counted are an error.
STRICT = "strict"
# Exactly so many rows: cut, or begun again.
WRAP = "wrap"
# Exactly so many rows: cut, or filled with rows of weight 0.
PAD = "pad"


@dataclass(frozen=True)
class Share:
    """The rows of an epoch in one process.

    Attributes:
        own: Rows that were counted in what the process reads; -1: nobody counted.
        rows: Rows of an epoch; -1: as many as there are.
        fill: What becomes of a difference: OPEN, STRICT, WRAP or PAD.
    """

    own: int = -1
    rows: int = -1
    fill: str = OPEN


NOT_COUNTED = Share()


def agreed(uneven: Uneven, counts: Sequence[int], index: int, cache: str) -> Share:
    """The share of worker ``index`` of a job whose workers must take equal steps.

    Args:
        uneven: Who decides: ``"repeat"`` and ``"pad"`` the worker with the most rows, ``"drop"`` that with the fewest.
        counts: Rows of each worker.
        index: Of the worker.
        cache: For messages.

    Raises:
        CacheEmptyError: If a worker has no row where it needs one.
    """
    check_counts(uneven, counts, cache)
    rows = min(counts) if uneven == "drop" else max(counts)
    return Share(counts[index], rows, PAD if uneven == "pad" else WRAP)


def check_counts(uneven: Uneven, counts: Sequence[int], cache: str) -> None:
    """Checks that each worker has the rows that it needs.

    Raises:
        CacheEmptyError: If not.
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
