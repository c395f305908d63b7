"""What report() writes, and when."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from google.protobuf import json_format

from tensorflow_ignite import train
from tensorflow_ignite.agent import progress as agent_progress
from tensorflow_ignite.train import progress
from tensorflow_ignite.v1 import job_pb2


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The progress file of this process, which has reported nothing yet."""
    file = tmp_path / "progress.json"
    monkeypatch.setenv("TENSORFLOW_IGNITE_PROGRESS", str(file))
    monkeypatch.setattr(progress, "_writer", progress._Writer())
    return file


def read(path: Path) -> job_pb2.Progress:
    return json_format.Parse(path.read_text(), job_pb2.Progress())


def test_a_report_replaces_the_file_with_all_its_values(path: Path) -> None:
    train.report(3, 10, loss=0.5, accuracy=float("nan"))
    report = read(path)
    assert (report.step, report.total_steps, report.metrics["loss"]) == (3, 10, 0.5)
    assert report.metrics["accuracy"] != report.metrics["accuracy"]
    assert report.HasField("reported_at")
    assert os.listdir(path.parent) == [path.name]


def test_a_full_disk_ends_no_training_and_the_report_comes_when_there_is_room(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace = progress.replace

    def is_full(_: str, text: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(progress, "replace", is_full)
    train.report(1)
    train.report(2, force=True)
    error = capsys.readouterr().err
    assert error.count("progress cannot be reported to the job; it is tried again") == 1
    assert "No space left on device" in error
    assert not path.exists()
    monkeypatch.setattr(progress, "replace", replace)
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert read(path).step == 2


def test_reports_in_quick_succession_are_few_writes_and_the_last_is_among_them(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, now = progress._writer, [0.0]
    steps: list[int] = []
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_WRITES", 0.25)
    timer = SimpleNamespace(cancel=lambda: None)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(
        progress, "replace", lambda _, text: steps.append(json_format.Parse(text, job_pb2.Progress()).step)
    )
    monkeypatch.setattr(writer, "_write_after", lambda seconds: setattr(writer, "_timer", timer))
    for step in range(1, 1000):
        train.report(step)
        now[0] += 1 / 64
    assert steps == [1, *range(17, 1000, 16)]
    # The timer ends.
    writer._write_late()
    assert steps[-1] == 999


def test_the_last_report_is_written_when_the_script_ends(path: Path) -> None:
    program = (
        "from tensorflow_ignite import train\n"
        "from tensorflow_ignite.train import progress\n"
        "progress.SECONDS_BETWEEN_WRITES = 3600\n"
        "for step in range(5): train.report(step)\n"
        "raise SystemExit(7)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 7
    assert read(path).step == 4


def test_outside_a_job_nothing_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TENSORFLOW_IGNITE_PROGRESS")
    train.report(1, loss=1.0)
    assert os.listdir(path.parent) == []


def test_a_metric_that_is_no_number_is_named(path: Path) -> None:
    with pytest.raises(TypeError, match=r"metric loss='low' is not a number"):
        train.report(1, loss="low")  # type: ignore[arg-type]


@pytest.mark.parametrize("metrics", [{f"figure {n}": n / 3 for n in range(10_000)}, {"é" * 70_000: 1.0, "loss": 2.0}])
def test_a_report_with_too_many_metrics_keeps_its_step_and_the_first_of_them(
    path: Path, capsys: pytest.CaptureFixture[str], metrics: dict[str, float]
) -> None:
    for step in (1, 2):
        train.report(step, force=True, **metrics)
        progress.report_checkpoint(checkpoint_step=step)
    assert path.stat().st_size <= agent_progress.MAX_BYTES == progress.MAX_BYTES
    report = agent_progress.ProgressFile(path).read_new()
    assert report is not None
    assert (report.step, report.checkpoint_step) == (2, 2)
    assert dict(report.metrics) == {name: metrics[name] for name in sorted(metrics)[: len(report.metrics)]}
    assert len(report.metrics) == 1 if "loss" in metrics else len(report.metrics) > 1000
    (shown,) = re.findall(rf"the job shows ([0-9]+) of {len(metrics)} metrics", capsys.readouterr().err)
    # The number is that of the first report. The digits of its times may differ by one.
    assert abs(int(shown) - len(report.metrics)) <= 1


def test_announced_work_is_written_at_once_and_lasts_until_the_next_step(path: Path) -> None:
    train.report(3, force=True)
    before = time.monotonic_ns()
    train.busy(900)
    after = time.monotonic_ns()
    announced = read(path)
    assert announced.step == 3
    assert before <= announced.busy_until_nanos - 900 * 10**9 <= after
    train.report(4, force=True)
    assert read(path).busy_until_nanos == 0
    with pytest.raises(ValueError, match="seconds=-1 is not a time"):
        train.busy(-1)


def test_a_checkpoint_is_reported_at_once_and_with_every_later_report(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_WRITES", 3600.0)
    progress.report_checkpoint(resumed_from_step=80)
    assert (read(path).step, read(path).resumed_from_step, read(path).checkpoint_step) == (80, 80, 0)
    train.report(100, 200, loss=0.5)
    progress.report_checkpoint(checkpoint_step=100)
    last = read(path)
    assert (last.step, last.total_steps, last.metrics["loss"]) == (100, 200, 0.5)
    assert (last.resumed_from_step, last.checkpoint_step) == (80, 100)
    train.report(101, 200, force=True, accuracy=1.0)
    last = read(path)
    assert (last.step, last.resumed_from_step, last.checkpoint_step) == (101, 80, 100)
    assert list(last.metrics) == ["accuracy"]
    # A second training of the process: the steps of the first one are none of it.
    progress.report_checkpoint(resumed_from_step=20)
    assert (read(path).step, read(path).resumed_from_step) == (20, 20)
    train.busy(900)
    progress.report_checkpoint(resumed_from_step=0)
    assert (read(path).step, read(path).resumed_from_step) == (0, 0)
    assert read(path).busy_until_nanos
