"""BatchNormalization of Keras 3 on several replicas: batches without rows, and one moving mean for all replicas.

The last batch of an epoch is divided among the replicas, and may leave a replica without rows. The mean of no rows is
not a number: through the gradients, it would reach each weight of the model on every worker. A batch without rows is
therefore normalized by the moving mean and variance, so it changes neither these nor the weights.

Each replica also computes its moving mean and variance from its own rows alone. Keras 3 does not combine them: the
model would have other predictions on each worker. So each training step ends with their mean over the replicas, in one
collective operation for all layers. The layer of tf_keras does both itself.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tensorflow_ignite.train import whole_steps


def correct_layer(batch_normalization: ModuleType) -> None:
    """Gives batches without rows the moving mean and variance."""
    kind: Any = getattr(batch_normalization, "BatchNormalization")  # noqa: B009
    original = getattr(kind, "_moments", None)
    if original is None:
        return

    @functools.wraps(original)
    def moments(self: Any, inputs: Any, mask: Any) -> Any:
        tf = sys.modules.get("tensorflow")
        found = original(self, inputs, mask)
        # Keras has other backends, and batches of known size have rows.
        if tf is None or not tf.is_tensor(inputs) or inputs.shape.num_elements():
            return found
        size = tf.size(inputs)
        if self.synchronized and _has_several_replicas(tf):
            size = tf.distribute.get_replica_context().all_reduce("SUM", size)
        moving = (self.moving_mean, self.moving_variance)
        return tuple(
            tf.where(size > 0, batch, tf.cast(tf.convert_to_tensor(known), batch.dtype))
            for batch, known in zip(found, moving, strict=True)
        )

    kind._moments = moments


def correct_steps(trainer: ModuleType) -> None:
    """Makes moving means and variances equal on all replicas after each training step."""

    def wrap(model: Any, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def averaged(data: Any) -> Any:
            result = step(data)
            _average(model)
            return result

        return averaged if step == model.train_step else step

    whole_steps.wrap_steps(trainer, wrap)


def _has_several_replicas(tf: Any) -> bool:
    """Whether this code runs on one of several replicas."""
    context = tf.distribute.get_replica_context()
    return context is not None and context.num_replicas_in_sync > 1


def _average(model: Any) -> None:
    """Within a step of a replica: the moving values of all layers become the means over the replicas."""
    import keras
    import tensorflow as tf

    if not _has_several_replicas(tf):
        return
    variables = [
        variable
        for layer in model._flatten_layers()
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable and layer.built
        for variable in layer.non_trainable_variables
    ]
    if not variables:
        return
    values = [tf.convert_to_tensor(variable) for variable in variables]
    widest = tf.float64 if any(value.dtype == tf.float64 for value in values) else tf.float32
    packed = tf.concat([tf.reshape(tf.cast(value, widest), [-1]) for value in values], 0)
    means = tf.distribute.get_replica_context().all_reduce("MEAN", packed)
    parts = tf.split(means, [value.shape.num_elements() for value in values])
    for variable, value, part in zip(variables, values, parts, strict=True):
        variable.assign(tf.cast(tf.reshape(part, value.shape), value.dtype))
