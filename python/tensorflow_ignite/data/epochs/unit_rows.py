"""The rows of a snapshot by their partitions, wherever refreshed batches have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tensorflow_ignite.data.epochs import shuffling
from tensorflow_ignite.data.epochs.changes import PARTITION_MASK
from tensorflow_ignite.data.epochs.row_batch import RowBatch
from tensorflow_ignite.data.epochs.tensors import Array
from tensorflow_ignite.data.epochs.used_rows import Unit


class UnitRows:
    """Where the rows of each partition are in identified batches."""

    def __init__(self, batches: Sequence[RowBatch]) -> None:
        """Finds them; copies no row."""
        self._batches = batches
        self._places: dict[int, list[tuple[int, int, int]]] = {}
        for number, batch in enumerate(batches):
            for partition, begin, end in runs_of(batch):
                self._places.setdefault(partition, []).append((number, begin, end))

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions that have rows."""
        return frozenset(self._places)

    def units(self, rows: int) -> list[Unit]:
        """The units, in the order of their partitions: a partition of more than this number of rows is divided."""
        found = []
        for partition in sorted(self._places):
            total = sum(end - begin for _, begin, end in self._places[partition])
            parts = 1 << (-(-total // rows) - 1).bit_length()
            found += [Unit(partition, part, parts) for part in range(parts)]
        return found

    def rows(self, unit: Unit, *numbers: int) -> Iterator[RowBatch]:
        """The rows of a unit: parts of batches.

        Args:
            unit: One of :meth:`units`.
            numbers: Determine the parts of divided partitions, as of :func:`shuffling.buckets`.
        """
        for number, begin, end in self._places[unit.partition]:
            run = self._batches[number].slice(begin, end - begin)
            if unit.parts > 1:
                assert run.identities is not None
                own = shuffling.buckets(run.identities[:, 0], unit.parts, *numbers) == unit.part
                run = run.take(np.flatnonzero(own))
            if run.rows:
                yield run


def runs_of(batch: RowBatch) -> list[tuple[int, int, int]]:
    """Rows of an identified batch that lie together and are of one partition: its number, and begin and end."""
    assert batch.identities is not None
    partitions: Array = batch.identities[:, 1] & PARTITION_MASK
    ends = [*(np.flatnonzero(np.diff(partitions)) + 1).tolist(), len(partitions)]
    begins = [0, *ends[:-1]]
    return [(int(partitions[begin]), begin, end) for begin, end in zip(begins, ends, strict=True) if begin < end]


def with_later_rows(batches: Sequence[RowBatch]) -> Iterator[RowBatch]:
    """The batches of a snapshot, where rows that were put later follow the other rows of their partition."""
    later = [batch for batch in batches if batch.identities is not None and not batch.partitions]
    if not later:
        yield from batches
        return
    rest = UnitRows(later)
    own = [batch for batch in batches if batch.identities is None or batch.partitions]
    last = {
        partition: (number, end)
        for number, batch in enumerate(own)
        if batch.identities is not None
        for partition, _, end in runs_of(batch)
    }
    for number, batch in enumerate(own):
        begin = 0
        for partition, _, end in runs_of(batch) if batch.identities is not None else ():
            if partition in rest.partitions and last[partition] == (number, end):
                yield batch.slice(begin, end - begin)
                for each in rest.rows(Unit(partition)):
                    # As if the stream of the others had brought them.
                    yield replace(each, partitions=batch.partitions, is_mixed=batch.is_mixed)
                begin = end
        if begin < batch.rows:
            yield batch.slice(begin, batch.rows - begin)
    for partition in sorted(rest.partitions - last.keys()):
        yield from rest.rows(Unit(partition))
