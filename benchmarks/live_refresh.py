"""live_refresh.py ADDRESS ROWS ROUNDS: what an epoch costs of all rows, and of 1 % that has changed; prints JSON.

An epoch of all rows reads them from the nodes. An epoch of a snapshot first reads what has changed: the time to its
first batch is that of the refresh. The rows have 20 columns of float32 and a key.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

import tensorflow_ignite as tfi

if TYPE_CHECKING:
    import tensorflow as tf

CACHE = "changing"
COLUMNS = 20
PARTITIONS = 48
BATCH = 4_096
CHANGED_SHARE = 0.01
# Nodes know all changes from two seconds after the first read on.
SETTLED_SECONDS = 3.0
# Until a node does not take the load for work of an application any more, to which it yields.
QUIET_SECONDS = 0.5


def rows_of(keys: np.ndarray, version: int) -> dict[str, np.ndarray]:
    """Rows with these keys."""
    values = np.float32(keys % 1_000 + version)
    return {"id": keys, **{f"value_{number}": values for number in range(COLUMNS)}}


def epoch(dataset: tf.data.Dataset) -> tuple[float, float, int]:
    """Seconds to the first batch and to the last one, and the number of rows."""
    begin = time.monotonic()
    first, rows = 0.0, 0
    for batch in dataset:
        first = first or time.monotonic() - begin
        rows += int(batch["value_0"].shape[0])
    return first, time.monotonic() - begin, rows


def main() -> None:
    """Measures all in turns."""
    address, rows, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    tfi.load(CACHE, rows_of(np.arange(rows), 0), key="id", backups=1, partitions=PARTITIONS, address=address)
    columns = [f"value_{number}" for number in range(COLUMNS)]
    fresh = tfi.dataset(CACHE, columns=columns, snapshot=False, options=tfi.ReadOptions(address=address)).batch(BATCH)
    kept = tfi.dataset(
        CACHE, columns=columns, snapshot="refresh", options=tfi.ReadOptions(memory="4GB", address=address)
    ).batch(BATCH)
    epoch(kept)
    time.sleep(SETTLED_SECONDS)
    random = np.random.default_rng(0)
    found: dict[str, list[float]] = {}
    # The first round brings memory into use, and does not count.
    for number in range(rounds + 1):
        unchanged, _, _ = epoch(kept)
        _, full, count = epoch(fresh)
        if count != rows:
            raise RuntimeError(f"{count} rows arrived of {rows}")
        changed = random.choice(rows, int(rows * CHANGED_SHARE), replace=False)
        tfi.load(CACHE, rows_of(changed, number + 1), key="id", if_exists="append", address=address)
        time.sleep(QUIET_SECONDS)
        refresh, whole, _ = epoch(kept)
        if number:
            for name, value in {
                "full_epoch_seconds": full,
                "refresh_1_percent_seconds": refresh,
                "refresh_nothing_seconds": unchanged,
                "refreshed_epoch_seconds": whole,
            }.items():
                found.setdefault(name, []).append(value)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
