"""Installs the corrections of TensorFlow, Keras and tf_keras, which replace private functions of their modules.

The package installs them when a script first uses :mod:`tensorflow_ignite.train` or `tensorflow_ignite.dataset`; in a
task of a job, at import. A correction changes only code with which it was tried. Where the code is another one, it
changes nothing, and the log says what does not work. The table is in :mod:`tensorflow_ignite.corrections.table`.

This module imports nothing heavy: the functions that change code are imported after the code is.
"""

from __future__ import annotations

import functools
import importlib
import os
import threading
from collections.abc import Collection, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from tensorflow_ignite.base import after_import

if TYPE_CHECKING:
    from tensorflow_ignite.corrections.table import Change, Correction

#: The environment variable that switches corrections off: ``off``, or names with a minus, separated by commas.
VARIABLE = "TENSORFLOW_IGNITE_CORRECTIONS"
_FUNCTIONS = "tensorflow_ignite.train"

_lock = threading.Lock()
_is_installed = False


def install() -> None:
    """Installs the corrections that are not switched off, once; may be repeated, from any thread.

    Raises:
        InvalidRequestError: The environment variable names no correction.
    """
    global _is_installed
    if _is_installed:
        return
    from tensorflow_ignite.corrections.table import CORRECTIONS

    off = switched_off(os.environ.get(VARIABLE, ""), [each.name for each in CORRECTIONS])
    with _lock:
        if _is_installed:
            return
        _is_installed = True
    # All changes of a module in the order of the table, in one call: a later one replaces what an earlier one has made.
    modules: dict[str, list[tuple[Correction, Change]]] = {}
    for correction in CORRECTIONS:
        for change in correction.changes if correction.name not in off else ():
            modules.setdefault(change.module, []).append((correction, change))
    # Without the lock: the import of a module may wait for a thread that calls this function.
    for name, changes in modules.items():
        after_import.call(name, functools.partial(_change, changes))


def switched_off(value: str, names: Collection[str]) -> frozenset[str]:
    """The names of the corrections that a value of the environment variable switches off.

    Args:
        value: Of the variable; empty: none.
        names: Of all corrections.

    Raises:
        InvalidRequestError: It names no correction.
    """
    parts = [part.strip() for part in value.split(",") if part.strip()]
    if parts == ["off"]:
        return frozenset(names)
    wrong = [part for part in parts if not part.startswith("-") or part[1:] not in names]
    if wrong:
        from tensorflow_ignite.errors import InvalidRequestError

        raise InvalidRequestError(
            f"the environment variable {VARIABLE}={value!r} has {wrong[0]!r}, which switches no correction off. It is "
            f"'off', or has names with a minus, separated by commas, such as -{min(names)}. The names are "
            f"{', '.join(sorted(names))}"
        )
    return frozenset(part[1:] for part in parts)


def _change(changes: Sequence[tuple[Correction, Change]], module: ModuleType) -> None:
    from tensorflow_ignite.corrections import source

    for correction, change in changes:
        other = source.other_code(change)
        if other:
            _warn(correction, change, other)
            continue
        file, function = change.function.split(".")
        getattr(importlib.import_module(f"{_FUNCTIONS}.{file}"), function)(module, *change.arguments)


def _warn(correction: Correction, change: Change, other: str) -> None:
    import logging

    from tensorflow_ignite.corrections.source import tried

    package = change.module.partition(".")[0]
    logging.getLogger("tensorflow_ignite").warning(
        "tensorflow_ignite: the correction %s does not change %s of %s %s: %s has other code than version %s, with "
        "which the correction was tried. Without the correction: %s. Install that version, or set %s=-%s if you do not "
        "need the correction",
        *(correction.name, change.module, package, _version(package), other, " or ".join(tried()["versions"][package])),
        *(correction.without, VARIABLE, correction.name),
    )


def _version(package: str) -> str:
    from importlib import metadata

    for name in (package, f"{package}-cpu", f"{package}-nightly", "tf-nightly"):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "of an unknown version"
