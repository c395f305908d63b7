"""Learns handwritten digits in one process with two devices: MirroredStrategy, here over two parts of a processor.

    tensorflow-ignite submit --cache digits --strategy mirrored examples/mirrored_cpus.py
    python examples/mirrored_cpus.py                  # outside a job, on all rows

A job of the kind ``mirrored`` has one task, which reads the whole cache. With GPUs (``submit --set workers.gpus=2``)
``tfi.train.strategy()`` is all that it needs: each of them has a copy of the model, and takes its part of each batch.
Without GPUs that strategy has one copy.
To try on a laptop what several devices do, this script splits the processor into two logical devices.
"""

import keras
import tensorflow as tf

import tensorflow_ignite as tfi

# Before any operation of TensorFlow: devices cannot be split afterwards.
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

EPOCHS, BATCH = 12, 96


def scaled(features: dict[str, tf.Tensor], label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Pixels from 0 to 1, and labels, of a batch."""
    return tf.ensure_shape(features["pixels"], [None, 64]) / 16.0, label


def batches(cache: str, shuffle: bool) -> tf.data.Dataset:
    """Batches of a cache; each device takes its part of them."""
    return tfi.dataset(cache, columns=["pixels", "label"], label="label", shuffle=shuffle).batch(BATCH).map(scaled)


with strategy.scope():
    model = keras.Sequential([keras.Input([64]), keras.layers.Dense(64, "relu"), keras.layers.Dense(10)])
    model.compile(
        keras.optimizers.Adam(0.003),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )

saved = tfi.train.CheckpointCallback()
model.fit(batches("digits", shuffle=True), epochs=EPOCHS, callbacks=[saved], shuffle=False, verbose=0)

copies = strategy.experimental_local_results(strategy.run(lambda: model.trainable_variables[0].value + 0))
print(f"{len(copies)} copies on {', '.join(copy.device.rpartition('/device:')[2] for copy in copies)}")
print(f"equal: {all(bool(tf.reduce_all(copy == copies[0])) for copy in copies)}")
_, accuracy = model.evaluate(batches("digits_test", shuffle=False), verbose=0)
print(f"test accuracy={accuracy:.4f}")
