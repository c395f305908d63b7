"""The training of the benchmark of a shared node; a job's script that counts its steps in a file.

    usage: train_steps.py MODEL COUNTER

MODEL is ``dense`` or ``convolution``. COUNTER is a file of 8 bytes, which are the number of steps so far.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

CACHE = "images"
SIDE = 28
CLASSES = 10
BATCH = 64
MODELS = ("dense", "convolution")


def train(name: str, counter: str) -> None:
    """Trains until the job is stopped."""
    import keras
    import tensorflow as tf

    import tensorflow_ignite as tfi

    steps = np.memmap(counter, np.int64, "r+", shape=(1,))

    class Count(keras.callbacks.Callback):  # type: ignore[misc]
        """Adds each step to the counter."""

        def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
            steps[0] += 1

    strategy = tfi.train.strategy()
    layers = keras.layers
    with strategy.scope():
        hidden = {
            "dense": [layers.Flatten(), layers.Dense(256, "relu"), layers.Dense(256, "relu")],
            "convolution": [
                *(layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D()),
                *(layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D()),
                layers.Flatten(),
            ],
        }[name]
        model = keras.Sequential([keras.Input([SIDE, SIDE, 1]), *hidden, layers.Dense(CLASSES)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))

    def image(features: dict[str, tf.Tensor], label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.reshape(features["pixels"], [-1, SIDE, SIDE, 1]), label

    rows = tfi.dataset(CACHE, columns=["pixels", "label"], label="label", shuffle=True).repeat()
    model.fit(
        rows.batch(BATCH).map(image), steps_per_epoch=1_000_000_000, callbacks=[Count()], shuffle=False, verbose=0
    )


if __name__ == "__main__":
    train(*sys.argv[1:])
