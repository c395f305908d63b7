"""Predictions in bulk: train, add a version of a model, predict the rows of a cache inside the cluster, read by SQL.

    tensorflow-ignite node &
    python predict_digits.py             # asks localhost:10820; or TENSORFLOW_IGNITE_ADDRESS=HOST:PORT

Needs the caches digits and digits_test; README.md of this folder says how to load them. Prints what each step finds.
The shell's command of the third step is:

    tensorflow-ignite predict handwriting --cache digits_test --into digits_predicted_in_bulk --keep label
"""

import tempfile

import keras
import tensorflow as tf

import tensorflow_ignite as tfi

RESULTS = "digits_predicted_in_bulk"


class Handwriting(tf.Module):
    """A model whose outputs are one digit and its share, and not ten shares."""

    def __init__(self, model: keras.Model) -> None:
        """Wraps a model of Keras."""
        super().__init__()
        self.model = model

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, name="pixels")])
    def predict(self, pixels: tf.Tensor) -> dict[str, tf.Tensor]:
        """The names of inputs are columns of the rows, those of outputs columns of the results."""
        shares = self.model(pixels / 16.0)
        return {"digit": tf.argmax(shares, 1, tf.int32), "share": tf.reduce_max(shares, 1)}


def train() -> keras.Model:
    """A model of the rows of the cache digits."""
    model = keras.Sequential([keras.Input([64]), keras.layers.Dense(64, "relu"), keras.layers.Dense(10, "softmax")])
    model.compile(keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
    rows = tfi.dataset("digits", columns=["pixels", "label"], label="label", shuffle=True)
    batches = rows.batch(96).map(lambda features, label: (features["pixels"] / 16.0, label))
    model.fit(batches, epochs=10, verbose=0, shuffle=False)
    return model


def main() -> None:
    """Goes through what docs/predict.md says."""
    with tfi.connect() as client, tempfile.TemporaryDirectory() as folder:
        module = Handwriting(train())
        tf.saved_model.save(module, folder, signatures=module.predict)
        version = client.models.add("handwriting", folder)
        print("version:", version.reference, "takes", *version.signature().inputs)

        job = client.predict("handwriting", cache="digits_test", into=RESULTS, keep=["label"])
        print("job:", job.wait().state)

    results = tfi.read_table(RESULTS, key=True)
    print("columns:", ", ".join(results.column_names))
    right = tfi.read_table(RESULTS, sql="SELECT digit FROM DigitsPredictedInBulk WHERE digit = label").num_rows
    print(f"right: {right / results.num_rows:.2f} of {results.num_rows} rows")
    unsure = "SELECT p.digit, p.share, r.pixels FROM DigitsTest r JOIN DigitsPredictedInBulk p ON p._key = r._key"
    found = tfi.read_table("digits_test", sql=f"{unsure} WHERE p.share < 0.5")
    print(
        "with their rows:",
        found.column_names,
        found.num_rows == sum(share < 0.5 for share in results["share"].to_pylist()),
    )


if __name__ == "__main__":
    main()
