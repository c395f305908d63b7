"""Tells a script at once that its strategy is not that of its job's kind: each worker would train its own model."""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any

from tensorflow_ignite import task
from tensorflow_ignite.errors import TensorFlowIgniteError

# The names of TensorFlow's classes whose public names differ.
_PUBLIC = {
    "CollectiveAllReduceStrategy": "MultiWorkerMirroredStrategy",
    "_CollectiveAllReduceStrategyExperimental": "MultiWorkerMirroredStrategy",
    "ParameterServerStrategyV2": "ParameterServerStrategy",
    "TPUStrategyV2": "TPUStrategy",
}
_STRATEGIES = {*_PUBLIC.values(), "MirroredStrategy", "CentralStorageStrategy", "OneDeviceStrategy"}
_REMEDY = (
    "Create the strategy with tfi.train.strategy(), and the model within strategy.scope(); or, if that is intended, "
    "submit with --kind custom"
)
_made: set[str] = set()
_has_warned = False


def watch(distribute_lib: ModuleType) -> None:
    """Checks each strategy when it is created.

    Args:
        distribute_lib: The module ``tensorflow.python.distribute.distribute_lib``; the package calls this once.
    """
    kind: Any = distribute_lib.StrategyBase
    original = kind.__init__

    @functools.wraps(original)
    def __init__(self: Any, extended: Any) -> None:
        original(self, extended)
        name = _name(self)
        if name in _STRATEGIES:
            _made.add(name)
            _require(name, "a script creates it")

    kind.__init__ = __init__


def watch_tf_keras(training: ModuleType) -> None:
    """Checks the strategy of each model that is fitted by Keras 2 in the package tf_keras.

    Args:
        training: The module ``tf_keras.src.engine.training``, of which the package calls this once.
    """
    model = training.Model
    original = model.fit

    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_fit(self.distribute_strategy)
        return original(self, *args, **kwargs)

    model.fit = fit


def check_fit(strategy: Any) -> None:
    """Checks the strategy of a model that is about to be fitted.

    Args:
        strategy: A tf.distribute.Strategy, also TensorFlow's default.

    Raises:
        TensorFlowIgniteError: It is not that of the job's kind.
    """
    name = _name(strategy)
    _require(name if name in _STRATEGIES else "", "fit trains a model that was made under it")


def warn_without() -> None:
    """Writes a warning to standard error, once, if a worker of several trains without a strategy."""
    global _has_warned
    here = task.current()
    wanted = here.rules.strategy if here.rules else ""
    if not wanted or here.num_workers < 2 or _has_warned or wanted in _made or here.role != "worker":
        return
    _has_warned = True
    print(
        f"tensorflow_ignite: warning: {here.task} reports a step, and has created no {wanted}: each of the "
        f"{here.num_workers} workers trains a model of its own. {_REMEDY}",
        file=sys.stderr,
        flush=True,
    )


def _name(strategy: Any) -> str:
    name = type(strategy).__name__
    return _PUBLIC.get(name, name)


def _require(name: str, where: str) -> None:
    here = task.current()
    wanted = here.rules.strategy if here.rules else ""
    if not wanted or name == wanted or here.role != (here.rules.script_role if here.rules else ""):
        return
    raise TensorFlowIgniteError(
        f"{here.task} uses {name or 'no strategy'} ({where}). A job of kind {here.kind} trains under {wanted}; with "
        f"another strategy each process would train a model of its own. {_REMEDY}"
    )
