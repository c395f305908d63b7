"""Paths of the cluster for the Tab key."""

from __future__ import annotations

import os
import re

import typer

from tensorflow_ignite.cli.fs.places import SCHEME, Places
from tensorflow_ignite.errors import TensorFlowIgniteError

__all__ = ["complete_path"]

# A person waits at the key.
_SECONDS = 1.5
_ROOT = f"{SCHEME}:///"


def complete_path(context: typer.Context, incomplete: str) -> list[str]:
    """Paths that begin so; none where no node answers at once, and files of this machine are left to the shell."""
    typed, cut = _whole_word(incomplete)
    if not typed.startswith(f"{SCHEME}:"):
        return [_ROOT[cut:]] if typed and _ROOT.startswith(typed) else []
    if typed.count("/") < 3:
        return [_ROOT[cut:]] if _ROOT.startswith(typed) else []
    try:
        found = _paths(context, typed)
    except TensorFlowIgniteError:
        return []
    return [_quoted(path[cut:]) for path in found]


def _paths(context: typer.Context, typed: str) -> list[str]:
    places = Places(context, context.params.get("address"), timeout=_SECONDS, ask=False)
    directory, _, name = typed.rpartition("/")
    while True:
        place = places.of(directory + "/")
        found = [entry for entry in place.store.children(place.path) if place.store.name(entry.path).startswith(name)]
        urls = [place.store.url(entry.path) + ("/" if entry.is_directory else "") for entry in found]
        # A shell puts a space behind the only answer: the content of the only directory is more use.
        if len(found) != 1 or not found[0].is_directory or not place.store.children(found[0].path):
            return urls
        directory, name = place.store.url(found[0].path), ""


def _whole_word(incomplete: str) -> tuple[str, int]:
    """What the user has typed of this argument, and how much of it the shell holds for other words.

    Bash breaks words at colons: of ``ignite:///a`` it completes the ``///a``.
    """
    if os.environ.get("_TENSORFLOW_IGNITE_COMPLETE") != "complete_bash":
        return incomplete, 0
    words = os.environ.get("COMP_WORDS", "").split("\n")
    before = words[: int(os.environ.get("COMP_CWORD", "0"))]
    whole = incomplete
    while before and (before[-1] == ":" or whole.startswith(":")):
        whole = before.pop() + whole
    if not whole.startswith(f"{SCHEME}:"):
        return incomplete, 0
    # What stands before the last colon stays as it is, and so does a colon that is a word by itself.
    return whole, len(whole) if incomplete == ":" else len(whole) - len(incomplete)


def _quoted(text: str) -> str:
    """Bash takes what it is given as if the user had typed it; other shells quote by themselves."""
    if os.environ.get("_TENSORFLOW_IGNITE_COMPLETE") != "complete_bash":
        return text
    return re.sub(r"([\s\\'\"`$&|;<>()*?\[\]{}!#~])", r"\\\1", text)
