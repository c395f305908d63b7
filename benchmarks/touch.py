"""Batches of TensorFlow, read by a consumer that looks at every byte: in a loop of Python, or of TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from answer import Pass, keep


@tf.function(reduce_retracing=True)
def touch(data: tf.Tensor) -> tf.Tensor:
    """The sum of all bytes, eight at a time: passing a batch that nobody reads costs nothing."""
    return tf.reduce_sum(tf.bitcast(tf.reshape(data, [-1, 8]), tf.int64))


def consumed(batches: Callable[[], Iterable[Any]], data_of: Callable[[Any], tf.Tensor]) -> Pass:
    """A pass over the batches."""

    def one_pass() -> tuple[int, int, int]:
        rows = count = total = 0
        iterator = iter(batches())
        # TensorFlow's autotuner sleeps twice as long each time, and the end of an iterator often waits until it wakes.
        keep(iterator)
        for batch in iterator:
            data = data_of(batch)
            total += int(touch(data))
            rows += int(data.shape[0])
            count += int(data.shape[0]) * int(data.shape[1])
        return rows, count, total

    return one_pass


def consumed_in_graph(batches: tf.data.Dataset, data_of: Callable[[Any], tf.Tensor]) -> Pass:
    """A pass over the batches by a loop that TensorFlow runs, as ``fit`` with steps_per_execution has it."""

    @tf.function
    def loop() -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        rows = count = total = tf.zeros([], tf.int64)
        for batch in batches:
            data = data_of(batch)
            total += touch(data)
            rows += tf.shape(data, tf.int64)[0]
            count += tf.size(data, tf.int64)
        return rows, count, total

    def one_pass() -> tuple[int, int, int]:
        rows, count, total = loop()
        return int(rows), int(count), int(total)

    return one_pass
