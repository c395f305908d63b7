"""Changes to ``fit`` of Keras 3: resuming at a step, and running under several workers."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from tensorflow_ignite.errors import TensorFlowIgniteError


def is_model(model: Any) -> bool:
    """Whether this is a model of Keras 3; imports nothing."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


def start_at(model: Any, epoch: int, batch: int) -> None:
    """Makes the ``fit`` that has called ``on_train_begin`` start at a later batch; the batches before are skipped.

    Args:
        model: The model that is being fitted.
        epoch: Number of finished epochs.
        batch: Number of finished batches of the next epoch.
    """
    model._initial_epoch = epoch
    train = model.train_function
    executions = batch // model.steps_per_execution

    def skip_batch(_iterator: Any) -> dict[str, Any]:
        nonlocal executions
        executions -= 1
        if executions <= 0:
            model.train_function = train
        return {}

    if executions:
        model.train_function = skip_batch


def fix_keras_fit() -> bool:
    """Makes ``fit`` of Keras 3 work under MultiWorkerMirroredStrategy; call it before ``fit``.

    Keras 3 has two faults there: to build a model it reduces a batch over the workers, which fails, and it reduces the
    metrics of a step along an axis that they do not have. The corrections use the batch of one worker, and the mean
    over the workers. They replace two functions of Keras, and only if these have the faults; other strategies use the
    original functions.

    Returns:
        Whether this Keras had a fault that is now corrected.

    Raises:
        TensorFlowIgniteError: Keras 3 does not run on TensorFlow.
    """
    import keras

    if keras.backend.backend() != "tensorflow":
        raise TensorFlowIgniteError(
            f"fit of Keras {keras.__version__} runs on {keras.backend.backend()} here. Several workers can train "
            "together on TensorFlow only. Set KERAS_BACKEND=tensorflow"
        )
    return fix_if_faulty()


def fix_if_faulty() -> bool:
    """As :func:`fix_keras_fit`, if Keras was imported."""
    trainer = sys.modules.get("keras.src.backend.tensorflow.trainer")
    if trainer is None:
        return False
    fixed = [fix(trainer) for fix in (_fix_build, _fix_reduce)]
    return any(fixed)


def _has_fault(function: Any, fault: str) -> bool:
    """Whether the source of a function contains the fault; other versions of Keras are not changed."""
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
    if not _has_fault(original, "data_batch = self.distribute_strategy.reduce("):
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
    if not _has_fault(original, 'strategy.reduce("MEAN", v, axis=0)'):
        return False

    def reduce_per_replica(values: Any, strategy: Any, reduction: str) -> Any:
        if reduction not in ("auto", "mean", "sum") or not _several_workers(strategy):
            return original(values, strategy, reduction)
        from keras import tree

        how = "SUM" if reduction == "sum" else "MEAN"
        return tree.map_structure(lambda value: strategy.reduce(how, value, axis=None), values)

    trainer.reduce_per_replica = reduce_per_replica
    return True
