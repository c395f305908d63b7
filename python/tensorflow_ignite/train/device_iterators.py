"""Iterators of distributed datasets: their part on each device ends without a wait for TensorFlow's autotuner.

The autotuner of an iterator sleeps for as long as the iterator has lived, up to a minute, and the deletion of the
iterator may wait until it wakes, with Python's lock held: TensorFlow 2.21 notifies it before the iterator counts as
cancelled. The part on a device prefetches a fixed number of batches, so there is nothing to tune. The options of the
user's dataset do not apply to it; they apply to the part that reads and maps rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any


def correct(multi_device_iterator_ops: ModuleType) -> None:
    """Disables the autotuner of the part on each device."""
    module: Any = multi_device_iterator_ops
    original: Callable[..., Any] | None = getattr(module, "_create_device_dataset", None)
    if original is None:
        return

    @functools.wraps(original)
    def create_device_dataset(*args: Any, **kwargs: Any) -> Any:
        import tensorflow as tf

        options = tf.data.Options()
        options.autotune.enabled = False
        return original(*args, **kwargs).with_options(options)

    module._create_device_dataset = create_device_dataset
