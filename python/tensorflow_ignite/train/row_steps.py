"""The steps from a cache's rows to the rows of a layer, as a text that is equal in each process of a script.

The text has the methods of tf.data that choose or change rows, with the numbers of those that choose, and of the
functions of ``map`` and ``filter`` their operations and their columns. It has no floats, texts and captured tensors:
two functions that differ only in these have the same text.
"""

from __future__ import annotations

import hashlib
from typing import Any

from tensorflow_ignite.train.marks import all_of

_FUNCTIONS = ("_map_func", "_predicate", "_scan_func")
# Methods that choose elements by numbers.
_CHOOSES = {
    "TakeDataset": ("_count",),
    "SkipDataset": ("_count",),
    "RepeatDataset": ("_count",),
    "ShardDataset": ("_num_shards", "_index"),
}
# Methods that keep all rows as they are. What their elements are matters to a method that chooses some of these.
_KEEPS = {
    "BatchDataset": ("_batch_size",),
    "RebatchDataset": ("_batch_sizes",),
    "PaddedBatchDataset": ("_batch_size",),
    "UnbatchDataset": (),
    "PrefetchDataset": (),
    "OptionsDataset": (),
}
# Larger constants are tables of the script.
_MAX_VALUES = 16


def steps_of(rows: Any) -> list[str]:
    """The steps that make a layer's rows from a cache's rows, in reverse; empty if it is no tf.data.Dataset."""
    import tensorflow as tf

    steps = []
    is_chosen = False
    for each in all_of(rows):
        kind = type(each).__name__.replace("Parallel", "").strip("_")
        is_chosen = is_chosen or kind in _CHOOSES
        if isinstance(each, tf.data.Dataset) and (is_chosen or kind not in _KEEPS):
            names = _CHOOSES.get(kind) or _KEEPS.get(kind, ())
            numbers = [tf.get_static_value(getattr(each, name, None)) for name in names]
            steps.append(" ".join(map(str, [kind, *numbers])))
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
