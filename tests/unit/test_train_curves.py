"""Curves of a job, as TensorBoard's own reader finds them in the event files.

Promise (training): A curve never ends a training.
Promise (training): A curve is one line over all attempts of a job.
"""

from __future__ import annotations

import importlib
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tensorflow_ignite.errors import AttemptSupersededError, StorageFullError
from tensorflow_ignite.task import Task
from tensorflow_ignite.train import curves, event_file
from tensorflow_ignite.train.curves import Curves


class LocalWriter:
    """A writer into a local file, with the methods that curves use."""

    def __init__(self, path: str, error: Exception | None = None) -> None:
        self._path = Path(path)
        self._error = error
        self._data = b""

    def write(self, data: bytes) -> None:
        self._data += data

    def publish(self) -> None:
        if self._error is not None:
            raise self._error
        with self._path.open("ab") as file:
            file.write(self._data)
        self._data = b""

    def close(self) -> None:
        self.publish()

    def abandon(self) -> None:
        self._data = b""


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, list[tuple[int, float]]]]:
    """Reads the directory as TensorBoard does; without TensorFlow, which it would import."""
    pytest.importorskip("tensorboard")
    monkeypatch.setitem(sys.modules, "tensorboard.compat.notf", types.ModuleType("notf"))
    accumulators = importlib.import_module("tensorboard.backend.event_processing.plugin_event_accumulator")

    def points() -> dict[str, list[tuple[int, float]]]:
        accumulator = accumulators.EventAccumulator(str(tmp_path))
        accumulator.Reload()
        tags = accumulator.Tags()["tensors"]
        return {
            tag: [(each.step, float(each.tensor_proto.float_val[0])) for each in accumulator.Tensors(tag)]
            for tag in tags
        }

    return points


def attempt(folder: Path, number: int) -> Curves:
    """The curves of an attempt; each point is due."""
    path = str(folder / f"events.out.tfevents.{number:010d}")
    return Curves(path, LocalWriter, seconds=iter(range(0, 10**9, 10)).__next__)  # type: ignore[arg-type]


def test_attempts_are_one_line_and_a_later_one_replaces_the_steps_that_it_repeats(
    tmp_path: Path, read: Callable[[], Any]
) -> None:
    first = attempt(tmp_path, 1)
    for step in range(1, 8):
        first.add(step, {"loss": float(step), "accuracy": 0.5}, 0)
    first.close()
    second = attempt(tmp_path, 2)
    for step in (6, 8):
        second.add(step, {"loss": step / 2}, 4)
    second.close()
    third = attempt(tmp_path, 3)
    third.add(8, {"loss": 1.0}, 0)
    third.close()
    assert read() == {
        "loss": [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0), (6, 3.0), (8, 1.0)],
        "accuracy": [(step, 0.5) for step in range(1, 5)],
    }


def test_of_many_points_few_are_written_and_the_last_of_each_curve_is_among_them(
    tmp_path: Path, read: Callable[[], Any]
) -> None:
    now = [0.0]
    drawn = Curves(str(tmp_path / "tfevents"), LocalWriter, seconds=lambda: now[0])  # type: ignore[arg-type]
    for step in range(1, 3601):
        now[0] += 0.01
        drawn.add(step, {"loss": float(step)} | ({"once": 7.0} if step == 13 else {}), 0)
    drawn.close()
    found = read()
    assert found["once"] == [(13, 7.0)]
    assert 150 < len(found["loss"]) < 200
    assert found["loss"][0] == (1, 1.0)
    assert found["loss"][-1] == (3600, 3600.0)


def test_points_wait_in_memory_while_the_cluster_does_not_take_them(
    tmp_path: Path, read: Callable[[], Any], caplog: pytest.LogCaptureFixture
) -> None:
    refused = threading.Event()
    accepts = threading.Event()

    def open_writer(path: str) -> LocalWriter:
        if accepts.is_set():
            return LocalWriter(path)
        refused.set()
        return LocalWriter(path, StorageFullError("the memory is full"))

    drawn = Curves(str(tmp_path / "tfevents"), open_writer, seconds=iter(range(0, 10**9, 10)).__next__)  # type: ignore[arg-type]
    drawn.add(1, {"loss": 1.0}, 0)
    assert refused.wait(20)
    accepts.set()
    drawn.add(2, {"loss": 2.0}, 0)
    drawn.close()
    assert read() == {"loss": [(1, 1.0), (2, 2.0)]}
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == ["the memory is full"]


def test_a_replaced_task_draws_no_more(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    opened: list[str] = []

    def open_writer(path: str) -> LocalWriter:
        opened.append(path)
        return LocalWriter(path, AttemptSupersededError("attempt 2 runs"))

    drawn = Curves(str(tmp_path / "tfevents"), open_writer)  # type: ignore[arg-type]
    drawn.add(1, {"loss": 1.0}, 0)
    drawn.flush()
    drawn._thread.join(20)
    assert not drawn._thread.is_alive()
    drawn.add(2, {"loss": 1.0}, 0)
    drawn.close()
    assert (len(opened), caplog.records, list(tmp_path.iterdir())) == (1, [], [])


@pytest.mark.parametrize(
    ("task", "draws"),
    [
        (Task(), False),
        (Task(in_job=True, job_id="7f3a", kind="multi-worker-mirrored"), True),
        (Task(in_job=True, job_id="7f3a", kind="multi-worker-mirrored", index=1), False),
        (Task(in_job=True, job_id="7f3a", kind="parameter-server"), False),
        (Task(in_job=True, job_id="7f3a", kind="parameter-server", role="client"), True),
    ],
)
def test_one_task_of_a_job_draws(task: Task, draws: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "_curves", {})
    monkeypatch.setattr(curves.task, "current", lambda: task)
    assert (curves.of_this_process(curves.RUN) is not None) is draws
    assert task.is_chief is (draws or not task.in_job)
    assert task.log_directory == ("ignite:///jobs/7f3a/tensorboard" if task.in_job else "")


def test_an_evaluator_that_reports_has_a_file_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "_curves", {})
    here = Task(in_job=True, job_id="7f3a", kind="multi-worker-mirrored", role="evaluator")
    monkeypatch.setattr(curves.task, "current", lambda: here)
    drawn = curves.of_this_process(curves.RUN)
    assert drawn is not None
    assert "/tensorboard/evaluation/events" in drawn._path
    assert curves.of_this_process(curves.EVALUATION_RUN) is drawn


def test_numbers_of_every_size_are_points(tmp_path: Path, read: Callable[[], Any]) -> None:
    values = {"huge": 1e300, "small": -1e300, "none": float("nan")}
    record = event_file.scalars(2**40, 1.5, values)
    (tmp_path / "tfevents").write_bytes(event_file.head(1.0) + event_file.start(0, 1.0) + record)
    found = read()
    assert found["huge"] == [(2**40, float("inf"))]
    assert found["small"] == [(2**40, float("-inf"))]
    assert found["none"][0][1] != found["none"][0][1]
