"""train_features.py FOLDER LIBRARY CACHE FEATURE...: uses what `fit` of Keras offers, under the strategy of its job.

LIBRARY is keras or tf_keras; CACHE has rows to evaluate on; a FEATURE is the name of a function. Each task that runs
the script writes what has come of each feature to FOLDER/ROLE-INDEX.json; of one that fails, the error.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tensorflow_ignite as tfi

folder, library, others, *features = Path(sys.argv[1]), *sys.argv[2:]
here = tfi.train.context()
if here.kind == "mirrored":
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
else:
    strategy = tfi.train.strategy()
    import tensorflow as tf
keras: Any = importlib.import_module(library)

# The test computes the same with these numbers.
BATCH, STEPS, OTHER_ROWS = 24, 6, 50
UNDER_SERVERS = here.kind == "parameter-server"


class Watch(keras.callbacks.Callback):  # type: ignore[misc, name-defined]
    """Records what it is called with."""

    def __init__(self) -> None:
        super().__init__()
        # Under parameter servers a callback of batches must accept figures that are still on a worker.
        self._supports_tf_logs = True
        self.batches: list[int] = []
        self.losses: list[float] = []
        self.rates: list[float] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.batches.append(int(batch))
        if not UNDER_SERVERS:
            self.losses.append(float(logs["loss"]))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.rates.append(float(self.model.optimizer.learning_rate.numpy()))


def batches(label: str, cache: str = here.cache, size: int = BATCH, **options: Any) -> tf.data.Dataset:
    """Columns of x and of a label, and of the weight if there is one."""
    rows = tfi.dataset(cache, columns=["x", label], label=label, snapshot=False, **options)
    return rows.repeat().batch(size).map(_columns) if cache == here.cache else rows.batch(size).map(_columns)


def _columns(features: Any, label: tf.Tensor, *weight: tf.Tensor) -> tuple[tf.Tensor, ...]:
    return (features["x"][:, None], tf.cast(label, tf.float32)[:, None], *weight)


def linear(activation: str | None = None, loss: str = "mse", rate: float = 0.2, **options: Any) -> Any:
    """A model of one slope and one intercept."""
    with strategy.scope():
        dense = keras.layers.Dense(1, activation, kernel_initializer="zeros")
        model = keras.Sequential([keras.layers.Input([1]), dense])
        model.compile(keras.optimizers.SGD(rate), loss, **options)
    return model


def weights(model: Any) -> list[float]:
    return [float(np.ravel(weight.numpy())[0]) for weight in model.trainable_variables]


def callbacks_and_evaluation() -> dict[str, Any]:
    watch, checkpoints = Watch(), tfi.train.CheckpointCallback(every_steps=4)
    with strategy.scope():
        error = keras.metrics.MeanSquaredError(name="error")
    model = linear(metrics=["mae"], weighted_metrics=[error])
    # Under parameter servers a step of the evaluation is the next batch of any worker: each batch has all rows.
    steps = 1 if UNDER_SERVERS else None
    other = batches("y", others, OTHER_ROWS if UNDER_SERVERS else BATCH)
    history = model.fit(
        batches("y"),
        epochs=5,
        steps_per_epoch=STEPS,
        validation_data=other,
        validation_steps=steps,
        verbose=0,
        callbacks=[
            checkpoints,
            keras.callbacks.LearningRateScheduler(lambda epoch, rate: 0.2 / (epoch + 1)),
            # Nothing is an improvement that large, so the second epoch is the last one.
            keras.callbacks.EarlyStopping(monitor="loss", min_delta=1e9, patience=1),
            watch,
        ],
    )
    found = {
        "history": {name: [float(value) for value in values] for name, values in history.history.items()},
        "batches": watch.batches,
        "losses": watch.losses,
        "rates": watch.rates,
        "steps": checkpoints.checkpoint.steps_done,
        "saved": checkpoints.checkpoint.saved_step,
        "weights": weights(model),
        "evaluated": {
            name: float(value)
            for name, value in model.evaluate(other, steps=steps, verbose=0, return_dict=True).items()
        },
    }
    found["predicted"] = model.predict(batches("y", others), verbose=0).ravel().tolist()
    if not UNDER_SERVERS:
        rows = tfi.dataset(
            here.cache,
            columns=["x", "y"],
            label="y",
            uneven="pad",
            hold_out=tfi.HoldOut(validation_split=0.25, subset="validation"),
        )
        held_out = model.evaluate(rows.batch(BATCH).map(_columns), verbose=0, return_dict=True)
        found["held_out"] = float(held_out["error"])
    return found


def _share(data: tf.data.Dataset, **options: Any) -> float:
    """The share of rare rows that a model learns, whatever x is."""
    model = linear("sigmoid", "binary_crossentropy", 0.5)
    model.fit(data, steps_per_epoch=20, verbose=0, **options)
    slope, intercept = weights(model)
    return float(np.mean(1 / (1 + np.exp(-slope * np.linspace(0, 1, 101) - intercept))))


def class_weight() -> float:
    return _share(batches("rare"), class_weight={0: 1.0, 1: 9.0})


def sample_weight() -> float:
    return _share(batches("rare").map(lambda x, y: (x, y, 1 + 8 * y[:, 0])))


def _mixed(policy: str) -> dict[str, Any]:
    keras.mixed_precision.set_global_policy(policy)
    try:
        with strategy.scope():
            hidden = keras.layers.Dense(4, "relu")
            last = keras.layers.Dense(1, dtype="float32")
            model = keras.Sequential([keras.layers.Input([1]), hidden, last])
            model.compile(keras.optimizers.SGD(0.05), "mse")
        history = model.fit(batches("y"), epochs=2, steps_per_epoch=10, verbose=0)
        return {
            "computes": str(hidden(tf.zeros([1, 1])).dtype.name),
            "stores": str(tf.as_dtype(hidden.kernel.dtype).name),
            "optimizer": type(model.optimizer).__name__,
            "losses": [float(loss) for loss in history.history["loss"]],
        }
    finally:
        keras.mixed_precision.set_global_policy("float32")


def mixed_bfloat16() -> dict[str, Any]:
    return _mixed("mixed_bfloat16")


def mixed_float16() -> dict[str, Any]:
    return _mixed("mixed_float16")


def steps_per_execution() -> dict[str, Any]:
    watch = Watch()
    checkpoints = tfi.train.CheckpointCallback(every_steps=3, directory=f"{here.checkpoint_directory}/executions")
    model = linear(steps_per_execution=4)
    model.fit(batches("y"), steps_per_epoch=8, verbose=0, callbacks=[checkpoints, watch])
    return {
        "batches": watch.batches,
        "iterations": int(model.optimizer.iterations.numpy()),
        "steps": checkpoints.checkpoint.steps_done,
    }


def batch_callback() -> str:
    callback = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: None)
    linear().fit(batches("y"), steps_per_epoch=2, verbose=0, callbacks=[callback])
    return "called"


def jit_compile() -> list[float]:
    model = linear(jit_compile=True)
    model.fit(batches("y"), steps_per_epoch=5, verbose=0)
    return weights(model)


found: dict[str, Any] = {}
for feature in features:
    try:
        found[feature] = globals()[feature]()
    except Exception as error:
        found[feature] = {"error": f"{type(error).__name__}: {error}"}
    (folder / f"{here.role}-{here.index}.json").write_text(json.dumps(found))
