"""live_follow.py ADDRESS CACHE CONTROL: trains on rows as they are put, and measures how old each row is by then.

CONTROL is a file of 8-byte numbers: first the number of rows that steps have used, then a histogram of the time from
the put of a row to the end of the step that has used it, in buckets of BUCKET_MILLIS. The last bucket has all older
rows.
"""

from __future__ import annotations

import sys
import time

import numpy as np

BUCKETS = 2_000
BUCKET_MILLIS = 5
NUMBERS = 1 + BUCKETS
BATCH = 256


def main() -> None:
    """Trains until it is killed."""
    import keras

    import tensorflow_ignite as tfi

    address, cache, control = sys.argv[1:4]
    numbers = np.memmap(control, np.int64, "r+", shape=(NUMBERS,))
    layers = [keras.Input([16]), keras.layers.Dense(64, "relu"), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile("sgd", "mse")
    rows = tfi.dataset(
        cache,
        options=tfi.ReadOptions(address=address),
        changes=tfi.Changes(since=tfi.position(cache, options=tfi.ReadOptions(address=address)), follow=True),
    )
    for batch in rows.batch(BATCH):
        model.train_on_batch(batch["features"].to_tensor(shape=[None, 16]), batch["label"])
        ages = time.time() * 1000 - batch["put_at"].numpy()
        buckets = np.clip(ages // BUCKET_MILLIS, 0, BUCKETS - 1).astype(int)
        numbers[1:] += np.bincount(buckets, minlength=BUCKETS)
        numbers[0] += len(ages)


if __name__ == "__main__":
    main()
