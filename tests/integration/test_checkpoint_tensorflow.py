"""Checkpoints in one process: what is restored, what is refused, and fit that goes on within an epoch."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from jobs import LIMIT, SCRIPTS, await_files, await_job

import tensorflow_ignite as tfi
from tensorflow_ignite import train
from tensorflow_ignite.errors import AttemptSupersededError, InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.task import CONTEXT_VARIABLE, Task
from tensorflow_ignite.train import distribution, fits
from tensorflow_ignite.train.store import _NONE_SHARED, Store

tf = pytest.importorskip("tensorflow")


class Interrupted(Exception):
    """What a test ends fit with."""


def watching(keras: Any, end: tuple[int, int] | None = None) -> Any:
    """A callback that notes the epoch and the batch of each execution in `trained`, and interrupts fit after one."""

    class Watch(keras.callbacks.Callback):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.trained: list[tuple[int, int]] = []

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.epoch = epoch

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if logs:
                self.trained.append((self.epoch, batch))
            if (self.epoch, batch) == end:
                raise Interrupted

    return Watch()


@pytest.fixture
def in_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is a task of a job, whose checkpoints are in the test's folder, and has not called fit yet."""
    module = importlib.import_module("tensorflow_ignite.train.checkpoint")
    monkeypatch.setattr(module, "current", lambda: Task(checkpoint_directory=str(tmp_path)))
    monkeypatch.setattr("tensorflow_ignite.train.fits._count", 0)


def test_a_loop_goes_on_behind_the_last_checkpoint(tmp_path: Path) -> None:
    weight = tf.Variable(0.0)
    checkpoint = train.checkpoint(every_steps=4, keep=2, directory=str(tmp_path), weight=weight)
    for number in checkpoint.steps(100):
        weight.assign_add(1.0)
        if number == 11:
            break
    assert (checkpoint.resumed_from_step, checkpoint.saved_step) == (0, 8)

    weight = tf.Variable(0.0)
    checkpoint = train.checkpoint(every_steps=4, keep=2, directory=str(tmp_path), weight=weight)
    assert (checkpoint.resumed_from_step, weight.numpy()) == (8, 8.0)
    assert list(checkpoint.steps(14)) == [9, 10, 11, 12, 13, 14]
    # The last step is always saved.
    assert checkpoint.saved_step == 14
    # A process that takes the directory over has numbers of its own.
    assert sorted(os.listdir(tmp_path)) == [
        "attempt",
        "checkpoint",
        "ckpt-1000000000001.data-00000-of-00001",
        "ckpt-1000000000001.index",
        "ckpt-1000000000002.data-00000-of-00001",
        "ckpt-1000000000002.index",
    ]
    assert tf.train.latest_checkpoint(tmp_path) == f"{tmp_path}/ckpt-1000000000002"
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(), str(tmp_path), max_to_keep=2)
    assert manager.latest_checkpoint == f"{tmp_path}/ckpt-1000000000002"
    before = sorted(os.listdir(tmp_path))
    # Nothing is left to do: nothing is done, nothing saved.
    again = train.checkpoint(every_steps=4, directory=str(tmp_path), weight=tf.Variable(0.0))
    assert list(again.steps(14)) == []
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.full
def test_variables_that_are_made_later_are_restored_then(tmp_path: Path) -> None:
    keras = pytest.importorskip("keras")

    def make() -> tuple[Any, Any]:
        return keras.Sequential([keras.layers.Dense(2, kernel_initializer="ones")]), keras.optimizers.Adam(0.1)

    def learn(model: Any, optimizer: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(tf.ones([1, 3])))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )

    model, optimizer = make()
    checkpoint = train.checkpoint(directory=str(tmp_path), model=model, optimizer=optimizer)
    learn(model, optimizer)
    checkpoint.save(1)
    expected = [value.numpy().tolist() for value in (*model.variables, *optimizer.variables)]

    model, optimizer = make()
    assert train.checkpoint(directory=str(tmp_path), model=model, optimizer=optimizer).resumed_from_step == 1
    model.build([None, 3])
    optimizer.build(model.trainable_variables)
    assert [value.numpy().tolist() for value in (*model.variables, *optimizer.variables)] == expected


@pytest.mark.full
def test_without_a_directory_nothing_is_saved_and_one_message_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    with caplog.at_level(logging.WARNING):
        checkpoint = train.checkpoint(every_steps=1, weight=tf.Variable(1.0))
        assert list(checkpoint.steps(3)) == [1, 2, 3]
        checkpoint.save()
    assert (checkpoint.steps_done, checkpoint.saved_step) == (3, 0)
    assert [record.getMessage() for record in caplog.records if "saves no checkpoints" in record.getMessage()] == [
        "tensorflow_ignite: a process outside any job saves no checkpoints, since no directory was given for them. "
        "Give one: tfi.train.checkpoint(directory=...), or run the script in a job, which has one"
    ]
    assert os.listdir(tmp_path) == []


@pytest.mark.full
def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    train.checkpoint(directory=str(tmp_path), weight=tf.Variable([1.0])).save(5)
    for other in ({"weight": tf.Variable([1.0, 2.0])}, {"weight": tf.Variable([1.0]), "bias": tf.Variable(0.0)}):
        with pytest.raises(TensorFlowIgniteError, match=r"cannot resume from .*ckpt-1: .* Train with the model that"):
            train.checkpoint(directory=str(tmp_path), **other)


@pytest.mark.full
def test_a_worker_that_cannot_read_the_first_workers_checkpoint_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced = iter((7, _NONE_SHARED))
    monkeypatch.setattr(Store, "chief_decision", lambda *_: next(announced))
    with pytest.raises(TensorFlowIgniteError, match=r"cannot read them .* storage that every node") as caught:
        train.checkpoint(directory=str(tmp_path), weight=tf.Variable(1.0))
    assert type(caught.value) is TensorFlowIgniteError


@pytest.mark.full
def test_one_of_several_tasks_must_say_its_strategy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {"worker": ["127.0.0.1:1", "127.0.0.1:2"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 1}}))
    monkeypatch.setattr(distribution, "_strategy", None)
    with pytest.raises(TensorFlowIgniteError, match=r"which strategy .* inside `with strategy\.scope\(\):`"):
        train.checkpoint(directory=str(tmp_path), weight=tf.Variable(1.0))
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        train.checkpoint(directory=str(tmp_path), weight=tf.Variable(1.0)).save(1)


def test_a_task_saves_in_the_cluster_until_it_is_replaced(
    client: tfi.Client, numbered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = client.submit(SCRIPTS / "keep.py", cache=numbered, args=[str(tmp_path)])
    await_files(job, tmp_path / "context-1.json")
    # This process is now a task of the first attempt, whatever becomes of it.
    monkeypatch.setenv(CONTEXT_VARIABLE, str(tmp_path / "context-1.json"))
    weight = tf.Variable(1.0)
    checkpoint = train.checkpoint(weight=weight)
    assert checkpoint.directory == f"ignite:///jobs/{job.id}/checkpoints"
    checkpoint.save(3)
    running = await_job(job, lambda status: status.state == "running")
    os.kill(running.attempts[0].tasks[1].status.pid or 0, signal.SIGKILL)
    await_files(job, tmp_path / "context-2.json")
    weight.assign(2.0)
    before = sorted(tf.io.gfile.listdir(checkpoint.directory))
    with pytest.raises(AttemptSupersededError, match=r"may not change files: the job is at attempt 2"):
        checkpoint.save(4)
    assert sorted(tf.io.gfile.listdir(checkpoint.directory)) == before
    # The next attempt goes on from what was saved.
    monkeypatch.setenv(CONTEXT_VARIABLE, str(tmp_path / "context-2.json"))
    again = train.checkpoint(weight=weight)
    assert (again.resumed_from_step, weight.numpy()) == (3, 1.0)
    (tmp_path / "go").touch()
    job.wait(LIMIT)


@pytest.mark.full
def test_arguments_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    for arguments in ({}, {"step": 1}, {"weight": 1, "keep": 0}, {"weight": 1, "every_steps": 0}):
        with pytest.raises(InvalidRequestError):
            train.checkpoint(directory=str(tmp_path), **arguments)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "known"),
    [("keras", True), ("keras", False), ("tf_keras", True)],
    ids=["keras", "keras, size of the dataset unknown", "tf_keras"],
)
def test_fit_goes_on_within_an_epoch(name: str, known: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keras = pytest.importorskip(name)

    def fit(watch: Any, epochs: int) -> tuple[Any, train.CheckpointCallback]:
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.1), "mse")
        rows = tf.data.Dataset.from_tensors((tf.ones([4, 2]), tf.ones([4, 1]))).repeat(None if known else 10)
        if not known:
            rows = rows.filter(lambda *_: True)
        callback = train.CheckpointCallback(every_steps=3, directory=str(tmp_path))
        model.fit(rows, epochs=epochs, steps_per_epoch=10 if known else None, verbose=0, callbacks=[callback, watch])
        return model, callback

    with pytest.raises(Interrupted):
        fit(watching(keras, (1, 7)), 3)
    watch = watching(keras)
    model, callback = fit(watch, 3)
    assert callback.checkpoint is not None
    assert callback.checkpoint.resumed_from_step == 18
    assert watch.trained[0] == (1, 8)
    if known:
        assert watch.trained == [(1, 8), (1, 9)] + [(2, batch) for batch in range(10)]
        assert callback.checkpoint.steps_done == int(model.optimizer.iterations.numpy()) == 30
    else:
        # Nobody knew how long an epoch is: the one that was interrupted reads the dataset once more.
        assert watch.trained[-1] == (2, 9)
    # What is finished stays finished, and can be continued.
    watch = watching(keras)
    caplog.clear()
    model, callback = fit(watch, 3)
    assert watch.trained == []
    assert f"this fit trains nothing: {tmp_path} has a checkpoint after epoch 3 of 3" in caplog.text
    watch = watching(keras)
    fit(watch, 4)
    assert watch.trained == [(3, batch) for batch in range(10)]


@pytest.mark.full
@pytest.mark.parametrize("name", ["keras", "tf_keras"])
def test_fit_goes_on_after_the_last_saved_execution_of_several_steps(name: str, tmp_path: Path) -> None:
    keras = pytest.importorskip(name)

    def fit(watch: Any, **when: int) -> tuple[int, int, int]:
        """Steps before this fit, after it, and those of the optimizer."""
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.1), "mse", steps_per_execution=4)
        rows = tf.data.Dataset.from_tensors((tf.ones([4, 2]), tf.ones([4, 1]))).repeat()
        callback = train.CheckpointCallback(**when, directory=str(tmp_path))
        with contextlib.suppress(Interrupted):
            model.fit(rows, epochs=3, steps_per_epoch=10, verbose=0, callbacks=[callback, watch])
        assert callback.checkpoint is not None
        resumed, done = callback.checkpoint.resumed_from_step, callback.checkpoint.steps_done
        return resumed, done, int(model.optimizer.iterations.numpy())

    # The last execution of an epoch of ten steps: tf_keras runs two steps, Keras 3 four.
    last = 11 if name == "keras" else 9
    epoch = last + 1
    watch = watching(keras, (1, 7))
    assert fit(watch, every_steps=2) == (0, epoch + 8, epoch + 8)
    assert watch.trained == [(0, 3), (0, 7), (0, last), (1, 3), (1, 7)]
    watch = watching(keras, (2, 3))
    assert fit(watch, every_steps=2) == (epoch + 8, 2 * epoch + 4, 2 * epoch + 4)
    assert watch.trained == [(1, last), (2, 3)]
    watch = watching(keras)
    assert fit(watch, every_steps=2) == (2 * epoch + 4, 3 * epoch, 3 * epoch)
    assert watch.trained == [(2, 7), (2, last)]


@pytest.mark.full
def test_each_fit_of_a_script_has_its_place_in_the_directory_of_the_job(
    in_job: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keras = pytest.importorskip("keras")
    rows = tf.data.Dataset.from_tensors((tf.ones([4, 2]), tf.ones([4, 1]))).repeat(3)

    def script() -> list[int]:
        """Two trainings; the steps with which each has begun."""
        monkeypatch.setattr("tensorflow_ignite.train.fits._count", 0)
        resumed = []
        for epochs in (1, 2):
            model = keras.Sequential([keras.layers.Dense(1)])
            model.compile("sgd", "mse")
            callback = train.CheckpointCallback()
            model.fit(rows, epochs=epochs, verbose=0, callbacks=[callback])
            assert callback.checkpoint is not None
            assert callback.checkpoint.steps_done == 3 * epochs
            resumed.append(callback.checkpoint.resumed_from_step)
            with pytest.raises(TensorFlowIgniteError, match="has served a fit before"):
                model.fit(rows, verbose=0, callbacks=[callback])
        return resumed

    assert script() == [0, 0]
    assert script() == [3, 6]
    assert (tmp_path / "fit-2" / "checkpoint").is_file()


@pytest.mark.full
def test_an_evaluator_scores_the_checkpoints_of_each_fit_of_a_script(
    in_job: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keras = pytest.importorskip("keras")
    rows = tf.data.Dataset.from_tensors((tf.ones([4, 2]), tf.ones([4, 1]))).repeat(3)

    def model_of(units: int) -> Any:
        model = keras.Sequential([keras.Input([2]), keras.layers.Dense(units)])
        model.compile("sgd", "mse")
        return model

    model = model_of(1)
    kernels = []
    for epochs, trained in ((2, model), (1, model), (1, model_of(3))):
        trained.fit(rows, epochs=epochs, verbose=0, callbacks=[train.CheckpointCallback()])
        kernels.append(trained.layers[-1].kernel.numpy())
    evaluated = model_of(1)
    for step, expected in zip(train.checkpoints(model=evaluated), kernels[:2], strict=True):
        assert step in (6, 3)
        assert evaluated.layers[-1].kernel.numpy().tolist() == expected.tolist()
    assert "the checkpoints of fit-3 are left out" in caplog.text
    assert len(list(train.checkpoints(directory=str(tmp_path / "fit-2"), model=evaluated))) == 1


@pytest.mark.full
def test_each_round_continues_the_training_of_the_round_before(
    in_job: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keras = pytest.importorskip("keras")
    rows = tf.data.Dataset.from_tensors((tf.ones([4, 2]), tf.ones([4, 1]))).repeat(3)

    def process(*rounds: int, end: tuple[int, int] | None = None) -> list[tuple[int, list[tuple[int, int]]]]:
        """A process that trains these rounds: the steps before each round, and the batches of its epochs."""
        monkeypatch.setattr("tensorflow_ignite.train.callback._of_rounds", {})
        model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.1), "mse")
        found = []
        for number in rounds:
            fits.begin_round(number)
            watch, callback = watching(keras, end), train.CheckpointCallback(every_steps=1)
            with contextlib.suppress(Interrupted):
                model.fit(rows, epochs=2, verbose=0, callbacks=[callback, watch])
            assert callback.checkpoint is not None
            assert callback.checkpoint.steps_done == int(model.optimizer.iterations.numpy())
            found.append((callback.checkpoint.steps_done - len(watch.trained), watch.trained))
        fits.begin_round(0)
        return found

    two_epochs = [(epoch, batch) for epoch in range(2) for batch in range(3)]
    assert process(1, 2) == [(0, two_epochs), (6, two_epochs)]
    # The training of a round that was not over is, and nothing is trained twice.
    assert process(2, 3, end=(1, 1)) == [(12, []), (12, two_epochs[:5])]
    # An epoch that was interrupted has other rows now.
    assert process(3, 4) == [(17, two_epochs[3:]), (20, two_epochs)]
    assert (tmp_path / "rounds" / "checkpoint").is_file()
