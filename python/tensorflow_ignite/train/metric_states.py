"""What the metrics of a model have counted within an epoch: a part of each checkpoint."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from tensorflow_ignite.train import keras3


class MetricStates:
    """The metrics of a model of Keras 3, as bytes, so that the logs of an epoch have all its steps after a restart.

    Those of tf_keras have no variables before the first step.
    """

    def __init__(self) -> None:
        """Knows nothing yet."""
        self._values: list[Any] = []

    def take(self, model: Any, *, has_begun: bool) -> None:
        """Takes the present values for the next checkpoint."""
        self._values = []
        if has_begun and keras3.is_model(model):
            self._values = [np.asarray(variable) for variable in model.metrics_variables]

    def restore(self, model: Any) -> None:
        """Sets the values that came with the checkpoint, if the model has the same metrics."""
        if not keras3.is_model(model):
            return
        variables = model.metrics_variables
        if [tuple(variable.shape) for variable in variables] == [value.shape for value in self._values]:
            for variable, value in zip(variables, self._values, strict=True):
                variable.assign(value)

    def serialize(self) -> bytes:
        """The values; called when a checkpoint is saved."""
        file = io.BytesIO()
        np.savez(file, *self._values)
        return file.getvalue()

    def deserialize(self, state: bytes) -> None:
        """Called when a checkpoint is restored."""
        with np.load(io.BytesIO(state), allow_pickle=False) as archive:
            self._values = [archive[f"arr_{number}"] for number in range(len(archive.files))]
