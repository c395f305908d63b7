"""Learns handwritten digits with a model that no worker has as a whole: DTensor splits its weights over all devices.

    tensorflow-ignite submit --cache digits --strategy custom examples/dtensor_digits.py
    python examples/dtensor_digits.py                 # outside a job: over the logical devices of one process

Each worker reads the rows of its own node. In a step each device gets the rows of all workers, and computes its part of
the hidden layer; the sum of what follows from all parts is the result. TensorFlow's DTensor does both.
"""

import argparse
import json
import os

arguments = argparse.ArgumentParser(description="Learns handwritten digits with a split model.")
arguments.add_argument("--epochs", type=int, default=15)
arguments.add_argument("--batch-size", type=int, default=96, help="rows in a step, over all workers")
arguments.add_argument("--hidden", type=int, default=96, help="size of the layer that is split")
arguments.add_argument("--devices", type=int, default=2, help="logical devices of each process")
args = arguments.parse_args()

import tensorflow as tf  # noqa: E402
from tensorflow.experimental import dtensor  # noqa: E402

import tensorflow_ignite as tfi  # noqa: E402

context = tfi.train.context(cache="digits")
if context.num_workers > 1:
    # DTensor does not read TF_CONFIG.
    os.environ["DTENSOR_JOBS"] = ",".join(json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"])
    os.environ["DTENSOR_NUM_CLIENTS"] = str(context.num_workers)
    os.environ["DTENSOR_CLIENT_ID"] = str(context.index)
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * args.devices)
# Before any operation, in place of tfi.train.strategy(): the workers find each other here.
dtensor.initialize_accelerator_system("CPU")

mesh = dtensor.create_distributed_mesh([("parts", args.devices * context.num_workers)], device_type="CPU")
WHOLE = dtensor.UNSHARDED


def layout(*dimensions: str) -> dtensor.Layout:
    """Which dimensions are split over the devices."""
    return dtensor.Layout(list(dimensions), mesh)


def variable(shape: list[int], parts: dtensor.Layout, deviation: float = 0.0) -> dtensor.DVariable:
    """Random numbers of which each device makes its own part; their seeds are the same in each process."""
    # Only a tf.function: an eager call fails ("requires matching rank for layout and input").
    numbers = tf.function(lambda: tf.random.stateless_normal(shape, [0, shape[0]], stddev=deviation))
    return dtensor.DVariable(dtensor.call_with_layout(numbers, parts))


hidden = variable([64, args.hidden], layout(WHOLE, "parts"), 0.15)
hidden_bias = variable([args.hidden], layout("parts"))
output = variable([args.hidden, 10], layout("parts", WHOLE), 0.15)
output_bias = variable([10], layout(WHOLE))
weights = [hidden, hidden_bias, output, output_bias]


def logits(pixels: tf.Tensor) -> tf.Tensor:
    """Of rows that are split over all devices: each gets all of them, and computes its part of the hidden layer."""
    collected = dtensor.relayout(pixels, layout(WHOLE, WHOLE))
    return tf.nn.relu(collected @ hidden + hidden_bias) @ output + output_bias


@tf.function
def step(pixels: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    """Trains on the rows of all workers; returns the loss."""
    label = dtensor.relayout(label, layout(WHOLE))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits(pixels)))
    for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
        weight.assign_sub(0.3 * gradient)
    return loss


@tf.function
def right(pixels: tf.Tensor, label: tf.Tensor) -> tf.Tensor:
    """The share of rows whose digit is recognised."""
    label = dtensor.relayout(label, layout(WHOLE))
    return tf.reduce_mean(tf.cast(tf.argmax(logits(pixels), 1, tf.int32) == label, tf.float32))


def split(rows: tf.Tensor) -> tf.Tensor:
    """The rows of this process as a part of the rows of all workers.

    Values without a split must be equal in all processes, which may read a cache in different orders.
    """
    parts = layout("parts", *[WHOLE] * (len(rows.shape) - 1))
    return dtensor.pack(tf.split(rows, args.devices), parts)


def scaled(features: dict[str, tf.Tensor], label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Pixels from 0 to 1, and labels, of a batch."""
    return tf.reshape(tf.cast(features["pixels"], tf.float32) / 16.0, [-1, 64]), tf.cast(label, tf.int32)


# Workers have different numbers of rows but must take the same number of steps: those with fewer repeat some.
rows = tfi.dataset(context.cache, columns=["pixels", "label"], label="label", shuffle=True).repeat()
batches = iter(rows.batch(args.batch_size // context.num_workers).map(scaled))
steps = context.steps_per_epoch(args.batch_size)
for number in range(1, args.epochs * steps + 1):
    pixels, label = next(batches)
    loss = step(split(pixels), split(label))
    tfi.train.report(number, args.epochs * steps, loss=loss)

# Each worker reads all rows, and all of them count.
test = tfi.dataset(f"{context.cache}_test", columns=["pixels", "label"], label="label")
pixels, label = next(iter(test.batch(360).map(scaled)))
accuracy = right(split(pixels), split(label))
if context.is_chief:
    part = dtensor.unpack(hidden.read_value())[0]
    print(f"{mesh.num_local_devices()} of {mesh.size} devices; each has {part.shape[1]} of {args.hidden} columns")
    print(f"loss={float(loss):.3f} test accuracy={float(accuracy):.4f}")
