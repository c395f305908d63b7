"""A path in the cluster, on this machine, or in another file system of fsspec; and the file or directory there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, cast

from tensorflow_ignite import errors
from tensorflow_ignite.base import system

if TYPE_CHECKING:
    from tensorflow_ignite.storage.files import Files

# Bytes that are read and written at once.
_CHUNK_BYTES = 4 << 20


@dataclass(frozen=True)
class Location:
    """A path in a file system; safe for threads.

    Attributes:
        filesystem: One of fsspec.
        path: As the file system writes it, without a slash at its end.
        prefix: Of the cluster: what the user wrote before the path, ``"ignite://host:port"``; None elsewhere.
        names_directory: The user wrote a slash at its end.
    """

    filesystem: Any
    path: str
    prefix: str | None = None
    names_directory: bool = False

    @property
    def files(self) -> Files:
        """The cluster's files, for a location in a cluster."""
        return cast("Files", self.filesystem.files)

    @property
    def filesystem_id(self) -> object:
        """Equal for two file systems that have the same files under the same paths."""
        try:
            return self.filesystem.fsid
        except NotImplementedError:
            return self.filesystem

    @property
    def url(self) -> str:
        """The path as a user would write it."""
        return str(self.filesystem.unstrip_protocol(self.path)) if self.prefix is None else self.prefix + self.path

    @property
    def name(self) -> str:
        """The last part of the path; empty for a root, a drive, ``.`` and ``..``, which stand for their content."""
        name = self.path.rstrip("/").rpartition("/")[2]
        return "" if name in (".", "..", os.path.splitdrive(self.path)[0]) else name

    @property
    def real_path(self) -> str:
        """The path that distinguishes one file from another: without links."""
        return system.slashed(os.path.normcase(os.path.realpath(self.path))) if self._is_local else self.path

    @property
    def _is_local(self) -> bool:
        return getattr(self.filesystem, "local_file", False)

    def at(self, path: str) -> Location:
        """Another path in the same file system."""
        return replace(self, path=path, names_directory=False)

    def child(self, name: str) -> Location:
        """An entry of this directory; the directory itself for an empty name.

        Raises:
            StorageError: No file of this machine can have the name.
        """
        if self._is_local and not system.can_name_file(name):
            raise errors.StorageError(
                f"{name!r} cannot be the name of a file in {self.url}. On Windows names have none of the characters "
                '< > : " / \\ | ? *, end with no dot or blank, and are not those of devices, such as NUL. Rename it in '
                "the cluster, tensorflow-ignite fs mv, or copy the other entries."
            )
        return self.at(f"{self.path.rstrip('/')}/{name}" if name else self.path)

    def find(self) -> Entry | None:
        """The file or directory at the path; None: nothing.

        Raises:
            StoredNotADirectoryError: It is a file, and the user wrote a slash at its end.
        """
        with _translate_errors(self.url):
            try:
                info = self.filesystem.info(self.path)
            except FileNotFoundError:
                return None
        entry = self._entry(info)
        if self.names_directory and not entry.is_directory:
            raise errors.StoredNotADirectoryError(
                f"{self.url} is a file. A path with a slash at its end names a directory. Leave the slash out."
            )
        return replace(entry, location=self)

    def children(self) -> list[Entry]:
        """The entries of a directory, sorted by path."""
        with _translate_errors(self.url):
            entries = [self._entry(info) for info in self.filesystem.ls(self.path, detail=True)]
        # Some file systems list the directory itself, too.
        others = [entry for entry in entries if entry.location.path.rstrip("/") != self.path.rstrip("/")]
        return sorted(others, key=lambda entry: entry.location.path)

    def expand(self) -> list[Location]:
        """The paths that match this pattern, sorted; a file or directory of just this name comes first."""
        with _translate_errors(self.url):
            if self.filesystem.exists(self.path):
                return [self]
            found = sorted(self.filesystem.glob(self.path)) if self.prefix is None else matching_paths(self)
        return [replace(self, path=path) for path in found]

    def make_directory(self) -> None:
        """Makes a directory and those above it, where they are missing."""
        with _translate_errors(self.url):
            self.filesystem.makedirs(self.path, exist_ok=True)

    @contextmanager
    def read(self) -> Iterator[Iterator[bytes]]:
        """One content of a file from its beginning to its end, in pieces."""
        with _translate_errors(self.url):
            file = self.filesystem.open(self.path, "rb")
        with file:
            yield self._pieces(file)

    @contextmanager
    def write(self) -> Iterator[Any]:
        """A file that appears, whole, at the end of the block, and not at all when the block raises.

        A file system that is neither the cluster nor this machine does so as far as its files can be committed; a new
        file is removed after a failure.
        """
        from tensorflow_ignite.cli.fs.local import LocalFiles

        with _translate_errors(self.url):
            if self.prefix is not None or isinstance(self.filesystem, LocalFiles):
                with self.filesystem.open(self.path, "wb") as file:
                    yield file
                return
            new = not self.filesystem.exists(self.path)
            parent = self.filesystem._parent(self.path)
            if new and parent and not self.filesystem.exists(parent):
                self.filesystem.makedirs(parent, exist_ok=True)
            file = self.filesystem.open(self.path, "wb", autocommit=False)
            try:
                yield file
                file.close()
                file.commit()
            except BaseException:
                with suppress(Exception):
                    file.discard()
                    if new and self.filesystem.exists(self.path):
                        self.filesystem.rm_file(self.path)
                raise

    def _entry(self, info: dict[str, Any]) -> Entry:
        return Entry(self.at(str(info["name"])), info["type"] == "directory", int(info.get("size") or 0))

    def _pieces(self, file: Any) -> Iterator[bytes]:
        # The block that reads them writes elsewhere: without this, the error would name the target.
        with _translate_errors(self.url):
            while data := file.read(_CHUNK_BYTES):
                yield data


@dataclass(frozen=True)
class Entry:
    """A file or directory that exists.

    Attributes:
        location: Where it is.
        is_directory: Whether it can be listed.
        bytes: Its size; 0 for a directory.
    """

    location: Location
    is_directory: bool
    bytes: int


def is_pattern(path: str) -> bool:
    """Whether a path has a character that stands for others."""
    return any(character in path for character in "*?[")


def matching_paths(pattern: Location) -> list[str]:
    """The paths that match, sorted; only directories that can hold a match are listed.

    ``*``, ``?`` and ``[ab]`` stand for characters of a name, ``**`` for any number of directories. fsspec's `glob`
    lists everything below the first directory with a pattern in its name.
    """

    def matches(base: Location, parts: Sequence[str]) -> Iterator[str]:
        literal = next((number for number, part in enumerate(parts) if is_pattern(part)), len(parts))
        base, parts = base.child("/".join(parts[:literal])), parts[literal:]
        with suppress(errors.StoredFileNotFoundError, errors.StoredNotADirectoryError):
            if not parts:
                if base.find() is not None:
                    yield base.path
                return
            first, rest = parts[0], parts[1:]
            if first == "**" and rest:
                yield from matches(base, rest)
            for entry in base.children():
                if first != "**" and not fnmatchcase(entry.location.name, first):
                    continue
                if not rest:
                    yield entry.location.path
                if entry.is_directory and (rest or first == "**"):
                    yield from matches(entry.location, parts if first == "**" else rest)

    return sorted(set(matches(pattern.at("/"), [part for part in pattern.path.split("/") if part])))


@contextmanager
def _translate_errors(url: str) -> Iterator[None]:
    """Raises what other file systems raise as an error of ours."""
    try:
        yield
    except errors.TensorFlowIgniteError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, OSError):
            reason = error.strerror or str(error) or type(error).__name__
        kind = errors.StoredFileNotFoundError if isinstance(error, FileNotFoundError) else errors.StorageError
        raise kind(
            f"{url} cannot be read or written: {reason}. Copying stops at the first failure, and leaves no partial "
            "file. Remove the cause, and copy again."
        ) from error
