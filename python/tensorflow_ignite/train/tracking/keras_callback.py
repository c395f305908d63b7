"""The callback that records a ``fit`` of Keras 3 or tf_keras."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tensorflow_ignite.train.metric_states import numbers_of


class TrackerCallback:
    """Records the logs of each epoch, and of every n-th step; the step is the number of steps of the optimizer."""

    # For tf_keras: the logs of most steps are not fetched.
    _supports_tf_logs = True

    def __init__(
        self, record: Callable[[int, Mapping[str, float]], None], every_steps: int | None, prefix: str
    ) -> None:
        """Use `Tracker.callback`."""
        self._record, self._every_steps, self._prefix = record, every_steps, prefix
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_params(self, params: dict[str, Any]) -> None:
        """Called by ``fit``."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Called by ``fit``."""
        self.model = model

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Records the step if it is one of every n."""
        if self._every_steps is not None and (step := self._step()) % self._every_steps == 0:
            self._log(step, {f"step_{name}": value for name, value in (logs or {}).items()})

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Records the epoch."""
        self._log(self._step(), {**(logs or {}), "epoch": epoch + 1})

    def _step(self) -> int:
        return int(self.model.optimizer.iterations.numpy())

    def _log(self, step: int, logs: Mapping[str, Any]) -> None:
        self._record(step, {self._prefix + name: value for name, value in numbers_of(logs).items()})

    def state_dict(self) -> dict[str, Any]:
        """Called by `CheckpointCallback`: the tracker itself has all that is recorded."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Called by `CheckpointCallback` after a restart."""

    # The other methods that fit, evaluate and predict call.

    def _nothing(self, *_args: Any, **_kwargs: Any) -> None:
        """Called by Keras."""

    on_train_begin = on_train_end = on_epoch_begin = on_train_batch_begin = _nothing
    on_batch_begin = on_batch_end = on_test_begin = on_test_end = on_test_batch_begin = on_test_batch_end = _nothing
    on_predict_begin = on_predict_end = on_predict_batch_begin = on_predict_batch_end = _nothing

    def _implements_train_batch_hooks(self) -> bool:
        return self._every_steps is not None

    def _implements_test_batch_hooks(self) -> bool:
        return False

    _implements_predict_batch_hooks = _implements_test_batch_hooks
