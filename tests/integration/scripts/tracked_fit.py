"""Fits a model with a tracker; the first attempt waits within the third epoch.

usage: tracked_fit.py DIRECTORY
"""

import os
import sys
import time
from pathlib import Path

import keras

import tensorflow_ignite as tfi

EPOCHS, STEPS = 4, 5


class Wait(keras.callbacks.Callback):
    """Waits in the first attempt, when the tracker has recorded what was before."""

    def on_train_batch_end(self, batch, logs=None):
        if context.attempt == 1 and int(self.model.optimizer.iterations.numpy()) == 2 * STEPS + 3:
            time.sleep(3)
            Path(sys.argv[1], "process-1").write_text(str(os.getpid()))
            time.sleep(600)


context = tfi.train.context()
tracker = tfi.train.tracker("mlflow", experiment="fits")
rows = tfi.dataset(context.cache).repeat().batch(100)
numbers = rows.map(lambda row: keras.ops.reshape(keras.ops.cast(row["id"], "float32") / 500, (-1, 1)))
model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(
    numbers.map(lambda x: (x, x)),
    epochs=EPOCHS,
    steps_per_epoch=STEPS,
    callbacks=[tfi.train.CheckpointCallback(), tracker.callback(every_steps=1), Wait()],
)
tfi.train.export(model, "tracked")
