"""Where files are: what `cp` asks of the cluster, of this machine, and of any other file system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tensorflow_ignite.cli.fs.globs import expand
from tensorflow_ignite.errors import StoredFileNotFoundError, StoredNotADirectoryError

if TYPE_CHECKING:
    from tensorflow_ignite.storage.files import FileInfo, Files

__all__ = ["CHUNK_BYTES", "ClusterStore", "Entry", "Sink", "Store"]

#: So much is read and written at once.
CHUNK_BYTES = 4 << 20


@dataclass(frozen=True)
class Entry:
    """A file or a directory.

    Attributes:
        path: As its store writes it.
        is_directory: Whether it can be listed.
        bytes: Of a file.
    """

    path: str
    is_directory: bool
    bytes: int


class Sink(Protocol):
    """A file that is being written."""

    def write(self, data: bytes, /) -> object:
        """Goes on behind what was written."""
        ...


class Store(ABC):
    """A tree of files; safe for threads."""

    @property
    @abstractmethod
    def identity(self) -> object:
        """Equal for two stores that show the same files under the same paths."""

    @abstractmethod
    def url(self, path: str) -> str:
        """A path as a user would write it, for messages."""

    @abstractmethod
    def find(self, path: str) -> Entry | None:
        """What is at a path; None: nothing."""

    @abstractmethod
    def children(self, path: str) -> Sequence[Entry]:
        """The entries of a directory, sorted."""

    @abstractmethod
    def expand(self, pattern: str) -> list[str]:
        """The paths that a pattern matches, sorted."""

    @abstractmethod
    def make_directory(self, path: str) -> None:
        """Makes a directory and those above it, where they are missing."""

    @abstractmethod
    def reading(self, path: str) -> AbstractContextManager[Iterator[bytes]]:
        """A file from its beginning to its end, in pieces."""

    @abstractmethod
    def writing(self, path: str) -> AbstractContextManager[Sink]:
        """A new content of a file: it appears whole at the end of the block, and not at all when that raises."""

    def join(self, directory: str, name: str) -> str:
        """The path of an entry; that of the directory itself for an empty name."""
        return f"{directory.rstrip('/')}/{name}" if name else directory

    def name(self, path: str) -> str:
        """The last part of a path; empty for a root, whose content is meant."""
        return path.rstrip("/").rpartition("/")[2]

    def real(self, path: str) -> str:
        """The path by which one file is told from another."""
        return path


class ClusterStore(Store):
    """The files inside a cluster."""

    def __init__(self, files: Files, prefix: str) -> None:
        """Keeps how to reach them.

        Args:
            files: They.
            prefix: What stands before a path, as the user wrote it: ``"ignite://"`` or ``"ignite://host:port"``.
        """
        self.files = files
        self._prefix = prefix

    @property
    def identity(self) -> object:
        """The nodes that are asked."""
        return self.files.addresses

    def url(self, path: str) -> str:
        """With the host that the user gave."""
        return self._prefix + path

    def find(self, path: str) -> Entry | None:
        """Asks the cluster."""
        try:
            return _entry(self.files.stat(path))
        except StoredFileNotFoundError:
            return None

    def children(self, path: str) -> Sequence[Entry]:
        """Asks the cluster."""
        return [_entry(info) for info in self.files.list(path)]

    def expand(self, pattern: str) -> list[str]:
        """A file or directory of just this name comes before what the signs stand for."""
        if self._lookup(pattern) is not None:
            return [pattern]
        return [entry.path for entry in expand(pattern, self._list, self._lookup)]

    def make_directory(self, path: str) -> None:
        """In one step."""
        self.files.make_directory(path, parents=True, exist_ok=True)

    @contextmanager
    def reading(self, path: str) -> Iterator[Iterator[bytes]]:
        """One content, whatever becomes of the file meanwhile."""
        with self.files.open_reader(path) as reader:

            def chunks() -> Iterator[bytes]:
                offset = 0
                while data := reader.read(offset, CHUNK_BYTES):
                    yield data
                    offset += len(data)

            yield chunks()

    @contextmanager
    def writing(self, path: str) -> Iterator[Sink]:
        """The writer publishes when it is closed, and is abandoned when the block raises."""
        with self.files.open_writer(path, "w", parents=True) as writer:
            yield writer

    def _lookup(self, path: str) -> Entry | None:
        try:
            return self.find(path)
        except StoredNotADirectoryError:
            return None

    def _list(self, path: str) -> Sequence[Entry]:
        try:
            return self.children(path)
        except (StoredFileNotFoundError, StoredNotADirectoryError):
            return []


def _entry(info: FileInfo) -> Entry:
    return Entry(info.path, info.kind == "directory", info.bytes)
