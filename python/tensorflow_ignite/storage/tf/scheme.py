"""Registers ``ignite://`` in TensorFlow's C++, once in a process; TensorFlow must be imported before."""

from __future__ import annotations

import importlib
import sys
import threading
import warnings
from typing import Any

from tensorflow_ignite.base import system
from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.storage import gc_pause
from tensorflow_ignite.storage.tf.filesystem_calls import FileSystemCalls

_PLUGIN = "tensorflow_ignite.storage.tf._plugin"
#: Seconds that running calls may take when the process ends.
_GRACE = 10.0

_lock = threading.Lock()
_calls: FileSystemCalls | None = None
_plugin: Any = None
_failure: str | None = None


class SchemeUnavailableWarning(RuntimeWarning):
    """TensorFlow cannot use ``ignite://`` in this process; the text has the reason and the remedy."""


def register() -> None:
    """Registers the scheme; may be repeated, from any thread. Warns with `SchemeUnavailableWarning` if it fails."""
    global _failure
    with _lock:
        if _calls is not None or _failure is not None:
            return
        _failure = _register()
        if _failure is not None:
            warnings.warn(_failure, SchemeUnavailableWarning, stacklevel=2)


def require() -> None:
    """Imports TensorFlow, and registers the scheme.

    Raises:
        TensorFlowIgniteError: The scheme cannot be registered; the text has the reason and the remedy.
    """
    importlib.import_module("tensorflow")
    register()
    if _failure is not None:
        raise TensorFlowIgniteError(_failure)


def end() -> None:
    """At the end of Python: publishes files that are open for writing, and refuses all later calls of TensorFlow."""
    with _lock:
        calls, plugin = _calls, _plugin
    if calls is None:
        return
    calls.ending = True
    # If a call is still running, it may use a file; then no file is published.
    if plugin.end(_GRACE):
        plugin.end_writers()


def _register() -> str | None:
    """Registers the scheme; returns the text of the failure, if any."""
    global _calls, _plugin
    tensorflow = sys.modules.get("tensorflow")
    register_plugin = getattr(getattr(tensorflow, "experimental", None), "register_filesystem_plugin", None)
    if register_plugin is None:
        return (
            f"ignite:// is not known to TensorFlow: {tensorflow!r} has no tf.experimental.register_filesystem_plugin. "
            "TensorFlow 2.20 and 2.21 have this function. Install one of them: "
            "pip install 'tensorflow-ignite[tensorflow]'"
        )
    try:
        plugin = importlib.import_module(_PLUGIN)
    except ImportError as error:
        if not system.IS_LINUX:
            return (
                f"ignite:// is not known to TensorFlow on {system.NAME}: its extension exists for Linux only. Jobs "
                "use ignite:// on the nodes. Here fsspec reads these files, and the command line copies them. "
                "Use a local copy: tensorflow-ignite fs cp -r ignite:///FOLDER ."
            )
        return (
            f"ignite:// is not known to TensorFlow: the extension {_PLUGIN} is missing ({error}). The installation of "
            "the package compiles it if a C compiler and Python's headers are installed; everything else works without "
            "it. Install both (Debian: apt-get install gcc python3-dev), then install the package again: "
            "pip install --force-reinstall --no-deps --no-cache-dir --no-binary :all: tensorflow-ignite; "
            "in a clone: make clean venv"
        )
    calls = FileSystemCalls(raise_later=plugin.raise_later)
    try:
        plugin.bind(calls)
        register_plugin(plugin.__file__)
    except Exception as error:
        # This module may have been loaded again; the extension, which stays loaded, now uses the new object.
        if type(error).__name__ != "AlreadyExistsError":
            return (
                f"ignite:// is not known to TensorFlow {getattr(tensorflow, '__version__', '')}, which refused the "
                f"file system: {type(error).__name__}: {error}. Versions 2.20 and 2.21 are known to work. Install one "
                "of them: pip install 'tensorflow-ignite[tensorflow]'"
            )
    gc_pause.install(plugin)
    _calls, _plugin = calls, plugin
    return None
