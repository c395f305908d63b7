"""Predictions by SQL: train, export, deploy, and queries that call the model for each row.

    python sql_digits.py                 # starts a node of its own on this machine; needs scikit-learn

The node has the property `sqlFunctions` of the bean TensorFlowService, and Ignite's port for thin clients. Prints what
each query finds. Nothing is left when it ends.
"""

import os
import socket
import tempfile
from pathlib import Path

import keras
import numpy as np
from pyignite import Client
from sklearn.datasets import load_digits

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster, node_configuration

THIN_PORT = """<property name="clientConnectorConfiguration">
  <bean class="org.apache.ignite.configuration.ClientConnectorConfiguration">
    <property name="host" value="127.0.0.1"/>
    <property name="port" value="{port}"/>
  </bean>
</property>"""


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def load() -> None:
    """A cache of handwritten digits, with an SQL table of the same name: id, pixels and label."""
    pixels, label = load_digits(return_X_y=True)
    columns = {"id": np.arange(len(label)), "pixels": pixels.astype("float32"), "label": label}
    tfi.load("digits", columns, key="id")


def train() -> keras.Model:
    """A model that gives ten shares for a row of 64 pixels, trained on the first 1,437 rows."""
    layers = [keras.layers.Rescaling(1 / 16), keras.layers.Dense(64, "relu"), keras.layers.Dense(10, "softmax")]
    model = keras.Sequential([keras.Input([64], name="pixels"), *layers])
    model.compile(keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
    rows = tfi.dataset("digits", columns=["pixels", "label"], label="label", shuffle=True, where="_key < 1437")
    batches = rows.batch(96).map(lambda features, label: (features["pixels"], label))
    model.fit(batches, epochs=10, verbose=0, shuffle=False)
    return model


def query(port: int) -> None:
    """The digit of a row is the index of the greatest share; TF_PREDICT_ARRAY gives all shares."""
    ignite = Client()
    with ignite.connect("127.0.0.1", port):

        def rows(select: str) -> list[list[object]]:
            with ignite.sql(select) as cursor:
                return list(cursor)

        test = 'FROM "digits".Digits WHERE id >= 1437'
        first = rows(f"SELECT id, label, TF_PREDICT('digits', pixels) {test} ORDER BY id LIMIT 3")
        print("first:", [(row, label, int(digit)) for row, label, digit in first])
        ((right,),) = rows(f"SELECT COUNT(*) {test} AND TF_PREDICT('digits', pixels) = label")
        print(f"right: {right / 360:.2f} of 360 rows")
        # pyignite returns an array as the id of its type and its values.
        (((_, shares),),) = rows(f"SELECT TF_PREDICT_ARRAY('digits', pixels) {test} AND id = 1437")
        print("shares:", len(shares), "with the sum", round(sum(shares), 3))


def main() -> None:
    """Starts the node, and goes through what docs/predict.md says of SQL."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder) / "node.xml"
        configuration.write_text(node_configuration(sqlFunctions=True, node=THIN_PORT.format(port=port)))
        with LocalCluster(1, config=configuration) as cluster:
            os.environ["TENSORFLOW_IGNITE_ADDRESS"] = cluster.address
            load()
            version = tfi.train.export(train(), "digits")
            with tfi.connect() as client:
                client.models.deploy(version.reference)
                query(port)
                client.models.undeploy("digits")


if __name__ == "__main__":
    main()
