"""What :func:`tensorflow_ignite.dataset` notes on its datasets, found on those that a script has made of them."""

from __future__ import annotations

from typing import Any


def is_marked(dataset: Any, mark: str) -> bool:
    """Whether a dataset is made of one that has an attribute.

    Args:
        dataset: A tf.data.Dataset, or one that a strategy has distributed; anything else has no marks.
        mark: The name of the attribute.
    """
    waiting = [getattr(dataset, "_original_dataset", dataset)]
    while waiting:
        each = waiting.pop()
        if getattr(each, mark, False):
            return True
        # Other data than a tf.data.Dataset may have an attribute of this name.
        if hasattr(each, "element_spec") and callable(getattr(each, "_inputs", None)):
            waiting += each._inputs()
    return False
