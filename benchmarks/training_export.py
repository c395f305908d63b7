"""Rows of a cache as files: what a training that is not a job of the cluster needs first.

Prints one JSON object with the seconds, from the first row to the last file. Rows are read by ``tfi.read_table``, the
fastest way out of the cluster; a process for each processor writes TFRecord files of examples.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import tensorflow as tf

import tensorflow_ignite as tfi
from training_fit import LABEL, WORKLOADS, Workload

FILES_PER_WORKER = 2


def numpy_of(table: pa.Table, workload: Workload) -> dict[str, np.ndarray]:
    """Columns of a table as arrays."""
    arrays = {}
    for name in (*workload.features, LABEL):
        column = table[name].combine_chunks()
        values = column if pa.types.is_primitive(column.type) else column.flatten()
        arrays[name] = values.to_numpy().reshape(len(table), *(() if name == LABEL else workload.shape))
    return arrays


def write_examples(path: str, name: str, columns: dict[str, np.ndarray]) -> None:
    """One file of examples, with a feature for each column; bytes are one text."""
    workload = WORKLOADS[name]
    feature, floats, bytes_of = tf.train.Feature, tf.train.FloatList, tf.train.BytesList

    def features(values: np.ndarray) -> list[tf.train.Feature]:
        if values.dtype == np.uint8:
            return [feature(bytes_list=bytes_of(value=[row.tobytes()])) for row in values]
        if values.dtype == np.int32:
            return [feature(int64_list=tf.train.Int64List(value=[value])) for value in values.tolist()]
        return [feature(float_list=floats(value=row)) for row in values.reshape(len(values), -1).tolist()]

    names = (*workload.features, LABEL)
    with tf.io.TFRecordWriter(path) as out:
        for row in zip(*(features(columns[each]) for each in names), strict=True):
            example = tf.train.Example(features=tf.train.Features(feature=dict(zip(names, row, strict=True))))
            out.write(example.SerializeToString())


def main() -> None:
    """Exports one cache once."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("format", choices=("tfrecord", "npy"))
    options.add_argument("--address", required=True)
    options.add_argument("--workload", choices=list(WORKLOADS), required=True)
    options.add_argument("--workers", type=int, required=True, help="each gets files of its own")
    options.add_argument("--folder", type=Path, required=True)
    given = options.parse_args()
    # Before any thread is started.
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        begin = time.monotonic()
        columns = numpy_of(
            tfi.read_table(given.workload, options=tfi.ReadOptions(address=given.address)), WORKLOADS[given.workload]
        )
        if given.format == "npy":
            for name, values in columns.items():
                np.save(given.folder / f"{name}.npy", values)
        else:
            parts = given.workers * FILES_PER_WORKER
            split = {name: np.array_split(values, parts) for name, values in columns.items()}
            work = [
                (
                    str(given.folder / f"{part % given.workers}-{part}.tfrecord"),
                    given.workload,
                    {name: values[part] for name, values in split.items()},
                )
                for part in range(parts)
            ]
            pool.starmap(write_examples, work, chunksize=1)
        seconds = time.monotonic() - begin
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
