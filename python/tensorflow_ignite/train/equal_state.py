"""State that must be equal on all workers before they train together: weights, vocabularies, what layers have learned.

TensorFlow copies the variables that are made under MultiWorkerMirroredStrategy from the first worker to the others. It
does not copy tables, constants, and variables that are made elsewhere. If these differ, workers train different models
without an error. So before the first step each worker computes a hash of each layer, and the nodes compare them.
A worker that fails meanwhile ends the attempt, and no other one waits for it in a collective operation.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from types import ModuleType
from typing import Any, NamedTuple

from tensorflow_ignite import task
from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.train import layer_state

_log = logging.getLogger("tensorflow_ignite.train")
SECONDS_TO_SAY = 10.0
_NAME = "equal-state"
_REMEDY = (
    "Give each worker the same: let a preprocessing layer learn by tfi.train.adapt(layer, rows), or by its adapt on a "
    "tfi.dataset; make variables within strategy.scope(); set weights and vocabularies from values that are equal on "
    "all workers"
)


class Part(NamedTuple):
    """A part of the state, such as a layer.

    Attributes:
        name: For messages.
        digest: The hash of its values.
    """

    name: str
    digest: bytes


Exchange = Callable[[int], Sequence[int]]

# Layers that have learned, in the order of these calls: they may be used by `Dataset.map` alone.
_adapted: list[Part] = []
# The models whose weights have been compared. After a step a layer may have numbers of one worker, as intended.
_compared: weakref.WeakSet[Any] = weakref.WeakSet()
_comparisons = count()


def watch(callbacks: ModuleType) -> None:
    """Compares the state of each model whose ``fit`` begins, when callbacks have begun and a checkpoint is there."""
    kind: Any = getattr(callbacks, "CallbackList")  # noqa: B009
    original = kind.on_train_begin

    @functools.wraps(original)
    def on_train_begin(self: Any, *arguments: Any, **named: Any) -> Any:
        result = original(self, *arguments, **named)
        model = getattr(self, "_model", getattr(self, "model", None))
        strategy = getattr(model, "distribute_strategy", None)
        if strategy is not None and compares(strategy):
            compare({"model": model, "optimizer": getattr(model, "optimizer", None)}, strategy)
        return result

    kind.on_train_begin = on_train_begin


def compares(strategy: Any) -> bool:
    """Whether this process is one of several workers of a job that train one model together."""
    here = task.current()
    if here.kind != "multi-worker-mirrored" or not here.is_waited_for or here.num_workers < 2 or not here.node_address:
        return False
    import tensorflow as tf

    return isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)


def note_adapted(layer: Any) -> None:
    """A layer has learned: on this worker alone, or by a copy of the state of the first worker."""
    here = task.current()
    if here.kind == "multi-worker-mirrored" and here.is_waited_for and here.num_workers > 1:
        import tensorflow as tf

        weights = _digest(getattr(layer, "weights", ()), tf.distribute.get_strategy())
        name = f"layer {layer_state.name_of(layer)!r}, after its adapt,"
        _adapted.append(Part(name, hashlib.sha256(layer_state.digest(layer) + weights).digest()))


def compare(objects: dict[str, Any], strategy: Any) -> None:
    """Compares objects over all workers, which call it together.

    Args:
        objects: Models, optimizers and variables, by name; others have no part.
        strategy: The strategy of the variables.

    Raises:
        TensorFlowIgniteError: They differ.
    """
    from tensorflow_ignite.data import agreement

    parts = [part for name, each in objects.items() for part in _parts(name, each, strategy)]
    number = next(_comparisons)
    rounds = count()

    def exchange(value: int) -> Sequence[int]:
        return agreement.exchange(f"{_NAME}-{number}", next(rounds), value, _Pause())

    require_equal(parts, _adapted, exchange)


def require_equal(parts: Sequence[Part], adapted: Sequence[Part], exchange: Exchange) -> None:
    """Compares the parts of all workers; these call it together.

    Args:
        parts: Of this worker, in the order of all workers.
        adapted: Layers outside of the parts, in the order in which they have learned.
        exchange: Returns the numbers of all workers; the argument is this worker's number.

    Raises:
        TensorFlowIgniteError: They differ.
    """
    if _same(exchange(_number([*parts, *adapted]))):
        return
    counts = exchange(len(parts))
    if not _same(counts):
        raise TensorFlowIgniteError(
            f"the workers have different models: worker 0 has {counts[0]} layers and variables, "
            f"{_others(counts, lambda worker: f'worker {worker} has {counts[worker]}')}. Workers that train together "
            "have the same model. Build it from values that are equal on all workers"
        )
    compared = list(parts)
    further = exchange(len(adapted))
    if _same(further):
        compared += adapted
    else:
        _log.warning(
            "tensorflow_ignite: the workers have called adapt of Keras for different numbers of layers, %s. These "
            "layers are not compared",
            list(further),
        )
        if _same(exchange(_number(compared))):
            return
    low, high = 0, len(compared)
    differing: Sequence[int] = ()
    while low < high:
        middle = (low + high) // 2
        found = exchange(_number(compared[: middle + 1]))
        if _same(found):
            low = middle + 1
        else:
            high, differing = middle, found
    if not differing:
        return
    raise TensorFlowIgniteError(
        f"{compared[low].name} is not equal on all workers: worker 0 differs from "
        f"{_others(differing, lambda worker: f'worker {worker}')}. All weights, vocabularies, means and boundaries are "
        f"compared before the first step, since with different ones each worker would train a model of its own. "
        f"{_REMEDY}"
    )


def _others(numbers: Sequence[int], text: Callable[[int], str]) -> str:
    return ", ".join(text(worker) for worker, number in enumerate(numbers) if number != numbers[0])


def _same(numbers: Sequence[int]) -> bool:
    return len(set(numbers)) == 1


def _number(parts: Sequence[Part]) -> int:
    """A hash of parts, of 63 bits."""
    found = hashlib.sha256(b"".join(part.digest for part in parts) + b"%d" % len(parts)).digest()
    return int.from_bytes(found[:8], "big") >> 1


class _Pause:
    """Waits for the others. It announces nothing: a worker that waits too long for its first step has stalled."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._said = False

    def __call__(self, seconds: float) -> None:
        if not self._said and time.monotonic() - self._begun > SECONDS_TO_SAY:
            self._said = True
            _log.warning(
                "tensorflow_ignite: %s waits until the other workers begin the training, too: their states are "
                "compared before the first step",
                task.current().task,
            )
        time.sleep(seconds)


def _parts(name: str, value: Any, strategy: Any) -> Iterator[Part]:
    """The parts of a model, an optimizer or a variable."""
    if value is None or isinstance(value, (str, bytes)):
        return
    if hasattr(value, "_flatten_layers"):
        yield from _parts_of_model(value, strategy)
        return
    variables = value if isinstance(value, (list, tuple)) else getattr(value, "variables", None)
    variables = variables() if callable(variables) else variables
    if variables is None and hasattr(value, "assign"):
        variables = [value]
    if variables and _is_first(value):
        yield Part(f"{name} ({type(value).__name__})", _digest(variables, strategy))


def _is_first(value: Any) -> bool:
    """Whether the weights of an object have not been compared before; notes that they are."""
    try:
        known = value in _compared
        _compared.add(value)
    except TypeError:
        # A list or a variable.
        return True
    return not known


def _parts_of_model(model: Any, strategy: Any) -> Iterator[Part]:
    is_first = _is_first(model)
    seen: set[int] = set()
    # Inner layers come first, so that each variable belongs to the layer that has made it.
    for layer in reversed(list(model._flatten_layers())):
        own = [each for each in getattr(layer, "weights", ()) if id(each) not in seen] if is_first else []
        seen.update(map(id, own))
        found = hashlib.sha256(type(layer).__qualname__.encode())
        found.update(layer_state.digest(layer))
        found.update(_digest(own, strategy))
        yield Part(f"layer {layer.name!r} ({type(layer).__name__})", found.digest())


def _digest(variables: Sequence[Any], strategy: Any) -> bytes:
    """A hash of the values of variables on this worker."""
    import numpy as np
    import tensorflow as tf

    found = hashlib.sha256()
    for variable in variables:
        if not hasattr(variable, "shape"):
            # A lookup layer of tf_keras that learns has its table among its weights; its tokens are compared apart.
            continue
        inner = getattr(variable, "_value", variable)
        inner = variable if inner is None or callable(inner) else inner
        if getattr(inner, "synchronization", None) == tf.VariableSynchronization.ON_READ:
            # Each worker has its own, and who reads it gets the mean or the sum of all.
            continue
        local = strategy.experimental_local_results(inner)[0]
        value = np.ascontiguousarray(local.numpy() if hasattr(local, "numpy") else local)
        found.update(f"{value.dtype} {value.shape} ".encode())
        found.update(repr(value.tolist()).encode() if value.dtype.hasobject else value.reshape(-1).view(np.uint8).data)
    return found.digest()
