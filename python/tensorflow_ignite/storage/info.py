"""Metadata of files, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tensorflow_ignite.v1 import storage_pb2

FileKind = Literal["file", "directory"]


@dataclass(frozen=True)
class FileInfo:
    """A file or directory.

    Attributes:
        path: The absolute path.
        kind: ``"file"`` or ``"directory"``.
        bytes: Size of a file; 0 for a directory.
        modified: Time of the last change; seconds since the epoch.
        created: Time of creation; seconds since the epoch.
        generation: Number of publications of a file; 0 for a directory.
    """

    path: str
    kind: FileKind
    bytes: int
    modified: float
    created: float
    generation: int

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.kind == "directory"

    @property
    def name(self) -> str:
        """The last part of the path; empty for the root."""
        return self.path.rpartition("/")[2]

    @classmethod
    def from_proto(cls, message: Any, path: str | None = None) -> FileInfo:
        """Reads a message of a node; `path`, if given, replaces its path."""
        return cls(
            path=message.path if path is None else path,
            kind="directory" if message.kind == storage_pb2.FILE_KIND_DIRECTORY else "file",
            bytes=message.bytes,
            modified=_seconds(message.modified_at),
            created=_seconds(message.created_at),
            generation=message.generation,
        )


@dataclass(frozen=True)
class Usage:
    """Totals of a directory tree.

    Attributes:
        files: Number of files.
        directories: Number of directories, without the root of the tree.
        bytes: Size of all files together; copies of a block count once.
    """

    files: int
    directories: int
    bytes: int


@dataclass(frozen=True)
class Extent:
    """The bytes of a file that one writer has written.

    Attributes:
        id: 32 hexadecimal digits, never used again.
        bytes: Size of the extent.
        block_bytes: Size of each block; the last block may be shorter.
    """

    id: str
    bytes: int
    block_bytes: int


@dataclass(frozen=True)
class CheckedBlocks:
    """Blocks of one extent whose owner is one node, each verified there against its checksum.

    Attributes:
        address: ``host:port`` of the node.
        extent: Id of the extent.
        numbers: Numbers of the blocks in the extent.
        corrupt: Numbers of the blocks with a wrong checksum.
        bytes: Size of all these blocks.
        pending: The extent is pending: a writer is filling it, or it is being removed.
    """

    address: str
    extent: str
    numbers: tuple[int, ...]
    corrupt: tuple[int, ...]
    bytes: int
    pending: bool


def _seconds(timestamp: Any) -> float:
    return float(timestamp.seconds + timestamp.nanos / 1e9)
