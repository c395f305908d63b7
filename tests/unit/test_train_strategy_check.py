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


def of_job(kind: JobKind, role: str = "worker", num_workers: int = 1) -> Task:
    return Task(in_job=True, job_id="7f3a", role=role, kind=kind, num_workers=num_workers)


@pytest.mark.parametrize(
    ("here", "strategy", "reason"),
    [
        (of_job("mirrored"), object(), "uses no strategy .* without it its process would compute on one of"),
        (of_job("central-storage"), OneDeviceStrategy(), "with another strategy its process would compute on one"),
        (of_job("multi-worker-mirrored"), object(), "without it each process would train a model of its own"),
        (
            of_job("parameter-server", "client"),
            object(),
            "without it the workers and the parameter servers would have nothing",
        ),
    ],
)
def test_the_reason_is_that_of_the_kind(
    monkeypatch: pytest.MonkeyPatch, here: Task, strategy: object, reason: str
) -> None:
    monkeypatch.setattr(task, "current", lambda: here)
    with pytest.raises(TensorFlowIgniteError, match=reason):
        strategy_check.check_fit(strategy)


@pytest.mark.parametrize(
    ("here", "gpus", "says"),
    [
        (of_job("multi-worker-mirrored", num_workers=3), "", "each process would train a model of its own"),
        (of_job("multi-worker-mirrored"), "", ""),
        (of_job("mirrored"), "0,1", "its process would compute on one of its devices only"),
        (of_job("mirrored"), "0", ""),
        (of_job("parameter-server", "client", 2), "", "the parameter servers would have nothing to do"),
        (of_job("parameter-server", num_workers=2), "", ""),
        (of_job("custom", num_workers=3), "0,1", ""),
    ],
)
def test_a_loop_that_reports_steps_without_a_strategy_is_warned_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Task, gpus: str, says: str
) -> None:
    monkeypatch.setattr(task, "current", lambda: here)
    monkeypatch.setattr(strategy_check, "_has_warned", False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", gpus)
    strategy_check.warn_without()
    said = capsys.readouterr().err
    assert says in said
    assert said.count("warning") == bool(says)
    strategy_check.warn_without()
    assert capsys.readouterr().err == ""


class Variable:
    """As of TensorFlow, or of Keras 3, which has one of TensorFlow."""

    def __init__(self, value: object = None) -> None:
        if value is not None:
            self._value = value


class Distributed:
    """A variable of a strategy."""


class Model:
    """A model with variables."""

    def __init__(self, *variables: object) -> None:
        self.variables = variables


@pytest.mark.parametrize(
    ("here", "model", "is_own"),
    [
        (of_job("multi-worker-mirrored", num_workers=2), Model(Variable(), Variable(object())), True),
        (of_job("multi-worker-mirrored", num_workers=2), Model(Variable(), Distributed()), False),
        (of_job("multi-worker-mirrored", num_workers=2), Model(Variable(Distributed())), False),
        (of_job("multi-worker-mirrored", num_workers=2), Model(), False),
        (of_job("multi-worker-mirrored"), Model(Variable()), False),
        (of_job("custom", num_workers=2), Model(Variable()), False),
        (of_job("parameter-server", "client", 2), Model(Variable()), False),
    ],
)
def test_the_export_of_a_model_that_one_worker_has_trained_alone_is_warned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Task, model: Model, is_own: bool
) -> None:
    monkeypatch.setattr(task, "current", lambda: here)
    strategy_check.warn_of_own(model, "digits", Distributed)
    assert ("digits was made outside strategy.scope()" in capsys.readouterr().err) == is_own
