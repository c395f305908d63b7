"""train_lists.py FOLDER: a `fit` over lists of four numbers whose last step has a row for one worker alone.

Each worker writes its weights to FOLDER/INDEX.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import tensorflow_ignite as tfi

strategy = tfi.train.strategy()

import keras  # noqa: E402

here = tfi.train.context()
# The workers with fewer rows repeat some, so that each has this number.
rows = max(worker.rows for worker in here.assignment)
with strategy.scope():
    inputs = keras.Input([4], name="list")
    model = keras.Model({"list": inputs}, keras.layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
data = tfi.dataset(here.cache, columns=["list", "y"], label="y").batch(rows - 1)
model.fit(data, validation_data=data, epochs=2, verbose=0)
model.predict(data, verbose=0)
weights = [float(number) for number in model.get_weights()[0].ravel()]
(Path(sys.argv[1]) / f"{here.index}.json").write_text(json.dumps(weights))
