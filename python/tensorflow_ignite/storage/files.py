"""The cluster's files: one door for everything in Python that uses them.

files = Files.at(None)                          # the cluster of this job, or of the environment
with files.open_writer("/models/a.bin", parents=True) as writer:
    writer.write(b"...")
with files.open_reader("/models/a.bin") as reader:
    reader.read(0, reader.bytes)
"""

from __future__ import annotations

from collections.abc import Iterator

from tensorflow_ignite.storage.info import CheckedBlocks, FileInfo, FileKind, Usage
from tensorflow_ignite.storage.reader import Reader
from tensorflow_ignite.storage.writer import WriteMode, Writer

__all__ = ["CheckedBlocks", "FileInfo", "FileKind", "Files", "Reader", "Usage", "WriteMode", "Writer"]


class Files:
    """Files of one cluster; made by `Files.at`. Safe to use from several threads, and again after a fork.

    Paths begin with a slash; see `paths.normalize`. Every method may also raise `InvalidRequestError` (a path breaks a
    rule), `ConnectionFailedError` (no node answers), `RequestTimeoutError` (no answer in time), and, when it changes
    something for a task of a job, `AttemptSupersededError` (the task has been replaced).
    """

    @staticmethod
    def at(addresses: tuple[str, ...] | None, *, timeout: float = 30.0) -> Files:
        """The files of a cluster; one object for each process, addresses and time-out. Makes no call yet.

        Args:
            addresses: One ``"host:port"`` for each node that may be asked; None: see `paths.resolve`.
            timeout: Seconds for each call at one address.

        Raises:
            InvalidRequestError: An address in the environment cannot be read.
        """
        raise NotImplementedError

    @property
    def addresses(self) -> tuple[str, ...]:
        """``"host:port"`` of the nodes that are asked."""
        raise NotImplementedError

    def stat(self, path: str) -> FileInfo:
        """What is at a path.

        Raises:
            StoredFileNotFoundError: Nothing is.
            StoredNotADirectoryError: A file stands in the way.
        """
        raise NotImplementedError

    def exists(self, path: str) -> bool:
        """Whether anything is at a path."""
        raise NotImplementedError

    def list(self, path: str) -> list[FileInfo]:
        """The entries of a directory, sorted by name, with whole paths; of a file, itself.

        Raises:
            StoredFileNotFoundError: Nothing is there.
            StoredNotADirectoryError: A file stands in the way.
        """
        raise NotImplementedError

    def make_directory(self, path: str, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Makes a directory.

        Args:
            path: Of the directory.
            parents: Make those above it, too, if they are missing.
            exist_ok: A directory that is there already is no error.

        Raises:
            StoredFileExistsError: Something is there.
            StoredFileNotFoundError: The directory above it is missing.
            StoredNotADirectoryError: A file stands in the way.
        """
        raise NotImplementedError

    def remove(self, path: str, *, recursive: bool = False, kind: FileKind | None = None) -> None:
        """Removes a file, an empty directory, or a whole one, in one step.

        Args:
            path: Of what is removed.
            recursive: Remove a directory with all that is in it.
            kind: What it must be; None: either.

        Raises:
            StoredFileNotFoundError: Nothing is there.
            DirectoryNotEmptyError: Something is in the directory.
            StoredIsADirectoryError: It is to be a file, and is not.
            StoredNotADirectoryError: It is to be a directory, and is not.
        """
        raise NotImplementedError

    def rename(self, source: str, target: str, *, overwrite: bool = True) -> None:
        """Gives a file, or a directory with all that is in it, another path, in one step.

        Args:
            source: The path now.
            target: The path afterwards.
            overwrite: A file replaces a file, a directory an empty one.

        Raises:
            StoredFileNotFoundError: Nothing is there, or the target's directory is missing.
            StoredFileExistsError: Something is at the target, without overwrite.
            StoredIsADirectoryError: A file would replace a directory.
            StoredNotADirectoryError: A directory would replace a file.
            DirectoryNotEmptyError: The target directory has something in it.
        """
        raise NotImplementedError

    def usage(self, path: str) -> Usage:
        """Numbers and bytes below a path.

        Raises:
            StoredFileNotFoundError: Nothing is there.
        """
        raise NotImplementedError

    def open_reader(self, path: str) -> Reader:
        """Opens a file for reading.

        Raises:
            StoredFileNotFoundError: Nothing is there.
            StoredIsADirectoryError: A directory is.
        """
        raise NotImplementedError

    def open_writer(self, path: str, mode: WriteMode = "w", *, parents: bool = False, block_bytes: int = 0) -> Writer:
        """Begins to write a file; nothing is visible yet.

        Args:
            path: Of the file.
            mode: ``"w"`` replaces what is there, ``"x"`` wants nothing there, ``"a"`` goes on behind what is there.
            parents: Make missing directories.
            block_bytes: From 4 KiB to 4 MiB; 0: the cluster's, 2 MiB unless it is set.

        Raises:
            StoredFileNotFoundError: The directory is missing.
            StoredFileExistsError: Mode ``"x"``, and something is there.
            StoredIsADirectoryError: A directory is there.
        """
        raise NotImplementedError

    def check(self) -> Iterator[CheckedBlocks]:
        """Yields what every node of the cluster holds, each block checked there; see `CheckedBlocks`."""
        raise NotImplementedError
