"""How fast a task trains, as it reports it: over a sliding window, from steps, rows and waits."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from google.protobuf import json_format

from tensorflow_ignite import task, train
from tensorflow_ignite.data.epochs import input_totals, prefetch
from tensorflow_ignite.data.epochs.input_totals import InputTotals
from tensorflow_ignite.train import curves, progress
from tensorflow_ignite.train.throughput import WINDOW_SECONDS, ThroughputMeter
from tensorflow_ignite.v1 import job_pb2


class Training:
    """A training whose clock and input a test sets."""

    def __init__(self) -> None:
        self.now = 100.0
        self.input = InputTotals()
        self.meter = ThroughputMeter(lambda: self.input, lambda: self.now)

    def train(self, seconds: float, step: int, rows: int = 0, waited: float = 0.0) -> tuple[float, float, float] | None:
        self.now += seconds
        self.input = InputTotals(self.input.rows + rows, self.input.waited + waited)
        found = self.meter.measure(step)
        return None if found is None else (found.steps_per_second, found.examples_per_second, found.input_wait)


def test_rates_are_those_of_the_time_between_samples() -> None:
    training = Training()
    assert training.train(0, 0) is None
    assert training.train(0.5, 5, rows=500) is None
    assert training.train(1.5, 20, rows=1500, waited=0.5) == (10, 1000, 0.25)
    several = Training()
    several.train(0, 0)
    # Waits of several datasets are at most the whole time.
    assert several.train(2, 1, waited=7) == (0.5, 0, 1)


def test_an_earlier_speed_is_forgotten() -> None:
    training = Training()
    training.train(0, 0)
    training.train(2, 200, rows=2000, waited=2)
    found = None
    for step in range(201, 201 + int(WINDOW_SECONDS) + 2):
        found = training.train(1, step, rows=8)
    assert found == (1, 8, 0)


def test_reports_that_come_seldom_have_the_rate_between_them() -> None:
    training = Training()
    training.train(0, 0)
    assert training.train(300, 600, rows=30_000) == (2, 100, 0)
    assert training.train(100, 1600, rows=20_000) == (10, 200, 0)


def test_rows_that_are_read_seldom_and_many_at_a_time_have_the_rate_between_the_reads() -> None:
    training = Training()
    training.train(0, 0)
    step, shown = 0, []
    for second in range(1, 181):
        step += 10
        found = training.train(1, step, rows=19_200 if second % 60 == 0 else 0)
        assert found is not None
        shown.append(found[1])
    # A batch has 32 rows.
    assert shown[59:] == [320.0] * 121
    # Nothing is read any more.
    for _ in range(120):
        found = training.train(1, step)
    assert found == (0, 160, 0)


def test_another_training_of_the_same_process_begins_anew() -> None:
    training = Training()
    training.train(0, 0)
    training.train(5, 1000)
    assert training.train(5, 0) is None
    assert training.train(2, 10) == (5, 0, 0)


def test_a_prefetcher_counts_the_time_without_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, now = threading.Event(), [100.0]
    monkeypatch.setattr(input_totals, "time", SimpleNamespace(monotonic=lambda: now[0]))
    shown: list[float] = []

    def items():
        yield "first"
        go_on.wait()
        yield "second"

    def pass_time() -> None:
        while not input_totals._waits:
            time.sleep(0.01)
        now[0] += 2
        # A wait counts while it lasts.
        shown.append(input_totals.totals().waited - before)
        now[0] += 1
        go_on.set()

    prefetcher = prefetch.Prefetcher(items(), lambda: None)
    prefetcher.start()
    assert prefetcher.take() == "first"
    before = input_totals.totals().waited
    clock = threading.Thread(target=pass_time)
    clock.start()
    assert prefetcher.take() == "second"
    assert [*shown, input_totals.totals().waited - before] == pytest.approx([2, 3])
    clock.join()
    prefetcher.join()


@pytest.fixture
def training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Training:
    """A training that reports to a file in a task of a job."""
    made = Training()
    monkeypatch.setenv("TENSORFLOW_IGNITE_PROGRESS", str(tmp_path / "progress.json"))
    writer = progress._Writer()
    writer._meter = made.meter
    monkeypatch.setattr(progress, "_writer", writer)
    return made


def reported(folder: Path) -> job_pb2.Progress:
    return json_format.Parse((folder / "progress.json").read_text(), job_pb2.Progress())


@pytest.mark.parametrize("before", [0, 30])
def test_steps_that_were_restored_are_not_counted_as_done(training: Training, before: int, tmp_path: Path) -> None:
    train.busy(600)
    training.now += 2
    if before:
        # Steps of an earlier training of the process.
        train.report(before, force=True)
        assert reported(tmp_path).throughput.steps_per_second == before / 2
    training.now, training.input = training.now + 20, InputTotals(640, 1)
    progress.report_checkpoint(resumed_from_step=5000)
    assert reported(tmp_path).step == 5000
    assert not reported(tmp_path).HasField("throughput")
    training.now, training.input = training.now + 2, InputTotals(1280, 2)
    train.report(5010, force=True)
    assert reported(tmp_path).throughput == job_pb2.Throughput(
        steps_per_second=5, examples_per_second=320, input_wait=0.5
    )


def test_a_report_has_the_memory_of_all_snapshots(
    training: Training, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress.input_totals, "snapshot_bytes", lambda: 77)
    train.report(1, force=True)
    assert reported(tmp_path).snapshot_bytes == 77


def test_an_evaluator_reports_no_speed_of_steps_that_the_workers_did(
    training: Training, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves, "of_this_process", lambda run: None)
    monkeypatch.setattr(task, "current", lambda: task.Task(in_job=True, job_id="7f3a", role="evaluator"))
    for step in (5000, 5500):
        progress.announce(0, force=True)
        training.now, training.input = training.now + 20, InputTotals(training.input.rows + 640, 0)
        train.report(step, force=True, loss=0.5)
        shown = reported(tmp_path)
        assert (shown.step, shown.throughput.steps_per_second) == (step, 0)
        assert shown.throughput.examples_per_second == 32


def test_a_report_has_the_throughput_and_draws_its_curves(
    training: Training, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[int, dict[str, float]]] = []

    class Drawn:
        def add(self, step: int, figures: dict[str, float], resumed: int) -> None:
            drawn.append((step, dict(figures)))

    monkeypatch.setattr(curves, "of_this_process", lambda run: Drawn())
    train.report(0, 100, loss=0.5)
    training.now, training.input = training.now + 2, InputTotals(640, 0.5)
    progress.report_figures(20, 100, {"loss": 0.5}, draws_metrics=False, force=True)
    # What comes between two samples has the throughput of the first.
    train.report(21, 100, force=True, loss=0.25)
    expected = {"steps_per_second": 10.0, "examples_per_second": 320.0, "input_wait": 0.25}
    shown = reported(tmp_path)
    assert json_format.MessageToDict(shown.throughput, preserving_proto_field_name=True) == expected
    assert drawn == [
        (0, {"loss": 0.5}),
        (20, {f"throughput/{name}": value for name, value in expected.items()}),
        (21, {"loss": 0.25}),
    ]
