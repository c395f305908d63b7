"""adapt_layers.py FOLDER LIBRARY few|many: layers learn from the job's rows; run 1 of many layers fails at its end.

Each task that runs the script writes to FOLDER/ROLE-INDEX-RUN.json what its layers have learned, how many rows it
has read for that, and its predictions after the training.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import tensorflow_ignite as tfi

strategy = tfi.train.strategy()

import importlib  # noqa: E402

import tensorflow as tf  # noqa: E402

from tensorflow_ignite.data.epochs import input_totals  # noqa: E402

folder, library, case = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
keras: Any = importlib.import_module(library)
here = tfi.train.context()
rows = tfi.dataset(here.cache, label="y", uneven="pad").batch(64)
numbers = rows.map(lambda features, *_: features["x"][:, None])
texts = rows.map(lambda features, *_: features["word"])
found: dict[str, Any] = {}
# A client process is started again alone, within its attempt.
run = here.attempt + (here.incarnation if here.kind == "parameter-server" else 0)
expected = {"one": 2, "parameter-server": 1}.get(here.kind, here.num_workers)


def learned(layer: Any) -> Any:
    """What a layer knows, as JSON."""
    if hasattr(layer, "get_vocabulary"):
        config = layer.get_config()
        probe = layer(tf.constant([["w1 w2"]])) if config.get("output_mode") == "tf_idf" else None
        return [layer.get_vocabulary(), None if probe is None else np.asarray(probe).tolist()]
    if hasattr(layer, "mean"):
        return [np.ravel(layer.mean).tolist(), np.ravel(layer.variance).tolist()]
    return list(map(float, layer.bin_boundaries))


def fail_once() -> None:
    """The first run puts a row that changes each mean, and fails."""
    if case == "many" and run == 1 and here.is_chief:
        while len(list(folder.glob("*-1.json"))) < expected:
            time.sleep(0.05)
        further = {"id": [-1], "x": np.array([1e6], np.float32), "word": ["new"], "y": np.zeros(1, np.float32)}
        tfi.load(here.cache, further, key="id", if_exists="append")
        os._exit(1)


with strategy.scope():
    normal = keras.layers.Normalization(axis=-1)
    normal.adapt(numbers)
    if case == "many":
        idf = keras.layers.TextVectorization(output_mode="tf_idf", max_tokens=2000)
        idf.adapt(texts)
    inputs = keras.Input([1])
    model = keras.Model(inputs, keras.layers.Dense(1)(normal(inputs)))
    model.compile("sgd", "mse")
words = keras.layers.StringLookup()
words.adapt(texts)
found["normal"], found["words"] = learned(normal), learned(words)
if case == "many":
    found["idf"] = learned(idf)
    bins = keras.layers.Discretization(num_bins=4)
    tfi.train.adapt(bins, numbers)
    found["bins"] = learned(bins)
    space = keras.utils.FeatureSpace(
        {"x": keras.utils.FeatureSpace.float_normalized(), "word": keras.utils.FeatureSpace.string_categorical()},
        output_mode="concat",
    )
    space.adapt(rows.map(lambda features, *_: {"x": features["x"], "word": features["word"]}))
    encoded = space({"x": tf.constant([[1.0]]), "word": tf.constant([["w1"]])})
    found["space"] = [encoded.shape[-1], float(np.ravel(encoded)[-1]), np.flatnonzero(np.ravel(encoded)).tolist()]
    try:
        words.adapt(texts.repeat())
    except tfi.errors.InvalidRequestError as error:
        found["infinite"] = str(error)
found["read"] = input_totals.totals().rows
callbacks = [tfi.train.CheckpointCallback()]
if here.kind != "parameter-server" and not here.is_evaluator:
    model.fit(
        rows.map(lambda features, y, weight: (features["x"][:, None], y, weight)),
        epochs=1,
        verbose=0,
        callbacks=callbacks,
    )
    found["answer"] = float(np.ravel(model(tf.constant([[1.0]])))[0])
part = folder / f"{here.role}-{here.index}-{run}.part"
part.write_text(json.dumps(found))
part.rename(part.with_suffix(".json"))
fail_once()
