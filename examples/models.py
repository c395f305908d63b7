"""A model out of the cluster, and back to its rows: train, save, list, copy, load, predict, write the results back.

    tensorflow-ignite node &
    python models.py                     # asks localhost:10820; or TENSORFLOW_IGNITE_ADDRESS=HOST:PORT

Needs the caches digits and digits_test; README.md of this folder says how to load them. Prints what each step finds. A
job saves its model in the same way, once: if tfi.train.context().is_chief.
"""

import tempfile
from pathlib import Path

import fsspec
import keras
import numpy as np
import tensorflow as tf

import tensorflow_ignite as tfi

MODEL = "ignite:///models/digits/1.keras"


def scaled(pixels: tf.Tensor) -> tf.Tensor:
    """Pixels from 0 to 1."""
    return tf.ensure_shape(pixels, [None, 64]) / 16.0


def train() -> keras.Model:
    """A model of the rows of the cache digits."""
    rows = tfi.dataset("digits", columns=["pixels", "label"], label="label", shuffle=True)
    model = keras.Sequential(
        [keras.Input([64]), keras.layers.Dense(64, "relu"), keras.layers.Dense(10, "softmax", name="digits")]
    )
    model.compile(keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
    batches = rows.batch(96).map(lambda features, label: (scaled(features["pixels"]), label))
    model.fit(batches, epochs=10, verbose=0, shuffle=False)
    return model


def main() -> None:
    """Goes through what docs/models.md says."""
    # Missing directories are made; the file appears in one step, and replaces an earlier one.
    train().save(MODEL)
    files = fsspec.filesystem("ignite")
    print("saved:", *files.ls("/models/digits", detail=False))

    # Out of the cluster: a file as any other. The shell's command is: tensorflow-ignite fs cp ignite:///models/… .
    with tempfile.TemporaryDirectory() as folder:
        files.get(MODEL, f"{folder}/digits.keras")
        print("copied:", [path.name for path in Path(folder).iterdir()])
        outside = keras.models.load_model(f"{folder}/digits.keras")  # on any machine with Keras
    inside = keras.models.load_model(MODEL)  # on any that reaches the cluster
    zeros = np.zeros([1, 64], "float32")
    print("both predict the same:", np.array_equal(outside.predict(zeros, verbose=0), inside.predict(zeros, verbose=0)))

    # Each row of a cache with its key, a batch at a time; so do the results go into another cache.
    rows = tfi.dataset("digits_test", columns=["pixels", "label"], key=True)

    def predicted() -> object:
        for batch in rows.batch(512):
            shares = inside.predict_on_batch(scaled(batch["pixels"]))
            yield {"id": batch["_key"].numpy(), "digit": shares.argmax(1).astype("int32"), "share": shares.max(1)}

    print("predictions:", tfi.load("digits_predicted", predicted(), key="id", backups=1, if_exists="replace"))
    table = tfi.read_table("digits_predicted", key=True)
    labels = tfi.read_table("digits_test", columns=["label"], key=True)
    both = table.join(labels, "_key")
    print(f"right: {np.mean(both['digit'].to_numpy() == both['label'].to_numpy()):.2f}")


if __name__ == "__main__":
    main()
