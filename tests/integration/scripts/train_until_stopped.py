"""train_until_stopped.py: trains on the job's cache until it is stopped; reports each step."""

from __future__ import annotations

import tensorflow as tf

import tensorflow_ignite as tfi

here = tfi.train.context()
model = tf.keras.Sequential([tf.keras.layers.Input([1]), tf.keras.layers.Dense(64), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
rows = tfi.dataset(here.cache, columns=["x", "y"], label="y", shuffle=True).repeat().batch(32)
rows = rows.map(lambda features, label: (features["x"][:, None], label[:, None]))


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
