"""An evaluator and the directory of a training's checkpoints."""

from __future__ import annotations

from importlib import import_module

import pytest

from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.task import Task


def test_an_evaluator_that_runs_the_training_is_refused_before_it_takes_the_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = Task(in_job=True, job_id="7f3a", role="evaluator", checkpoint_directory="/ckpt")
    # The package has a function of this name.
    module = import_module("tensorflow_ignite.train.checkpoint")
    monkeypatch.setattr(module, "current", lambda: here)
    with pytest.raises(TensorFlowIgniteError, match=r"An evaluator saves none.*use tfi\.train\.evaluate"):
        module.checkpoint(model=object())
