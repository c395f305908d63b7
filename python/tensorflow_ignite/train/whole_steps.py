"""Steps of ``fit`` that find no row: a dataset of unknown length ends within a step, which must change nothing.

Keras reads the batch in the function of the step. TensorFlow runs what does not need the batch before it finds that
there is none, so the optimizer counts one step more in each epoch, and with several replicas for a moment on some of
them only: the copies of a model become different. With the corrections all operations of a step wait for its batch.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any


def correct_keras3(trainer: ModuleType) -> None:
    """Corrects Keras 3."""
    wrap_steps(trainer, lambda _, step: lambda data: _after(data, step))


def wrap_steps(trainer: ModuleType, wrap: Callable[[Any, Callable[[Any], Any]], Callable[[Any], Any]]) -> None:
    """Wraps the steps of models of Keras 3; does nothing where Keras makes its functions in another way.

    Args:
        trainer: The module ``keras.src.backend.tensorflow.trainer``.
        wrap: Called with a model and its step, such as ``train_step``, returns the step to run in its place.
    """
    kind: Any = trainer.TensorFlowTrainer
    original = kind._make_function

    @functools.wraps(original)
    def make_function(self: Any, step: Callable[[Any], Any]) -> Any:
        return original(self, wrap(self, step))

    if list(inspect.signature(original).parameters) == ["self", "step_function"]:
        kind._make_function = make_function


def correct_tf_keras(training: ModuleType) -> None:
    """Corrects Keras 2 in the package tf_keras, but for models that define ``train_step`` themselves."""
    kind: Any = training.Model
    original = kind.train_step

    @functools.wraps(original)
    def train_step(self: Any, data: Any) -> Any:
        return _after(data, lambda batch: original(self, batch))

    kind.train_step = train_step


def _after(data: Any, step: Callable[[Any], Any]) -> Any:
    import tensorflow as tf

    tensors = [value for value in tf.nest.flatten(data, expand_composites=True) if tf.is_tensor(value)]
    with tf.control_dependencies(tensors):
        return step(data)
