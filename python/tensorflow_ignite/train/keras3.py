"""What is particular to models of Keras 3: how their ``fit`` is made to resume, and to run under several workers."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from tensorflow_ignite.errors import TensorFlowIgniteError


def made(model: Any) -> bool:
    """Whether this is a model of Keras 3; imports nothing."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


def start_at(model: Any, epoch: int, batch: int) -> None:
    """Makes the ``fit`` that just called ``on_train_begin`` begin here; the batches before are passed over.

    Args:
        model: The model that is being fitted.
        epoch: Epochs done.
        batch: Batches done of the next one.
    """
    model._initial_epoch = epoch
    train = model.train_function
    executions = batch // model.steps_per_execution

    def pass_over(_iterator: Any) -> dict[str, Any]:
        nonlocal executions
        executions -= 1
        if executions <= 0:
            model.train_function = train
        return {}

    if executions:
        model.train_function = pass_over


def fix_keras_fit() -> bool:
    """Makes ``fit`` of Keras 3 work under MultiWorkerMirroredStrategy; to be called before it.

    Keras 3 builds a model from a batch that it reduces over the workers, which a batch cannot be, and reduces the
    figures of a step along an axis that they do not have. The corrections take one worker's batch for the first, and
    the mean over the workers for the second. They replace two functions of Keras, only where they are faulty; other
    strategies keep the original.

    Returns:
        Whether this Keras had the faults, and has them no more.

    Raises:
        TensorFlowIgniteError: Keras 3 does not run on TensorFlow.
    """
    import keras

    if keras.backend.backend() != "tensorflow":
        raise TensorFlowIgniteError(
            f"fit of Keras {keras.__version__} runs on {keras.backend.backend()} here. Its workers can train together "
            "on TensorFlow only. Set KERAS_BACKEND=tensorflow"
        )
    return fix_if_faulty()


def fix_if_faulty() -> bool:
    """As :func:`fix_keras_fit`, for a Keras that has been imported."""
    trainer = sys.modules.get("keras.src.backend.tensorflow.trainer")
    if trainer is None:
        return False
    fixed = [fix(trainer) for fix in (_fix_build, _fix_reduce)]
    return any(fixed)


def _faulty(function: Any, fault: str) -> bool:
    """Whether the source of a function holds the fault; a Keras that was mended, or changed, is left alone."""
    try:
        return fault in inspect.getsource(function)
    except (OSError, TypeError):
        return False


def _several_workers(strategy: Any) -> bool:
    import tensorflow as tf

    return isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)


def _fix_build(trainer: Any) -> bool:
    model = trainer.TensorFlowTrainer
    original = model._maybe_symbolic_build
    if not _faulty(original, "data_batch = self.distribute_strategy.reduce("):
        return False

    def build(self: Any, iterator: Any = None, data_batch: Any = None) -> None:
        if iterator is None or not _several_workers(self._distribute_strategy):
            original(self, iterator=iterator, data_batch=data_batch)
            return
        from keras import tree

        strategy = self.distribute_strategy
        for _, _, batches in iterator:
            local = tree.map_structure(lambda x: strategy.experimental_local_results(x)[0], next(batches))
            original(self, data_batch=local)
            break

    model._maybe_symbolic_build = build
    return True


def _fix_reduce(trainer: Any) -> bool:
    original = trainer.reduce_per_replica
    if not _faulty(original, 'strategy.reduce("MEAN", v, axis=0)'):
        return False

    def reduce_per_replica(values: Any, strategy: Any, reduction: str) -> Any:
        if reduction not in ("auto", "mean", "sum") or not _several_workers(strategy):
            return original(values, strategy, reduction)
        from keras import tree

        how = "SUM" if reduction == "sum" else "MEAN"
        return tree.map_structure(lambda value: strategy.reduce(how, value, axis=None), values)

    trainer.reduce_per_replica = reduce_per_replica
    return True
