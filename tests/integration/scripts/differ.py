"""differ.py FOLDER LIBRARY: workers with different states begin to train; errors go to FOLDER/INDEX.json."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tensorflow_ignite as tfi

strategy = tfi.train.strategy()

import importlib  # noqa: E402

import tensorflow as tf  # noqa: E402

folder, keras = Path(sys.argv[1]), importlib.import_module(sys.argv[2])  # type: Path, Any
here = tfi.train.context()
own = float(here.index)
X = np.ones([8, 1], np.float32)
errors: dict[str, str] = {}


def attempted(name: str, call: Callable[[], Any]) -> None:
    """Keeps the error of a call."""
    try:
        call()
        errors[name] = ""
    except Exception as error:
        errors[name] = str(error)


class WithMaximum(keras.layers.Normalization):  # type: ignore[misc]
    """A layer that learns more than that of Keras."""

    maximum = 0.0

    def adapt(self, data: Any) -> None:
        for batch in data:
            self.maximum = max(self.maximum, float(np.max(batch)))
        super().adapt(data)

    def state_dict(self) -> Any:
        return {"maximum": self.maximum}

    def load_state_dict(self, state: Any) -> None:
        self.maximum = state["maximum"]


def model_of(*layers: Any) -> Any:
    """A model of these layers, and one with a weight."""
    with strategy.scope():
        inputs = keras.Input([1], dtype="int64" if hasattr(layers[0], "lookup_table") else "float32")
        outputs = inputs
        for layer in layers:
            outputs = layer(outputs)
        model = keras.Model(inputs, keras.layers.Dense(1)(outputs))
        model.compile("sgd", "mse")
    return model


def fit(model: Any, x: Any = X) -> None:
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    model.fit(tf.data.Dataset.from_tensor_slices((x, X)).batch(8).with_options(options), verbose=0)


with strategy.scope():
    normal = keras.layers.Normalization(name="of_one_worker")
    # Of arrays Keras' own adapt learns, on each worker alone.
    normal.adapt(X * own)
attempted("mean", lambda: fit(model_of(normal)))
lookup = keras.layers.IntegerLookup(vocabulary=[1, 2 + (here.index == 1)], name="other_words")
dense = keras.layers.Rescaling(1.0)
attempted("vocabulary", lambda: fit(model_of(lookup, dense), X.astype("int64")))
attempted("variable", lambda: tfi.train.checkpoint(directory="", counter=tf.Variable(own)))
rows = tfi.dataset(here.cache).batch(64).map(lambda row: row["x"][:, None])
with strategy.scope():
    bins = keras.layers.Discretization(num_bins=3 if here.index == 1 else 4, name="bins")
attempted("order", lambda: tfi.train.adapt(bins, rows))
named = keras.layers.Normalization(name="second" if here.index == 1 else "first")
attempted("name", lambda: tfi.train.adapt(named, rows))
column = "y" if here.index == 1 else "x"
of_column = (
    tfi.dataset(here.cache, columns=["x", "y"]).batch(64).map(lambda row: tf.cast(row[column], tf.float32)[:, None])
)
attempted("column", lambda: keras.layers.Normalization().adapt(of_column))
# Only the first worker reads the rows, and finds that there are not three in a batch.
attempted("failed", lambda: keras.layers.Normalization(name="fails").adapt(rows.map(lambda x: tf.reshape(x, [3, 1]))))
with strategy.scope():
    shared = keras.layers.Normalization(name="shared")
    tfi.train.adapt(shared, X * (own + 3))
errors["shared"] = str(float(np.ravel(shared.mean)[0]))
own_adapt = WithMaximum()
tfi.train.adapt(own_adapt, rows)
errors["maximum"] = f"{own_adapt.maximum} {float(np.ravel(own_adapt.mean)[0]):.1f}"
exact = tfi.dataset(here.cache, exact=True).batch(64).map(lambda row: row["x"][:, None])
attempted("exact", lambda: keras.layers.Normalization(name="exact").adapt(exact))
kept = tfi.dataset(here.cache).batch(64).cache().map(lambda row: row["x"][:, None])
attempted("cache", lambda: keras.layers.Normalization(name="kept").adapt(kept))
(folder / f"{here.index}.json").write_text(json.dumps(errors))
