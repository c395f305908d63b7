"""Changes to ``fit`` of Keras 3: resuming at a step, and running under several workers."""

from __future__ import annotations

import functools
import inspect
import sys
from types import ModuleType
from typing import Any

from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.train import strategy_check


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


def correct(trainer: ModuleType) -> None:
    """Makes ``fit`` of Keras 3 work under MultiWorkerMirroredStrategy, and refuse parameter servers before a step.

    Keras 3 has two faults under several workers: to build a model it reduces a batch over the workers, which fails, and
    it reduces the metrics of a step along an axis that they do not have. The corrections use the batch of one worker,
    and the mean over the workers. They replace functions of Keras only if these have the faults; other strategies use
    the original functions. Under parameter servers its ``fit`` fails deep inside TensorFlow, so it is refused. So is a
    model under another strategy than that of the job's kind.

    Args:
        trainer: The module ``keras.src.backend.tensorflow.trainer``, of which the package calls this once.
    """
    _fix_build(trainer)
    _fix_reduce(trainer)
    _check_fit(trainer)


def _has_fault(function: Any, fault: str) -> bool:
    """Whether the source of a function contains the fault; other versions of Keras are not changed."""
    try:
        return fault in inspect.getsource(function)
    except (OSError, TypeError):
        return False


def _check_fit(trainer: Any) -> None:
    model = trainer.TensorFlowTrainer
    original = model.fit

    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        import tensorflow as tf

        strategy_check.check_fit(self.distribute_strategy)
        if isinstance(self.distribute_strategy, tf.distribute.ParameterServerStrategy):
            raise TensorFlowIgniteError(
                f"fit of Keras {sys.modules['keras'].__version__} cannot train under ParameterServerStrategy. Only fit "
                "of tf_keras, and custom loops, can. Use tf_keras (pip install --no-deps tf-keras; import tf_keras as "
                "keras), or a loop with tf.distribute.coordinator.ClusterCoordinator, as examples/digits_ps.py does"
            )
        return original(self, *args, **kwargs)

    model.fit = fit


def _several_workers(strategy: Any) -> bool:
    import tensorflow as tf

    return isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)


def _fix_build(trainer: Any) -> None:
    model = trainer.TensorFlowTrainer
    original = model._maybe_symbolic_build
    if not _has_fault(original, "data_batch = self.distribute_strategy.reduce("):
        return

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


def _fix_reduce(trainer: Any) -> None:
    original = trainer.reduce_per_replica
    if not _has_fault(original, 'strategy.reduce("MEAN", v, axis=0)'):
        return

    def reduce_per_replica(values: Any, strategy: Any, reduction: str) -> Any:
        if reduction not in ("auto", "mean", "sum") or not _several_workers(strategy):
            return original(values, strategy, reduction)
        from keras import tree

        how = "SUM" if reduction == "sum" else "MEAN"
        return tree.map_structure(lambda value: strategy.reduce(how, value, axis=None), values)

    trainer.reduce_per_replica = reduce_per_replica
