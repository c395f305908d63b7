"""Units: partitions that are read, predicted and written together, and are finished together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

# A unit has about this number of batches: fewer, and starting it costs more than its rows; more, and more is repeated
# after a failure.
BATCHES = 4
# A task has at most this number of units: the file of its finished partitions is replaced after each.
MOST = 64
# Units of a task are in work at a time: while one is read, another is predicted, and another is written.
THREADS = 3


def units_of(partitions: Sequence[int], rows: int, batch_size: int) -> list[tuple[int, ...]]:
    """Groups partitions, which have about equal numbers of rows.

    Args:
        partitions: Numbers of partitions.
        rows: Number of the rows in them.
        batch_size: Number of the rows of a batch.
    """
    count = min(max(rows // (BATCHES * batch_size), THREADS), MOST, len(partitions))
    bounds = [len(partitions) * unit // count for unit in range(count + 1)] if count else []
    return [tuple(partitions[begin:end]) for begin, end in itertools.pairwise(bounds)]
