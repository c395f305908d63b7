"""Warnings of nodes about the cluster, in a header of every answer.

A node in the minority of a cut cluster sends one. Each text is reported once in a process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

#: The header, or the trailer of a call that fails at once; UTF-8.
HEADER = "tensorflow-ignite-warning-bin"

_log = logging.getLogger("tensorflow_ignite")
_reported: set[str] = set()


def log_warning(text: str) -> None:
    """Logs a warning."""
    _log.warning("%s", text)


_callback: Callable[[str], None] = log_warning


def report_to(callback: Callable[[str], None]) -> None:
    """Sets the function that gets each text once; without it, texts are logged."""
    global _callback
    _callback = callback
    _reported.clear()


def receive(metadata: Iterable[Any] | None) -> None:
    """Reports the warning in the metadata of an answer, unless there is none or it was reported before."""
    for key, value in metadata or ():
        if key == HEADER:
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
            if text not in _reported:
                _reported.add(text)
                _callback(text)
