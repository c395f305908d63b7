"""Patterns of paths, as TensorFlow defines them. Each directory is listed once; files are not read.

Within one part of a path ``*`` matches any characters, ``?`` one character, ``[abc]`` and ``[a-c]`` one of these,
``[^abc]`` one other character; a backslash escapes the next character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorflow_ignite.storage.info import FileInfo

_MAGIC = frozenset("*?[\\")


def is_pattern(part: str) -> bool:
    """Whether a part has special characters."""
    return not _MAGIC.isdisjoint(part)


def split(path: str) -> list[str]:
    """Splits a pattern into its parts, without dots and repeated slashes."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return parts


def literal(part: str) -> re.Pattern[str]:
    """Compiles one part into a regular expression.

    Raises:
        ValueError: A range is reversed, as in ``[z-a]``.
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
        raise ValueError(
            f"the pattern {part!r} is malformed: {error}. A range in brackets is ascending, as in [a-z]. Reverse the "
            "range, or escape the bracket by a backslash"
        ) from None


def _end_of_set(part: str, begin: int) -> int:
    """Returns the position of the closing bracket; -1: there is none, and the opening bracket is a plain character."""
    at = begin
    if part[at : at + 1] in ("^", "!"):
        at += 1
    # Directly after the start, a closing bracket is one of the characters.
    at += part[at : at + 1] == "]"
    while at < len(part) and part[at] != "]":
        at += 2 if part[at] == "\\" else 1
    return at if at < len(part) else -1


def _set(inner: str) -> str:
    negated = inner[:1] in ("^", "!")
    chars = inner[1:] if negated else inner
    escaped = re.sub(r"\\(.)", lambda found: re.escape(found[1]), chars, flags=re.DOTALL)
    # Characters that are special in sets of Python's regular expressions, but not in these patterns.
    escaped = re.sub(r"(?<!\\)[\[\]&~|^]", lambda found: "\\" + found[0], escaped)
    return f"[{'^' if negated else ''}{escaped}]"


def matching(
    parts: list[str], list_directory: Callable[[str], Iterable[FileInfo]], exists: Callable[[str], bool]
) -> list[str]:
    """Returns the paths that match a pattern, sorted.

    Args:
        parts: Parts of the pattern; the first one is below the root.
        list_directory: Returns the entries of a directory; FileNotFoundError and NotADirectoryError mean none.
        exists: Whether a path exists.
    """
    found = [""]
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        if not is_pattern(part):
            found = [f"{directory}/{part}" for directory in found]
            # A part without special characters needs no listing; only the last one must be checked.
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
