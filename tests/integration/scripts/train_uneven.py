"""train_uneven.py FOLDER: reads two epochs of the job's cache under each `uneven`, in steps of all workers.

Each task that runs the script writes to FOLDER/ROLE-INDEX.json, for each `uneven`, the ids of its rows with a weight in
each epoch, or the error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import tensorflow_ignite as tfi

strategy = tfi.train.strategy()

import tensorflow as tf  # noqa: E402

folder, here = Path(sys.argv[1]), tfi.train.context()
EPOCHS, BATCH = 2, 48


def rows(uneven: str) -> tf.data.Dataset:
    return tfi.dataset(here.cache, columns=["id"], uneven=uneven).batch(BATCH).map(_with_weight)


def _with_weight(row: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
    return row["id"], row.get("_weight", tf.ones_like(row["id"], tf.float32))


def _with_weight_above_zero(ids: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    return tf.boolean_mask(ids, weights > 0)


with strategy.scope():
    total = tf.Variable(0, dtype=tf.int64, aggregation=tf.VariableAggregation.SUM)


def count(ids: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """The ids with a weight; every worker adds to their number, so none finishes a step without the others."""
    ids = _with_weight_above_zero(ids, weights)
    total.assign_add(tf.size(ids, tf.int64))
    return ids


def epochs_of_steps(uneven: str) -> list[list[int]]:
    """The ids of this worker, in each epoch."""
    distributed = strategy.experimental_distribute_dataset(rows(uneven))
    step = tf.function(lambda batch: strategy.run(count, args=batch))
    found = []
    for _ in range(EPOCHS):
        batches = [local for batch in distributed for local in strategy.experimental_local_results(step(batch))]
        found.append([int(number) for batch in batches for number in batch])
    return found


def epochs_of_servers(uneven: str) -> list[list[int]]:
    """The ids of all workers, of which each reads its rows to their end."""
    expected = sum(worker.rows for worker in here.assignment)

    def until_the_end() -> tf.data.Dataset:
        """The rows of the worker that runs it, then the sign of their end."""
        end = tf.data.Dataset.from_tensors((tf.constant([-1], tf.int64), tf.constant([0.0])))
        return rows(uneven).concatenate(end.repeat())

    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    step = tf.function(lambda iterator: _with_weight_above_zero(*next(iterator)))
    found = []
    for _ in range(EPOCHS):
        iterator = iter(coordinator.create_per_worker_dataset(until_the_end))
        ids: list[int] = []
        while len(ids) < expected:
            results = [coordinator.schedule(step, args=(iterator,)) for _ in range(here.num_workers)]
            ids += [int(number) for result in results for number in result.fetch()]
        found.append(ids)
    return found


result: dict[str, list[list[int]] | str] = {}
for uneven in ("repeat", "drop", "pad"):
    try:
        result[uneven] = (epochs_of_servers if here.rules.parameter_servers else epochs_of_steps)(uneven)
    except (tfi.errors.TensorFlowIgniteError, tf.errors.OpError) as error:
        result[uneven] = str(error)
(folder / f"{here.role}-{here.index}.json").write_text(json.dumps(result))
