"""Ray Data: rows that lie in its object store already, as batches of TensorFlow.

Needs an environment with ray[data] 2.60 and tensorflow.
"""

from __future__ import annotations

import os

import numpy as np
import ray

import rows
from answer import serve
from touch import consumed

STORE_BYTES = 6 << 30
# How many rows make a block of the object store.
LARGE_BLOCK = 20
SMALL_BLOCK = 6_000


def main() -> None:
    """Fills the object store, then answers."""
    args = rows.parser(__doc__).parse_args()
    ray.init(num_cpus=os.cpu_count(), include_dashboard=False, log_to_driver=False, object_store_memory=STORE_BYTES)
    row = rows.large_row()
    counts = [min(LARGE_BLOCK, args.large - first) for first in range(0, args.large, LARGE_BLOCK)]
    large = ray.data.from_numpy([np.stack([row] * count) for count in counts]).materialize()
    pixels, _ = rows.small_rows(args.small)
    small = ray.data.from_numpy(
        [pixels[first : first + SMALL_BLOCK] for first in range(0, args.small, SMALL_BLOCK)]
    ).materialize()
    del pixels

    def batches(dataset, size: int, prefetch: int):
        return lambda: dataset.iter_tf_batches(batch_size=size, prefetch_batches=prefetch)

    serve(
        {
            "ray_1mb": consumed(batches(large, rows.LARGE_BATCH, 2), lambda batch: batch["data"]),
            "ray_small": consumed(batches(small, rows.SMALL_BATCH, 4), lambda batch: batch["data"]),
        }
    )
    ray.shutdown()


if __name__ == "__main__":
    main()
