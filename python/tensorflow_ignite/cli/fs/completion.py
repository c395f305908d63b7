"""Completion of paths of the cluster in a shell."""

from __future__ import annotations

import os
import re
from typing import Any

import typer

from tensorflow_ignite.cli.fs.arguments import SCHEME, Locations
from tensorflow_ignite.errors import TensorFlowIgniteError

# The user waits for the answer to the Tab key.
_SECONDS = 1.5
_ROOT = f"{SCHEME}:///"


def path_argument(text: str) -> Any:
    """The argument PATH of a command, with completion; `text` is its help."""
    return typer.Argument(metavar="PATH", help=text, show_default=False, autocompletion=_complete_path)


def _complete_path(context: typer.Context, incomplete: str) -> list[str]:
    """Paths with this prefix; none when no node answers in time. The shell itself completes files of this machine."""
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
    locations = Locations(context, context.params.get("address"), timeout=_SECONDS, ask=False)
    directory, _, name = typed.rpartition("/")
    while True:
        found = [entry for entry in locations.parse(directory + "/").children() if entry.location.name.startswith(name)]
        # A shell puts a space behind the only answer: the content of the only directory is more useful.
        if len(found) != 1 or not found[0].is_directory or not found[0].location.children():
            return [entry.location.url + ("/" if entry.is_directory else "") for entry in found]
        directory, name = found[0].location.url, ""


def _whole_word(incomplete: str) -> tuple[str, int]:
    """The part of this argument that the user has typed, and how many characters of it are other words for the shell.

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
    # The shell keeps the text before the last colon, and a colon that is a word by itself.
    return whole, len(whole) if incomplete == ":" else len(whole) - len(incomplete)


def _quoted(text: str) -> str:
    """Bash uses a completion as if the user had typed it; other shells quote by themselves."""
    if os.environ.get("_TENSORFLOW_IGNITE_COMPLETE") != "complete_bash":
        return text
    return re.sub(r"([\s\\'\"`$&|;<>()*?\[\]{}!#~])", r"\\\1", text)
