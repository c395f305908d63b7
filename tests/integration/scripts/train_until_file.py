"""train_until_file.py FOLDER: steps with a checkpoint each second, until there is a file FOLDER/end.

Each process appends a line ATTEMPT STEP to FOLDER/steps.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import tensorflow as tf

import tensorflow_ignite as tfi

folder = Path(sys.argv[1])
here = tfi.train.context()
strategy = tfi.train.strategy()
with strategy.scope():
    total = tf.Variable(0.0)
checkpoint = tfi.train.checkpoint(every_seconds=1, total=total)
rows = tfi.dataset(here.cache, columns=["x"]).repeat().batch(32)
batches = iter(rows)
for step in checkpoint.steps(10**9):
    next(batches)
    if here.index == 0:
        with (folder / "steps").open("a") as file:
            file.write(f"{here.attempt} {step}\n")
    if checkpoint.is_on_all((folder / "end").exists()):
        break
    time.sleep(0.05)
