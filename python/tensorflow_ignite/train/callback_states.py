"""The states of the callbacks of ``fit``, such as the best value so far: a part of each checkpoint."""

from __future__ import annotations

import dis
import functools
import glob
import inspect
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from tensorflow_ignite.base.libraries import KERAS, is_keras, is_of
from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.train import csv_logs
from tensorflow_ignite.train.packed import packed, require, unpacked

_log = logging.getLogger("tensorflow_ignite.train")
# What changes in Keras' own callbacks while they work, in Keras 3 and tf_keras.
_OF_KERAS: dict[str, tuple[str, ...]] = {
    "EarlyStopping": ("wait", "stopped_epoch", "best", "best_epoch", "best_weights"),
    "ReduceLROnPlateau": ("wait", "cooldown_counter", "best"),
    "ModelCheckpoint": (
        *("best", "epochs_since_last_save", "_batches_seen_since_last_saving", "_last_batch_seen"),
        "_current_epoch",
    ),
    "History": ("epoch", "history"),
    "OrbaxCheckpoint": ("best", "_batches_seen_since_last_saving", "_last_batch_seen", "_total_batches_seen"),
    "SwapEMAWeights": ("_ema_weights_in_model",),
    "TensorBoard": ("_global_train_batch", "_global_test_batch", "_previous_epoch_iterations"),
}
# In the state of a CSVLogger that appends: the bytes of its file.
_LOGGED = "bytes"
# Attributes that `fit` or a strategy gives to callbacks, which are not their state.
_OF_CALLBACKS = frozenset({"validation_data", "_chief_worker_only", "_supports_tf_logs", "async_safe"})
#: An attribute of CheckpointCallback, whose objects save the states of other callbacks.
SAVES_STATES = "_tensorflow_ignite_saves_states"


def watch(callbacks: ModuleType) -> None:
    """Notifies a CheckpointCallback when all callbacks of its ``fit`` have begun, and when all have ended an epoch."""
    kind: Any = getattr(callbacks, "CallbackList")  # noqa: B009
    setattr(kind, "on_train_begin", _with_logs(_with(getattr(kind, "on_train_begin"), "_after_train_begin")))  # noqa: B009, B010
    setattr(kind, "on_epoch_end", _with_earlier(_with(getattr(kind, "on_epoch_end"), "_after_epoch_end")))  # noqa: B009, B010


def _with(original: Any, after: str) -> Any:
    @functools.wraps(original)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        result = original(self, *arguments, **named)
        for callback in self.callbacks:
            if _is_ours(callback):
                getattr(callback, after)(self.callbacks)
        return result

    return call


def _with_earlier(original: Any) -> Any:
    """Gives an epoch whose steps were all done before a restart the logs of these steps."""

    @functools.wraps(original)
    def call(self: Any, epoch: int, logs: Any = None) -> Any:
        logs = {} if logs is None else logs
        for callback in self.callbacks:
            if _is_ours(callback):
                callback._before_epoch_end(logs)
        return original(self, epoch, logs)

    return call


def _with_logs(original: Any) -> Any:
    """Keeps the files of loggers in a ``fit`` that continues from a checkpoint, and lets ours act behind others."""

    @functools.wraps(original)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        ours = [callback for callback in self.callbacks if _is_ours(callback)]
        if ours:
            _require_alone(self.callbacks)
        loggers = csv_logs.keep(self.callbacks) if ours else []
        result = original(self, *arguments, **named)
        if loggers:
            csv_logs.begin(loggers, ours[0].resumed_epoch)
        _move_behind_states(self.callbacks)
        return result

    return call


def _require_alone(callbacks: Iterable[Any]) -> None:
    """Refuses another callback that restores the model, before either has."""
    for callback in callbacks:
        if is_keras(callback, "BackupAndRestore"):
            raise InvalidRequestError(
                f"fit has the callbacks CheckpointCallback and {type(callback).__name__}. Each of them would restore "
                "the model after a restart, from other steps than the other. Remove BackupAndRestore: "
                "CheckpointCallback goes on in the middle of an epoch too"
            )


def _move_behind_states(callbacks: list[Any]) -> None:
    """Moves ours behind the callbacks whose states change with each batch: a save then has the last batch in them."""
    last = max((number for number, each in enumerate(callbacks) if _counts_batches(each)), default=0)
    for ours in [each for each in callbacks[:last] if _is_ours(each)]:
        callbacks.remove(ours)
        callbacks.insert(last, ours)


def _counts_batches(callback: Any) -> bool:
    return _has_own_methods(callback) or any("batch" in name for name in _known(callback))


def leave_rate(callbacks: Iterable[Any]) -> None:
    """Leaves the learning rate as it is in the next epoch, which goes on: a factor of its begin would apply twice."""
    for callback in callbacks:
        if is_keras(callback, "LearningRateScheduler"):
            callback.on_epoch_begin = functools.partial(_has_begun, callback)


def _has_begun(callback: Any, *_: Any, **__: Any) -> None:
    """In place of one call of `on_epoch_begin`."""
    del callback.on_epoch_begin


class CallbackStates:
    """The state of the other callbacks of a ``fit``, as bytes; also whether one of them has stopped the training."""

    def __init__(self) -> None:
        """Has no callbacks yet."""
        self._callbacks: dict[str, Any] = {}
        self._model: Any = None
        self._restored = b""

    def take(self, callbacks: Iterable[Any], model: Any) -> None:
        """Takes the callbacks whose state is saved from now on; logs the callbacks whose state cannot be saved.

        Raises:
            InvalidRequestError: A state cannot be saved.
        """
        self._model = model
        self._callbacks = dict(_named(callbacks))
        unknown = sorted({type(each).__name__ for each in self._callbacks.values() if _has_unknown_state(each)})
        if unknown:
            _log.warning(
                "CheckpointCallback does not know the state of %s: after a restart it begins anew. A callback with the "
                "methods state_dict() and load_state_dict(state) goes on",
                ", ".join(unknown),
            )
        self._states()

    def restore(self) -> bool:
        """Sets the state that came with the checkpoint; returns whether a callback had stopped the training."""
        if not self._restored:
            return False
        saved, self._restored = unpacked(self._restored), b""
        for name, state in saved["callbacks"].items():
            if name in self._callbacks:
                _set(self._callbacks[name], state, is_built=bool(getattr(self._model, "built", True)))
        return bool(saved["stopped"])

    def serialize(self) -> bytes:
        """The state now; called when a checkpoint is saved."""
        stopped = bool(getattr(self._model, "stop_training", False))
        return packed({"stopped": stopped, "callbacks": self._states()})

    def _states(self) -> dict[str, Any]:
        found = {name: _get(callback) for name, callback in self._callbacks.items()}
        return {name: state for name, state in found.items() if state is not None}

    def deserialize(self, state: bytes) -> None:
        """Called when a checkpoint is restored, before the callbacks are known."""
        self._restored = bytes(state)


def _named(callbacks: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Callbacks by the name of their class and their number within the class."""
    numbers: Counter[str] = Counter()
    for callback in callbacks:
        name = type(callback).__name__
        if not _is_ours(callback):
            numbers[name] += 1
            yield f"{name}-{numbers[name]}", callback


def _is_ours(callback: Any) -> bool:
    return getattr(type(callback), SAVES_STATES, None) is True


def _known(callback: Any) -> tuple[str, ...]:
    """The attributes that are the state of a callback of Keras, or of its subclass."""
    for kind in type(callback).__mro__:
        if is_of(kind, *KERAS) and kind.__name__ in _OF_KERAS:
            return _OF_KERAS[kind.__name__]
    return ()


def _has_own_methods(callback: Any) -> bool:
    return hasattr(callback, "state_dict") and hasattr(callback, "load_state_dict")


def _has_unknown_state(callback: Any) -> bool:
    if _has_own_methods(callback):
        return False
    kind: Any = type(callback)
    if is_of(kind, *KERAS):
        return bool(kind.__name__ == "LambdaCallback")
    # Attributes that a class of Keras declares are saved, or do not change.
    attributes: frozenset[str] = _attributes_of_keras(kind)
    return not attributes.issuperset(vars(callback))


@functools.cache
def _attributes_of_keras(kind: type) -> frozenset[str]:
    """The attributes that the methods of a class's Keras base classes set."""
    found = set(_OF_CALLBACKS)
    for member in (each for base in kind.__mro__ if is_of(base, *KERAS) for each in vars(base).values()):
        function = inspect.unwrap(getattr(member, "fget", None) or member)
        if inspect.isfunction(function):
            found.update(each.argval for each in dis.get_instructions(function) if each.opname == "STORE_ATTR")
    return frozenset(found)


def _get(callback: Any) -> Any:
    if _has_own_methods(callback):
        state = callback.state_dict()
        _require_plain(type(callback).__name__, state)
        return state
    logged = csv_logs.size(callback)
    if logged is not None:
        return {_LOGGED: logged}
    # What they watch, too: the best value of another measure means nothing.
    names = (*_known(callback), "monitor") if _known(callback) else ()
    return {name: _saved(vars(callback)[name]) for name in names if name in vars(callback)} or None


def _saved(value: Any) -> Any:
    """A value without what cannot be saved, such as a date among the logs of an epoch: a save never fails for that."""
    if isinstance(value, dict):
        return {key: each for key, each in value.items() if isinstance(key, str) and _is_plain(each)}
    return value if _is_plain(value) else None


def _is_plain(value: Any) -> bool:
    try:
        require(value)
    except (TypeError, ValueError):
        return False
    return True


def _set(callback: Any, state: Any, *, is_built: bool) -> None:
    if _has_own_methods(callback):
        callback.load_state_dict(state)
        return
    if _LOGGED in state:
        csv_logs.cut(callback, state[_LOGGED])
        return
    if state.get("monitor") != getattr(callback, "monitor", None):
        return
    if hasattr(callback, "filepath") and not _has_saved(str(callback.filepath)):
        # The best model is gone, and another one is to be saved.
        return
    for name in _known(callback):
        # A model that has no weights yet cannot get any: its training is over.
        if name in state and (is_built or name != "best_weights"):
            setattr(callback, name, state[name])


def _has_saved(path: str) -> bool:
    """Whether a model exists at a path; `{epoch}` and other fields of the path stand for any text."""
    import tensorflow as tf

    parts = re.split(r"\{.*?\}", path)
    return bool(tf.io.gfile.glob("*".join(map(glob.escape, parts)) + "*"))


def _require_plain(name: str, state: Any) -> None:
    try:
        require(state)
    except TypeError as error:
        raise InvalidRequestError(
            f"the state of callback {name} cannot be saved: state_dict() has {error}. A state has None, booleans, "
            "numbers, texts and numpy arrays, in lists, tuples and dicts with texts as keys. Leave the rest out of it"
        ) from error
