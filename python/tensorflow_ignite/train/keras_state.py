"""Variables of Keras 3 that TensorFlow does not save or restore by itself.

TensorFlow saves the attributes of a layer. Keras 3 keeps lists and dicts in its own types, so a checkpoint would lack
the weights of layers in them, and the seeds of a Dropout. And a variable that a layer makes after a checkpoint was
restored has no value yet when TensorFlow restores it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

#: The name of these variables in a checkpoint.
NAME = "keras_state"
_VALUE = "VARIABLE_VALUE"


def correct(core: ModuleType) -> None:
    """Lets a variable of Keras 3 that has no value yet begin with the value of a restored checkpoint.

    Without this, the layer fails to build itself, builds itself once more, and has initial values.
    """
    kind: Any = core.Variable
    serialize, restore = kind._serialize_to_tensors, kind._restore_from_tensors

    @functools.wraps(serialize)
    def serialize_to_tensors(self: Any) -> Any:
        if self._value is None:
            import tensorflow as tf

            return {_VALUE: tf.zeros(self._shape, self._dtype)}
        return serialize(self)

    @functools.wraps(restore)
    def restore_from_tensors(self: Any, restored: Any) -> Any:
        if self._value is None:
            value = restored[_VALUE]
            self._initializer = lambda *_, **__: value
            return value
        return restore(self, restored)

    kind._serialize_to_tensors, kind._restore_from_tensors = serialize_to_tensors, restore_from_tensors


def of(trackables: Mapping[str, Any]) -> dict[str, Any]:
    """What a checkpoint of these objects saves in addition, by name; empty if none is a layer or model of Keras 3."""
    layers = _layers(trackables)
    return {NAME: _tracked({name: _tracked_variables(layer) for name, layer in layers.items()})} if layers else {}


def names_in(path: str, trackables: Mapping[str, Any]) -> set[str]:
    """The names of the objects that a checkpoint has.

    Args:
        path: Of the checkpoint.
        trackables: The objects to restore, by name.

    Raises:
        ValueError: A layer or model has other numbers of the variables of this module than the checkpoint.
    """
    import tensorflow as tf
    from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

    content = tf.train.load_checkpoint(path).get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH")
    nodes = TrackableObjectGraph.FromString(content).nodes
    found = {child.local_name: nodes[child.node_id] for child in nodes[0].children}
    if NAME in found:
        saved = {child.local_name: len(nodes[child.node_id].children) for child in found[NAME].children}
        for name, layer in _layers(trackables).items():
            own = len(_variables(layer))
            if saved.get(name, own) != own:
                raise ValueError(
                    f"it has {saved[name]} variables of layers in lists and dicts and of seeds for {name!r}, and that "
                    f"{type(layer).__name__} has {own}"
                )
    return set(found)


def _layers(trackables: Mapping[str, Any]) -> dict[str, Any]:
    keras = sys.modules.get("keras")
    return {} if keras is None else {k: v for k, v in trackables.items() if isinstance(v, keras.layers.Layer)}


def _variables(layer: Any) -> list[Any]:
    """The variables of a layer that TensorFlow does not find, in the order of the layer."""
    keras = sys.modules["keras"]
    found: set[int] = set()
    waiting = [layer]
    while waiting:
        for child in waiting.pop()._trackable_children().values():
            # An optimizer has the weights as soon as it is built.
            if id(child) not in found and not isinstance(child, keras.optimizers.Optimizer):
                found.add(id(child))
                waiting.append(child)
    return [variable for variable in layer.variables if id(variable) not in found]


def _tracked_variables(layer: Any) -> Any:
    import tensorflow as tf

    class Tracked(tf.__internal__.tracking.Trackable):  # type: ignore[misc]
        """The variables that the layer has whenever a checkpoint is saved or restored."""

        def _trackable_children(self, *_: Any, **__: Any) -> dict[str, Any]:
            return {str(number): variable for number, variable in enumerate(_variables(layer))}

        def _lookup_dependency(self, name: str, *_: Any, **__: Any) -> Any:
            return self._trackable_children().get(name)

    return Tracked()


def _tracked(children: Mapping[str, Any]) -> Any:
    import tensorflow as tf

    tracked = tf.__internal__.tracking.AutoTrackable()
    for name, child in children.items():
        setattr(tracked, name, child)
    return tracked
