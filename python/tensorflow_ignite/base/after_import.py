"""Calls a function after a module has been imported, by any code of the process; does not import the module itself.

An import finder before all others gets the module's spec from them and replaces its loader. The new loader calls the
original one, then the function, and removes the finder.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

_lock = threading.Lock()


def call(name: str, action: Callable[[ModuleType], None]) -> None:
    """Calls the action now if the module is loaded, else once after it is imported.

    Args:
        name: Full name of the module.
        action: Called with the module, on the importing thread. What it raises reaches the importing code.
    """
    with _lock:
        if sys.modules.get(name) is None:
            sys.meta_path.insert(0, _Finder(name, action))
            return
    # Without the lock: another thread may be importing the module, and this call waits for that thread.
    action(importlib.import_module(name))


class _Finder(importlib.abc.MetaPathFinder):
    """Returns the spec of one module that the other finders find, with a loader that calls the action."""

    def __init__(self, name: str, action: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._action = action

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns the spec of the module; None for every other module."""
        if fullname != self._name:
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

    def loaded(self, module: ModuleType) -> None:
        """Removes this finder, and calls the action."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self._action(module)


class _Loader(importlib.abc.Loader):
    """Delegates to the original loader, and notifies the finder after the module is loaded."""

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
        """Restores the original loader in the module, loads the module, and notifies the finder."""
        module.__loader__ = self._original
        if module.__spec__ is not None:
            module.__spec__.loader = self._original
        self._original.exec_module(module)
        self._finder.loaded(module)
