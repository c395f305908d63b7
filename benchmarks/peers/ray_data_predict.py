"""A prediction by Ray Data: rows that lie in its object store, ``map_batches`` with the model in actors, Parquet files.

Prints one JSON object with the ``seconds``, which begin when the model is loaded in each actor: reading begins then.
Needs an environment with ray[data] 2.60 and tensorflow.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import pyarrow.dataset
import ray
import ray_start
from ray.data import DataContext
from ray.data.extensions import ArrowTensorArray

import predict_model
from predict_model import BATCH, ID, IMAGE, SCORES

STORE_BYTES = 2 << 30
SECONDS_FOR_ACTORS = 120


class Scorer:
    """An actor with the model."""

    def __init__(self, model: str, loaded: str) -> None:
        """Loads the model, and notes when."""
        self._model = predict_model.load(model)
        Path(loaded, str(os.getpid())).write_text(repr(time.monotonic()))

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The results of a batch."""
        scores = self._model.predict_on_batch(batch[IMAGE].astype(np.float32))
        return {ID: batch[ID], SCORES: scores}


def main() -> None:
    """Runs one prediction."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("rows", type=int)
    options.add_argument("--model", required=True, help="a file of Keras")
    options.add_argument("--output", required=True, help="a folder for the Parquet files")
    options.add_argument("--actors", type=int, default=os.cpu_count())
    given = options.parse_args()
    with ray_start.started(STORE_BYTES) as folder:
        (folder / "loaded").mkdir()
        DataContext.get_current().wait_for_min_actors_s = SECONDS_FOR_ACTORS
        images, ids = predict_model.images(given.rows), np.arange(given.rows)
        # A block is a batch: so none is copied to make one.
        tables = [
            pyarrow.table(
                {
                    ID: ids[first : first + BATCH],
                    IMAGE: ArrowTensorArray.from_numpy(images[first : first + BATCH]),
                }
            )
            for first in range(0, given.rows, BATCH)
        ]
        rows = ray.data.from_arrow(tables).materialize()
        del images, tables
        rows.map_batches(
            Scorer,
            fn_constructor_args=(given.model, str(folder / "loaded")),
            batch_size=BATCH,
            batch_format="numpy",
            concurrency=given.actors,
        ).write_parquet(given.output)
        ended = time.monotonic()
        loaded = [float(file.read_text()) for file in (folder / "loaded").iterdir()]
    found = pyarrow.dataset.dataset(given.output).to_table()
    scores = found[SCORES].combine_chunks()
    classes = np.stack([np.asarray(row) for row in scores.to_numpy_ndarray()]).argmax(axis=1)
    print(
        json.dumps({"seconds": ended - max(loaded), "rows": found.num_rows, "classes": int(classes.sum())}),
        flush=True,
    )


if __name__ == "__main__":
    main()
