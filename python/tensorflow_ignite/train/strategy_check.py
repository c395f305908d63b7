"""Raises an error at once if a script uses another strategy than its job's kind requires; says the consequence."""

from __future__ import annotations

import functools
import os
import sys
from types import ModuleType
from typing import Any

from tensorflow_ignite import task
from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.kinds import Kind

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
    "submit with --strategy custom"
)
_made: set[str] = set()
_has_warned = False


def watch(distribute_lib: ModuleType) -> None:
    """Checks each strategy when it is created."""
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
    """Checks the strategy of each model that is fitted by Keras 2 in the package tf_keras."""
    model = training.Model
    original = model.fit

    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_fit(self.distribute_strategy, jit_compile=bool(self.jit_compile))
        return original(self, *args, **kwargs)

    model.fit = fit


def check_fit(strategy: Any, *, jit_compile: bool = False) -> None:
    """Checks the strategy of a model that is about to be fitted.

    Args:
        strategy: A tf.distribute.Strategy, also TensorFlow's default.
        jit_compile: Whether XLA shall compile the steps of the model.

    Raises:
        TensorFlowIgniteError: The job's kind requires another strategy, or XLA cannot compile steps under this one.
    """
    name = _name(strategy)
    _require(name if name in _STRATEGIES else "", "fit trains a model that was made under it")
    if jit_compile and strategy.num_replicas_in_sync > 1 and name.endswith("MirroredStrategy"):
        _require_gpus(name, strategy.num_replicas_in_sync)


def _require_gpus(name: str, replicas: int) -> None:
    """Refuses XLA over several replicas on CPUs: TensorFlow's own error comes late, and may corrupt its memory."""
    import tensorflow as tf

    if not tf.config.list_logical_devices("GPU"):
        raise TensorFlowIgniteError(
            f"fit cannot run jit_compile=True under {name} with {replicas} replicas on CPUs. XLA compiles a step for "
            "one CPU device, and has no collective operations for CPUs. Use jit_compile=False"
        )


def warn_without() -> None:
    """Writes a warning to standard error, once, if the script of a job with several devices made no strategy."""
    global _has_warned
    here = task.current()
    rules = here.rules
    if _has_warned or rules is None or not rules.strategy or rules.strategy in _made or here.role != rules.script_role:
        return
    gpus = list(filter(None, os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")))
    if not rules.parameter_servers and max(here.num_workers, len(gpus)) < 2:
        return
    _has_warned = True
    print(
        f"tensorflow_ignite: warning: {here.task} reports a step, and has created no {rules.strategy}: "
        f"{_consequence(rules, '')}. {_REMEDY}",
        file=sys.stderr,
        flush=True,
    )


def warn_of_own(model: Any, name: str, distributed: type) -> None:
    """Writes a warning to standard error if a worker of several exports a model that only its own rows have trained.

    Args:
        model: A model of Keras, or a ``tf.Module``.
        name: Its name.
        distributed: TensorFlow's class of the variables of a strategy.
    """
    here = task.current()
    if here.rules is None or here.rules.strategy != "MultiWorkerMirroredStrategy" or here.num_workers < 2:
        return
    variables = list(model.variables)
    # A variable of Keras 3 has one of TensorFlow.
    if variables and not any(isinstance(getattr(each, "_value", each), distributed) for each in variables):
        print(
            f"tensorflow_ignite: warning: the exported model {name} was made outside strategy.scope(): unless it has "
            f"the weights of another model, {here.task} alone has trained it, on its part of the rows. Make the model "
            "within strategy.scope(), and call a step of your own by strategy.run",
            file=sys.stderr,
            flush=True,
        )


def _name(strategy: Any) -> str:
    name = type(strategy).__name__
    return _PUBLIC.get(name, name)


def _require(name: str, where: str) -> None:
    here = task.current()
    expected = here.rules.strategy if here.rules else ""
    if not expected or name == expected or here.role != (here.rules.script_role if here.rules else ""):
        return
    raise TensorFlowIgniteError(
        f"{here.task} uses {name or 'no strategy'} ({where}). A job of kind {here.kind} trains under {expected}; "
        f"{_consequence(here.rules, name)}. {_REMEDY}"
    )


def _consequence(rules: Kind | None, name: str) -> str:
    """What another strategy means in a job of this kind; `name` is empty: none."""
    without = "with another strategy" if name else "without it"
    if rules is None or rules.several_workers:
        if rules is not None and rules.parameter_servers:
            return f"{without} the workers and the parameter servers would have nothing to do"
        return f"{without} each process would train a model of its own"
    return f"{without} its process would compute on one of its devices only"
