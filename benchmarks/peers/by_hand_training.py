"""A training by hand: workers with TF_CONFIG that read TFRecord files, each its own; without TF_CONFIG it starts them.

Prints one JSON object with the moment of CLOCK_MONOTONIC at which it started the workers. The input is written as
TensorFlow's guide on performance asks for: files are interleaved, examples are parsed in batches by all processors,
what was parsed is cached in memory, and batches are prefetched. No other place of the cache is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from by_hand_start import free_addresses

import training_fit
from training_fit import LABEL, SHUFFLED, Workload

BUFFER_BYTES = 8 << 20
# Examples that are parsed at once.
PARSED = 1_000


def rows_of(workload: Workload, files: list[str]) -> Any:
    """The endless dataset of these files."""
    import tensorflow as tf

    is_bytes = workload.type is np.uint8
    feature = tf.io.FixedLenFeature([], tf.string) if is_bytes else tf.io.FixedLenFeature(workload.shape, tf.float32)
    label = tf.io.FixedLenFeature([], tf.int64 if workload.classes else tf.float32)
    spec = {**dict.fromkeys(workload.features, feature), LABEL: label}

    def parse(records: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        found = tf.io.parse_example(records, spec)
        features = training_fit.stacked(workload, found)
        if is_bytes:
            features = tf.io.decode_raw(features, tf.uint8, fixed_length=workload.shape[0])
        return features, tf.cast(found[LABEL], tf.int32 if workload.classes else tf.float32)

    def scale(features: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return training_fit.scaled(workload, features), label

    every = tf.data.AUTOTUNE
    records = tf.data.Dataset.from_tensor_slices(files).interleave(
        lambda file: tf.data.TFRecordDataset(file, buffer_size=BUFFER_BYTES),
        cycle_length=len(files),
        num_parallel_calls=every,
    )
    parsed = records.batch(PARSED).map(parse, num_parallel_calls=every).cache()
    batches = parsed.unbatch().shuffle(SHUFFLED).repeat().batch(workload.batch)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return batches.map(scale, num_parallel_calls=every).prefetch(every).with_options(options)


def work(name: str, rows: int, epochs: int, folder: str, files: Path, rank: int) -> None:
    """One worker."""
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    own = sorted(str(file) for file in files.glob(f"{rank}-*.tfrecord"))
    training_fit.fit(name, rows, epochs, strategy, lambda workload: rows_of(workload, own), folder, rank)


def start(workers: int) -> None:
    """Starts the workers, and waits until they have ended."""
    addresses = free_addresses(workers)
    print(json.dumps({"started": time.monotonic()}), flush=True)
    processes = []
    try:
        for index in range(workers):
            config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
            environment = {**os.environ, "TF_CONFIG": json.dumps(config)}
            processes.append(subprocess.Popen([sys.executable, *sys.argv], env=environment))
        for index, process in enumerate(processes):
            if process.wait() != 0:
                raise RuntimeError(f"worker {index} ended with exit code {process.returncode}")
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main() -> None:
    """A worker that TF_CONFIG describes, or all of them."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("workload", choices=list(training_fit.WORKLOADS))
    options.add_argument("rows", type=int)
    options.add_argument("epochs", type=int)
    options.add_argument("folder", help="for what the workers measure")
    options.add_argument("--files", type=Path, required=True, help="the folder of the exported rows")
    options.add_argument("--workers", type=int, required=True)
    given = options.parse_args()
    if "TF_CONFIG" in os.environ:
        rank = int(json.loads(os.environ["TF_CONFIG"])["task"]["index"])
        work(given.workload, given.rows, given.epochs, given.folder, given.files, rank)
    else:
        start(given.workers)


if __name__ == "__main__":
    main()
