"""A prediction by hand: TFRecord files, ``predict_on_batch`` of Keras, and a Parquet file; export and load.

    usage: by_hand_predict.py export|predict|load ...

``export`` writes the rows of a cache to TFRecord files, ``predict`` makes a Parquet file of them, and ``load`` loads
that into a new cache. Each prints one JSON object with its ``seconds``; those of ``predict`` begin when the model is
loaded. The input is written as TensorFlow's guide on performance asks for: examples are parsed in batches, by all
processors, and batches are prefetched. ``predict`` of Keras does the same for each batch, but its results do not say of
which rows they are.
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
import pyarrow.parquet as pq
import tensorflow as tf

import predict_model
from predict_model import BATCH, CLASSES, ID, IMAGE, PIXELS, SCORES

BUFFER_BYTES = 8 << 20


def write_examples(path: str, ids: np.ndarray, images: np.ndarray) -> None:
    """One file of examples."""
    feature, numbers, bytes_of = tf.train.Feature, tf.train.Int64List, tf.train.BytesList
    with tf.io.TFRecordWriter(path) as out:
        for number, image in zip(ids.tolist(), images, strict=True):
            features = {
                ID: feature(int64_list=numbers(value=[number])),
                IMAGE: feature(bytes_list=bytes_of(value=[image.tobytes()])),
            }
            out.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def export(address: str, cache: str, folder: Path) -> float:
    """Writes the rows of a cache to a file for each processor; returns the seconds."""
    import tensorflow_ignite as tfi

    # Before any thread is started.
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        begin = time.monotonic()
        table = tfi.read_table(
            cache, columns=[IMAGE], key=True, options=tfi.ReadOptions(address=address)
        ).combine_chunks()
        ids = table["_key"].to_numpy()
        images = table[IMAGE].combine_chunks().flatten().to_numpy().reshape(-1, PIXELS)
        parts = os.cpu_count() or 1
        names = [str(folder / f"{part}.tfrecord") for part in range(parts)]
        split = zip(names, np.array_split(ids, parts), np.array_split(images, parts), strict=True)
        pool.starmap(write_examples, split, chunksize=1)
        return time.monotonic() - begin


def predict(model_file: str, folder: Path, output: str) -> dict[str, float]:
    """Makes a Parquet file of the rows of all files."""
    spec = {ID: tf.io.FixedLenFeature([], tf.int64), IMAGE: tf.io.FixedLenFeature([], tf.string)}

    def parse(records: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        found = tf.io.parse_example(records, spec)
        return found[ID], tf.cast(tf.io.decode_raw(found[IMAGE], tf.uint8, fixed_length=PIXELS), tf.float32)

    model = predict_model.load(model_file)
    begin, used = time.monotonic(), time.process_time()
    files = sorted(str(file) for file in folder.glob("*.tfrecord"))
    records = tf.data.Dataset.from_tensor_slices(files).interleave(
        lambda file: tf.data.TFRecordDataset(file, buffer_size=BUFFER_BYTES),
        cycle_length=len(files),
        block_length=BATCH,
        num_parallel_calls=tf.data.AUTOTUNE,
    )
    batches = records.batch(BATCH).map(parse, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    schema = pa.schema([pa.field(ID, pa.int64()), pa.field(SCORES, pa.list_(pa.float32(), CLASSES))])
    rows, classes = 0, 0
    with pq.ParquetWriter(output, schema) as out:
        for ids, images in batches:
            scores = model.predict_on_batch(images)
            column = pa.FixedSizeListArray.from_arrays(pa.array(scores.reshape(-1)), CLASSES)
            out.write_batch(pa.record_batch([pa.array(ids.numpy()), column], schema=schema))
            rows += len(scores)
            classes += int(scores.argmax(axis=1).sum())
    seconds, used = time.monotonic() - begin, time.process_time() - used
    return {"seconds": seconds, "cpu_seconds": used, "rows": rows, "classes": classes}


def load(address: str, cache: str, file: str) -> float:
    """Loads the results into a new cache; returns the seconds."""
    import tensorflow_ignite as tfi

    begin = time.monotonic()
    tfi.load(cache, pq.read_table(file), key=ID, address=address)
    return time.monotonic() - begin


def main() -> None:
    """Runs one step."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("step", choices=("export", "predict", "load"))
    options.add_argument("--address", default="", help="of the cluster")
    options.add_argument("--cache", default="", help="that is exported, or that is made")
    options.add_argument("--model", default="", help="a file of Keras")
    options.add_argument("--folder", type=Path, required=True, help="of the TFRecord files")
    options.add_argument("--output", default="", help="the Parquet file")
    given = options.parse_args()
    if given.step == "export":
        found = {"seconds": export(given.address, given.cache, given.folder)}
    elif given.step == "predict":
        found = predict(given.model, given.folder, given.output)
    else:
        found = {"seconds": load(given.address, given.cache, given.output)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
