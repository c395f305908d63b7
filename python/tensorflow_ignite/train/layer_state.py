"""What a preprocessing layer of Keras 3 or tf_keras has learned from rows, as plain values and arrays.

It is set as the layer's own ``adapt`` sets it, through its method ``finalize_state``: so the layer behaves as if it had
read the rows itself. A layer of another class has a state if it has the methods ``state_dict()`` and
``load_state_dict(state)``.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from types import SimpleNamespace
from typing import Any, Protocol

from tensorflow_ignite.base.libraries import KERAS, is_of

_Layer = Any
# An attribute of a layer: the arguments that the script has passed to its constructor.
_MADE_WITH = "_tensorflow_ignite_made_with"
# Their classes have methods of this name whose result is not what a layer has learned.
_LIBRARIES = ("keras", "tf_keras", "torch")


def name_of(layer: _Layer) -> str:
    """The name of a layer for messages."""
    return str(getattr(layer, "name", None) or type(layer).__name__)


def is_known(layer: _Layer) -> bool:
    """Whether this module can read and set the learned state of the layer."""
    return _kind(layer) is not None


def is_of_keras(layer: _Layer) -> bool:
    """Whether the layer has the class of a preprocessing layer of Keras, or inherits from it."""
    return bool(_class_of_keras(layer))


def get(layer: _Layer) -> dict[str, Any]:
    """The state of a layer that `is_known`, with the shape for which it has made its variables."""
    kind = _kind(layer)
    assert kind is not None
    shape: Any = getattr(layer, "_build_input_shape", None)
    # A tf.TensorShape may have no rank.
    sizes = None if shape is None or getattr(shape, "rank", 0) is None else list(shape)
    return {"shape": sizes, "learned": kind.get(layer)}


def put(layer: _Layer, state: dict[str, Any]) -> None:
    """Sets the state of a layer of the same class and options.

    It makes the variables of a layer that has none. Under MultiWorkerMirroredStrategy all workers do that together, so
    they call it in the same order.
    """
    kind = _kind(layer)
    assert kind is not None
    if _class_of_keras(layer) and not getattr(layer, "built", False):
        _build(layer, state["shape"])
    kind.put(layer, state["learned"])


def _build(layer: _Layer, shape: list[int | None] | None) -> None:
    if hasattr(layer, "_adapt_maybe_build"):
        import tensorflow as tf

        # It reads the shape of a batch; batches of other kinds have no shape.
        layer._adapt_maybe_build(object() if shape is None else SimpleNamespace(shape=tf.TensorShape(shape)))
    elif shape is not None:
        layer.build(tuple(shape))


def note_arguments(kind: Any) -> None:
    """Lets layers of a script's classes keep their arguments: ``get_config`` may leave some out.

    Args:
        kind: The class of Keras from which they inherit.
    """
    original = kind.__new__

    @functools.wraps(original)
    def new(cls: Any, *arguments: Any, **named: Any) -> Any:
        made = original(cls) if original is object.__new__ else original(cls, *arguments, **named)
        if not is_of(cls, *_LIBRARIES):
            # Keras' own way to set an attribute needs a layer that is made.
            object.__setattr__(made, _MADE_WITH, (arguments, named))
        return made

    kind.__new__ = new


def copy_of(layer: _Layer) -> _Layer:
    """A new layer of the same class and options, which has learned nothing."""
    made_with = getattr(layer, _MADE_WITH, None)
    if made_with is not None:
        arguments, named = made_with
        try:
            # An automatic name would give others to the next layers of this process.
            return type(layer)(*arguments, **{"name": layer.name, **named})
        except TypeError:
            return type(layer)(*arguments, **named)
    config = _options(layer)
    try:
        return type(layer).from_config(dict(config))
    except (AttributeError, TypeError, ValueError):
        # `from_config` of TextVectorization wants texts in place of functions.
        return type(layer)(**config)


def identity(layer: _Layer) -> str:
    """Identifies the class and the options of a layer, and the name that a script has given to it."""
    config = {name: value for name, value in _options(layer).items() if name != "name"}
    kind = type(layer)
    made_with = getattr(layer, _MADE_WITH, None)
    if made_with is not None:
        arguments, named = made_with
        config["made with"] = [arguments, {name: value for name, value in named.items() if name != "name"}]
    options = json.dumps(config, sort_keys=True, default=_plain)
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__} {_given_name(layer)!r} {options}"


def _given_name(layer: _Layer) -> str:
    """The name of a layer; empty: Keras has named it after its class, with another number in each process."""
    name = str(getattr(layer, "name", None) or "")
    is_automatic = re.fullmatch(rf"{type(layer).__name__.lower()}\d*", name.lower().replace("_", ""))
    return "" if is_automatic else name


def digest(layer: _Layer) -> bytes:
    """A hash of what a layer has learned, apart from its weights: its vocabulary, boundaries, mean and variance."""
    import numpy as np

    found = hashlib.sha256()
    inner: Any = getattr(layer, "_lookup_layer", layer)
    if hasattr(inner, "lookup_table"):
        for token in _tokens(inner):
            text = token if isinstance(token, bytes) else str(token).encode()
            found.update(b"%d:" % len(text) + text)
        if getattr(inner, "output_mode", "") == "tf_idf":
            found.update(inner.idf_weights_const.numpy().tobytes())
    for name in ("mean", "variance", "bin_boundaries") if _class_of_keras(layer) else ():
        value = getattr(layer, name, None)
        # A tensor of a graph has no value.
        if value is not None and (isinstance(value, list) or hasattr(value, "numpy")):
            found.update(name.encode() + np.asarray(value, np.float32).tobytes())
    return found.digest()


def _options(layer: _Layer) -> dict[str, Any]:
    """The settings of the script, without the state that the layer has learned."""
    config = dict(layer.get_config())
    for name in ("vocabulary_size", "batch_input_shape"):
        config.pop(name, None)
    if config.get("num_bins") is not None:
        config.pop("bin_boundaries", None)
    return config


def _plain(value: Any) -> str:
    """A text for an option that is none of JSON, equal in each process."""
    return str(getattr(value, "__qualname__", None) or getattr(value, "name", None) or type(value).__qualname__)


class _Kind(Protocol):
    def get(self, layer: _Layer) -> Any: ...

    def put(self, layer: _Layer, state: Any) -> None: ...


class _OwnMethods:
    """The methods of a layer that has them; if its class inherits from a layer of Keras, Keras' state comes first."""

    def __init__(self, of_keras: _Kind | None) -> None:
        self._of_keras = of_keras

    def get(self, layer: _Layer) -> Any:
        return {"keras": self._of_keras and self._of_keras.get(layer), "own": layer.state_dict()}

    def put(self, layer: _Layer, state: Any) -> None:
        if self._of_keras:
            self._of_keras.put(layer, state["keras"])
        layer.load_state_dict(state["own"])


class _Normalization:
    _VARIABLES = ("adapt_mean", "adapt_variance", "count")

    def get(self, layer: _Layer) -> Any:
        return {name: getattr(layer, name).numpy() for name in self._VARIABLES}

    def put(self, layer: _Layer, state: Any) -> None:
        for name in self._VARIABLES:
            getattr(layer, name).assign(state[name])
        layer.finalize_state()


class _Discretization:
    def get(self, layer: _Layer) -> Any:
        summary = layer.summary
        return {"summary": summary.numpy() if hasattr(summary, "numpy") else summary}

    def put(self, layer: _Layer, state: Any) -> None:
        if hasattr(layer.summary, "assign"):
            layer.summary.assign(state["summary"])
        else:
            layer.summary = state["summary"]
        layer.finalize_state()


class _IndexLookup:
    def get(self, layer: _Layer) -> Any:
        import numpy as np

        tokens = _tokens(layer)
        state: dict[str, Any] = {"is_text": not tokens or isinstance(tokens[0], bytes)}
        if state["is_text"]:
            # An array of numpy would lose zeros at the end of a text.
            state["bytes"] = np.frombuffer(b"".join(tokens), np.uint8)
            state["lengths"] = np.array([len(token) for token in tokens], np.int64)
        else:
            state["numbers"] = np.array(tokens, np.int64)
        if layer.output_mode == "tf_idf":
            state["idf_weights"] = layer.idf_weights.numpy()
        return state

    def put(self, layer: _Layer, state: Any) -> None:
        import numpy as np
        import tensorflow as tf

        if state["is_text"]:
            content, ends = state["bytes"].tobytes(), np.cumsum(state["lengths"])
            tokens = [content[end - size : end] for end, size in zip(ends, state["lengths"], strict=True)]
        else:
            tokens = state["numbers"].tolist()
        layer.reset_state()
        if tokens:
            keys = tf.constant(tokens, layer.vocabulary_dtype)
            # The layer orders its vocabulary by these counts.
            layer.token_counts.insert(keys, tf.range(len(tokens), 0, -1, tf.int64))
            if layer.output_mode == "tf_idf":
                layer.token_document_counts.insert(keys, tf.ones([len(tokens)], tf.int64))
                layer.num_documents.assign(1)
        layer.finalize_state()
        if tokens and layer.output_mode == "tf_idf":
            layer.idf_weights.assign(state["idf_weights"])
            layer.idf_weights_const = layer.idf_weights.value()


class _TextVectorization:
    def get(self, layer: _Layer) -> Any:
        return _IndexLookup().get(layer._lookup_layer)

    def put(self, layer: _Layer, state: Any) -> None:
        _IndexLookup().put(layer._lookup_layer, state)


_KINDS: dict[str, _Kind] = {
    "Normalization": _Normalization(),
    "Discretization": _Discretization(),
    "IndexLookup": _IndexLookup(),
    "TextVectorization": _TextVectorization(),
}


def has_own_adapt(layer: _Layer) -> bool:
    """Whether a script has written ``adapt`` of a layer, which inherits from one of Keras."""
    return is_of_keras(layer) and any("adapt" in vars(each) for each in _own(layer))


def has_own_state(layer: _Layer) -> bool:
    """Whether a script has written the methods that say what a layer has learned."""
    return all(any(name in vars(each) for each in _own(layer)) for name in ("state_dict", "load_state_dict"))


def _own(layer: _Layer) -> list[type]:
    return [each for each in type(layer).__mro__ if not is_of(each, *_LIBRARIES)]


def _class_of_keras(layer: _Layer) -> str:
    """The name of the class of Keras that the layer has, or inherits from; empty: none of those above."""
    for kind in type(layer).__mro__:
        if is_of(kind, *KERAS) and kind.__name__ in _KINDS:
            return kind.__name__
    return ""


def _kind(layer: _Layer) -> _Kind | None:
    of_keras = _KINDS.get(_class_of_keras(layer))
    return _OwnMethods(of_keras) if has_own_state(layer) else of_keras


def _tokens(layer: _Layer) -> list[Any]:
    """The learned vocabulary in the order of its indices, as bytes or numbers; without special tokens."""
    table = layer.lookup_table
    if int(table.size()) == 0:
        return []
    keys, values = (each.numpy() for each in table.export())
    tokens, indices = (values, keys) if layer.invert else (keys, values)
    order = indices.argsort()
    return list(tokens[order].tolist())
