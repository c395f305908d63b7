"""Makes ``ignite://`` known to TensorFlow's C++, once in a process; needs TensorFlow imported."""

from __future__ import annotations

import importlib
import sys
import threading
import warnings
from typing import Any

from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.storage import collecting
from tensorflow_ignite.storage.tf.answers import Answers

__all__ = ["SchemeUnavailableWarning", "end", "register", "require"]

_PLUGIN = "tensorflow_ignite.storage.tf._plugin"
#: Seconds that calls under way may take when the process ends.
_GRACE = 10.0

_lock = threading.Lock()
_answers: Answers | None = None
_plugin: Any = None
_failure: str | None = None


class SchemeUnavailableWarning(RuntimeWarning):
    """TensorFlow does not know ``ignite://`` in this process; the text says why, and what to do."""


def register() -> None:
    """Makes TensorFlow know the scheme; may be repeated, from any thread. Warns when that cannot be."""
    global _failure
    with _lock:
        if _answers is not None or _failure is not None:
            return
        _failure = _register()
        if _failure is not None:
            warnings.warn(_failure, SchemeUnavailableWarning, stacklevel=2)


def require() -> None:
    """Makes sure that TensorFlow knows the scheme.

    Raises:
        TensorFlowIgniteError: It cannot; the text says why, and what to do.
    """
    importlib.import_module("tensorflow")
    register()
    if _failure is not None:
        raise TensorFlowIgniteError(_failure)


def end() -> None:
    """When Python ends: closes what is open for writing, and lets no thread of TensorFlow's into Python any more."""
    with _lock:
        answers, plugin = _answers, _plugin
    if answers is None:
        return
    answers.ending = True
    # A call that is still under way then would meet a file that is being closed; its files are not published.
    if plugin.end(_GRACE):
        plugin.end_writers()


def _register() -> str | None:
    """Registers; what was wrong, if anything."""
    global _answers, _plugin
    tensorflow = sys.modules.get("tensorflow")
    register_plugin = getattr(getattr(tensorflow, "experimental", None), "register_filesystem_plugin", None)
    if register_plugin is None:
        return (
            f"ignite:// is not known to TensorFlow: {tensorflow!r} has no tf.experimental.register_filesystem_plugin. "
            "TensorFlow 2.20 and 2.21 have it. Install one of these: pip install 'tensorflow-ignite[tensorflow]'"
        )
    try:
        plugin = importlib.import_module(_PLUGIN)
    except ImportError as error:
        return (
            f"ignite:// is not known to TensorFlow: the extension {_PLUGIN} is missing ({error}). It is compiled when "
            "the package is installed, which takes a C compiler and Python's headers; everything else works without "
            "it. Install both (Debian: apt-get install gcc python3-dev), then install the package again: "
            "pip install --force-reinstall --no-deps --no-cache-dir tensorflow-ignite; in a clone: make clean venv"
        )
    answers = Answers(raise_later=plugin.raise_later)
    try:
        plugin.bind(answers)
        register_plugin(plugin.__file__)
    except Exception as error:
        # The extension outlives this module, which somebody may have loaded anew: it is bound to the new answers.
        if type(error).__name__ != "AlreadyExistsError":
            return (
                f"ignite:// is not known to TensorFlow {getattr(tensorflow, '__version__', '')}, which refused it: "
                f"{type(error).__name__}: {error}. Versions 2.20 and 2.21 are known to work. Install one of these: "
                "pip install 'tensorflow-ignite[tensorflow]'"
            )
    collecting.use(plugin)
    _answers, _plugin = answers, plugin
    return None
