"""train_mirrored.py FOLDER CACHE EPOCHS: one distributed pass an epoch, and a variable that all workers add to."""

import json
import sys
from pathlib import Path

import tensorflow_ignite as tfi

strategy = tfi.train.strategy()

import tensorflow as tf  # noqa: E402

folder, cache, epochs = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
here = tfi.train.context(cache=cache)
# Workers take equal steps; what one lacks is filled with rows of weight 0, so that each row comes once.
dataset = tfi.dataset(cache, columns=["id"], uneven="pad").batch(48)
print(f"autotuner: {dataset.options().autotune.enabled}", flush=True)
distributed = strategy.experimental_distribute_dataset(dataset)
with strategy.scope():
    seen = tf.Variable(0, dtype=tf.int64, aggregation=tf.VariableAggregation.SUM)


def count(row: dict[str, tf.Tensor]) -> tf.Tensor:
    """Adds the rows of this step, those of all workers."""
    ids = tf.boolean_mask(row["id"], row["_weight"] > 0)
    seen.assign_add(tf.size(ids, tf.int64))
    return ids


@tf.function
def step(row: dict[str, tf.Tensor]) -> tf.Tensor:
    return strategy.run(count, args=(row,))


for epoch in range(epochs):
    mine: list[int] = []
    for row in distributed:
        for local in strategy.experimental_local_results(step(row)):
            mine += [int(number) for number in local.numpy()]
    (folder / f"{here.role}-{here.index}-{epoch}.json").write_text(json.dumps(mine))
    print(f"epoch {epoch}: {int(seen.numpy())} rows seen", flush=True)
