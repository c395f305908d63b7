"""What :func:`tensorflow_ignite.dataset` notes on its datasets, found on those that a script has made of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# The classes of TensorFlow's datasets that do, less a line before their names.
_KEEPING = {"CacheDataset", "SnapshotDataset", "SaveDataset"}


def is_marked(dataset: Any, mark: str) -> bool:
    """Whether a dataset is made of a dataset that has an attribute.

    Args:
        dataset: A tf.data.Dataset, or a dataset that a strategy has distributed; other objects have no marks.
        mark: The name of the attribute.
    """
    return any(marks_of(dataset, mark))


def marks_of(dataset: Any, mark: str) -> Iterator[Any]:
    """The values of an attribute of the datasets of which a dataset is made; no empty ones.

    Args:
        dataset: As for :func:`is_marked`.
        mark: The name of the attribute.
    """
    for each in all_of(dataset):
        found = getattr(each, mark, None)
        if found:
            yield found


def keeps_rows(dataset: Any, mark: str) -> bool:
    """Whether TensorFlow keeps the rows of a marked dataset for later iterators, by ``cache`` or ``snapshot``.

    Args:
        dataset: As for :func:`is_marked`.
        mark: The name of the attribute.
    """
    return any(type(each).__name__.strip("_") in _KEEPING and is_marked(each, mark) for each in all_of(dataset))


def all_of(dataset: Any) -> Iterator[Any]:
    """A dataset, and the datasets of which it is made.

    Args:
        dataset: As for :func:`is_marked`.
    """
    waiting = [getattr(dataset, "_original_dataset", dataset)]
    while waiting:
        each = waiting.pop()
        yield each
        # Other data than a tf.data.Dataset may have an attribute of this name.
        if hasattr(each, "element_spec") and callable(getattr(each, "_inputs", None)):
            waiting += each._inputs()
