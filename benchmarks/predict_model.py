"""The model and the rows of the benchmark of predictions, which are the same for all contenders."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

SIDE = 28
PIXELS = SIDE * SIDE
CLASSES = 10
# Names of the columns; the first is the key.
ID = "id"
IMAGE = "image"
SCORES = "scores"
# The rows of a call of the model in bulk, as the product has them by default.
BATCH = 8_192
# Requests that differ.
BODIES = 64
_UNITS = 128


def images(rows: int) -> np.ndarray:
    """The rows: images of bytes, flat, in the order of their ids."""
    numbers = np.random.default_rng(0).integers(0, 256, (min(rows, BATCH), PIXELS), np.uint8)
    # Random numbers for all rows would take longer than a contender.
    repeated = np.resize(numbers, (rows, PIXELS))
    repeated[:, 0] = np.arange(rows) % 251
    return repeated


def save(folder: Path) -> Path:
    """Makes the model and saves it as a file of Keras."""
    import keras

    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input([PIXELS], name=IMAGE),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Dense(_UNITS, activation="relu"),
            keras.layers.Dense(CLASSES, activation="softmax", name=SCORES),
        ]
    )
    path = folder / "model.keras"
    model.save(path)
    return path


def load(path: str | os.PathLike[str]) -> Any:
    """The model of a file of Keras."""
    import keras

    return keras.models.load_model(path)


def bodies() -> list[str]:
    """Requests of one row each, in the JSON of TensorFlow Serving."""
    return [json.dumps({"instances": [row.tolist()]}, separators=(",", ":")) for row in images(BODIES)]
