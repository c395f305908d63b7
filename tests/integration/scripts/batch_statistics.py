"""Trains models of Keras 3 with BatchNormalization (FOLDER ROWS); results go to FOLDER/INDEX.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tensorflow_ignite as tfi

strategy = tfi.train.strategy()

import keras  # noqa: E402
import tensorflow as tf  # noqa: E402

folder, count = Path(sys.argv[1]), int(sys.argv[2])
here = tfi.train.context()
found: dict[str, Any] = {}
# The last batch has one row, and each worker has other values.
rows = tfi.dataset(here.cache, columns=["id"], partitions="all").batch(count - 1)


def features(row: Any) -> Any:
    x = tf.cast(row["id"], tf.float32)[:, None] / count
    return x + float(here.index), x


def fit(*layers: Any) -> list[float]:
    """The losses of a model, which is compiled in the scope of the strategy."""
    with strategy.scope():
        model = keras.Sequential([*layers, keras.layers.Dense(1)])
        model.compile("adam", "mse")
    losses = model.fit(rows.map(features), epochs=2, verbose=0).history["loss"]
    return [float(loss) for loss in losses]


with strategy.scope():
    base = keras.Sequential([keras.Input([1]), keras.layers.Dense(4), keras.layers.BatchNormalization()])
found["loss"] = fit(base)
found["weights"] = [np.asarray(weight).tolist() for weight in base.get_weights()]
base.trainable = False
found["loss of the second"] = fit(keras.Input([1]), base)
(folder / f"{here.index}.json").write_text(json.dumps(found))
