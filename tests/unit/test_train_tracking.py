"""A tracker records each step of a metric once, and never ends a training; without MLflow and W&B."""

from __future__ import annotations

import logging
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import tensorflow_ignite as tfi
from tensorflow_ignite import task
from tensorflow_ignite.agent.command import CommandFile
from tensorflow_ignite.errors import InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.train import callback_states
from tensorflow_ignite.train.tracking import mlflow_run, tracker, wandb_run
from tensorflow_ignite.train.tracking.run import RunSource


class Run:
    """A run in memory."""

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


# A script whose tracker has a run that prints its figures and its end.
SCRIPT = """
import logging, signal, sys, threading
logging.basicConfig(stream=sys.stdout, format="%(message)s")
from tensorflow_ignite.train.tracking import tracker
class Run:
    last_step = lambda self, name: None
    write = lambda self, figures: print("wrote", len(figures), flush=True)
    end = lambda self, outcome: print("end", outcome, flush=True)
def ask():
    {ask}
tracked = tracker.Tracker(Run(), ask)
{rest}
"""


def script(rest: str, ask: str = "return 'stopped'", **variables: str) -> subprocess.Popen[str]:
    """Starts a script with a tracker."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(rest=rest, ask=ask)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **variables},
    )


@pytest.mark.parametrize(
    ("rest", "code", "end"),
    [
        ("", 0, "finished"),
        ("sys.exit(0)", 0, "finished"),
        ("sys.exit(3)", 3, "failed"),
        ("sys.exit('a reason')", 1, "failed"),
        ("1 / 0", 1, "failed"),
        ("try:\n    sys.exit(3)\nexcept SystemExit:\n    pass", 0, "finished"),
        ("each = threading.Thread(target=lambda: sys.exit(3)); each.start(); each.join(); sys.exit()", 0, "finished"),
    ],
)
def test_a_run_ends_as_its_script(rest: str, code: int, end: str) -> None:
    with script(rest) as process:
        assert process.communicate()[0].splitlines() == [f"end {end}"]
    assert process.returncode == code


def test_a_code_that_no_hook_of_python_reports_is_named_in_the_log() -> None:
    with script("raise SystemExit(3)") as process:
        warning, end = process.communicate()[0].splitlines()
    assert "the script has raised SystemExit itself, and the tracker cannot see its code" in warning
    assert end == "end finished"


@pytest.mark.parametrize(
    ("ask", "end"), [("return 'stopped'", "stopped"), ("raise OSError('no answer')", "restarting")]
)
@pytest.mark.parametrize(
    ("before", "code"),
    [("", -signal.SIGTERM), ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n", 7)],
)
def test_a_job_that_stops_a_task_has_its_figures_and_ends_its_run(
    tmp_path: Path, ask: str, end: str, before: str, code: int
) -> None:
    command = CommandFile(tmp_path / "command.json")
    wait = "tracked.log(1, loss=1.0)\nprint('begun', flush=True)\nthreading.Event().wait(600)"
    body = SCRIPT.replace("{rest}", wait).replace("tracked = ", f"{before}tracked = ").format(ask=ask)
    with subprocess.Popen(
        [sys.executable, "-c", body],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TENSORFLOW_IGNITE_COMMAND": str(command.path)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        command.stop()
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read().splitlines() == ["wrote 1", f"end {end}"]
    assert process.returncode == code


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


def test_a_checkpoint_callback_takes_the_callback_for_one_of_the_user_without_state(
    caplog: pytest.LogCaptureFixture,
) -> None:
    callback = tracker.Tracker(None).callback()

    class CallbackList:
        callbacks: ClassVar[list[Any]] = [callback]

        def on_train_begin(self, logs: Any = None) -> None:
            callback.on_train_begin(logs)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            callback.set_model(SimpleNamespace(optimizer=SimpleNamespace(iterations=SimpleNamespace(numpy=lambda: 5))))
            callback.on_epoch_end(epoch, logs)

    # As Keras' module of callbacks.
    callback_states.watch(SimpleNamespace(CallbackList=CallbackList))  # type: ignore[arg-type]
    CallbackList().on_train_begin()
    CallbackList().on_epoch_end(0, {"loss": 1.0})
    states = callback_states.CallbackStates()
    with caplog.at_level(logging.WARNING):
        states.take([callback], None)
    assert not caplog.records
    saved = states.serialize()
    states.deserialize(saved)
    assert not states.restore()


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


class Library:
    """MLflow or W&B, as far as a run uses it."""

    def __init__(self, address: str = "http://server", found: str | None = None) -> None:
        self.begun: list[dict[str, Any]] = []
        self.parameters: dict[str, str] = {}
        self.entities = SimpleNamespace(Metric=lambda *values: values)
        self._address, self._found = address, found
        self.batches: list[list[Any]] = []

    def is_tracking_uri_set(self) -> bool:
        return True

    def get_tracking_uri(self) -> str:
        return self._address

    def MlflowClient(self) -> Any:
        return SimpleNamespace(log_batch=lambda run, metrics: self.batches.append(metrics))

    def search_runs(self, **_options: Any) -> list[Any]:
        return [] if self._found is None else [SimpleNamespace(info=SimpleNamespace(run_id=self._found))]

    def start_run(self, **options: Any) -> Any:
        self.begun.append(options)
        return SimpleNamespace(info=SimpleNamespace(run_id="r"), data=SimpleNamespace(params={}))

    def log_params(self, parameters: Mapping[str, str]) -> None:
        self.parameters.update(parameters)

    Settings = SimpleNamespace

    def init(self, **options: Any) -> Any:
        self.begun.append(options)
        config = dict(options.get("config") or {})
        self.parameters = config
        return SimpleNamespace(
            config=SimpleNamespace(update=lambda values, allow_val_change: config.update(values)),
            starting_step=0,
            offline=False,
            finish=lambda exit_code: None,
        )


SOURCE = RunSource("the job", "its name", 2, "2 workers", {"cache": "rows"})


@pytest.mark.parametrize("found", [None, "r"])
def test_options_for_mlflow_do_not_hide_the_job(monkeypatch: pytest.MonkeyPatch, found: str | None) -> None:
    library = Library(found=found)
    monkeypatch.setitem(sys.modules, "mlflow", library)
    mlflow_run.MlflowRun(SOURCE, None, {"tags": {"team": "a"}, "run_name": "mine"})
    (options,) = library.begun
    assert options["tags"]["team"] == "a"
    assert options["tags"]["tensorflow_ignite.job"] == "the job"
    assert options["tags"]["tensorflow_ignite.attempt.2"] == "2 workers"
    assert (options["run_name"], options.get("run_id")) == ("mine", found)


def test_options_for_wandb_do_not_hide_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setitem(sys.modules, "wandb", library)
    wandb_run.WandbRun(SOURCE, "project", {"config": {"rate": 0.1}, "tags": ["a"], "group": "g"})
    (options,) = library.begun
    assert (options["id"], options["resume"], options["group"]) == ("the job", "allow", "g")
    assert options["tags"] == ["a", "attempt 1", "attempt 2"]
    assert library.parameters == {"rate": 0.1, "cache": "rows"}


def test_the_end_of_a_job_begins_no_run_of_wandb(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setitem(sys.modules, "wandb", library)
    wandb_run.end_from_outside("the job", "failed", {"digits": "3"}, {"project": "p"})
    assert library.begun == [{"id": "the job", "resume": "must", "project": "p"}]
    assert library.parameters == {"tensorflow_ignite.model.digits": "3"}


@pytest.mark.parametrize(
    ("address", "is_lost"),
    [
        ("sqlite:///mlflow.db", True),
        ("mlruns", True),
        ("file:mlruns", True),
        ("sqlite:////shared/mlflow.db", False),
        ("file:///shared/mlruns", False),
        ("postgresql://server/mlflow", False),
        ("postgresql+psycopg2://server/mlflow", False),
        ("databricks", False),
    ],
)
def test_a_store_in_the_work_directory_of_a_task_is_refused(
    monkeypatch: pytest.MonkeyPatch, address: str, is_lost: bool
) -> None:
    library = Library(address)
    monkeypatch.setitem(sys.modules, "mlflow", library)
    if is_lost:
        with pytest.raises(InvalidRequestError, match="would write into the work directory of the task"):
            mlflow_run.MlflowRun(SOURCE, None, {})
    else:
        mlflow_run.MlflowRun(SOURCE, None, {})
    assert len(library.begun) == (not is_lost)


def test_a_name_that_mlflow_refuses_does_not_keep_other_metrics_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setitem(sys.modules, "mlflow", library)
    run = mlflow_run.MlflowRun(SOURCE, None, {})
    run.write([(1, 2.0, {"precision@5": 0.5, "val/loss (mean)": 1.0})])
    assert library.batches == [[("precision_5", 0.5, 2000, 1), ("val/loss _mean_", 1.0, 2000, 1)]]
