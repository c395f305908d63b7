"""Registers the scheme after any module has imported TensorFlow; does not import TensorFlow itself.

An import finder before all others gets TensorFlow's module spec from them and replaces its loader. The new loader calls
the original one, registers the scheme, and removes the finder.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.abc
import importlib.machinery
import sys
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_TENSORFLOW = "tensorflow"
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
        if sys.modules.get(_TENSORFLOW) is None:
            sys.meta_path.insert(0, _Finder())
            return
    # Without the lock: another thread may be importing TensorFlow, and this call waits for that thread.
    importlib.import_module(_TENSORFLOW)
    _register()


def _register() -> None:
    importlib.import_module(_SCHEME).register()


def _end() -> None:
    scheme = sys.modules.get(_SCHEME)
    if scheme is not None:
        scheme.end()


class _Finder(importlib.abc.MetaPathFinder):
    """Returns the spec of TensorFlow that the other finders find, with a loader that registers the scheme."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns the spec of TensorFlow; None for every other module."""
        if fullname != _TENSORFLOW:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec: importlib.machinery.ModuleSpec | None = None
            if finder is not self and find is not None:
                spec = find(fullname, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self)
                return spec
        return None


class _Loader(importlib.abc.Loader):
    """Delegates to the original loader, and registers the scheme after TensorFlow is loaded."""

    def __init__(self, original: Any, finder: _Finder) -> None:
        self._original = original
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Creates the module as the original loader does."""
        spec.loader = self._original
        try:
            module: ModuleType | None = self._original.create_module(spec)
        finally:
            spec.loader = self
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restores the original loader in the module, loads the module, and registers the scheme."""
        module.__loader__ = self._original
        if module.__spec__ is not None:
            module.__spec__.loader = self._original
        self._original.exec_module(module)
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        _register()
