"""Writing a file of the cluster: blocks first, straight to the nodes that hold them, then one change publishes them."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Literal

from tensorflow_ignite.storage.info import FileInfo

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["WriteMode", "Writer"]

WriteMode = Literal["w", "x", "a"]


class Writer:
    """A file being written; made by `Files.open_writer`. Safe to use from several threads, of one process.

    Nothing is visible before `publish` or `close`, then everything at once. A process that dies leaves nothing: what it
    had not published is removed after the cluster's writer time-out. At most a few blocks are in memory.
    """

    @property
    def path(self) -> str:
        """Where the file will be."""
        raise NotImplementedError

    @property
    def position(self) -> int:
        """Bytes of the file so far, with what was there before when it is appended to."""
        raise NotImplementedError

    def write(self, data: ReadableBuffer) -> None:
        """Adds bytes at the end; waits when about 4 blocks are on their way.

        Args:
            data: Anything with the buffer protocol; it may be changed afterwards.

        Raises:
            FileChangedError: The cluster has held this writer for dead.
            ConnectionFailedError: No node answers.
            RequestTimeoutError: No answer came in time.
            ValueError: The writer is closed.
        """
        raise NotImplementedError

    def publish(self) -> FileInfo:
        """Makes what was written so far visible in one step; writing goes on.

        Returns:
            The file as it is now.

        Raises:
            FileChangedError: Since the last publication somebody else has replaced, removed or appended to the file,
                or the cluster has held this writer for dead.
            StoredFileExistsError: Mode ``"x"``, and somebody was faster.
            StoredFileNotFoundError: The directory is gone.
            AttemptSupersededError: This process is a task of an attempt that has been replaced.
            ConnectionFailedError: No node answers.
            RequestTimeoutError: No answer came in time.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Publishes what was written, and ends; may be repeated. When it raises, nothing more is to come.

        Raises:
            TensorFlowIgniteError: As `publish`.
        """
        raise NotImplementedError

    def abandon(self) -> None:
        """Ends without publishing; what was published before stays. Raises nothing; may be repeated."""
        raise NotImplementedError

    def __enter__(self) -> Writer:
        """Returns itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the file, or abandons it when the block raised."""
        if kind is None:
            self.close()
        else:
            self.abandon()
