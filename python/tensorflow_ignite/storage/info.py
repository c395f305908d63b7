"""What the cluster says about files, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tensorflow_ignite.v1 import storage_pb2

__all__ = ["CheckedBlocks", "Extent", "FileInfo", "FileKind", "Usage"]

FileKind = Literal["file", "directory"]


@dataclass(frozen=True)
class FileInfo:
    """What is at a path.

    Attributes:
        path: The whole path, from ``/`` on.
        kind: ``"file"`` or ``"directory"``.
        bytes: Of a file; 0 for a directory.
        modified: When it was last changed; seconds since the epoch.
        created: When it was made; seconds since the epoch.
        generation: Grows with each publication of the file; 0 for a directory.
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
        """Reads a message of the node; `path` stands for the one in it."""
        return cls(
            path=message.path if path is None else path,
            kind="directory" if message.kind == storage_pb2.DIRECTORY else "file",
            bytes=message.bytes,
            modified=_seconds(message.modified_at),
            created=_seconds(message.created_at),
            generation=message.generation,
        )


@dataclass(frozen=True)
class Usage:
    """What is below a path.

    Attributes:
        files: Number of files.
        directories: Number of directories, the one asked for not counted.
        bytes: Of all files together; each block is kept as often as the store has copies.
    """

    files: int
    directories: int
    bytes: int


@dataclass(frozen=True)
class Extent:
    """What one writer wrote of a file.

    Attributes:
        id: 32 hexadecimal digits, unique for ever.
        bytes: Of it.
        block_bytes: Of each of its blocks; the last one is shorter.
    """

    id: str
    bytes: int
    block_bytes: int


@dataclass(frozen=True)
class CheckedBlocks:
    """Blocks of one extent that one node holds as the first of its holders, each checked there against its checksum.

    Attributes:
        address: ``host:port`` of the node.
        extent: Id of the extent.
        numbers: The blocks' numbers in the extent.
        corrupt: Those of them that are not what was written.
        bytes: Of all of them together.
        pending: Somebody is writing the extent, or it is being removed.
    """

    address: str
    extent: str
    numbers: tuple[int, ...]
    corrupt: tuple[int, ...]
    bytes: int
    pending: bool


def _seconds(timestamp: Any) -> float:
    return float(timestamp.seconds + timestamp.nanos / 1e9)
