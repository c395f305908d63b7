"""train_until_stopped.py [SCRIPT_PROFILES]: trains on the job's cache until it is stopped; reports each step.

With an argument the script uses TensorFlow's profiler itself, all the time.
"""

from __future__ import annotations

import sys
import tempfile

import tensorflow as tf

import tensorflow_ignite as tfi

here = tfi.train.context()
model = tf.keras.Sequential([tf.keras.layers.Input([1]), tf.keras.layers.Dense(64), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
rows = tfi.dataset(here.cache, columns=["x", "y"], label="y", shuffle=True).repeat().batch(32)
rows = rows.map(lambda features, label: (features["x"][:, None], label[:, None]))
if len(sys.argv) > 1:
    tf.profiler.experimental.start(tempfile.mkdtemp())


@tf.function
def train_step(iterator):
    """One step, which fetches its own batch, as `fit` does."""
    x, y = next(iterator)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    variables = model.trainable_variables
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        variable.assign_sub(0.01 * gradient)
    return loss


iterator = iter(rows)
for step in range(1, 10**9):
    tfi.train.report(step, 10**9, loss=train_step(iterator))
