"""Registers the scheme as soon as TensorFlow is imported, whoever imports it; imports nothing itself.

A finder stands before all others and lets them find TensorFlow; what they find is loaded as ever, then the scheme is
registered, and the finder is gone.
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

__all__ = ["install"]

_TENSORFLOW = "tensorflow"
_SCHEME = "tensorflow_ignite.storage.tf.scheme"

_lock = threading.Lock()
_installed = False


def install() -> None:
    """Registers the scheme now, when TensorFlow is there, or as soon as it is; may be repeated, from any thread."""
    global _installed
    with _lock:
        if _installed:
            return
        _installed = True
        # Functions of atexit are called in reverse: when TensorFlow is imported later, this one comes after its own.
        atexit.register(_end)
        if sys.modules.get(_TENSORFLOW) is None:
            sys.meta_path.insert(0, _Finder())
            return
    # Not under the lock: another thread may be importing TensorFlow, and this waits until it is done.
    importlib.import_module(_TENSORFLOW)
    _register()


def _register() -> None:
    importlib.import_module(_SCHEME).register()


def _end() -> None:
    scheme = sys.modules.get(_SCHEME)
    if scheme is not None:
        scheme.end()


class _Finder(importlib.abc.MetaPathFinder):
    """Finds TensorFlow as the finders behind it do, with a loader that tells when it is loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """What the others find; None for every other module."""
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
    """Loads as the loader that was found, and takes no part in anything else that is asked of a loader."""

    def __init__(self, found: Any, finder: _Finder) -> None:
        self._found = found
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """As the loader that was found."""
        spec.loader = self._found
        try:
            made: ModuleType | None = self._found.create_module(spec)
        finally:
            spec.loader = self
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Loads, then registers; from here on nothing tells that we were there."""
        module.__loader__ = self._found
        if module.__spec__ is not None:
            module.__spec__.loader = self._found
        self._found.exec_module(module)
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        _register()
