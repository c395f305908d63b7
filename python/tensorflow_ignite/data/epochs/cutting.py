"""Batches of one size, cut out of batches of any sizes; rows that lie in one batch are not copied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from tensorflow_ignite.data.epochs.tensor_schema import Column, leaves
from tensorflow_ignite.data.epochs.tensors import Array


class Cuttable(Protocol):
    """A batch of rows, such as a pyarrow.RecordBatch."""

    @property
    def num_rows(self) -> int:
        """Number of rows."""

    def slice(self: _T, offset: int, length: int) -> _T:
        """A part of the rows."""


_T = TypeVar("_T", bound=Cuttable)


def groups(batches: Iterable[_T], size: Callable[[_T], int]) -> Iterator[list[_T]]:
    """The same rows as lists of batches that have an equal number of rows together; the last list may have fewer.

    Args:
        batches: Batches of any sizes.
        size: Returns that number; called once, with the first batch that has rows.
    """
    held: list[_T] = []
    rows = count = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        rows = rows or size(batch)
        begin = 0
        while batch.num_rows - begin >= rows - count:
            end = begin + rows - count
            yield [*held, batch.slice(begin, end - begin)]
            held, count, begin = [], 0, end
        if begin < batch.num_rows:
            held.append(batch.slice(begin, batch.num_rows - begin))
            count += held[-1].num_rows
    if held:
        yield held


class ArrayBatch(NamedTuple):
    """A batch of rows as arrays.

    Attributes:
        layout: The columns; at least one.
        arrays: As `tensors.arrays_of` returns them.
    """

    layout: tuple[Column, ...]
    arrays: Sequence[Array]

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        values, splits = next(self._leaves())
        return len(splits[0]) - 1 if splits else len(values[0])

    def slice(self, offset: int, length: int) -> ArrayBatch:
        """A part of the rows, as views of the same memory."""
        arrays: list[Array] = []
        for values, splits in self._leaves():
            begin, end = offset, offset + length
            moved = []
            for split in splits:
                bounds = split[begin : end + 1]
                begin, end = int(bounds[0]), int(bounds[-1])
                moved.append(bounds - begin)
            arrays += [*(array[begin:end] for array in values), *moved]
        return self._replace(arrays=arrays)

    def _leaves(self) -> Iterator[tuple[list[Array], list[Array]]]:
        """For each leaf its values, with its mask if it has one, and its row splits."""
        remaining = iter(self.arrays)
        for _, leaf in leaves(self.layout):
            yield list(islice(remaining, 1 + leaf.masked)), list(islice(remaining, leaf.ragged))

    @classmethod
    def of(cls, batches: Sequence[ArrayBatch]) -> ArrayBatch:
        """The rows of batches of one layout, one after another; the rows of several batches are in new memory."""
        if len(batches) == 1:
            return batches[0]
        arrays: list[Array] = []
        for parts in zip(*(batch._leaves() for batch in batches), strict=True):
            arrays += [np.concatenate(values) for values in zip(*(values for values, _ in parts), strict=True)]
            arrays += [_joined(splits) for splits in zip(*(splits for _, splits in parts), strict=True)]
        return cls(batches[0].layout, arrays)


def _joined(splits: Sequence[Array]) -> Array:
    """The row splits of lists, one after another; each begins with 0."""
    begins = np.cumsum([split[-1] for split in splits[:-1]])
    return np.concatenate([splits[0], *(split[1:] + begin for split, begin in zip(splits[1:], begins, strict=True))])
