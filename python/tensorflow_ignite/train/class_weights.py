"""Class weights of ``fit``: together with weights of rows, and where tf_keras ignores them without an error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Real
from types import ModuleType
from typing import Any

from tensorflow_ignite.errors import InvalidRequestError

_REMEDY = "Or let the rows have weights: rows.map(lambda features, labels: (features, labels, weights))"


def correct_keras3(tf_dataset_adapter: Any) -> None:
    """Makes ``fit`` of Keras 3 multiply the weights of classes and of rows; it would refuse both together.

    So rows that only fill an epoch (``uneven="pad"``) keep their weight 0.
    """
    tf_dataset_adapter.make_class_weight_map_fn = _multiplied(tf_dataset_adapter.make_class_weight_map_fn)


def _multiplied(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def make_class_weight_map_fn(class_weight: Any) -> Any:
        import tensorflow as tf

        class_weight = _checked(class_weight)
        weigh = original(class_weight)

        def combine(x: Any, y: Any = None, weight: Any = None) -> Any:
            if tf.nest.is_nested(y):
                raise InvalidRequestError(
                    f"class_weight={class_weight} is given for several labels, {tf.nest.map_structure(_name, y)}. "
                    f"Keras gives classes weights where there is one label. {_REMEDY}"
                )
            x, y, of_class = weigh(x, y)
            if weight is None:
                return x, y, of_class
            weight = tf.cast(weight, of_class.dtype)
            # A weight for each row counts for all its labels, as in a sequence.
            while weight.shape.rank < of_class.shape.rank:
                weight = weight[..., tf.newaxis]
            if weight.shape.rank > of_class.shape.rank:
                weight = tf.reshape(weight, tf.shape(of_class))
            return x, y, of_class * weight

        # Otherwise its errors would be errors of the conversion.
        return tf.autograph.experimental.do_not_convert(combine)

    return make_class_weight_map_fn


def _name(tensor: Any) -> str:
    return str(tensor.dtype.name)


def _checked(class_weight: Any) -> dict[int, float]:
    """Class weights by whole numbers; with other keys, Keras would fail at the search for the largest class."""
    numbers = isinstance(class_weight, dict) and all(
        isinstance(key, Real) and float(key).is_integer() for key in class_weight
    )
    if not numbers:
        raise InvalidRequestError(
            f"class_weight={class_weight!r} does not give weights to classes. It is a dict from the number of a class "
            f"to its weight, such as {{0: 1.0, 1: 5.0}}, for a model with one label. Give a dict. {_REMEDY}"
        )
    return {int(key): float(weight) for key, weight in class_weight.items()}


def correct_tf_keras(data_adapter: ModuleType) -> None:
    """Makes ``fit`` of tf_keras use ``class_weight`` under ParameterServerStrategy, and together with weights of rows.

    It multiplies both, but fails where the number of rows of a batch is not known.

    The data handler of tf_keras for other strategies gives each row the weight of its class; the data handler for
    parameter servers does not. The correction does it before the dataset goes to the workers.
    """
    kind: Any = getattr(data_adapter, "_ClusterCoordinatorDataHandler", None)
    weigh: Any = getattr(data_adapter, "_make_class_weight_map_fn", None)
    if kind is None or weigh is None:
        return
    weigh = _multiplied(weigh)
    setattr(data_adapter, "_make_class_weight_map_fn", weigh)  # noqa: B010
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
