"""Batches without values of a column of lists, which Keras 3 makes dense for an input of a known shape.

The last batch of an epoch is divided among the workers, and may leave one of them without rows, or with rows of padding
alone (``uneven="pad"``), whose lists are empty. The width of a dense batch is the length of its longest list, so one
without values would be 0 wide, and no layer would take it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any


def correct(functional: ModuleType) -> None:
    """Gives batches without values the shape of the model's input."""
    kind: Any = functional.Functional
    original = getattr(kind, "_convert_inputs_to_tensors", None)
    if original is None:
        return

    @functools.wraps(original)
    def convert(self: Any, flat_inputs: Sequence[Any]) -> Any:
        inputs = [
            given if getattr(expected, "ragged", False) else _dense(given, expected.shape)
            for given, expected in zip(flat_inputs, self._inputs, strict=False)
        ]
        return original(self, [*inputs, *flat_inputs[len(inputs) :]])

    kind._convert_inputs_to_tensors = convert


def _dense(given: Any, shape: Sequence[int | None]) -> Any:
    """Lists of an input of known length as Keras makes them dense, unless they have no values; else the argument."""
    tf = sys.modules.get("tensorflow")
    # Keras has other backends.
    if tf is None or not isinstance(given, tf.RaggedTensor) or None in shape[1:] or given.shape.rank != len(shape):
        return given
    # A size of -1 is the size of the longest list.
    sizes = tf.where(tf.equal(tf.size(given.flat_values), 0), [-1, *shape[1:]], -1)
    return given.to_tensor(shape=sizes)
