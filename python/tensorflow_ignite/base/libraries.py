"""Whose classes objects have, found without an import of a library."""

from __future__ import annotations

KERAS = ("keras", "tf_keras")


def is_of(kind: type, *libraries: str) -> bool:
    """Whether a class is declared in one of these libraries."""
    return kind.__module__.partition(".")[0] in libraries


def is_keras(value: object, name: str) -> bool:
    """Whether a value is of a class of Keras with this name, or of its subclass."""
    return any(kind.__name__ == name and is_of(kind, *KERAS) for kind in type(value).__mro__)
