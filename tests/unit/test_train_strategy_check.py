"""What a script reads that trains under another strategy than that of its job's kind."""

from __future__ import annotations

import pytest

from tensorflow_ignite import task
from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.kinds import JobKind
from tensorflow_ignite.task import Task
from tensorflow_ignite.train import strategy_check


class OneDeviceStrategy:
    """Has the name of TensorFlow's class."""


@pytest.mark.parametrize(
    ("kind", "role", "strategy", "reason"),
    [
        ("mirrored", "worker", object(), "uses no strategy .* without it its process would compute on one of"),
        ("central-storage", "worker", OneDeviceStrategy(), "with another strategy its process would compute on one"),
        ("multi-worker-mirrored", "worker", object(), "without it each process would train a model of its own"),
        ("parameter-server", "client", object(), "without it the workers and the parameter servers would have nothing"),
    ],
)
def test_the_reason_is_that_of_the_kind(
    monkeypatch: pytest.MonkeyPatch, kind: JobKind, role: str, strategy: object, reason: str
) -> None:
    here = Task(in_job=True, job_id="7f3a", role=role, kind=kind)
    monkeypatch.setattr(task, "current", lambda: here)
    with pytest.raises(TensorFlowIgniteError, match=reason):
        strategy_check.check_fit(strategy)


@pytest.mark.parametrize(
    ("kind", "role", "num_workers", "gpus", "says"),
    [
        ("multi-worker-mirrored", "worker", 3, "", "each process would train a model of its own"),
        ("multi-worker-mirrored", "worker", 1, "", ""),
        ("mirrored", "worker", 1, "0,1", "its process would compute on one of its devices only"),
        ("mirrored", "worker", 1, "0", ""),
        ("parameter-server", "client", 2, "", "the parameter servers would have nothing to do"),
        ("parameter-server", "worker", 2, "", ""),
        ("custom", "worker", 3, "0,1", ""),
    ],
)
def test_a_loop_that_reports_steps_without_a_strategy_is_warned_once(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: JobKind,
    role: str,
    num_workers: int,
    gpus: str,
    says: str,
) -> None:
    here = Task(in_job=True, job_id="7f3a", role=role, kind=kind, num_workers=num_workers)
    monkeypatch.setattr(task, "current", lambda: here)
    monkeypatch.setattr(strategy_check, "_has_warned", False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", gpus)
    strategy_check.warn_without()
    said = capsys.readouterr().err
    assert says in said
    assert said.count("warning") == bool(says)
    strategy_check.warn_without()
    assert capsys.readouterr().err == ""
