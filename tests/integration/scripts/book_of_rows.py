"""Trains on the rows of a cache, writes the keys of each step into a book, and ends hard after some steps.

Arguments: options as JSON, and the folder of the books. Each line of a book has the step, counted over all attempts,
the epoch, and the keys of one worker.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import tensorflow_ignite as tfi

options: dict[str, Any] = json.loads(sys.argv[1])
context = tfi.train.context(cache=options["cache"])
CRASH = {int(attempt): step for attempt, step in options.get("crashes", {}).items()}.get(context.attempt)
BATCH, EPOCHS, LOOP = options["batch"], options["epochs"], options.get("loop")
SECONDS = options.get("seconds", 0.0)
reading: dict[str, Any] = {"label": "y", "key": True, **options["reading"]}
epoch = step = 0
book = (Path(sys.argv[2]) / f"{context.attempt}-{context.index}.jsonl").open("a")


def note(keys: Any, weights: Any) -> np.ndarray:
    """Writes a line; rows of weight 0 only fill an epoch."""
    used = [int(key) for key, weight in zip(keys, weights, strict=True) if weight]
    book.write(json.dumps({"step": step, "epoch": epoch, "keys": used}) + "\n")
    book.flush()
    return np.float32(0)


def ends_here() -> None:
    """Ends the process, in the attempt and after the step that the options name."""
    if step == CRASH and context.index == options.get("worker", 0):
        os._exit(1)


def batches() -> None:
    """Reads without TensorFlow's datasets: one process."""
    state = Path(sys.argv[2]) / "state.json"
    rows = tfi.batches(options["cache"], batch_size=BATCH, **reading)
    global epoch, step
    if state.exists():
        saved = json.loads(state.read_text())
        rows.load_state_dict(saved["rows"])
        epoch, step = saved["epoch"], saved["step"]
    while epoch < EPOCHS:
        for features, *others in rows:
            step += 1
            note(features["_key"], others[1] if len(others) > 1 else np.ones(len(features["_key"])))
            Path(f"{state}.new").write_text(json.dumps({"rows": rows.state_dict(), "epoch": epoch, "step": step}))
            os.replace(f"{state}.new", state)
            ends_here()
        epoch += 1


def keys_and_weights(data: Any) -> tuple[Any, Any]:
    """The keys of a batch, and the weights that ``uneven="pad"`` adds."""
    features, _, *weights = data
    return features["_key"], weights[0] if weights else tf.ones_like(features["_key"], tf.float32)


def loop(strategy: Any) -> None:
    """A training loop of the script's own."""
    global step
    with strategy.scope():
        weight = tf.Variable(0.0)
    checkpoint = tfi.train.checkpoint(every_steps=1, weight=weight)
    rows = tfi.dataset(options["cache"], **reading).repeat().batch(BATCH)
    elements = checkpoint.iterate(strategy.experimental_distribute_dataset(rows))
    for step in checkpoint.steps(EPOCHS * options["steps"]):
        data = next(elements)
        keys, weights = keys_and_weights(data)
        for pair in zip(
            strategy.experimental_local_results(keys), strategy.experimental_local_results(weights), strict=True
        ):
            note(*(values.numpy() for values in pair))
        checkpoint.save_if_due(step)
        ends_here()


def fit(strategy: Any) -> None:
    """`fit` of one of the two Kerases."""
    keras: Any = importlib.import_module(options.get("keras", "keras"))

    class Model(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, x: Any) -> Any:
            return self.dense(tf.cast(x["x"], tf.float32)[:, None])

        def train_step(self, data: Any) -> Any:
            noted = tf.numpy_function(note, keys_and_weights(data), tf.float32)
            with tf.control_dependencies([noted]):
                return super().train_step(data)

    class Steps(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_begin(self, number: int, logs: Any = None) -> None:
            global epoch
            epoch = number

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            global step
            step = checkpoints.checkpoint.resumed_from_step + 1 if self.is_first else step + 1
            self.is_first = False

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if SECONDS:
                tf.py_function(lambda: __import__("time").sleep(SECONDS), [], [])
            ends_here()

        is_first = True

    with strategy.scope():
        model = Model()
        model({"x": tf.zeros([1])})
        model.compile("sgd", "mse")
    rows = tfi.dataset(options["cache"], **reading)
    rows = (rows.repeat() if "steps" in options else rows).batch(BATCH)
    if options.get("filters"):
        rows = rows.filter(lambda *_: True)
    checkpoints = tfi.train.CheckpointCallback(every_steps=1)
    model.fit(rows, epochs=EPOCHS, steps_per_epoch=options.get("steps"), callbacks=[checkpoints, Steps()], verbose=0)


if LOOP == "batches":
    batches()
elif LOOP:
    loop(tfi.train.strategy())
else:
    fit(tfi.train.strategy())
