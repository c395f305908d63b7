"""Registers the scheme after any module has imported TensorFlow; does not import TensorFlow itself."""

from __future__ import annotations

import atexit
import importlib
import sys
import threading
from types import ModuleType

from tensorflow_ignite.base import after_import

_SCHEME = "tensorflow_ignite.storage.tf.scheme"

_lock = threading.Lock()
_installed = False


def install() -> None:
    """Registers the scheme now if TensorFlow is loaded, else after it is imported; may be repeated, from any thread."""
    global _installed
    with _lock:
        if _installed:
            return
        _installed = True
        # atexit calls functions in reverse: if TensorFlow is imported later, this function runs after TensorFlow's.
        atexit.register(_end)
    after_import.call("tensorflow", _register)


def _register(_tensorflow: ModuleType) -> None:
    importlib.import_module(_SCHEME).register()


def _end() -> None:
    scheme = sys.modules.get(_SCHEME)
    if scheme is not None:
        scheme.end()
