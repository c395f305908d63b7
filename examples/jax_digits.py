"""Learns handwritten digits with Keras on JAX, without TensorFlow: `tfi.batches` returns arrays of numpy.

    pip install 'jax[cpu]' keras
    XLA_FLAGS=--xla_force_host_platform_device_count=2 python examples/jax_digits.py
    tensorflow-ignite submit --cache digits --strategy custom \\
      --set environment.python=/opt/jax/bin/python examples/jax_digits.py

Each device of the process computes a part of each batch. As a worker of a job the script trains on the rows of its
node, with the devices of all workers: JAX connects them at the addresses that the job has reserved, and averages their
gradients. ``environment.python`` names an interpreter that has JAX, on each node.
"""

import json
import os
import sys

os.environ["KERAS_BACKEND"] = "jax"  # before Keras is imported

import keras
import numpy as np

import tensorflow_ignite as tfi

EPOCHS, BATCH = 15, 96

context = tfi.train.context(cache="digits")
if context.num_workers > 1:
    # Before anything else of JAX: the workers find each other here.
    addresses = ",".join(json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"])
    keras.distribution.initialize(addresses, context.num_workers, context.index)
keras.utils.set_random_seed(0)  # the same weights on each worker
# The rows are split over the workers already.
keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))

# A batch is that of all workers. They take the same number of steps: those with fewer rows repeat some.
rows = tfi.batches(
    context.cache,
    batch_size=BATCH // context.num_workers,
    columns=["pixels", "label"],
    label="label",
    shuffle=True,
    epochs=None,
)
test = tfi.batches(f"{context.cache}_test", batch_size=360, columns=["pixels", "label"], label="label")

model = keras.Sequential([keras.Input([64]), keras.layers.Dense(64, "relu"), keras.layers.Dense(10)])
model.compile(
    keras.optimizers.Adam(0.003),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
steps = context.steps_per_epoch(BATCH)
progress = keras.callbacks.LambdaCallback(
    on_epoch_end=lambda epoch, logs: tfi.train.report((epoch + 1) * steps, EPOCHS * steps, **logs)
)
model.fit(
    ((features["pixels"] / 16, label) for features, label in rows),
    epochs=EPOCHS,
    steps_per_epoch=steps,
    shuffle=False,  # the batches are shuffled
    callbacks=[progress],
    verbose=0,
)

right = []
for features, label in test:
    right.append(np.argmax(model.predict_on_batch(features["pixels"] / 16), 1) == label)
if context.is_chief:
    print(f"{len(keras.distribution.list_devices())} devices")
    print(f"test accuracy={np.concatenate(right).mean():.4f}")
    print("TensorFlow is imported:", "tensorflow" in sys.modules)
