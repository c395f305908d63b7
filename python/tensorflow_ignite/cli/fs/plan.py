"""What a copy will do, decided before anything is written, by the rules of cp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tensorflow_ignite.cli.fs.places import Place
from tensorflow_ignite.cli.fs.stores import Entry, Store
from tensorflow_ignite.errors import (
    InvalidRequestError,
    StoredFileExistsError,
    StoredFileNotFoundError,
    StoredIsADirectoryError,
    StoredNotADirectoryError,
)

__all__ = ["FileCopy", "Plan", "directory_for", "plan_copy"]


@dataclass(frozen=True)
class FileCopy:
    """One file that will be copied.

    Attributes:
        source: Its store.
        source_path: Its path there.
        target_path: The path in the plan's target.
        bytes: Its size when it was looked at.
    """

    source: Store
    source_path: str
    target_path: str
    bytes: int


@dataclass
class Plan:
    """All that will be done.

    Attributes:
        target: Where everything goes.
        directories: To be made, those above before those below.
        files: To be copied.
    """

    target: Store
    directories: list[str] = field(default_factory=list)
    files: list[FileCopy] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(file.bytes for file in self.files)


def directory_for(sources: Sequence[Place], target: Place) -> bool:
    """Whether the target is a directory that the sources go into; False: the one source becomes the target.

    Raises:
        StoredNotADirectoryError: There are several sources, and the target is no directory.
    """
    found = target.find()
    into = target.is_directory or (found is not None and found.is_directory)
    if len(sources) > 1 and not into:
        raise StoredNotADirectoryError(
            f"{target.url} is no directory, and {len(sources)} sources cannot become one file. Several sources go into "
            f"a directory that is there, or that is named with a slash at its end. Write: {target.url}/"
        )
    return into


def plan_copy(sources: Sequence[Place], target: Place, *, recursive: bool) -> Plan:
    """Looks at the sources and at what is at the target.

    Args:
        sources: Files and directories.
        target: A directory that they go into, or what the only one becomes.
        recursive: Directories may be copied.

    Raises:
        StorageError: Something cannot be copied so; nothing has been written.
    """
    into = directory_for(sources, target)
    planned = Plan(target.store)
    if into and target.find() is None:
        planned.directories.append(target.path)
    taken: dict[str, str] = {}
    for source in sources:
        found = source.find()
        if found is None:
            raise StoredFileNotFoundError(
                f"{source.url} does not exist. Every source must exist before anything is copied. "
                "Look for its name, or leave it out."
            )
        path = target.path
        if into:
            path = target.store.join(target.path, source.store.name(source.path))
        if path in taken and not (found.is_directory and path == target.path):
            raise StoredFileExistsError(
                f"{source.url} and {taken[path]} would both become {target.store.url(path)}. Each source needs "
                "a name of its own in the target. Copy them to different directories."
            )
        taken[path] = source.url
        if found.is_directory:
            _plan_directory(planned, source, path, recursive)
        else:
            _plan_file(planned, source.store, found, path, target.store.find(path))
    return planned


def _plan_directory(planned: Plan, source: Place, path: str, recursive: bool) -> None:
    if not recursive:
        raise StoredIsADirectoryError(
            f"{source.url} is a directory. Directories are copied only when that is asked for. Add -r."
        )
    if planned.target.identity == source.store.identity:
        inner, outer = planned.target.real(path), source.store.real(source.path)
        if f"{inner}/".startswith(f"{outer.rstrip('/')}/"):
            raise InvalidRequestError(
                f"{source.url} cannot be copied to {planned.target.url(path)}, which is in it. "
                "A directory is copied to a place outside. Name another target."
            )
    _walk(planned, source.store, source.path, path, planned.target.find(path), (source.store.real(source.path),))


def _walk(
    planned: Plan, source: Store, directory: str, path: str, existing: Entry | None, above: tuple[str, ...]
) -> None:
    """Plans a directory and all that is in it.

    Args:
        planned: What it is added to.
        source: Where the directory is.
        directory: Its path.
        path: What becomes of it.
        existing: What is there already.
        above: The directories that it is in, and itself: links could lead round in a circle.
    """
    if existing is not None and not existing.is_directory:
        raise StoredNotADirectoryError(
            f"{planned.target.url(path)} is a file, and {source.url(directory)} a directory. A directory replaces no "
            "file. Remove the file, or name another target."
        )
    if existing is None and path not in planned.directories:
        planned.directories.append(path)
    there = {} if existing is None else {planned.target.name(e.path): e for e in planned.target.children(path)}
    for entry in source.children(directory):
        name = source.name(entry.path)
        below = planned.target.join(path, name)
        if not entry.is_directory:
            _plan_file(planned, source, entry, below, there.get(name))
            continue
        real = source.real(entry.path)
        if real in above:
            raise InvalidRequestError(
                f"{source.url(entry.path)} is a link to a directory that it is in itself. Links are followed when "
                "files are copied, and this one has no end. Remove the link, or copy without it."
            )
        _walk(planned, source, entry.path, below, there.get(name), (*above, real))


def _plan_file(planned: Plan, source: Store, entry: Entry, path: str, existing: Entry | None) -> None:
    if existing is not None and existing.is_directory:
        raise StoredIsADirectoryError(
            f"{planned.target.url(path)} is a directory, and {source.url(entry.path)} a file. A file replaces no "
            "directory. Remove the directory, or name another target."
        )
    if planned.target.identity == source.identity and planned.target.real(path) == source.real(entry.path):
        raise InvalidRequestError(
            f"{source.url(entry.path)} and {planned.target.url(path)} are the same file. A file is copied to another "
            "place. Name another target."
        )
    planned.files.append(FileCopy(source, entry.path, path, entry.bytes))
