"""Rows as they are put: an epoch of what is new, and a training that follows a cache.

    tensorflow-ignite node &
    python follow.py                     # asks localhost:10820; or TENSORFLOW_IGNITE_ADDRESS=HOST:PORT

Makes a cache of sensor readings, y = 3 x, and puts more of them while it learns the 3. docs/changing-data.md says what
is promised.
"""

import threading

import keras
import numpy as np
import tensorflow as tf

import tensorflow_ignite as tfi

CACHE = "readings"


def put(first: int, count: int) -> None:
    """Puts readings with the keys from ``first`` on."""
    x = np.random.default_rng(first).random(count, np.float32)
    rows = {"id": np.arange(first, first + count), "x": x, "y": 3 * x}
    tfi.load(CACHE, rows, key="id", if_exists="append", backups=1)


def vector(row: dict[str, tf.Tensor], y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """A batch of numbers as a batch of vectors."""
    return row["x"][:, None], y[:, None]


def main() -> None:
    """Goes through what docs/changing-data.md says of rows that are new."""
    put(0, 1_000)
    position = tfi.position(CACHE)  # now; position.to_json() is a text that a script can keep
    put(1_000, 50)
    put(10, 5)
    new = tfi.dataset(CACHE, key=True, columns=["x"], changes=tfi.Changes(since=position))
    print("new:", sum(len(batch["x"]) for batch in new.batch(100)), "rows")

    model = keras.Sequential([keras.Input([1]), keras.layers.Dense(1, use_bias=False)])
    model.compile(keras.optimizers.SGD(0.5), "mse")
    # Another process would do this; here a thread puts 100 readings, again and again.
    stop = threading.Event()

    def write() -> None:
        for first in range(2_000, 1_000_000, 100):
            put(first, 100)
            if stop.wait(0.05):
                return

    writer = threading.Thread(target=write)
    writer.start()
    # First what was put after the position, and then what is put: it has no end.
    rows = tfi.dataset(CACHE, columns=["x", "y"], label="y", changes=tfi.Changes(since=position, follow=True))
    model.fit(rows.batch(64).map(vector), steps_per_epoch=10, epochs=5, verbose=0)
    stop.set()
    writer.join()
    print(f"learned: {float(model.get_weights()[0][0, 0]):.2f}")


if __name__ == "__main__":
    main()
