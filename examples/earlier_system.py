"""A script of the earlier "TensorFlow on Apache Ignite" (Ignite 2.7, tensorflow-io), and what becomes of it.

    tensorflow-ignite submit --cache digits examples/earlier_system.py
    IGNITE_DATASET_HOST=localhost IGNITE_DATASET_PORT=10820 python examples/earlier_system.py

Then one process ran the script, and started nothing but sessions on the servers of the other nodes::

    $ ignite-tf.sh start DIGITS ~/job python train.py

    from tensorflow.contrib.ignite import IgniteDataset     # later: import tensorflow_io.ignite as ignite_io

    def rows():
        # IGNITE_DATASET_HOST, _PORT and _LOCAL, which the workers had, came before the arguments.
        dataset = IgniteDataset("DIGITS", local=True).repeat().batch(96)
        return dataset.map(lambda row: (row["val"]["PIXELS"], row["val"]["LABEL"]))

    cluster = json.loads(os.environ["TF_CLUSTER"])          # also TF_WORKERS and TF_CHIEF_SERVER
    distribute = tf.contrib.distribute.DistributeConfig(
        train_distribute=tf.contrib.distribute.CollectiveAllReduceStrategy(), remote_cluster=cluster)
    config = tf.estimator.RunConfig("igfs:///models/digits", experimental_distribute=distribute)
    estimator = tf.keras.estimator.model_to_estimator(model, config=config)
    tf.estimator.train_and_evaluate(
        estimator, tf.estimator.TrainSpec(rows, max_steps=300), tf.estimator.EvalSpec(test_rows))

Now each worker runs the script, beside its rows. The comments below say what replaces what; docs/choose.md has the
table. The variables of the earlier system are still set in a job, and those of its dataset still read outside of one.
"""

import json
import os

import keras
import tensorflow as tf

import tensorflow_ignite as tfi

# CollectiveAllReduceStrategy and remote_cluster=: the strategy of the job's kind, which reads TF_CONFIG.
strategy = tfi.train.strategy()
context = tfi.train.context(cache="digits")

if context.in_job and context.is_chief:
    # Scripts that start sessions themselves find the addresses where they were.
    cluster = json.loads(os.environ["TF_CLUSTER"])
    print(f"TF_CLUSTER has {len(cluster['worker'])} workers, TF_WORKERS {os.environ['TF_WORKERS']}")
    assert os.environ["TF_CHIEF_SERVER"] == f"grpc://{cluster['worker'][0]}"


def batches(cache: str) -> tf.data.Dataset:
    """IgniteDataset(cache): columns are flat, ``label=`` makes pairs, and a worker reads its own node."""
    rows = tfi.dataset(cache, columns=["pixels", "label"], label="label", shuffle=True).batch(96)
    return rows.map(lambda features, label: (tf.ensure_shape(features["pixels"], [None, 64]) / 16.0, label))


with strategy.scope():  # model_to_estimator: Keras trains the model itself
    model = keras.Sequential([keras.Input([64]), keras.layers.Dense(64, "relu"), keras.layers.Dense(10)])
    model.compile(
        keras.optimizers.Adam(0.01),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )

# RunConfig(model_dir="igfs://…"): in a job the callback saves below ignite:///jobs/ID, and resumes from there.
saved = tfi.train.CheckpointCallback()
# TrainSpec and EvalSpec: each epoch has all rows once, whatever their number on each node.
history = model.fit(
    batches("digits"),
    validation_data=batches("digits_test"),
    epochs=6,
    callbacks=[saved],
    verbose=0,
)
if context.is_chief:
    print(f"test accuracy={history.history['val_accuracy'][-1]:.4f}")
