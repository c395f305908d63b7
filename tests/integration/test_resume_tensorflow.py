"""Training that is killed and started again, with real TensorFlow processes."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forks import TensorFlowForks
from train_tasks import Job, free_addresses

pytestmark = pytest.mark.full

pytest.importorskip("tensorflow")

KERAS = [name for name in ("tf_keras", "keras") if importlib.util.find_spec(name)]


@pytest.fixture
def new_job(forks: TensorFlowForks, tmp_path: Path) -> Iterator[Callable[[str], Job]]:
    jobs: list[Job] = []

    def new(kind: str) -> Job:
        jobs.append(Job(forks, tmp_path, kind, tmp_path / "checkpoints"))
        return jobs[-1]

    yield new
    for job in jobs:
        job.close()


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


def test_mirrored_workers_resume_together_and_in_another_number(new_job: Callable[[str], Job], tmp_path: Path) -> None:
    job = new_job("MULTI_WORKER_MIRRORED")
    workers = job.start_workers(["-c", MIRRORED, "1000000", '{"every_steps": 10}'], 2, attempt=1)
    workers[0].until("^step 2[5-9]$")
    for worker in workers:
        worker.kill()
    first = job.progress("1-worker0-0")
    # They have gone on until they were killed.
    assert first.checkpoint_step >= 20
    assert first.checkpoint_step % 10 == 0
    # The others write no checkpoint, so they report none.
    assert job.progress("1-worker1-0").checkpoint_step == 0

    # By seconds: all save at the same steps, although only the first one's clock counts.
    last = first.checkpoint_step + 1000
    reports = [
        json.loads(worker.finish().splitlines()[-1])
        for worker in job.start_workers(["-c", MIRRORED, str(last), '{"every_seconds": 0.1, "keep": 2}'], 2, attempt=2)
    ]
    second = job.progress("2-worker1-0")
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
    assert job.progress("3-worker0-0").resumed_from_step == last
    assert not list(tmp_path.glob("tensorflow-ignite-checkpoint-*"))


FIT = """
import importlib, json, sys
import tensorflow_ignite as tfi
strategy = tfi.train.strategy()
import tensorflow as tf
keras = importlib.import_module(sys.argv[1])
epochs, options = int(sys.argv[2]), json.loads(sys.argv[3])
with strategy.scope():
    model = keras.Sequential([keras.layers.Input([3]), keras.layers.BatchNormalization(), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.03), "mse", metrics=["mae"])
pixels = tf.random.stateless_uniform([160, 3], [1, 2])
rows = tf.data.Dataset.from_tensor_slices((pixels, tf.reduce_sum(pixels, 1, keepdims=True)))
off = tf.data.Options()
off.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
rows = rows.repeat().batch(16).with_options(off)
class Say(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self._supports_tf_logs = True
    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch
    def on_train_batch_end(self, batch, logs=None):
        assert logs, "a skipped step"
        print("trained", self.epoch, batch, flush=True)
checkpoints = tfi.train.CheckpointCallback(**options)
history = model.fit(rows, epochs=epochs, steps_per_epoch=20, verbose=0, callbacks=[checkpoints, Say()])
print(json.dumps({
    "iterations": int(model.optimizer.iterations.numpy()),
    "step": checkpoints.checkpoint.steps_done,
    "resumed": checkpoints.checkpoint.resumed_from_step,
    "epochs": history.epoch,
    "weights": [float(tf.reduce_sum(value)) for value in model.get_weights()],
    "modules": sorted({"keras", "tf_keras"} & set(sys.modules)),
}))
"""


@pytest.mark.parametrize("keras", KERAS)
def test_fit_of_mirrored_workers_resumes_within_an_epoch_and_saves_the_last_step_of_a_planned_end(
    keras: str, new_job: Callable[[str], Job], tmp_path: Path
) -> None:
    job = new_job("MULTI_WORKER_MIRRORED")
    command = ["-c", FIT, keras, "1000000", '{"every_steps": 7}']
    workers = job.start_workers(command, 2, attempt=1)
    workers[0].until("^trained 1 1[0-9]$")
    for worker in workers:
        worker.kill()
    saved = job.progress("1-worker0-0").checkpoint_step
    assert saved >= 28

    # Without the planned end nothing more would be saved.
    command[4] = '{"every_steps": 1000000}'
    workers = job.start_workers(command, 2, attempt=2)
    steps = [worker.until("^trained ([0-9]+) ([0-9]+)$").groups() for worker in workers]
    resumed, same = (int(epoch) * 20 + int(batch) for epoch, batch in steps)
    assert resumed == same >= saved
    planned = job.plan_end("2-worker0-0", "2-worker1-0")
    # Both have done the agreed step, and no step after it.
    assert [job.progress(f"2-worker{index}-0").step for index in range(2)] == [planned, planned]
    assert job.progress("2-worker0-0").checkpoint_step == planned > resumed
    for worker in workers:
        worker.kill()

    # Two more epochs, in the middle of one of which it begins.
    first_epoch = planned // 20
    command[3:] = [str(first_epoch + 2), '{"every_steps": 7, "every_seconds": 0.5}']
    workers = job.start_workers(command, 2, attempt=3)
    ends = [json.loads(worker.finish().splitlines()[-1]) for worker in workers]
    total = (first_epoch + 2) * 20
    assert ends[0] == ends[1]
    assert ends[0]["resumed"] == planned
    assert ends[0]["step"] == ends[0]["iterations"] == total
    # The history is that of the whole training.
    assert ends[0]["epochs"] == list(range(first_epoch + 2))
    reports = job.progress("3-worker0-0")
    assert (reports.step, reports.total_steps, reports.checkpoint_step) == (total, total, total)
    assert reports.metrics["mae"] > 0
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


@pytest.mark.skipif("keras" not in KERAS, reason="Keras 3 is not installed")
def test_fit_of_a_plain_script_of_keras_trains_the_same_model_on_each_worker(
    new_job: Callable[[str], Job], tmp_path: Path
) -> None:
    workers = new_job("MULTI_WORKER_MIRRORED").start_workers(["-c", PLAIN], 2, attempt=1)
    ends = [json.loads(worker.finish().splitlines()[-1]) for worker in workers]
    assert ends[0] == ends[1]
    assert set(ends[0]["history"]) == {"loss", "mae", "val_loss", "val_mae"}
    assert (tmp_path / "model-0.keras").stat().st_size == (tmp_path / "model-1.keras").stat().st_size


SERVER = ["-m", "tensorflow_ignite.train.server"]

COORDINATOR = """
import sys, json
import tensorflow_ignite as tfi
strategy = tfi.train.strategy()
import tensorflow as tf
rounds = int(sys.argv[1])
with strategy.scope():
    weight = tf.Variable([0.0, 0.0])
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
checkpoint = tfi.train.checkpoint(every_steps=20, directory=sys.argv[2], weight=weight)
print("on", weight.device, checkpoint.step.device, flush=True)
@tf.function
def train():
    weight.assign_add([1.0, 2.0])
    checkpoint.step.assign_add(1)
while checkpoint.steps_done < rounds * 10:
    for _ in range(10):
        coordinator.schedule(train)
    # No join: saving waits for what has been scheduled.
    if not checkpoint.save_if_due():
        coordinator.join()
    print("step", checkpoint.steps_done, flush=True)
print(json.dumps([checkpoint.resumed_from_step, checkpoint.steps_done, weight.numpy().tolist()]))
"""


def test_a_coordinator_that_is_started_again_goes_on_with_its_servers(
    new_job: Callable[[str], Job], tmp_path: Path
) -> None:
    job = new_job("PARAMETER_SERVER")
    chief, ps, *workers = free_addresses(4)
    addresses = {"chief": [chief], "ps": [ps], "worker": workers}
    servers = [job.start(SERVER, addresses, "ps")]
    servers += [job.start(SERVER, addresses, "worker", index) for index in range(2)]
    command = ["-c", COORDINATOR, "1000000", str(tmp_path / "custom")]
    client = job.start(command, addresses, "chief")
    assert "/job:ps/" in client.until("^on .*")[0]
    client.until("^step 50$")
    job.plan_end("1-chief0-0")
    # It has waited for all that was scheduled, and schedules nothing more.
    saved = job.progress("1-chief0-0").checkpoint_step
    assert saved >= 50
    assert saved % 10 == 0
    client.kill()
    command[2] = str(saved // 10 + 7)
    client = job.start(command, addresses, "chief", incarnation=1)
    resumed, step, weight = json.loads(client.finish().splitlines()[-1])
    assert resumed == saved
    assert (step, weight) == (saved + 70, [saved + 70.0, 2 * (saved + 70.0)])
    assert job.progress("1-chief0-1").resumed_from_step == resumed

    if "keras" in KERAS:
        client = job.start(["-c", FIT, "keras", "1", "{}"], addresses, "chief", incarnation=4)
        assert client.process.wait() == 1
        assert "cannot train under ParameterServerStrategy. Only fit of tf_keras" in client.output()
        client.close()
    if "tf_keras" not in KERAS:
        return
    command = ["-c", FIT, "tf_keras", "1000000", '{"every_steps": 7}']
    client = job.start(command, addresses, "chief", incarnation=2)
    client.until("^trained 1 1[0-9]$")
    job.plan_end("1-chief0-2")
    saved = job.progress("1-chief0-2").checkpoint_step
    assert saved >= 30
    client.kill()
    command[3] = str(saved // 20 + 2)
    client = job.start(command, addresses, "chief", incarnation=3)
    end = json.loads(client.finish().splitlines()[-1])
    assert end["resumed"] == saved
    assert end["step"] == end["iterations"] == (saved // 20 + 2) * 20
    assert all(server.process.poll() is None for server in servers)


LINGER = """
import signal
import tensorflow_ignite as tfi
tfi.train.strategy()
assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
print("ready", flush=True)
signal.pause()
"""


def test_a_mirrored_worker_ends_on_sigterm(new_job: Callable[[str], Job]) -> None:
    (task,) = new_job("MULTI_WORKER_MIRRORED").start_workers(["-c", LINGER], 1, attempt=1)
    task.until("^ready$")
    task.process.send_signal(signal.SIGTERM)
    assert task.process.wait() == -signal.SIGTERM


TOO_LATE = """
import tensorflow as tf
tf.constant(1) + 1
import tensorflow_ignite as tfi
try:
    tfi.train.strategy()
except tfi.errors.TensorFlowIgniteError as error:
    print(error)
"""


def test_a_strategy_that_is_made_too_late_is_an_error(new_job: Callable[[str], Job]) -> None:
    (task,) = new_job("MULTI_WORKER_MIRRORED").start_workers(["-c", TOO_LATE], 1, attempt=1)
    assert "Call tfi.train.strategy() at the top of the script" in task.finish()
