"""The training beside an application; a job's script that reads each epoch anew and counts its steps in a file.

    usage: live_training.py WORK CONTROL

WORK is ``train``, a small dense model, or ``read``: rows are read as fast as possible, and only summed. CONTROL is a
file of two numbers of 8 bytes: the steps of the first worker so far, and whether all workers shall pause after their
step. (Workers whose processes are stopped from outside fail the checks of TensorFlow's collective operations.)
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

CACHE = "images"
PIXELS = 784
CLASSES = 10
BATCH = 256
TRAIN, READ = "train", "read"
STEPS, PAUSE = 0, 1
_POLL_SECONDS = 0.02


class Control:
    """The file of two numbers, on the side of a worker."""

    def __init__(self, path: str, is_first: bool) -> None:
        """Maps the file."""
        self._numbers = np.memmap(path, np.int64, "r+", shape=(2,))
        self._is_first = is_first

    def after_step(self) -> None:
        """Counts a step of the first worker, and pauses while it shall."""
        self._numbers[STEPS] += self._is_first
        while self._numbers[PAUSE]:
            time.sleep(_POLL_SECONDS)


def train(path: str) -> None:
    """Trains until the job is stopped."""
    import keras

    import tensorflow_ignite as tfi

    control = Control(path, tfi.train.context().is_chief)

    class Count(keras.callbacks.Callback):  # type: ignore[misc]
        """Counts the steps."""

        def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
            control.after_step()

    with tfi.train.strategy().scope():
        layers = [keras.Input([PIXELS]), keras.layers.Dense(128, "relu"), keras.layers.Dense(CLASSES)]
        model = keras.Sequential(layers)
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    rows = tfi.dataset(CACHE, columns=["pixels", "label"], label="label", shuffle=True, snapshot=False)
    batches = rows.repeat().batch(BATCH).map(lambda features, label: (features["pixels"], label))
    model.fit(batches, steps_per_epoch=1_000_000_000, callbacks=[Count()], shuffle=False, verbose=0)


def read(path: str) -> None:
    """Reads until the job is stopped."""
    import tensorflow as tf

    import tensorflow_ignite as tfi

    control = Control(path, tfi.train.context().is_chief)
    rows = tfi.dataset(CACHE, columns=["pixels", "label"], snapshot=False).repeat().batch(BATCH)
    for batch in rows:
        tf.reduce_sum(batch["pixels"])
        control.after_step()


if __name__ == "__main__":
    {TRAIN: train, READ: read}[sys.argv[1]](sys.argv[2])
