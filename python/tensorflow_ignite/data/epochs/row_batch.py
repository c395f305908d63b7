"""A batch of rows, as Arrow and TensorFlow have it."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tensorflow_ignite.data.epochs.tensors import Array


@dataclass(frozen=True)
class RowBatch:
    """A batch of rows for TensorFlow.

    Attributes:
        records: The rows.
        arrays: The rows as arrays for TensorFlow; None: not converted yet.
        real: Whether these are rows of the cache; filler rows have weight 0.
        identities: What identifies each row; None: not known.
        partitions: The partitions that the rows are of, if they are not identified.
    """

    records: pa.RecordBatch
    arrays: list[Array] | None = None
    real: bool = True
    identities: Array | None = None
    partitions: frozenset[int] = frozenset()

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

    def slice(self, begin: int, rows: int) -> RowBatch:
        """A part of the rows; the same object if these are all rows."""
        if begin == 0 and rows >= self.rows:
            return self
        return RowBatch(self.records.slice(begin, rows), None, self.real)
