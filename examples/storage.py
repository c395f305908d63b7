"""Files inside the cluster without any job: written and read by pandas, fsspec and TensorFlow, as if on a disk.

    tensorflow-ignite node &
    python storage.py                    # asks localhost:10820; or TENSORFLOW_IGNITE_ADDRESS=HOST:PORT

Needs pandas. Prints what each step finds. The directory ignite:///examples/storage is made anew each time.
"""

import fsspec
import numpy as np
import pandas as pd
import tensorflow as tf

# This import is what makes TensorFlow know ignite://, before or after TensorFlow's own.
import tensorflow_ignite as tfi  # noqa: F401

ROOT = "ignite:///examples/storage"


def main() -> None:
    """Does what docs/storage.md describes."""
    files = fsspec.filesystem("ignite")
    if files.exists(ROOT):
        files.rm(ROOT, recursive=True)

    # Any library that opens URLs by fsspec. Missing directories are made.
    trips = pd.DataFrame({"id": range(1_000), "fare": np.arange(1_000) / 4})
    trips.to_parquet(f"{ROOT}/trips/2026.parquet")
    fares = pd.read_parquet(f"{ROOT}/trips/2026.parquet", columns=["fare"])
    print(f"{len(fares)} fares, {fares.fare.mean()} on average")

    # A file appears when it is closed, whole; and not at all when the block raises.
    with fsspec.open(f"{ROOT}/notes.txt", "w") as notes:
        notes.write("first line\n")
        print("while it is written:", files.exists(f"{ROOT}/notes.txt"))
    with fsspec.open(f"{ROOT}/notes.txt", "a") as notes:
        notes.write("second line\n")
    print("afterwards:", files.cat_file(f"{ROOT}/notes.txt"))
    print("its bytes from 6 to 10:", files.cat_file(f"{ROOT}/notes.txt", start=6, end=10))

    # TensorFlow's own files: records, checkpoints, models, summaries.
    with tf.io.TFRecordWriter(f"{ROOT}/numbers.tfrecord") as writer:
        for number in range(100):
            writer.write(str(number).encode())
    numbers = tf.data.TFRecordDataset(f"{ROOT}/numbers.tfrecord").map(lambda text: tf.strings.to_number(text))
    print("sum of the records:", int(sum(numbers).numpy()))

    weights = tf.Variable(tf.random.normal([1_000, 100]))
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(weights=weights), f"{ROOT}/checkpoints", max_to_keep=2)
    for step in range(1, 4):
        weights.assign_add(tf.ones_like(weights))
        manager.save(checkpoint_number=step)
    saved = weights.numpy()
    weights.assign(tf.zeros_like(weights))
    manager.restore_or_initialize()
    print("restored:", np.array_equal(weights.numpy(), saved), "from", manager.latest_checkpoint)

    # A directory is renamed in one step, with all that is in it.
    tf.io.gfile.rename(f"{ROOT}/checkpoints", f"{ROOT}/best")
    print("kept:", *tf.io.gfile.glob(f"{ROOT}/best/*.index"))
    print("all there is:", *sorted(path.removeprefix("/examples/storage/") for path in files.ls(ROOT, detail=False)))


if __name__ == "__main__":
    main()
