"""ledger.py FOLDER: a mirrored training without end; each worker writes every step that it has done into its ledger.

FOLDER/ledger-ATTEMPT-INDEX has one line for each step: its number. Only a planned end saves a checkpoint.
"""

import sys
import time
from pathlib import Path

import tensorflow_ignite as tfi

strategy = tfi.train.strategy()

import tensorflow as tf  # noqa: E402

folder, here = Path(sys.argv[1]), tfi.train.context()
with strategy.scope():
    weight = tf.Variable(0.0)
checkpoint = tfi.train.checkpoint(every_steps=10**9, weight=weight)


@tf.function
def train() -> None:
    weight.assign_add(strategy.reduce("MEAN", strategy.run(lambda: tf.constant(1.0)), axis=None))


with (folder / f"ledger-{here.attempt}-{here.index}").open("w", buffering=1) as ledger:
    print(f"begins at step {checkpoint.resumed_from_step}", flush=True)
    for step in checkpoint.steps(10**9):
        # A machine with two processors trains and starts nodes at the same time.
        time.sleep(0.05)
        train()
        assert int(weight.numpy()) == step
        ledger.write(f"{step}\n")
        tfi.train.report(step)
