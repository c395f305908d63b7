"""Training that is killed and started again, with real TensorFlow processes."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from forks import TensorFlowForks
from train_tasks import Job

pytestmark = pytest.mark.full

pytest.importorskip("tensorflow")


@pytest.fixture
def job(forks: TensorFlowForks, tmp_path: Path) -> Iterator[Job]:
    with contextlib.closing(Job(forks, tmp_path, tmp_path / "checkpoints")) as started:
        yield started


def checkpoints(folder: Path) -> list[str]:
    """What lies in the directory of the checkpoints, data files and all."""
    return sorted(os.listdir(folder / "checkpoints"))


# `seen` is a sum over the workers, which none of them can save alone.
MIRRORED = """
import sys, json
import tensorflow_ignite as tfi
strategy = tfi.train.strategy()
import tensorflow as tf
last, options = int(sys.argv[1]), json.loads(sys.argv[2])
with strategy.scope():
    weight = tf.Variable([0.0, 0.0])
    seen = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ,
                       aggregation=tf.VariableAggregation.SUM)
checkpoint = tfi.train.checkpoint(weight=weight, seen=seen, **options)
print("resumed from", checkpoint.resumed_from_step, flush=True)
@tf.function
def train():
    def replica():
        seen.assign_add(1.0)
        return tf.constant([1.0, 2.0])
    weight.assign_add(strategy.reduce("MEAN", strategy.run(replica), axis=None))
saves = []
for step in checkpoint.steps(last):
    if checkpoint.saved_step and checkpoint.saved_step not in saves:
        saves.append(checkpoint.saved_step)
    train()
    tfi.train.report(step, last)
    print("step", step, flush=True)
print(json.dumps({"step": checkpoint.steps_done, "weight": weight.numpy().tolist(), "seen": float(seen.read_value()),
                  "saves": saves}))
"""


def test_mirrored_workers_resume_together_and_in_another_number(job: Job, tmp_path: Path) -> None:
    workers = job.start_workers(["-c", MIRRORED, "1000000", '{"every_steps": 10}'], 2, attempt=1)
    workers[0].until("^step 2[5-9]$")
    for worker in workers:
        worker.kill()
    first = job.progress("1-worker0")
    # They have gone on until they were killed.
    assert first.checkpoint_step >= 20
    assert first.checkpoint_step % 10 == 0
    # The others write no checkpoint, so they report none.
    assert job.progress("1-worker1").checkpoint_step == 0

    # By seconds: all save at the same steps, although only the first one's clock counts.
    last = first.checkpoint_step + 1000
    reports = [
        json.loads(worker.finish().splitlines()[-1])
        for worker in job.start_workers(["-c", MIRRORED, str(last), '{"every_seconds": 0.1, "keep": 2}'], 2, attempt=2)
    ]
    second = job.progress("2-worker1")
    resumed = second.resumed_from_step
    assert resumed >= first.checkpoint_step
    assert resumed % 10 == 0
    assert second.step == last
    assert reports[0]["weight"] == reports[1]["weight"] == [last, 2.0 * last]
    assert reports[0]["seen"] == reports[1]["seen"] == 2.0 * last
    assert reports[0]["saves"] == reports[1]["saves"]
    assert len(reports[0]["saves"]) >= 2
    assert len([name for name in checkpoints(tmp_path) if name.endswith(".index")]) == 2

    # The same directory, one worker: it goes on as if nothing had happened.
    (alone,) = job.start_workers(["-c", MIRRORED, str(last + 10), '{"every_steps": 10}'], 1, attempt=3)
    assert json.loads(alone.finish().splitlines()[-1])["weight"] == [last + 10, 2.0 * (last + 10)]
    assert job.progress("3-worker0").resumed_from_step == last
    assert not list(tmp_path.glob("tensorflow-ignite-checkpoint-*"))


# An ordinary script of Keras: it uses nothing of this package but its import.
PLAIN = """
import json, os
import tensorflow_ignite
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
import keras
worker = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(4, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
pixels = tf.random.stateless_uniform([160, 3], [1, 2])
rows = tf.data.Dataset.from_tensor_slices((pixels, tf.reduce_sum(pixels, 1, keepdims=True))).repeat().batch(16)
save = keras.callbacks.ModelCheckpoint(f"{os.environ['TMPDIR']}/model-{worker}.keras", verbose=0)
history = model.fit(rows, epochs=2, steps_per_epoch=5, verbose=0, callbacks=[save], validation_data=rows.take(4))
print(json.dumps({"history": history.history, "weights": [value.tolist() for value in model.get_weights()]}))
"""


def test_fit_of_a_plain_script_of_keras_trains_the_same_model_on_each_worker(job: Job, tmp_path: Path) -> None:
    pytest.importorskip("keras")
    workers = job.start_workers(["-c", PLAIN], 2, attempt=1)
    ends = [json.loads(worker.finish().splitlines()[-1]) for worker in workers]
    assert ends[0] == ends[1]
    assert set(ends[0]["history"]) == {"loss", "mae", "val_loss", "val_mae"}
    assert (tmp_path / "model-0.keras").stat().st_size == (tmp_path / "model-1.keras").stat().st_size


TOO_LATE = """
import tensorflow as tf
tf.constant(1) + 1
import tensorflow_ignite as tfi
try:
    tfi.train.strategy()
except tfi.errors.TensorFlowIgniteError as error:
    print(error)
"""


def test_a_strategy_that_is_made_too_late_is_an_error(job: Job) -> None:
    (task,) = job.start_workers(["-c", TOO_LATE], 1, attempt=1)
    assert "Call tfi.train.strategy() at the top of the script" in task.finish()
