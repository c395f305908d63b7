"""Patterns of paths, as TensorFlow defines them; every directory on the way is listed once, and no file looked at.

Within one part of a path ``*`` stands for any characters, ``?`` for one, ``[abc]`` and ``[a-c]`` for one of these,
``[^abc]`` for one of all others; a backslash takes the meaning from the character after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorflow_ignite.storage.info import FileInfo

__all__ = ["is_pattern", "literal", "matching", "split"]

_MAGIC = frozenset("*?[\\")


def is_pattern(part: str) -> bool:
    """Whether a part means more than itself."""
    return not _MAGIC.isdisjoint(part)


def split(path: str) -> list[str]:
    """The parts of a pattern; dots and repeated slashes are gone."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return parts


def literal(part: str) -> re.Pattern[str]:
    """The regular expression of one part.

    Raises:
        ValueError: A range runs backwards, as in ``[z-a]``.
    """
    expression: list[str] = []
    at = 0
    while at < len(part):
        char = part[at]
        at += 1
        if char == "*":
            expression.append(".*")
        elif char == "?":
            expression.append(".")
        elif char == "\\" and at < len(part):
            expression.append(re.escape(part[at]))
            at += 1
        elif char == "[" and (end := _end_of_set(part, at)) > 0:
            expression.append(_set(part[at:end]))
            at = end + 1
        else:
            expression.append(re.escape(char))
    try:
        return re.compile("".join(expression), re.DOTALL)
    except re.error as error:
        raise ValueError(f"the pattern {part!r} cannot be read: {error}") from None


def _end_of_set(part: str, begin: int) -> int:
    """Where the bracket closes; -1: it never does, and stands for itself."""
    at = begin
    if part[at : at + 1] in ("^", "!"):
        at += 1
    # Right after the beginning a closing bracket is one of the characters.
    at += part[at : at + 1] == "]"
    while at < len(part) and part[at] != "]":
        at += 2 if part[at] == "\\" else 1
    return at if at < len(part) else -1


def _set(inner: str) -> str:
    negated = inner[:1] in ("^", "!")
    chars = inner[1:] if negated else inner
    escaped = re.sub(r"\\(.)", lambda found: "\\" + found[1], chars, flags=re.DOTALL)
    # What has a meaning for Python's sets and none in ours.
    escaped = re.sub(r"(?<!\\)[\[\]&~|^]", lambda found: "\\" + found[0], escaped)
    return f"[{'^' if negated else ''}{escaped}]"


def matching(
    parts: list[str], list_directory: Callable[[str], Iterable[FileInfo]], exists: Callable[[str], bool]
) -> list[str]:
    """Paths that a pattern stands for, sorted.

    Args:
        parts: Of the pattern, the first of them below the root.
        list_directory: Gives the entries of a directory; FileNotFoundError and NotADirectoryError mean none.
        exists: Whether anything is at a path.
    """
    found = [""]
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        if not is_pattern(part):
            found = [f"{directory}/{part}" for directory in found]
            # A part that means itself needs no listing; at the end somebody has to look.
            if is_last:
                found = [path for path in found if exists(path)]
            continue
        expression = literal(part)
        matched: list[str] = []
        for directory in found:
            try:
                entries = list_directory(directory or "/")
                matched += [
                    f"{directory}/{name}"
                    for entry in entries
                    if expression.fullmatch(name := entry.path.rpartition("/")[2]) and (is_last or entry.is_directory)
                ]
            except (FileNotFoundError, NotADirectoryError):
                continue
        found = matched
    return sorted(path or "/" for path in found)
