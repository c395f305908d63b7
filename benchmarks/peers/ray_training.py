"""A training by Ray Train's TensorflowTrainer, whose rows Ray Data holds in its object store.

Prints one JSON object: ``started``, the moment of CLOCK_MONOTONIC when Ray runs already and the rows are in files, and
``loaded_seconds``, after which they are in the object store. Needs an environment with ray[data,train] 2.60,
tensorflow and tf-keras.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import ray
import ray.train
import ray_start
from ray.data.extensions import ArrowTensorArray
from ray.train import RunConfig, ScalingConfig
from ray.train.tensorflow import TensorflowTrainer

import training_fit
from training_fit import LABEL, SHUFFLED, WORKLOADS, Workload

STORE_BYTES = 1 << 30
BLOCKS_PER_WORKER = 2


def load(workload: Workload, files: Path, blocks: int) -> ray.data.Dataset:
    """The exported columns, in the object store."""
    columns = {name: np.load(files / f"{name}.npy") for name in (*workload.features, LABEL)}
    split = {name: np.array_split(values, blocks) for name, values in columns.items()}

    def array(values: np.ndarray) -> pa.Array:
        return pa.array(values) if values.ndim == 1 else ArrowTensorArray.from_numpy(values)

    tables = [pa.table({name: array(values[block]) for name, values in split.items()}) for block in range(blocks)]
    return ray.data.from_arrow(tables).materialize()


def train(config: dict[str, Any]) -> None:
    """What each worker runs."""
    import tensorflow as tf

    shard = ray.train.get_dataset_shard("train")

    def dataset(workload: Workload) -> tf.data.Dataset:
        batches = shard.to_tf(
            feature_columns=list(workload.features),
            label_columns=LABEL,
            batch_size=workload.batch,
            local_shuffle_buffer_size=SHUFFLED,
        )

        def inputs(features: dict[str, tf.Tensor], label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return training_fit.scaled(workload, training_fit.stacked(workload, features)), label

        return batches.repeat().map(inputs, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rank = ray.train.get_context().get_world_rank()
    training_fit.fit(config["workload"], config["rows"], config["epochs"], strategy, dataset, config["folder"], rank)


def main() -> None:
    """Runs one training."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("workload", choices=list(WORKLOADS))
    options.add_argument("rows", type=int)
    options.add_argument("epochs", type=int)
    options.add_argument("folder", help="for what the workers measure")
    options.add_argument("--files", type=Path, required=True, help="the folder of the exported rows")
    options.add_argument("--workers", type=int, required=True)
    given = options.parse_args()
    with ray_start.started(STORE_BYTES) as folder:
        started = time.monotonic()
        rows = load(WORKLOADS[given.workload], given.files, given.workers * BLOCKS_PER_WORKER)
        loaded = time.monotonic()
        config = {name: getattr(given, name) for name in ("workload", "rows", "epochs", "folder")}
        TensorflowTrainer(
            train,
            train_loop_config=config,
            datasets={"train": rows},
            scaling_config=ScalingConfig(num_workers=given.workers),
            run_config=RunConfig(storage_path=str(folder / "storage")),
        ).fit()
    print(json.dumps({"started": started, "loaded_seconds": loaded - started}))


if __name__ == "__main__":
    main()
