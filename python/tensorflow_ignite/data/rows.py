"""A dataset of rows that knows the large batches they come in; private parts of TensorFlow's datasets stay here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf


class Rows(tf.data.Dataset):  # type: ignore[misc]
    """Single rows, as any other dataset has elements; but ``batch`` cuts large batches instead of gathering rows.

    That is several times faster, and gives the same batches. It holds when ``batch`` follows at once, or after
    ``repeat``; whatever else comes between goes row by row.
    """

    def __init__(self, batches_for: Callable[[int], tf.data.Dataset], rows: int) -> None:
        """Wraps the batches.

        Args:
            batches_for: Gives elements whose components have one more dimension than a row's, of any size, but best
                suited for cutting so many rows out of them; 0: for whatever comes.
            rows: Their rows in all; else one of tf.data.INFINITE_CARDINALITY and UNKNOWN_CARDINALITY.
        """
        self._batches_for = batches_for
        batches = batches_for(0)
        self._rows = rows
        self._plain = _with_cardinality(batches.unbatch(), rows)
        super().__init__(self._plain._variant_tensor)

    def _inputs(self) -> list[tf.data.Dataset]:
        return [self._plain]

    @property
    def element_spec(self) -> Any:
        """That of a row."""
        return self._plain.element_spec

    def repeat(self, count: Any = None, name: str | None = None) -> tf.data.Dataset:
        """As tf.data.Dataset.repeat."""
        if count is not None and not isinstance(count, (int, np.integer)):
            return super().repeat(count, name=name)
        if count is None or count < 0:
            rows = tf.data.INFINITE_CARDINALITY if self._rows else 0
        else:
            rows = self._rows * int(count) if self._rows >= 0 else self._rows
        if count == 0:
            rows = 0
        return Rows(lambda size: self._batches_for(size).repeat(count), rows)

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> tf.data.Dataset:
        """As tf.data.Dataset.batch; rows are never gathered one by one, so there is nothing to do in parallel."""
        if not isinstance(batch_size, (int, np.integer)) or not isinstance(drop_remainder, bool) or batch_size < 1:
            return super().batch(batch_size, drop_remainder, num_parallel_calls, deterministic, name=name)
        full, rest = divmod(self._rows, int(batch_size))
        # Without a remainder all batches are full, and their shape is known: to strategies too, which look for it.
        whole = self._rows == tf.data.INFINITE_CARDINALITY or (self._rows > 0 and not rest)
        batches = self._batches_for(int(batch_size)).rebatch(
            batch_size, drop_remainder=drop_remainder or whole, name=name
        )
        if self._rows < 0:
            return _with_cardinality(batches, self._rows)
        return _with_cardinality(batches, full if drop_remainder or not rest else full + 1)


def _with_cardinality(dataset: tf.data.Dataset, count: int) -> tf.data.Dataset:
    if count == tf.data.UNKNOWN_CARDINALITY:
        return dataset
    return dataset.apply(tf.data.experimental.assert_cardinality(count))
