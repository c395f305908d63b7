"""train_ps.py FOLDER CACHE: schedules steps until every worker has read its rows to the end, once."""

import json
import sys
from pathlib import Path

import tensorflow_ignite as tfi

strategy = tfi.train.strategy()

import tensorflow as tf  # noqa: E402

folder, cache = Path(sys.argv[1]), sys.argv[2]
workers = tfi.train.context().num_workers
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    seen = tf.Variable(0, dtype=tf.int64)


def rows() -> tf.data.Dataset:
    """The rows of the worker that runs it, then the sign of their end."""
    ids = tfi.dataset(cache, columns=["id"]).batch(32).map(lambda row: row["id"])
    return ids.concatenate(tf.data.Dataset.from_tensors(tf.constant([-1], tf.int64)).repeat())


@tf.function
def step(iterator: tf.data.Iterator) -> tf.Tensor:
    """One batch of one worker, counted on the parameter server."""
    ids = next(iterator)
    seen.assign_add(tf.math.count_nonzero(ids >= 0))
    return ids


expected = sum(worker.rows for worker in tfi.train.context().assignment)
iterator = iter(coordinator.create_per_worker_dataset(rows))
batches: list[list[int]] = []
while int(seen.numpy()) < expected:
    results = [coordinator.schedule(step, args=(iterator,)) for _ in range(workers)]
    coordinator.join()
    batches += [[int(number) for number in result.fetch()] for result in results]
(folder / "batches.json").write_text(json.dumps([batch for batch in batches if batch != [-1]]))
print(f"{int(seen.numpy())} rows seen", flush=True)
