"""A batch of rows, as Arrow and TensorFlow have it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from tensorflow_ignite.data.epochs.tensors import Array


@dataclass(frozen=True)
class RowBatch:
    """A batch of rows for TensorFlow.

    Attributes:
        records: The rows.
        arrays: The rows as arrays for TensorFlow; None: not converted yet.
        real: Whether these are rows of the cache; filler rows have weight 0.
        identities: The identity of each row; None: not known.
        partitions: The partitions of the stream that has brought the rows; empty: they were put later.
        is_mixed: Whether the stream brings rows of all its partitions in each batch, instead of one after the other.
    """

    records: pa.RecordBatch
    arrays: list[Array] | None = None
    real: bool = True
    identities: Array | None = None
    partitions: frozenset[int] = frozenset()
    is_mixed: bool = False

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.records.num_rows)

    @property
    def size(self) -> int:
        """Bytes of memory that the batch holds, about."""
        # Texts are Python objects in addition to the record batch.
        texts = sum(48 * array.size for array in self.arrays or () if array.dtype == object)
        identities = 0 if self.identities is None else self.identities.nbytes
        return int(self.records.get_total_buffer_size()) + texts + identities

    @property
    def num_rows(self) -> int:
        """Number of rows, as record batches have it."""
        return self.rows

    def slice(self, begin: int, rows: int) -> RowBatch:
        """A part of the rows, as views; the same object if these are all rows."""
        if begin == 0 and rows >= self.rows:
            return self
        identities = None if self.identities is None else self.identities[begin : begin + rows]
        return replace(self, records=self.records.slice(begin, rows), arrays=None, identities=identities)

    def take(self, indices: Array) -> RowBatch:
        """The rows at indices, in new memory."""
        identities = None if self.identities is None else self.identities[indices]
        return replace(self, records=self.records.take(pa.array(indices)), arrays=None, identities=identities)
