"""Class weights of ``fit`` of tf_keras under parameter servers, where tf_keras ignores them without an error."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from tensorflow_ignite.errors import InvalidRequestError


def correct(data_adapter: ModuleType) -> None:
    """Makes ``fit`` of tf_keras use ``class_weight`` under ParameterServerStrategy.

    Its data handler for the other strategies gives each row the weight of its class; the one for parameter servers has
    no such step. The correction adds it before the dataset goes to the workers.

    Args:
        data_adapter: The module ``tf_keras.src.engine.data_adapter``, of which the package calls this once.
    """
    kind: Any = getattr(data_adapter, "_ClusterCoordinatorDataHandler", None)
    weigh: Any = getattr(data_adapter, "_make_class_weight_map_fn", None)
    if kind is None or weigh is None:
        return
    original = kind._configure_dataset_and_inferred_steps

    @functools.wraps(original)
    def configure(
        self: Any, strategy: Any, x: Any, steps_per_epoch: Any, class_weight: Any, *arguments: Any, **named: Any
    ) -> None:
        if class_weight:
            import tensorflow as tf

            if not isinstance(x, tf.data.Dataset):
                raise InvalidRequestError(
                    f"class_weight has no effect on a {type(x).__name__} under ParameterServerStrategy. tf_keras lets "
                    "the workers read it as it is. Give fit a tf.data.Dataset, such as tfi.dataset returns, or let its "
                    "elements have weights: (features, label, weight)"
                )
            x, class_weight = x.map(weigh(class_weight)), None
        original(self, strategy, x, steps_per_epoch, class_weight, *arguments, **named)

    kind._configure_dataset_and_inferred_steps = configure
