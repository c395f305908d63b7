"""Saves checkpoints, each of a value that tells its number, until somebody kills it; the argument is a directory."""

from __future__ import annotations

import sys

import tensorflow as tf

import tensorflow_ignite  # noqa: F401

SHAPE = (2000, 2000)


def main(directory: str) -> None:
    """Saves for ever."""
    value = tf.Variable(tf.zeros(SHAPE))
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(value=value), directory, max_to_keep=2)
    while True:
        value.assign_add(tf.ones(SHAPE))
        manager.save()
        print("saved", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
