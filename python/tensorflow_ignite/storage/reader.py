"""Reading a file of the cluster: ranges, read ahead when they follow each other, from the nodes that hold the blocks."""

from __future__ import annotations

from types import TracebackType

from tensorflow_ignite.storage.info import FileInfo

__all__ = ["Reader"]


class Reader:
    """An open file, as it was when it was opened; made by `Files.open_reader`. Safe to use from several threads.

    What is read is the content at the time of opening, whole; when somebody has replaced or removed the file since and
    the blocks are gone, `FileChangedError` is raised, never a mix of old and new. Keeps at most a few blocks in memory.
    """

    @property
    def info(self) -> FileInfo:
        """The file as it was when it was opened, or last refreshed."""
        raise NotImplementedError

    @property
    def bytes(self) -> int:
        """Size of the file when it was opened, or last refreshed."""
        raise NotImplementedError

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Reads a range into memory.

        Args:
            offset: Of the first byte.
            buffer: Writable and contiguous; filled from its start.

        Returns:
            Bytes read; fewer than the buffer has only at the end of the file, 0 behind it.

        Raises:
            FileChangedError: The file was replaced or removed, and its blocks are gone.
            FileCorruptError: A block is lost, or is not what was written.
            ConnectionFailedError: No node answers.
            RequestTimeoutError: No answer came in time.
        """
        raise NotImplementedError

    def read(self, offset: int, count: int) -> bytes:
        """Reads a range; like `read_into`.

        Args:
            offset: Of the first byte.
            count: Bytes; fewer come only at the end of the file.

        Returns:
            The bytes.
        """
        raise NotImplementedError

    def refresh(self) -> FileInfo:
        """Looks whether the file has grown since, as those do that somebody appends to.

        Returns:
            The file as it is now; what was appended can be read from now on.

        Raises:
            FileChangedError: It is another file now.
            StoredFileNotFoundError: It is gone.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Forgets what was read ahead; may be repeated."""
        raise NotImplementedError

    def __enter__(self) -> Reader:
        """Returns itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the file."""
        self.close()
