"""A dataset of rows that cuts its batches from larger ones; the only file that uses private parts of tf.data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tensorflow_ignite.data.epochs.rows_per_worker import INPUT, Input


class RowDataset(tf.data.Dataset):  # type: ignore[misc]
    """A dataset whose elements are rows, and whose ``batch`` cuts large batches instead of gathering rows.

    That is several times faster, and gives the same batches. It applies if ``batch`` follows directly, or after
    ``repeat``; any other method in between works row by row in the C++ of TensorFlow.
    Python does no work for each row: `make bench-read` shows it.
    """

    def __init__(
        self, batches_for: Callable[[int], tf.data.Dataset], rows: int, request: Any = None, epochs: int = 1
    ) -> None:
        """Wraps the batches.

        Args:
            batches_for: Returns a dataset of batches of any size. The argument is the size of the batches that
                will be cut from them; 0: not known.
            rows: Number of rows, or tf.data.INFINITE_CARDINALITY or UNKNOWN_CARDINALITY.
            request: What is read; an attribute of this dataset and of its batches has it.
            epochs: Number of epochs that an iterator reads; below 0: without an end.
        """
        self._request, self._epochs = request, epochs
        setattr(self, INPUT, Input(request, 1, 1, epochs))
        self._batches_for = batches_for
        batches = batches_for(0)
        self._rows = rows
        self._plain = _with_cardinality(batches.unbatch(), rows)
        super().__init__(self._plain._variant_tensor)

    def _inputs(self) -> list[tf.data.Dataset]:
        return [self._plain]

    @property
    def element_spec(self) -> Any:
        """The spec of one row."""
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
        epochs = -1 if count is None or count < 0 else self._epochs * int(count)
        return RowDataset(lambda size: self._batches_for(size).repeat(count), rows, self._request, epochs)

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> tf.data.Dataset:
        """As tf.data.Dataset.batch; num_parallel_calls has no effect, because rows are not gathered one by one."""
        if not isinstance(batch_size, (int, np.integer)) or not isinstance(drop_remainder, bool) or batch_size < 1:
            return super().batch(batch_size, drop_remainder, num_parallel_calls, deterministic, name=name)
        full, rest = divmod(self._rows, int(batch_size))
        # Without a remainder all batches are full, and their static shape is known, which strategies use.
        whole = self._rows == tf.data.INFINITE_CARDINALITY or (self._rows > 0 and not rest)
        batches = self._batches_for(int(batch_size)).rebatch(
            batch_size, drop_remainder=drop_remainder or whole, name=name
        )
        if self._rows >= 0:
            batches = _with_cardinality(batches, full if drop_remainder or not rest else full + 1)
        else:
            batches = _with_cardinality(batches, self._rows)
        size = int(batch_size)
        # Otherwise rows of the next epoch follow in the last element of an epoch.
        least = size if drop_remainder and self._epochs == 1 else 1
        request = self._request and self._request.in_batches_of(size)
        setattr(batches, INPUT, Input(request, size, least, self._epochs))
        return batches


def _with_cardinality(dataset: tf.data.Dataset, count: int) -> tf.data.Dataset:
    if count == tf.data.UNKNOWN_CARDINALITY:
        return dataset
    return dataset.apply(tf.data.experimental.assert_cardinality(count))
