"""The training that every contender of the benchmark of trainings runs: workloads, model, and ``fit``; a job's script.

    usage: training_fit.py WORKLOAD ROWS EPOCHS FOLDER

Each worker writes a file into FOLDER with the moments of CLOCK_MONOTONIC at which its epochs ended. All contenders are
on one machine, so these compare with those of the benchmark. The model is one of tf_keras: ``fit`` of Keras 3 fails
under several workers that are started by hand.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CLASSES = 10
SIDE = 28
LABEL = "label"
# Rows that are shuffled together, by each worker of each contender.
SHUFFLED = 20_000


@dataclass(frozen=True)
class Workload:
    """A model and its rows.

    Attributes:
        rows: Of the cache.
        batch: Rows of a step, over all workers.
        features: Columns that are the input of the model.
        shape: Of one column of a row.
        type: Of its numbers.
        classes: Of the label; 0: it is a number.
    """

    rows: int
    batch: int
    features: tuple[str, ...]
    shape: tuple[int, ...]
    type: type[Any]
    classes: int = CLASSES

    def columns(self, rows: int) -> dict[str, np.ndarray]:
        """Rows that can be learned: a pattern for each class and noise, or numbers and a sum of them."""
        random = np.random.default_rng(0)
        if not self.classes:
            values = {name: random.random(rows, np.float32) for name in self.features}
            return {**values, LABEL: sum(values.values(), np.zeros(rows, np.float32)) / len(values)}
        label = random.integers(0, self.classes, rows, np.int32)
        values = random.random((rows, *self.shape), np.float32)
        values += random.random((self.classes, *self.shape), np.float32)[label]
        if self.type is np.uint8:
            values *= 127
        return {self.features[0]: values.astype(self.type), LABEL: label}


WORKLOADS = {
    "dense": Workload(rows=154_368, batch=768, features=("x",), shape=(15,), type=np.float32),
    "images": Workload(rows=19_584, batch=192, features=("x",), shape=(SIDE * SIDE,), type=np.uint8),
    "table": Workload(
        rows=1_000_000,
        batch=12_000,
        features=tuple(f"value_{number}" for number in range(20)),
        shape=(),
        type=np.float32,
        classes=0,
    ),
}


def stacked(workload: Workload, features: dict[str, Any]) -> Any:
    """A batch of features as one tensor."""
    import tensorflow as tf

    columns = [features[name] for name in workload.features]
    return columns[0] if workload.shape else tf.stack(columns, axis=1)


def scaled(workload: Workload, features: Any) -> Any:
    """What the model gets: images of floats, other features as they are."""
    import tensorflow as tf

    if workload.type is not np.uint8:
        return features
    return tf.reshape(tf.cast(features, tf.float32) / 255.0, [-1, SIDE, SIDE, 1])


def make_model(name: str) -> Any:
    """The compiled model of a workload."""
    import tf_keras

    layers = tf_keras.layers
    hidden = {
        "dense": [layers.Input([15]), layers.Dense(64, "relu"), layers.Dense(64, "relu"), layers.Dense(CLASSES)],
        "images": [
            *(layers.Input([SIDE, SIDE, 1]), layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D()),
            *(layers.Flatten(), layers.Dense(CLASSES)),
        ],
        "table": [layers.Input([20]), layers.Dense(64, "relu"), layers.Dense(1)],
    }[name]
    model = tf_keras.Sequential(hidden)
    classifies = WORKLOADS[name].classes > 0
    model.compile("adam", tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True) if classifies else "mse")
    return model


def fit(
    name: str, rows: int, epochs: int, strategy: Any, dataset: Callable[[Workload], Any], folder: str, rank: int
) -> None:
    """Trains, and writes when the epochs of this worker ended.

    Args:
        name: Of the workload.
        rows: Of all workers.
        epochs: Their number.
        strategy: Of this worker.
        dataset: Makes the endless dataset of this worker, in batches of all workers; the time that it needs counts.
        folder: For the file.
        rank: Of this worker.
    """
    import tf_keras

    workload = WORKLOADS[name]
    with strategy.scope():
        model = make_model(name)
    moments, processor, losses = [time.monotonic()], [time.process_time()], []

    class Ends(tf_keras.callbacks.Callback):  # type: ignore[misc]
        """Remembers when epochs end."""

        def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
            moments.append(time.monotonic())
            processor.append(time.process_time())
            losses.append(float((logs or {}).get("loss", math.nan)))

    model.fit(
        dataset(workload),
        epochs=epochs,
        steps_per_epoch=rows // workload.batch,
        callbacks=[Ends()],
        shuffle=False,
        verbose=0,
    )
    written = {"moments": moments, "processor": processor, "losses": losses}
    Path(folder, f"{rank}.json").write_text(json.dumps(written))


def main() -> None:
    """A worker of the job, in the way that the documents show."""
    import tensorflow_ignite as tfi

    name, rows, epochs, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    strategy = tfi.train.strategy()
    import tensorflow as tf

    def dataset(workload: Workload) -> Any:
        columns = [*workload.features, LABEL]
        read = tfi.dataset(name, columns=columns, label=LABEL, shuffle=SHUFFLED).repeat()
        return read.batch(workload.batch).map(
            lambda features, label: (scaled(workload, stacked(workload, features)), label),
            num_parallel_calls=tf.data.AUTOTUNE,
        )

    fit(name, rows, epochs, strategy, dataset, folder, tfi.train.context().index)


if __name__ == "__main__":
    main()
