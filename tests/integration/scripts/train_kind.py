"""train_kind.py FOLDER LIBRARY [STRATEGY]: learns the line y = 2 x + 1 under the strategy of its job's kind.

LIBRARY is keras, tf_keras or loop. Each task that runs the script writes its weights to FOLDER/ROLE-INDEX.json.
STRATEGY is ``none`` or the name of a class of tf.distribute: it is used in place of that of the kind. With
TEST_STEP_SECONDS each step takes so long at least.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import tensorflow_ignite as tfi

folder, library = Path(sys.argv[1]), sys.argv[2]
other = sys.argv[3] if len(sys.argv) > 3 else ""
strategy = None if other else tfi.train.strategy()

import tensorflow as tf  # noqa: E402

if other:
    strategy = tf.distribute.get_strategy() if other == "none" else getattr(tf.distribute, other)()
EPOCHS, BATCH = 8, 32
PAUSE = float(os.environ.get("TEST_STEP_SECONDS", "0"))
here = tfi.train.context()
steps = here.steps_per_epoch(BATCH)


def batches(rows: tf.data.Dataset) -> tf.data.Dataset:
    return rows.batch(BATCH).map(lambda features, label: (features["x"][:, None], label[:, None]))


def dataset(_: object = None) -> tf.data.Dataset:
    return batches(tfi.dataset(here.cache, columns=["x", "y"], label="y", shuffle=True, seed=1).repeat())


def fit(keras: Any) -> list[float]:
    """Trains by `fit`; returns slope and intercept."""
    with strategy.scope():
        model = keras.Sequential([keras.layers.Input([1]), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.25), "mse")
    # Callbacks for each batch are not possible under parameter servers.
    pause = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: time.sleep(PAUSE * steps))
    callbacks = [tfi.train.CheckpointCallback(), pause]
    model.fit(dataset(), epochs=EPOCHS, steps_per_epoch=steps, verbose=0, callbacks=callbacks)
    return [float(weight.numpy().ravel()[0]) for weight in model.trainable_variables]


def loop() -> list[float]:
    """Trains by a custom loop; returns slope and intercept."""
    with strategy.scope():
        slope, intercept = tf.Variable(0.0), tf.Variable(0.0)
        checkpoint = tfi.train.checkpoint(slope=slope, intercept=intercept)

    def step(batch: Any) -> tf.Tensor:
        x, y = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((slope * x + intercept - y) ** 2)
        context = tf.distribute.get_replica_context()
        gradients = context.all_reduce("MEAN", tape.gradient(loss, [slope, intercept]))
        for variable, gradient in zip([slope, intercept], gradients, strict=True):
            variable.assign_sub(0.25 * gradient)
        return loss

    if here.rules.parameter_servers:
        coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        iterator = iter(coordinator.create_per_worker_dataset(dataset))
        worker_step = tf.function(lambda iterator: strategy.run(step, args=(next(iterator),)))
        for done in range(checkpoint.resumed_from_step, EPOCHS * steps, steps):
            for _ in range(steps):
                coordinator.schedule(worker_step, args=(iterator,))
            coordinator.join()
            checkpoint.save(done + steps)
            time.sleep(PAUSE * steps)
    else:
        iterator = iter(strategy.experimental_distribute_dataset(dataset()))
        run = tf.function(lambda batch: strategy.run(step, args=(batch,)))
        for _ in checkpoint.steps(EPOCHS * steps):
            run(next(iterator))
            time.sleep(PAUSE)
    return [float(slope.numpy()), float(intercept.numpy())]


weights = loop() if library == "loop" else fit(__import__(library))
(folder / f"{here.role}-{here.index}.json").write_text(json.dumps([weights, strategy.num_replicas_in_sync]))
