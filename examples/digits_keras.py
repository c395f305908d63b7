"""Learns handwritten digits with ``fit`` of Keras: a laptop's script, and what changes in it (the lines marked #).

    tensorflow-ignite submit --cache digits examples/digits_keras.py

The callback saves, and makes ``fit`` go on where it was interrupted when Ignite starts the job again. The same script
runs outside a job, on all rows: ``python examples/digits_keras.py``. Both evaluate on the cache ``digits_test``.

This is Keras 3. For Keras 2 write ``import tf_keras as keras`` (pip install --no-deps tf-keras); no other line changes.
"""

import keras
import tensorflow as tf

import tensorflow_ignite as tfi  #

strategy = tfi.train.strategy()  # before any operation of TensorFlow: the workers find each other here

EPOCHS, BATCH = 15, 96


def pixels(features: dict[str, tf.Tensor], label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Pixels from 0 to 16, and labels, of a batch."""
    return tf.ensure_shape(features["pixels"], [None, 64]), label


context = tfi.train.context(cache="digits")  #
# Workers have different numbers of rows but must take the same number of steps: those with fewer repeat some.
rows = tfi.dataset("digits", columns=["pixels", "label"], label="label", shuffle=True).repeat()  #
test = tfi.dataset("digits_test", columns=["pixels", "label"], label="label")  #

with strategy.scope():  #
    # The model itself scales, so that a prediction takes the pixels of the cache.
    scale = keras.layers.Rescaling(1 / 16)
    model = keras.Sequential([keras.Input([64]), scale, keras.layers.Dense(64, "relu"), keras.layers.Dense(10)])
    model.compile(
        keras.optimizers.Adam(0.003),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )

saved = tfi.train.CheckpointCallback(every_steps=50)  #
model.fit(
    rows.batch(BATCH).map(pixels),
    epochs=EPOCHS,
    steps_per_epoch=context.steps_per_epoch(BATCH),  #
    callbacks=[saved],  #
    shuffle=False,  # the dataset does it
    verbose=2 if context.is_chief else 0,
)

_, accuracy = model.evaluate(test.batch(512).map(pixels), verbose=0)
if context.is_chief:  # the other workers have the same model
    if saved.checkpoint.resumed_from_step:
        print(f"resumed from step {saved.checkpoint.resumed_from_step}")
    print(f"test accuracy={accuracy:.4f}")
# On all workers: the first one writes the next version of this model, and Keras 2 needs the others for it.
tfi.train.export(model, "digits")  #
