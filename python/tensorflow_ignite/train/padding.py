"""``fit`` with rows that only fill an epoch (``uneven="pad"``): their weight is 0, but not every metric has weights."""

from __future__ import annotations

import functools
import logging
import weakref
from types import ModuleType
from typing import Any

from tensorflow_ignite.data.epochs.rows_per_worker import PADDED
from tensorflow_ignite.train.marks import is_marked

_log = logging.getLogger("tensorflow_ignite.train")
# The models whose metrics were named: once for each, and not for every validation.
_warned: weakref.WeakSet[Any] = weakref.WeakSet()


def watch_keras3(trainer: ModuleType) -> None:
    """Warns of metrics without weights in Keras 3."""
    _watch(trainer.TensorFlowTrainer, "_compile_metrics")


def watch_tf_keras(training: ModuleType) -> None:
    """Warns of metrics without weights in Keras 2, in the package tf_keras."""
    _watch(training.Model, "compiled_metrics")


def _watch(kind: Any, compiled: str) -> None:
    for method in ("fit", "evaluate"):
        setattr(kind, method, _warns(getattr(kind, method), compiled))


def _warns(original: Any, compiled: str) -> Any:
    @functools.wraps(original)
    def call(self: Any, x: Any = None, *arguments: Any, **named: Any) -> Any:
        data = (x, named.get("validation_data"))
        names: list[str] = []
        if self not in _warned and any(is_marked(each, PADDED) for each in data):
            names = _names(getattr(getattr(self, compiled, None), "_user_metrics", None))
        if names:
            _warned.add(self)
            _log.warning(
                'metrics=%s of model %s count rows of padding, whose weight is 0 (uneven="pad"). Keras gives weights '
                "to the loss and to weighted metrics only. Compile with weighted_metrics=%s instead",
                names,
                self.name,
                names,
            )
        return original(self, x, *arguments, **named)

    return call


def _names(metrics: Any) -> list[str]:
    """The names of metrics, which `compile` takes alone, in lists and by output."""
    if isinstance(metrics, dict):
        metrics = list(metrics.values())
    if isinstance(metrics, (list, tuple)):
        return [name for each in metrics for name in _names(each)]
    if metrics is None:
        return []
    if isinstance(metrics, str):
        return [metrics]
    return [str(getattr(metrics, "name", None) or getattr(metrics, "__name__", None) or type(metrics).__name__)]
