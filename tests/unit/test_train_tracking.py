"""A tracker records each step of a metric once, and never ends a training; without MLflow and W&B."""

from __future__ import annotations

import logging
import struct
import sys
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

import tensorflow_ignite as tfi
from tensorflow_ignite import task
from tensorflow_ignite.errors import InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.train import callback_states
from tensorflow_ignite.train.tracking import mlflow_run, tracker, wandb_run


class Run:
    """A run in memory.

    Attributes:
        points: What was recorded.
        ends: How it has ended.
    """

    native = "the run"

    def __init__(self, last: Mapping[str, int] | None = None, broken: bool = False) -> None:
        self.points: list[tuple[int, str, float]] = []
        self.models: dict[str, str] = {}
        self.ends: list[str] = []
        self._last, self._broken = last or {}, broken

    def last_step(self, name: str) -> int | None:
        if self._broken:
            raise OSError("no route to the server")
        return self._last.get(name)

    def write(self, figures: Sequence[tuple[int, float, Mapping[str, float]]]) -> None:
        if self._broken:
            raise OSError("no route to the server")
        self.points += [(step, name, value) for step, _, values in figures for name, value in values.items()]

    def note_model(self, name: str, version: str) -> None:
        self.models[name] = version

    def end(self, outcome: str) -> None:
        self.ends.append(outcome)


def test_steps_that_are_trained_again_keep_their_first_value() -> None:
    run = Run(last={"loss": 6})
    tracked = tracker.Tracker(run)
    for step in range(5, 9):
        tracked.log(step, loss=step * 10, accuracy=step)
    tracked.log(8, loss=0)
    tracked.close()
    assert [(step, value) for step, name, value in run.points if name == "loss"] == [(7, 70), (8, 80)]
    assert [step for step, name, _ in run.points if name == "accuracy"] == [5, 6, 7, 8]
    assert run.ends == ["finished"]


def test_a_second_training_under_the_same_names_is_named_in_the_log_once(caplog: pytest.LogCaptureFixture) -> None:
    run = Run()
    tracked = tracker.Tracker(run)
    tracked.log(3, loss=1)
    with caplog.at_level(logging.WARNING):
        tracked.log(1, loss=1)
        tracked.log(2, loss=1)
    tracked.close()
    assert [record.getMessage() for record in caplog.records] == [
        "tensorflow_ignite: the tracker skips loss of step 1, since step 3 is recorded. The steps of a metric ascend. "
        "Record another training under other names: callback(prefix=...)"
    ]


def test_a_broken_tracker_is_named_in_the_log_once_and_the_training_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    run = Run(broken=True)
    tracked = tracker.Tracker(run)
    with caplog.at_level(logging.WARNING):
        for step in range(100):
            tracked.log(step, loss=1.0)
        tracked.close()
    assert run.ends == ["finished"]
    assert [record.getMessage() for record in caplog.records] == [
        "tensorflow_ignite: steps of loss may be recorded twice: no route to the server",
        "tensorflow_ignite: the tracker records nothing at present: no route to the server",
    ]


def test_an_error_of_the_script_and_an_exit_code_end_the_run_as_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("excepthook", "exit"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    failed, exited = Run(), Run()
    for run in (failed, exited):
        tracked = tracker.Tracker(run)
        if run is failed:
            sys.excepthook(ValueError, ValueError("as expected"), None)
        else:
            with pytest.raises(SystemExit):
                sys.exit(3)
        tracked.close()
        tracked.close()
    assert failed.ends == exited.ends == ["failed"]


def test_a_task_that_does_not_write_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "current", lambda: task.Task(in_job=True, kind="multi-worker-mirrored", index=1))
    tracked = tfi.train.tracker("mlflow")
    tracked.log(1, loss=0.5)
    tracked.close()
    assert tracked.run is None


@pytest.mark.parametrize("library", ["mlflow", "wandb"])
def test_a_missing_library_is_an_error_that_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr(task, "current", task.Task)
    with pytest.raises(TensorFlowIgniteError, match=rf'tracker\("{library}"\) cannot begin: .* pip install {library}'):
        tfi.train.tracker(library)  # type: ignore[arg-type]


def test_a_callback_of_a_tracker_is_one_whose_state_is_saved(caplog: pytest.LogCaptureFixture) -> None:
    run = Run()
    tracked = tracker.Tracker(run)
    callback = tracked.callback()
    callback.set_model(SimpleNamespace(optimizer=SimpleNamespace(iterations=SimpleNamespace(numpy=lambda: 3))))

    class CallbackList:
        """What is changed of Keras' own."""

        callbacks = (callback,)

        def on_train_begin(self) -> None:
            callback.on_train_begin()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            callback.on_epoch_end(epoch, logs)

    callback_states.watch(SimpleNamespace(CallbackList=CallbackList))  # type: ignore[arg-type]
    fit = CallbackList()
    fit.on_train_begin()
    fit.on_epoch_end(0)
    tracked.close()
    assert run.points == [(3, "epoch", 1.0)]
    states = callback_states.CallbackStates()
    states.take(fit.callbacks, None)
    assert "does not know the state" not in caplog.text
    states.deserialize(states.serialize())
    assert not states.restore()


def test_an_unknown_tracker_and_a_callback_without_steps_are_errors() -> None:
    with pytest.raises(InvalidRequestError, match=r"tracker 'comet' is unknown\. There are: mlflow, wandb"):
        tfi.train.tracker("comet")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match="every_steps=0 records no step"):
        tracker.Tracker(None).callback(every_steps=0)


def test_the_callback_records_epochs_and_every_nth_step_by_the_steps_of_the_optimizer() -> None:
    class Variable:
        def __init__(self, value: int) -> None:
            self.value = value

        def numpy(self) -> int:
            return self.value

    class Model:
        class optimizer:
            iterations: Any = Variable(0)

    run = Run()
    tracked = tracker.Tracker(run)
    callback = tracked.callback(every_steps=2, prefix="fine/")
    callback.set_model(Model)
    for step in (1, 2, 3):
        Model.optimizer.iterations = Variable(step)
        callback.on_train_batch_end(step - 1, {"loss": step, "name": "text"})
    callback.on_epoch_end(0, {"loss": 2.0})
    tracked.close()
    assert run.points == [(2, "fine/step_loss", 2), (3, "fine/loss", 2), (3, "fine/epoch", 1)]


def test_models_are_recorded_in_every_run_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run()
    tracked = tracker.Tracker(run)
    monkeypatch.setitem(tracker._trackers, "mlflow", tracked)
    tracker.note_model("digits", "3")
    tracked.close()
    tracker.note_model("digits", "4")
    assert run.models == {"digits": "3"}


def test_records_of_an_offline_file_end_where_a_killed_process_has_cut_it() -> None:
    def record(kind: int, data: bytes) -> bytes:
        return struct.pack("<IHB", 0, len(data), kind) + data

    # The second record is in two blocks of 32 KiB, the first of which has room for 10 bytes of it.
    first = b"a" * (32768 - 7 - 7 - 7 - 10)
    complete = b":W&B\xe1\xbe\x00" + record(1, first) + record(2, b"b" * 10) + record(4, b"c" * 5)
    assert list(wandb_run._records(complete)) == [first, b"b" * 10 + b"c" * 5]
    assert list(wandb_run._records(complete + record(1, b"later")[:-1])) == [first, b"b" * 10 + b"c" * 5]
    assert list(wandb_run._records(complete[:7])) == []


def test_a_status_of_mlflow_is_known_for_every_end() -> None:
    assert mlflow_run._STATUSES.keys() == tracker._FLUSH_SECONDS.keys()
    assert wandb_run._EXIT_CODES.keys() == set(tracker._OUTCOMES.values())
