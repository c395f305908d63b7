"""Predicts the course of diabetes from categories: embeddings on parameter servers, with ``fit`` of tf_keras.

    python examples/embedding_ps.py --load            # the rows: scikit-learn's diabetes data, as categories
    tensorflow-ignite submit --cache diabetes --strategy parameter-server examples/embedding_ps.py

Each category of a column has a vector of its own, a row of a variable on a parameter server. A worker fetches only the
vectors of the categories in its batch, and sends back only their gradients. So tables may be larger than the memory of
a worker. Needs tf_keras (pip install --no-deps tf-keras): ``fit`` of Keras 3 does not run under parameter servers.
"""

import argparse

import tensorflow_ignite as tfi

COLUMNS = {
    "sex": ["1", "2"],
    "age": ["10s", "20s", "30s", "40s", "50s", "60s", "70s"],
    "weight": ["normal", "overweight", "obese"],
    "pressure": ["normal", "elevated", "high"],
    "lipids": ["low", "medium", "high", "highest"],
}
BATCH, EPOCHS = 32, 10

arguments = argparse.ArgumentParser(description="Predicts the course of diabetes from categories.")
arguments.add_argument("--load", action="store_true", help="load the rows into the cache diabetes, and end")
args = arguments.parse_args()

if args.load:
    import numpy as np
    from sklearn.datasets import load_diabetes

    values, course = load_diabetes(return_X_y=True, scaled=False)
    columns = {
        "sex": values[:, 1].astype(int).astype(str),
        "age": np.array(COLUMNS["age"])[values[:, 0].astype(int) // 10 - 1],
        "weight": np.array(COLUMNS["weight"])[np.digitize(values[:, 2], [25, 30])],
        "pressure": np.array(COLUMNS["pressure"])[np.digitize(values[:, 3], [80, 100])],
        "lipids": np.array(COLUMNS["lipids"])[np.digitize(values[:, 8], np.quantile(values[:, 8], [0.25, 0.5, 0.75]))],
    }
    tfi.load("diabetes", {**columns, "course": course.astype("float32")}, backups=1)
    print(f"loaded {len(course)} rows")
    raise SystemExit

if not tfi.train.context().in_job:
    raise SystemExit("embedding_ps.py needs the workers of a job: submit --strategy parameter-server")

# Before anything else of TensorFlow: it waits for the workers and the parameter servers.
strategy = tfi.train.strategy()

import tensorflow as tf  # noqa: E402
import tf_keras as keras  # noqa: E402

context = tfi.train.context()
keras.utils.set_random_seed(0)  # the same vectors at the beginning of each run


def numbered(features: dict[str, tf.Tensor], course: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    """The numbers of the categories, and the course in hundreds."""
    return {
        name: tf.argmax(features[name][:, None] == tf.constant(COLUMNS[name]), 1) for name in COLUMNS
    }, course / 100.0


def batches(subset: str, **options: object) -> tf.data.Dataset:
    """Rows of one side of a split by keys, which is the same in each run."""
    return tfi.dataset(
        context.cache,
        columns=[*COLUMNS, "course"],
        label="course",
        hold_out=tfi.HoldOut(validation_split=0.2, subset=subset),
        **options,
    )


with strategy.scope():
    inputs = {name: keras.Input([], dtype=tf.int64, name=name) for name in COLUMNS}
    vectors = [keras.layers.Embedding(len(COLUMNS[name]), 4)(inputs[name]) for name in COLUMNS]
    hidden = keras.layers.Dense(16, "relu")(keras.layers.Concatenate()(vectors))
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    model.compile(keras.optimizers.Adagrad(0.05), "mse")

# Runs on each worker, which reads the rows of its own node.
rows = batches("training", shuffle=True).repeat().batch(BATCH).map(numbered)
saved = tfi.train.CheckpointCallback()
model.fit(rows, epochs=EPOCHS, steps_per_epoch=context.steps_per_epoch(BATCH), callbacks=[saved], verbose=0)
if saved.checkpoint.resumed_from_step:
    print(f"resumed from step {saved.checkpoint.resumed_from_step}")

# predict runs in this process, the client process of the job: it reads all partitions.
held_out = batches("validation", partitions="all").batch(BATCH).map(numbered)
predicted = model.predict(held_out, verbose=0)[:, 0]
course = tf.concat([label for _, label in held_out], 0).numpy()
explained = 1 - ((predicted - course) ** 2).sum() / ((course - course.mean()) ** 2).sum()
print("on", ", ".join(sorted({variable.device.partition("/device:")[0] for variable in model.trainable_variables})))
print(f"held out: {len(course)} rows, explained variance={explained:.2f}")
