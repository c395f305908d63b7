"""Epochs of different lengths in ``fit``: Keras counts the steps of the first one, and expects as many in each other.

With the rows of a cache that is written, a longer epoch would be cut to that number, and a shorter one would end the
training. The corrections let each epoch end with its rows. They apply to datasets whose rows come from
:func:`tensorflow_ignite.dataset`, without a fixed number; other datasets use the original functions.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from tensorflow_ignite.data.epochs.rows_per_worker import ROWS_OF_NOW
from tensorflow_ignite.train.marks import is_marked


def correct_keras3(epoch_iterator: ModuleType) -> None:
    """Corrects Keras 3."""
    kind: Any = epoch_iterator.EpochIterator
    original: Callable[[Any], contextlib.AbstractContextManager[None]] = kind.catch_stop_iteration

    @functools.wraps(original)
    @contextlib.contextmanager
    def catch_stop_iteration(self: Any) -> Iterator[None]:
        if self.steps_per_epoch or not is_marked(getattr(self.data_adapter, "_dataset", None), ROWS_OF_NOW):
            with original(self):
                yield
            return
        try:
            yield
        except StopIteration:
            self._current_iterator = None
            self.data_adapter.on_epoch_end()

    kind.catch_stop_iteration = catch_stop_iteration


def correct_tf_keras(data_adapter: ModuleType) -> None:
    """Corrects Keras 2 in the package tf_keras."""
    kind: Any = data_adapter.DataHandler
    original: Callable[[Any], contextlib.AbstractContextManager[None]] = kind.catch_stop_iteration

    @functools.wraps(original)
    @contextlib.contextmanager
    def catch_stop_iteration(self: Any) -> Iterator[None]:
        with original(self):
            yield
        if self._steps_per_epoch is None and is_marked(self._dataset, ROWS_OF_NOW):
            self._inferred_steps = None

    kind.catch_stop_iteration = catch_stop_iteration
