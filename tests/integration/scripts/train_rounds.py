"""train_rounds.py FOLDER: a training in rounds; each worker writes which rows each round has had.

FOLDER/ROUND-ATTEMPT-WORKER.json has the ids of the rows, and FOLDER/published-ROUND-WORKER.json what became of the
model. A round waits while there is FOLDER/hold-ROUND, and publishes an untrained model if there is FOLDER/spoil-ROUND.
"""

import json
import sys
import time
from pathlib import Path

import tensorflow_ignite as tfi

strategy = tfi.train.strategy()

import keras  # noqa: E402
import tensorflow as tf  # noqa: E402

folder, here = Path(sys.argv[1]), tfi.train.context()


def built() -> keras.Model:
    model = keras.Sequential([keras.Input([1]), keras.layers.Dense(1, bias_initializer="random_normal")])
    model.compile(keras.optimizers.SGD(0.2), "mse")
    return model


def batches(rows: tf.data.Dataset) -> tf.data.Dataset:
    """Features of one column, labels, and weights if there are any."""
    return rows.batch(32).map(lambda features, label, *weights: (features["x"][:, None], label, *weights))


def write(name: str, content: object) -> None:
    """Writes a file, which appears in one step."""
    part = folder / f"{name}.part"
    part.write_text(json.dumps(content))
    part.replace(folder / f"{name}.json")


with strategy.scope():
    trained, untrained = built(), built()


def train(round: tfi.train.Round) -> None:
    ids: list[int] = []
    for batch in round.training(columns=["id"]).batch(64):
        ids += [int(number) for number, weight in zip(batch["id"], batch["_weight"], strict=True) if weight]
    write(f"{round.number}-{here.attempt}-{here.index}", ids)
    while (folder / f"hold-{round.number}").exists():
        time.sleep(0.05)
    trained.fit(
        batches(round.training(columns=["x", "y"], label="y", shuffle=True)),
        epochs=2,
        verbose=0,
        shuffle=False,
        callbacks=[tfi.train.CheckpointCallback()],
    )

    def loss(model: keras.Model) -> float:
        """The loss on the rows that are held out now."""
        return float(model.evaluate(batches(round.validation(columns=["x", "y"], label="y")), verbose=0))

    found = round.publish(
        untrained if (folder / f"spoil-{round.number}").exists() else trained, "line", measure=loss, better="lower"
    )
    write(f"published-{round.number}-{here.index}", [found.version, found.earlier_version])


for each in tfi.train.rounds(validation_split=0.2):
    train(each)
