"""Whose classes objects have, found without an import of a library."""

from __future__ import annotations

KERAS = ("keras", "tf_keras")


def is_of(kind: type, *libraries: str) -> bool:
    """Whether a class is declared in one of these libraries."""
    return kind.__module__.partition(".")[0] in libraries
