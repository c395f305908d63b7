"""What the metrics of a model have counted within an epoch: a part of each checkpoint."""

from __future__ import annotations

import contextlib
import io
import json
import logging
from collections.abc import Mapping
from typing import Any

from tensorflow_ignite.train import keras3

_log = logging.getLogger(__name__)


class MetricStates:
    """The metrics of a model of Keras 3, as bytes, so that the logs of an epoch have all its steps after a restart.

    Metrics of tf_keras are not saved: they have no variables before the first step, and each epoch has a step.
    """

    def __init__(self) -> None:
        """Knows nothing yet."""
        self._values: list[Any] = []
        self._logs: dict[str, float] = {}

    def take(self, model: Any, logs: Mapping[str, Any], *, has_begun: bool) -> None:
        """Takes the present values for the next checkpoint.

        Args:
            model: The model.
            logs: The logs of the last step.
            has_begun: Whether the epoch has had a step.
        """
        import numpy as np

        self._values, self._logs = [], {}
        if has_begun and keras3.is_model(model):
            self._values = [np.asarray(variable) for variable in model.metrics_variables]
            self._logs = numbers_of(logs)

    def restore(self, model: Any) -> None:
        """Sets the values that came with the checkpoint, at the begin of their epoch."""
        if not keras3.is_model(model) or not self._values:
            return
        variables = model.metrics_variables
        if [tuple(variable.shape) for variable in variables] != [value.shape for value in self._values]:
            _log.warning(
                "tensorflow_ignite: the logs of the resumed epoch have only the steps since the restart: the metrics "
                "of %s differ from the metrics in the checkpoint, or it has made none before its first step",
                type(model).__name__,
            )
            return
        for variable, value in zip(variables, self._values, strict=True):
            variable.assign(value)
        # As Keras does: with several workers the logs of a step are means of their means.
        results = model.get_metrics_result()
        if set(results) == set(self._logs):
            self._logs = numbers_of(results)

    def logs_of_epoch(self) -> dict[str, float]:
        """The logs of an epoch without a step after the restart."""
        return self._logs

    def serialize(self) -> bytes:
        """The values; called when a checkpoint is saved."""
        import numpy as np

        file = io.BytesIO()
        np.savez(file, *self._values, logs=np.array(json.dumps(self._logs)))
        return file.getvalue()

    def deserialize(self, state: bytes) -> None:
        """Called when a checkpoint is restored."""
        import numpy as np

        with np.load(io.BytesIO(state), allow_pickle=False) as archive:
            self._values = [archive[f"arr_{number}"] for number in range(len(archive.files) - 1)]
            self._logs = json.loads(str(archive["logs"]))


def numbers_of(logs: Mapping[str, Any]) -> dict[str, float]:
    """Those of Keras' logs that are numbers."""
    found = {}
    for name, value in logs.items():
        with contextlib.suppress(TypeError, ValueError):
            found[name] = float(value)
    return found
