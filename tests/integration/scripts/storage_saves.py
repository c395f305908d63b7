"""Saves checkpoints, each of a value that is its number; the third save stands still until somebody kills it.

The argument is a directory.
"""

from __future__ import annotations

import sys
import threading

import tensorflow as tf

from tensorflow_ignite.storage.tf import scheme

SHAPE = (2000, 2000)


def main(directory: str) -> None:
    """Saves twice, and begins a third time."""
    value = tf.Variable(tf.zeros(SHAPE))
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(value=value), directory, max_to_keep=2)
    for number in (1, 2, 3):
        value.assign_add(tf.ones(SHAPE))
        if number == 3:
            # All is written by then, under temporary names.
            scheme._calls.rename_path = stand_still
        manager.save()


def stand_still(source: str, target: str) -> None:
    print("in the middle of a save", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
