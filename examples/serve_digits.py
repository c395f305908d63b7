"""Predictions online: train, export, serve on the nodes, call; replace the version while callers call, and roll back.

    TENSORFLOW_IGNITE_HTTP_PORT=8501 tensorflow-ignite node &
    python serve_digits.py               # calls localhost:10820; or TENSORFLOW_IGNITE_ADDRESS=HOST:PORT

Needs the caches digits and digits_test; README.md of this folder says how to load them. Prints what each step finds.
Where a node has an HTTP port, it is called too, as TensorFlow Serving would be.
"""

import json
import urllib.request

import keras
import numpy as np

import tensorflow_ignite as tfi


def train(epochs: int) -> keras.Model:
    """A model of the rows of the cache digits."""
    layers = [keras.layers.Rescaling(1 / 16), keras.layers.Dense(64, "relu"), keras.layers.Dense(10, "softmax")]
    model = keras.Sequential([keras.Input([64], name="pixels"), *layers])
    model.compile(keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
    rows = tfi.dataset("digits", columns=["pixels", "label"], label="label", shuffle=True)
    batches = rows.batch(96).map(lambda features, label: (features["pixels"], label))
    model.fit(batches, epochs=epochs, verbose=0, shuffle=False)
    return model


def main() -> None:
    """Goes through what docs/predict.md says of models that nodes serve."""
    keras.utils.set_random_seed(0)  # the same weights at the beginning of each run
    table = tfi.read_table("digits_test", columns=["pixels", "label"])
    pixels, labels = np.stack(table["pixels"].to_numpy()), table["label"].to_numpy()
    with tfi.connect() as client:
        models = client.models
        quick, better = (tfi.train.export(train(epochs), "served_digits") for epochs in (1, 10))

        def right() -> str:
            """How many rows the nodes predict right; each call is one batch."""
            (shares,) = models.predict("served_digits", {"pixels": pixels}).values()
            return f"{np.mean(shares.argmax(1) == labels):.2f} of the rows are right"

        models.deploy(quick.reference)
        print("served:", right())
        # Loaded beside the first, which answers until the second one serves.
        deployment = models.deploy(better.reference)
        print("deployed:", deployment.current == better.number, "and", right())
        models.label(quick.reference, "stable")
        print("rolled back:", models.deployments()[-1].current == quick.number)
        models.label(better.reference, "stable")

        address = client.nodes()[0].http_address
        if address:
            body = json.dumps({"instances": pixels[:2].tolist()}).encode()
            with urllib.request.urlopen(f"http://{address}/v1/models/served_digits:predict", body) as answer:
                print("over HTTP:", np.argmax(json.load(answer)["predictions"], axis=1).tolist())
        models.undeploy("served_digits")


if __name__ == "__main__":
    main()
