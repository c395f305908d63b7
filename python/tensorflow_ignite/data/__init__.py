"""Rows of Ignite caches as tensors, and tensors as rows of Ignite caches.

Importing this package imports neither TensorFlow nor pyarrow; :func:`dataset`, :func:`load` and
:func:`read_table` do, when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorflow_ignite.data.loading.load import load
    from tensorflow_ignite.data.source import dataset
    from tensorflow_ignite.data.table import read_table

__all__ = ["dataset", "load", "read_table"]

_HOMES = {
    "dataset": "tensorflow_ignite.data.source",
    "load": "tensorflow_ignite.data.loading.load",
    "read_table": "tensorflow_ignite.data.table",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
