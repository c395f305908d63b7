"""The steps from a cache's rows to the rows of a layer, as a text that is equal in each process of a script.

The text has the methods of tf.data that choose or change rows, with their numbers, and the functions of ``map`` and
``filter``: their operations and their columns. It has no floats, texts and captured tensors: two functions that differ
only in these have the same text.
"""

from __future__ import annotations

import hashlib
from typing import Any

from tensorflow_ignite.train.marks import all_of

_FUNCTIONS = ("_map_func", "_predicate", "_scan_func")
# Larger constants are tables of the script.
_MAX_VALUES = 16


def steps_of(rows: Any) -> list[str]:
    """The steps that make a layer's rows from a cache's rows, in reverse; empty if it is no tf.data.Dataset."""
    steps = []
    for each in all_of(rows):
        kind = type(each).__name__.replace("Parallel", "").strip("_")
        count: Any = getattr(each, "_count", None)
        if kind in ("TakeDataset", "SkipDataset", "RepeatDataset") and hasattr(count, "numpy"):
            steps.append(f"{kind} {int(count.numpy())}")
        for name in _FUNCTIONS:
            graph = getattr(getattr(getattr(each, name, None), "function", None), "graph", None)
            if graph is not None:
                steps.append(f"{kind} {_hash_of_graph(graph)}")
    return steps


def _hash_of_graph(graph: Any) -> str:
    """A hash of the operations of a function, independent of the order in which Python has made them."""
    arguments = graph.inputs[: len(graph.inputs) - len(graph.captures)]
    numbers = {tensor.op.name: number for number, tensor in enumerate(arguments)}
    known: dict[str, str] = {}

    def of(tensors: Any) -> list[str]:
        return [f"{known.get(tensor.op.name, '')}:{tensor.value_index}" for tensor in tensors]

    for operation in graph.get_operations():
        detail = numbers.get(operation.name, _value(operation))
        text = repr((operation.type, detail, of(operation.inputs)))
        known[operation.name] = hashlib.sha256(text.encode()).hexdigest()
    return hashlib.sha256(repr(of(graph.outputs)).encode()).hexdigest()


def _value(operation: Any) -> Any:
    """The value of a small constant of integers, such as the number of a column."""
    import tensorflow as tf

    if operation.type != "Const" or not (operation.outputs[0].dtype.is_integer or operation.outputs[0].dtype.is_bool):
        return None
    value = tf.make_ndarray(operation.get_attr("value"))
    return value.tolist() if value.size <= _MAX_VALUES else None
