"""Patterns of paths: ``*``, ``?`` and ``[ab]`` within a name, ``**`` for any number of directories."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Protocol

__all__ = ["Listed", "expand", "is_pattern"]


class Listed(Protocol):
    """What there is to know of an entry of a directory."""

    @property
    def path(self) -> str:
        """The whole path."""
        ...

    @property
    def is_directory(self) -> bool:
        """Whether it can be listed."""
        ...


def is_pattern(path: str) -> bool:
    """Whether a path has a sign that stands for something else."""
    return any(sign in path for sign in "*?[")


def expand(
    pattern: str, children: Callable[[str], Sequence[Listed]], find: Callable[[str], Listed | None]
) -> list[Listed]:
    """Everything that a pattern of absolute paths matches, sorted by path; each once.

    Args:
        pattern: Begins with a slash.
        children: The entries of a directory, none where there is no such directory.
        find: What is at a path.
    """
    parts = [part for part in pattern.split("/") if part]
    found = {entry.path: entry for entry in _expand("", parts, children, find)}
    return [found[path] for path in sorted(found)]


def _expand(
    base: str,
    parts: Sequence[str],
    children: Callable[[str], Sequence[Listed]],
    find: Callable[[str], Listed | None],
) -> Iterator[Listed]:
    literal = 0
    while literal < len(parts) and not is_pattern(parts[literal]):
        literal += 1
    if literal:
        base = "/".join([base, *parts[:literal]])
        parts = parts[literal:]
    if not parts:
        entry = find(base or "/")
        if entry is not None:
            yield entry
        return
    first, rest = parts[0], parts[1:]
    if first == "**" and rest:
        yield from _expand(base, rest, children, find)
    for entry in children(base or "/"):
        if first == "**":
            if not rest:
                yield entry
            if entry.is_directory:
                yield from _expand(entry.path, parts, children, find)
        elif fnmatchcase(entry.path.rpartition("/")[2], first):
            if not rest:
                yield entry
            elif entry.is_directory:
                yield from _expand(entry.path, rest, children, find)
