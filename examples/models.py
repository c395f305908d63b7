"""A model as a version in the cluster, and back to its rows: train, add, copy, load, predict, write the results back.

    tensorflow-ignite node &
    python models.py                     # asks localhost:10820; or TENSORFLOW_IGNITE_ADDRESS=HOST:PORT

Needs the caches digits and digits_test; README.md of this folder says how to load them. Prints what each step finds. A
job makes a version by tfi.train.export(model, "digits"), when it succeeds.
"""

import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import tensorflow_ignite as tfi


def scaled(pixels: tf.Tensor) -> tf.Tensor:
    """Pixels from 0 to 1."""
    return tf.ensure_shape(pixels, [None, 64]) / 16.0


def train() -> keras.Model:
    """A model of the rows of the cache digits."""
    rows = tfi.dataset("digits", columns=["pixels", "label"], label="label", shuffle=True)
    model = keras.Sequential(
        [
            keras.Input([64], name="pixels"),
            keras.layers.Dense(64, "relu"),
            keras.layers.Dense(10, "softmax", name="digits"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
    batches = rows.batch(96).map(lambda features, label: (scaled(features["pixels"]), label))
    model.fit(batches, epochs=10, verbose=0, shuffle=False)
    return model


def main() -> None:
    """Goes through what docs/models.md says."""
    with tempfile.TemporaryDirectory() as folder, tfi.connect() as client:
        models = client.models
        train().save(f"{folder}/digits.keras")
        # The next version of the model, which never changes. The shell's command is: tensorflow-ignite model add … .
        made = models.add("digits", f"{folder}/digits.keras", label="stable")
        print(f"added: {made.reference}, which takes", *made.signature().inputs)

        version = models.get("digits")  # the one with the label stable
        models.download(version, Path(folder, "copy"))
        print("copied:", [path.name for path in Path(folder, "copy").iterdir()])
        outside = keras.models.load_model(f"{folder}/copy/model.keras")  # on any machine with Keras
        inside = keras.models.load_model(version.url)  # on any that reaches the cluster
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
