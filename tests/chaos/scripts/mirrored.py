"""A training on all workers in step: mirrored.py FOLDER HIDDEN. Its weight is the number of its steps."""

import sys
import time
from pathlib import Path

from ledger import Ledger

import tensorflow_ignite as tfi

ledger = Ledger(sys.argv[1])
ledger.start_child(sys.argv[2])
strategy = tfi.train.strategy()

import tensorflow as tf  # noqa: E402

STEP_SECONDS = 0.1

context = tfi.train.context()
rows = tfi.dataset(context.cache, columns=["x"], shuffle=True, uneven="pad").repeat().batch(48)
with strategy.scope():
    weight = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)
checkpoint = tfi.train.checkpoint(every_steps=5, weight=weight)
resumed = checkpoint.resumed_from_step


@tf.function
def step(row: dict[str, tf.Tensor], ends: tf.Tensor) -> tf.Tensor:
    """One step on every worker; the number of workers that may end."""

    def replica(row: dict[str, tf.Tensor]) -> tf.Tensor:
        weight.assign_add(tf.ones([]) + 0.0 * tf.reduce_sum(tf.cast(row["x"], tf.float32)))
        return ends

    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica, args=(row,)), axis=None)


elements = checkpoint.iterate(strategy.experimental_distribute_dataset(rows))
for number in checkpoint.steps(10**9):
    row = next(elements)
    ending = int(step(row, tf.constant(1 if ledger.must_end() else 0)))
    (used,) = strategy.experimental_local_results(
        strategy.run(lambda row: tf.boolean_mask(row["x"], row["_weight"] > 0), args=(row,))
    )
    ledger.step(number, used.numpy())
    tfi.train.report(number)
    ledger.say()
    ledger.use(Path("scratch"))
    time.sleep(STEP_SECONDS)
    # All workers have the same sum.
    if ending:
        checkpoint.save(number)
        break

keys: list[int] = []
for row in strategy.experimental_distribute_dataset(tfi.dataset(context.cache, columns=["x"], uneven="pad").batch(48)):
    for local in strategy.experimental_local_results(
        strategy.run(lambda row: tf.boolean_mask(row["x"], row["_weight"] > 0), args=(row,))
    ):
        keys += [int(key) for key in local.numpy()]
ledger.rows("end", keys)
ledger.result(step=checkpoint.steps_done, resumed=resumed, weight=float(weight.numpy()))
