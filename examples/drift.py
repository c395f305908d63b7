"""A continuous job whose data drift on purpose: the published model becomes wrong, and right again.

    tensorflow-ignite node &
    python drift.py                      # calls localhost:10820; or TENSORFLOW_IGNITE_ADDRESS=HOST:PORT

Outside a job this script loads the cache ``drift``, submits itself as a continuous job, and changes the rows while the
job trains: a class becomes the other one. It prints how many rows of now the published version predicts. In the job it
trains.
"""

import sys
import time

import numpy as np

import tensorflow_ignite as tfi

ROWS, STEPS = 2_000, 4


def rows(keys: np.ndarray, turned: bool) -> dict[str, np.ndarray]:
    """Points in a plane, and on which side of a line they are; or on which they are not."""
    points = np.random.default_rng(7).normal(size=[ROWS, 2]).astype("float32")[keys]
    return {"id": keys, "point": points, "label": ((points.sum(1) > 0) != turned).astype("int64")}


def train() -> None:
    """The script of the job, on every worker."""
    strategy = tfi.train.strategy()
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(0)  # the same weights at the beginning of each run
    with strategy.scope():
        model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1, "sigmoid")])
        model.compile(keras.optimizers.Adam(0.2), "binary_crossentropy", metrics=["accuracy"])

    def points(rows: tf.data.Dataset) -> tf.data.Dataset:
        return rows.batch(32).map(lambda row, *label_and_weight: (row["point"], *label_and_weight))

    def train_on(new: tfi.train.Round) -> None:
        rows = new.training(columns=["point", "label"], label="label", shuffle=True)
        saved = tfi.train.CheckpointCallback()
        model.fit(points(rows), epochs=4, shuffle=False, verbose=0, callbacks=[saved])

        def accuracy(candidate: keras.Model) -> float:
            held_out = new.validation(columns=["point", "label"], label="label")
            return float(candidate.evaluate(points(held_out), verbose=0)[1])

        new.publish(model, "drift", measure=accuracy, better="higher")

    for new in tfi.train.rounds(validation_split=0.2):
        train_on(new)


def wait_for_round(job: tfi.JobHandle, number: int) -> None:
    """Waits until a round is over."""
    while not any(each.number == number and each.finished_at for each in job.refresh().rounds):
        if job.status.is_over:
            sys.exit(f"the job has ended: {job.status}")
        time.sleep(0.2)


def main() -> None:
    """Loads, submits, changes and measures."""
    import keras

    models = tfi.connect().models
    if "drift" in models.names():
        models.remove("drift")
    tfi.load("drift", rows(np.arange(ROWS), False), key="id", backups=1, if_exists="replace")

    def right() -> str:
        """How the published version predicts the rows of now."""
        version = models.get("drift")
        model = keras.models.load_model(version.url)
        now = tfi.read_table("drift", columns=["point", "label"])
        found = model(np.stack(now["point"].to_numpy())).numpy()[:, 0] > 0.5
        return f"version {version.number} predicts {np.mean(found == (now['label'].to_numpy() == 1)):.2f} of the rows"

    with tfi.connect() as client:
        job = client.submit(__file__, cache="drift", rounds=tfi.Rounds(when_rows=ROWS // STEPS))
        wait_for_round(job, 1)
        print(right(), flush=True)
        for step, keys in enumerate(np.array_split(np.arange(ROWS), STEPS), 1):
            tfi.load("drift", rows(keys, True), key="id", if_exists="append")
            wait_for_round(job, step + 1)
            print(f"{step} of {STEPS} parts have changed: {right()}", flush=True)
        print(*job.status.rounds, sep="\n")
        job.stop()


if __name__ == "__main__":
    train() if tfi.train.context().in_job else main()
