"""read_epochs.py CACHE EPOCHS: reads a cache some times, and prints how long that took and how many rows there were."""

import sys
import time

import tensorflow_ignite as tfi

cache, epochs = sys.argv[1], int(sys.argv[2])
rows = tfi.dataset(cache, partitions="all", snapshot=False)
begin = time.monotonic()
counts = [sum(1 for _ in rows) for _ in range(epochs)]
print("read", time.monotonic() - begin, *counts, flush=True)
