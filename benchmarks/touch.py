"""Batches of TensorFlow, read by a consumer that looks at every byte."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from answer import Pass


@tf.function(reduce_retracing=True)
def touch(data: tf.Tensor) -> tf.Tensor:
    """The sum of all bytes, eight at a time: a batch that nobody looks into costs nothing to hand over."""
    return tf.reduce_sum(tf.bitcast(tf.reshape(data, [-1, 8]), tf.int64))


def consumed(batches: Callable[[], Iterable[Any]], data_of: Callable[[Any], tf.Tensor]) -> Pass:
    """A pass over the batches."""

    def one_pass() -> tuple[int, int, int]:
        rows = count = total = 0
        for batch in batches():
            data = data_of(batch)
            total += int(touch(data))
            rows += int(data.shape[0])
            count += int(data.shape[0]) * int(data.shape[1])
        return rows, count, total

    return one_pass
