"""Evaluates each checkpoint on other rows while the training goes on, in a task of its own.

    tensorflow-ignite submit examples/evaluator.yaml

All tasks run this script. The workers train; the evaluator waits for their checkpoints, and reports accuracy and loss
with the step of each. ``describe`` shows them beside the task, ``tensorflow-ignite tensorboard JOB`` as curves.
"""

import keras
import tensorflow as tf

import tensorflow_ignite as tfi

context = tfi.train.context(cache="digits")
strategy = tfi.train.strategy()  # in the evaluator TensorFlow's default one


def scaled(features: dict[str, tf.Tensor], label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Pixels from 0 to 1, and labels, of a batch."""
    return tf.ensure_shape(features["pixels"], [None, 64]) / 16.0, label


def batches(cache: str, shuffle: bool) -> tf.data.Dataset:
    """Batches of 96 rows of a cache."""
    rows = tfi.dataset(cache, columns=["pixels", "label"], label="label", shuffle=shuffle)
    # A training step with the few rows that are left would move the weights as far as any other.
    return rows.batch(96, drop_remainder=shuffle).map(scaled)


with strategy.scope():
    model = keras.Sequential([keras.Input([64]), keras.layers.Dense(64, "relu"), keras.layers.Dense(10)])
    model.compile(
        keras.optimizers.Adam(0.003),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )

if context.role == "evaluator":
    metrics = tfi.train.evaluate(model, batches(context.evaluator_cache, shuffle=False))
    print(f"test accuracy={metrics['accuracy']:.4f}")
else:
    saved = tfi.train.CheckpointCallback()
    model.fit(batches(context.cache, shuffle=True), epochs=12, callbacks=[saved], shuffle=False, verbose=0)
