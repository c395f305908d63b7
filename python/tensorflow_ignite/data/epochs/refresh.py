"""Batches after changes: a changed row takes the place of the old one, so that a batch stays one batch.

Whole columns are copied, which is many times faster than reading them again; the memory of old batches is not written,
because tensors may use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tensorflow_ignite.data.epochs.changes import PARTITION_MASK, Changes, IdentityIndex
from tensorflow_ignite.data.epochs.row_batch import RowBatch
from tensorflow_ignite.data.epochs.shuffling import JOINED_BYTES, grouped
from tensorflow_ignite.data.epochs.tensors import Array

# Batches that together have less than this part of the rows of the largest one become one batch.
SMALL_PARTS = 2


def refreshed(batches: tuple[RowBatch, ...], changes: Changes, rows: Sequence[RowBatch]) -> tuple[RowBatch, ...] | None:
    """The batches after changes; the same object if there are none. None: the rows to replace are not known.

    Args:
        batches: The batches before.
        changes: The changes, without the rows.
        rows: The changed rows: all identified, or none.
    """
    if not rows and not len(changes.removed) and not changes.whole:
        return batches
    puts = [
        _Put(_one(group))
        for group in grouped(
            [batch for batch in rows if batch.identities is not None], lambda batch: batch.size / JOINED_BYTES
        )
    ]
    kept: list[RowBatch] = []
    gone = _Gone(changes)
    for batch in batches:
        if batch.identities is None:
            if batch.partitions.isdisjoint(changes.whole):
                kept.append(batch)
            elif not batch.partitions <= changes.whole:
                return None
            continue
        gone_here = gone.rows(batch.identities)
        newer = batch
        for put in puts:
            # Rows keep their order, also rows of partitions that were read whole.
            newer, at = put.placed(newer)
            gone_here = np.setdiff1d(gone_here, at, assume_unique=True)
        if len(gone_here) < batch.rows:
            kept.append(_without(newer, gone_here))
    kept += [rest for put in puts if (rest := put.rest()).rows]
    kept += [batch for batch in rows if batch.identities is None]
    return _merged(kept)


class _Put:
    """Identified rows that were put, and which of them have not taken the place of old ones yet."""

    def __init__(self, rows: RowBatch) -> None:
        assert rows.identities is not None
        self._rows = rows
        self._index = IdentityIndex(rows.identities)
        self._is_left = np.ones(rows.rows, bool)

    def placed(self, batch: RowBatch) -> tuple[RowBatch, Array]:
        """A batch with these rows in the place of its own with the same identities, and the indices of those."""
        assert batch.identities is not None
        at, source = self._index.find(batch.identities)
        self._is_left[source] = False
        return _replaced(batch, at, self._rows, source), at

    def rest(self) -> RowBatch:
        """The rows that are left, each partition's together; they have not come in the order of a stream."""
        assert self._rows.identities is not None
        indices = np.flatnonzero(self._is_left)
        order = np.argsort(self._rows.identities[indices, 1] & PARTITION_MASK, kind="stable")
        return replace(self._rows.take(indices[order]), partitions=frozenset(), is_mixed=False)


class _Gone:
    """The rows that are removed, or whose partitions were read whole."""

    def __init__(self, changes: Changes) -> None:
        self._removed = IdentityIndex(changes.removed) if len(changes.removed) else None
        self._has_whole = bool(changes.whole)
        self._whole = np.zeros(PARTITION_MASK + 1, bool)
        self._whole[np.fromiter(changes.whole, np.int64, len(changes.whole))] = True

    def rows(self, identities: Array) -> Array:
        """Indices of the rows, ascending."""
        found = np.empty(0, np.int64) if self._removed is None else self._removed.find(identities)[0]
        if not self._has_whole:
            return found
        return np.union1d(found, np.flatnonzero(self._whole[identities[:, 1] & PARTITION_MASK]))


def _replaced(batch: RowBatch, at: Array, put: RowBatch, source: Array) -> RowBatch:
    """The batch with rows of another one, with the same identities, in the place of some of its own."""
    if not len(at):
        return batch
    columns = [
        _column(old, at, new, source) for old, new in zip(batch.records.columns, put.records.columns, strict=True)
    ]
    return replace(batch, records=pa.RecordBatch.from_arrays(columns, schema=batch.records.schema), arrays=None)


def _column(old: pa.Array, at: Array, new: pa.Array, source: Array) -> pa.Array:
    if not old.null_count and not new.null_count:
        if pa.types.is_fixed_size_list(old.type):
            width = old.type.list_size
            # Of an array that is a slice, `flatten` returns the values of the slice.
            values = _fixed(old.flatten(), width, at, new.flatten(), source)
            if values is not None:
                return pa.FixedSizeListArray.from_arrays(values, type=old.type)
        values = _fixed(old, 1, at, new, source)
        if values is not None:
            return values
    order = np.arange(len(old))
    order[at] = len(old) + np.arange(len(source))
    return pa.concat_arrays([old, new.take(pa.array(source))]).take(pa.array(order))


def _fixed(old: pa.Array, width: int, at: Array, new: pa.Array, source: Array) -> pa.Array | None:
    """A column of numbers or times, ``width`` for each row, in new memory; None for other types."""
    kind = old.type
    if old.null_count or new.null_count:
        return None
    if pa.types.is_temporal(kind):
        numbers = pa.int64() if kind.bit_width == 64 else pa.int32()
        old, new = old.view(numbers), new.view(numbers)
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    before = old.to_numpy(zero_copy_only=True)
    # Arrow's pool returns the memory of an earlier refresh, whose pages exist; numpy's would be new.
    memory = pa.allocate_buffer(before.nbytes)
    values = np.frombuffer(memory, before.dtype)
    np.copyto(values, before)
    values.reshape(-1, width)[at] = new.to_numpy(zero_copy_only=True).reshape(-1, width)[source]
    return pa.Array.from_buffers(kind, len(before), [None, memory])


def _without(batch: RowBatch, indices: Array) -> RowBatch:
    """The identified rows without those at ascending indices, in new memory."""
    if not len(indices):
        return batch
    keep = np.ones(batch.rows, bool)
    keep[indices] = False
    return batch.take(np.flatnonzero(keep))


def _merged(batches: Sequence[RowBatch]) -> tuple[RowBatch, ...]:
    """The batches; small ones of the same streams that follow one another become one, as each costs time each epoch."""
    most = max(1, max((batch.rows for batch in batches), default=0) // SMALL_PARTS)
    groups = grouped(
        batches,
        lambda batch: max(batch.rows / most, batch.size / JOINED_BYTES),
        lambda one, other: one.partitions == other.partitions,
    )
    return tuple(map(_one, groups))


def _one(batches: Sequence[RowBatch]) -> RowBatch:
    """The rows of several batches as one."""
    if len(batches) == 1:
        return batches[0]
    identities = [batch.identities for batch in batches if batch.identities is not None]
    return replace(
        batches[0],
        records=pa.concat_batches([batch.records for batch in batches]),
        arrays=None,
        identities=np.concatenate(identities) if identities else None,
    )
