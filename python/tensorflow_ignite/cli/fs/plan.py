"""What a copy will do, decided before anything is written, by the rules of cp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tensorflow_ignite import errors
from tensorflow_ignite.cli.fs.location import Entry, Location


@dataclass(frozen=True)
class FileCopy:
    """One file that will be copied.

    Attributes:
        source: The file.
        target: What it becomes.
        bytes: The size of the source when the copy was planned.
    """

    source: Location
    target: Location
    bytes: int


@dataclass
class Plan:
    """All that a copy will do.

    Attributes:
        directories: To be made, by path, those above before those below.
        files: To be copied.
    """

    directories: dict[str, Location] = field(default_factory=dict)
    files: list[FileCopy] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(file.bytes for file in self.files)

    def add_file(self, source: Entry, target: Location, existing: Entry | None) -> None:
        """Adds a file, unless `existing`, the file or directory at the target, prevents it."""
        if existing is not None and existing.is_directory:
            raise errors.StoredIsADirectoryError(
                f"{target.url} is a directory, and {source.location.url} a file. A file replaces no directory. "
                "Remove the directory, or name another target."
            )
        if _are_same(target, source.location):
            raise errors.InvalidRequestError(
                f"{source.location.url} and {target.url} are the same file. A file is copied to another path. "
                "Name another target."
            )
        self.files.append(FileCopy(source.location, target, source.bytes))

    def add_directory(
        self, source: Location, target: Location, existing: Entry | None, ancestors: tuple[str, ...] = ()
    ) -> None:
        """Adds a directory and all that is in it.

        Args:
            source: The directory.
            target: The location of its copy.
            existing: The file or directory at the target.
            ancestors: Real paths of the directories that contain the source: a link to one of them has no end.
        """
        if existing is not None and not existing.is_directory:
            raise errors.StoredNotADirectoryError(
                f"{target.url} is a file, and {source.url} a directory. A directory replaces no file. "
                "Remove the file, or name another target."
            )
        if source.real_path in ancestors:
            raise errors.InvalidRequestError(
                f"{source.url} is a link to a directory that it is in itself. Links are followed when "
                "files are copied, and this one has no end. Remove the link, or copy without it."
            )
        if existing is None:
            self.directories.setdefault(target.path, target)
        at_target = {} if existing is None else {entry.location.name: entry for entry in target.children()}
        for entry in source.children():
            name = entry.location.name
            below = target.child(name)
            if entry.is_directory:
                self.add_directory(entry.location, below, at_target.get(name), (*ancestors, source.real_path))
            else:
                self.add_file(entry, below, at_target.get(name))


def is_directory_target(sources: Sequence[Location], target: Location) -> bool:
    """Whether the target is a directory that the sources go into; False: the one source becomes the target.

    Raises:
        StoredNotADirectoryError: There are several sources, and the target is no directory.
    """
    found = target.find()
    into = target.names_directory or (found is not None and found.is_directory)
    if len(sources) > 1 and not into:
        raise errors.StoredNotADirectoryError(
            f"{target.url} is no directory, and {len(sources)} sources cannot become one file. Several sources go into "
            f"a directory that is there, or that is named with a slash at its end. Write: {target.url}/"
        )
    return into


def plan_copy(sources: Sequence[Location], target: Location, *, recursive: bool) -> Plan:
    """Finds out whether the sources and the target are files, directories, or missing.

    Args:
        sources: Files and directories.
        target: The directory of the copies, or the location of the copy of a single source.
        recursive: Directories may be copied.

    Raises:
        StorageError: A rule of cp prevents the copy; nothing has been written.
    """
    into = is_directory_target(sources, target)
    target = target.at(target.path)
    plan = Plan()
    if into and target.find() is None:
        plan.directories[target.path] = target
    taken: dict[str, str] = {}
    for source in sources:
        found = source.find()
        if found is None:
            raise errors.StoredFileNotFoundError(
                f"{source.url} does not exist. Every source must exist before anything is copied. "
                "Check its name, or leave it out."
            )
        copy = target.child(source.name) if into else target
        if copy.path in taken and not (found.is_directory and copy == target):
            raise errors.StoredFileExistsError(
                f"{source.url} and {taken[copy.path]} would both become {copy.url}. Each source needs "
                "a name of its own in the target. Copy them to different directories."
            )
        taken[copy.path] = source.url
        if not found.is_directory:
            plan.add_file(found, copy, copy.find())
            continue
        if not recursive:
            raise errors.StoredIsADirectoryError(
                f"{source.url} is a directory. Directories are copied only with -r. Add -r."
            )
        if _are_same(copy, source, or_inside=True):
            raise errors.InvalidRequestError(
                f"{source.url} cannot be copied to {copy.url}, which is in it. "
                "A directory is copied to a path outside of it. Name another target."
            )
        plan.add_directory(source, copy, copy.find())
    return plan


def _are_same(target: Location, source: Location, *, or_inside: bool = False) -> bool:
    if target.filesystem_id != source.filesystem_id:
        return False
    inner, outer = target.real_path, source.real_path
    return inner == outer or (or_inside and inner.startswith(f"{outer.rstrip('/')}/"))
