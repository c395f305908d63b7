"""TFRecord: files in the page cache, the format that people export their data to."""

from __future__ import annotations

import tempfile
from pathlib import Path

import tensorflow as tf

import rows
from answer import serve
from touch import consumed, consumed_in_graph

BUFFER_BYTES = 8 << 20
FEATURES = {"pixels": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}


def write_large(path: Path, count: int) -> None:
    """Records that are nothing but their bytes."""
    row = rows.large_row().tobytes()
    with tf.io.TFRecordWriter(str(path)) as out:
        for _ in range(count):
            out.write(row)


def write_small(path: Path, count: int) -> None:
    """Records that are examples with pixels and a label."""
    with tf.io.TFRecordWriter(str(path)) as out:
        for pixels, label in zip(*rows.small_rows(count), strict=True):
            features = {
                "pixels": tf.train.Feature(bytes_list=tf.train.BytesList(value=[pixels.tobytes()])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(label)])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            out.write(example.SerializeToString())


def read(path: Path, batch: int) -> tf.data.Dataset:
    """Batches of raw records."""
    return tf.data.TFRecordDataset(str(path), buffer_size=BUFFER_BYTES).batch(batch)


def large_batches(path: Path) -> tf.data.Dataset:
    """Bytes, as a matrix."""

    def decode(records: tf.Tensor) -> tf.Tensor:
        return tf.io.decode_raw(records, tf.uint8, fixed_length=rows.LARGE_BYTES)

    return read(path, rows.LARGE_BATCH).map(decode).prefetch(2)


def small_batches(path: Path) -> tf.data.Dataset:
    """Pixels, as a matrix, and labels."""

    def decode(records: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        found = tf.io.parse_example(records, FEATURES)
        return tf.io.decode_raw(found["pixels"], tf.uint8, fixed_length=rows.SMALL_BYTES), found["label"]

    return read(path, rows.SMALL_BATCH).map(decode, num_parallel_calls=tf.data.AUTOTUNE).prefetch(4)


def main() -> None:
    """Writes the files, then answers."""
    args = rows.parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="tensorflow-ignite-bench-") as folder:
        large, small = Path(folder, "large"), Path(folder, "small")
        write_large(large, args.large)
        write_small(small, args.small)
        large_read, small_read = large_batches(large), small_batches(small)
        serve(
            {
                "tfrecord_1mb": consumed(lambda: large_read, lambda data: data),
                "tfrecord_small": consumed(lambda: small_read, lambda batch: batch[0]),
                "tfrecord_small_graph": consumed_in_graph(small_read, lambda batch: batch[0]),
            }
        )


if __name__ == "__main__":
    main()
