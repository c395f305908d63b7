"""A training with parameter servers: servers.py FOLDER HIDDEN. Its weight is the number of its steps."""

import sys
import time
from pathlib import Path

from ledger import Ledger

import tensorflow_ignite as tfi

ledger = Ledger(sys.argv[1])
ledger.start_child(sys.argv[2])
strategy = tfi.train.strategy()

import tensorflow as tf  # noqa: E402

ROUND_SECONDS = 0.2

context = tfi.train.context()
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    weight = tf.Variable(0.0)
    read = tf.Variable(0, dtype=tf.int64)
checkpoint = tfi.train.checkpoint(every_steps=5, weight=weight)
resumed = checkpoint.resumed_from_step


def endless() -> tf.data.Dataset:
    """The rows of the worker that runs it."""
    return tfi.dataset(context.cache, columns=["x"], shuffle=True).repeat().batch(32)


def once() -> tf.data.Dataset:
    """The rows of the worker that runs it, then the sign of their end."""
    ids = tfi.dataset(context.cache, columns=["x"]).batch(32).map(lambda row: tf.cast(row["x"], tf.int64))
    return ids.concatenate(tf.data.Dataset.from_tensors(tf.constant([-1], tf.int64)).repeat())


@tf.function
def step(iterator: tf.data.Iterator) -> tf.Tensor:
    return tf.size(next(iterator)["x"])


@tf.function
def count(iterator: tf.data.Iterator) -> tf.Tensor:
    """One batch of one worker, counted on the parameter server."""
    ids = next(iterator)
    read.assign_add(tf.math.count_nonzero(ids >= 0))
    return ids


iterator = iter(coordinator.create_per_worker_dataset(endless))
done = resumed
while not ledger.must_end():
    results = [coordinator.schedule(step, args=(iterator,)) for _ in range(context.num_workers)]
    coordinator.join()
    assert all(int(result.fetch()) > 0 for result in results)
    weight.assign_add(float(len(results)))
    done += len(results)
    tfi.train.report(done)
    checkpoint.save_if_due(done)
    ledger.say()
    ledger.use(Path("scratch"))
    time.sleep(ROUND_SECONDS)
checkpoint.save(done)

expected = sum(worker.rows for worker in context.assignment)
iterator = iter(coordinator.create_per_worker_dataset(once))
keys: list[int] = []
while int(read.numpy()) < expected:
    results = [coordinator.schedule(count, args=(iterator,)) for _ in range(context.num_workers)]
    coordinator.join()
    keys += [int(key) for result in results for key in result.fetch() if key >= 0]
ledger.rows("end", keys)
ledger.result(step=done, resumed=resumed, weight=float(weight.numpy()))
