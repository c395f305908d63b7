"""Changes to ``fit`` of Keras 3: running under several workers."""

from __future__ import annotations

import contextlib
import functools
import logging
import sys
from types import ModuleType
from typing import Any

from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.train import strategy_check

_log = logging.getLogger(__name__)


def is_model(model: Any) -> bool:
    """Whether this is a model of Keras 3; imports nothing."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Model)


def counted_steps(model: Any, steps: int) -> int:
    """Steps of an epoch as ``on_train_batch_end`` counts them: its last execution counts as a whole one.

    Args:
        model: The model that is being fitted.
        steps: ``steps_per_epoch``, or the number of batches.
    """
    executed = int(model.steps_per_execution)
    return -(-steps // executed) * executed


def build(model: Any, element_spec: Any) -> None:
    """Lets a model, its metrics and its optimizer make their variables, from the shapes of a batch alone.

    In one process Keras makes them in the first step. A model that cannot be built so makes them then, too.

    Args:
        model: The model that is about to be fitted.
        element_spec: Of its dataset.
    """
    if model._distribute_strategy is not None:
        # Keras has built it.
        return
    from keras import tree

    try:
        # The spec of None has no shape.
        batch = tree.map_structure(lambda each: each if hasattr(each, "shape") else None, element_spec)
        model._symbolic_build(data_batch=batch)
    except Exception as error:
        _log.warning(
            "tensorflow_ignite: %s cannot make its variables before a checkpoint is restored: %s. Those that it makes "
            "in the first step get their values then, or the training ends with an error. Call model.build(shape), or "
            "the model with a batch, before fit",
            type(model).__name__,
            error,
        )


def build_for_calls(model: Any, element_spec: Any) -> None:
    """As :func:`build`, but for a model that is not trained: without its optimizer."""
    if model.built or model._distribute_strategy is not None or not isinstance(element_spec, tuple):
        return
    import keras

    inputs = keras.tree.map_structure(lambda each: keras.KerasTensor(each.shape, each.dtype.name), element_spec[0])
    with contextlib.suppress(Exception):
        # If this fails, the first call of the model makes the variables, or raises the error.
        model(inputs, training=False)


def correct_workers(trainer: ModuleType) -> None:
    """Makes ``fit``, ``evaluate`` and ``predict`` of Keras 3 work under MultiWorkerMirroredStrategy.

    Keras 3 has faults under several workers: to build a model it reduces a batch over the workers, which fails; it
    reduces the metrics of a step along an axis that they do not have; and ``predict`` gathers rows of workers that have
    none, which ends the process. The corrections use the batch of one worker, the mean over the workers, and a gather
    with one more row. Other strategies use the original functions.
    """
    _fix_build(trainer)
    _fix_reduce(trainer)


def check_fit(trainer: Any) -> None:
    """Makes ``fit`` of Keras 3 refuse what cannot work, before a step.

    Under parameter servers it fails deep inside TensorFlow. So do several steps in one execution over several replicas.
    A model under another strategy than that of the job's kind is refused too.
    """
    model = trainer.TensorFlowTrainer
    original = model.fit

    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        import tensorflow as tf

        strategy_check.check_fit(self.distribute_strategy, jit_compile=bool(self.jit_compile))
        if isinstance(self.distribute_strategy, tf.distribute.ParameterServerStrategy):
            raise TensorFlowIgniteError(
                f"fit of Keras {sys.modules['keras'].__version__} cannot train under ParameterServerStrategy. Only fit "
                "of tf_keras, and custom loops, can. Use tf_keras (pip install --no-deps tf-keras; import tf_keras as "
                "keras), or a loop with tf.distribute.coordinator.ClusterCoordinator, as examples/digits_ps.py does"
            )
        _check_steps_per_execution(self)
        return original(self, *args, **kwargs)

    model.fit = fit


def _check_steps_per_execution(model: Any) -> None:
    """Refuses several steps in one execution over several replicas, before a step."""
    replicas = model.distribute_strategy.num_replicas_in_sync
    if model.steps_per_execution > 1 and replicas > 1:
        raise TensorFlowIgniteError(
            f"fit of Keras {sys.modules['keras'].__version__} cannot run steps_per_execution="
            f"{model.steps_per_execution} under {type(model.distribute_strategy).__name__} with {replicas} replicas. "
            "TensorFlow finds no value for a placeholder within its loop of steps. Use steps_per_execution=1 and a "
            "larger batch, or fit of tf_keras"
        )


def _several_workers(strategy: Any) -> bool:
    import tensorflow as tf

    return isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)


def _fix_build(trainer: Any) -> None:
    model = trainer.TensorFlowTrainer
    original = model._maybe_symbolic_build

    def build(self: Any, iterator: Any = None, data_batch: Any = None) -> None:
        if iterator is None or not _several_workers(self._distribute_strategy):
            original(self, iterator=iterator, data_batch=data_batch)
            return
        if _is_built(self):
            # As before each validation: no epoch of the dataset begins for its first batch alone.
            original(self)
            return
        from keras import tree

        strategy = self.distribute_strategy
        for _, _, batches in iterator:
            local = tree.map_structure(lambda x: strategy.experimental_local_results(x)[0], next(batches))
            original(self, data_batch=local)
            break

    model._maybe_symbolic_build = build


def _is_built(model: Any) -> bool:
    """Whether Keras needs no batch to build the model; False: this version of Keras does not say so."""
    try:
        parts = [*model._flatten_layers(), model._compile_metrics, model._compile_loss]
        return all(part is None or part.built for part in parts)
    except AttributeError:
        return False


def _fix_reduce(trainer: Any) -> None:
    original = trainer.reduce_per_replica

    def reduce_per_replica(values: Any, strategy: Any, reduction: str) -> Any:
        if reduction not in ("auto", "mean", "sum", "concat") or not _several_workers(strategy):
            return original(values, strategy, reduction)
        from keras import tree

        if reduction == "concat":
            return tree.map_structure(lambda value: _gather(strategy, value), values)
        how = "SUM" if reduction == "sum" else "MEAN"
        return tree.map_structure(lambda value: strategy.reduce(how, value, axis=None), values)

    trainer.reduce_per_replica = reduce_per_replica


def correct_loss_scale(trainer: Any) -> None:
    """Lets all replicas decide together, with loss scaling (``mixed_float16``), whether they make a step.

    In Keras 3 each replica decides from its own gradients: it makes a step with the infinite gradients of another
    replica, or waits for one that makes none. This applies under MirroredStrategy too.
    """
    optimizer = trainer.optimizers_module.LossScaleOptimizer
    original = optimizer.check_finite

    def check_finite(self: Any, grads: Any) -> Any:
        import tensorflow as tf

        finite = original(self, grads)
        context = tf.distribute.get_replica_context()
        if context is None or context.num_replicas_in_sync == 1:
            return finite
        return context.all_reduce("SUM", tf.cast(finite, tf.int32)) == context.num_replicas_in_sync

    optimizer.check_finite = check_finite


def _gather(strategy: Any, values: Any) -> Any:
    """The rows of all replicas. The gather of TensorFlow ends the process if one has none, as in a small last batch."""
    import tensorflow as tf

    # One more row on each replica; it is left out of the result.
    grown = strategy.run(lambda rows: tf.pad(rows, [[0, 1]] + [[0, 0]] * (len(rows.shape) - 1)), args=(values,))
    counts = strategy.gather(strategy.run(lambda rows: tf.shape(rows)[:1], args=(grown,)), axis=0)
    gathered = strategy.gather(grown, axis=0)
    added = tf.one_hot(tf.cumsum(counts) - 1, tf.shape(gathered)[0], on_value=True, off_value=False, dtype=tf.bool)
    return tf.boolean_mask(gathered, ~tf.reduce_any(added, 0))
