"""Writing a file of the cluster: blocks first, straight to the nodes that hold them, then one change publishes them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from concurrent.futures import Future, wait
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from tensorflow_ignite import forks
from tensorflow_ignite.errors import (
    ConnectionFailedError,
    FileChangedError,
    RequestTimeoutError,
    TensorFlowIgniteError,
)
from tensorflow_ignite.rpc import NodeConnection
from tensorflow_ignite.storage.blocks import address_of, put_block
from tensorflow_ignite.storage.info import FileInfo
from tensorflow_ignite.storage.keeper import Keeper
from tensorflow_ignite.storage.memory import BlockMemory
from tensorflow_ignite.storage.workers import Workers
from tensorflow_ignite.v1 import storage_pb2

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["MODES", "WriteMode", "Writer"]

WriteMode = Literal["w", "x", "a"]
MODES = {"w": storage_pb2.REPLACE, "x": storage_pb2.CREATE, "a": storage_pb2.APPEND}
# Blocks that are on their way at once.
_FLYING = 4
# Blocks that room is reserved for in one call.
_RESERVED = 64


class Writer:
    """A file being written; made by `Files.open_writer`. Safe to use from several threads, of one process.

    Nothing is visible before `publish` or `close`, then everything at once. A process that dies leaves nothing: what it
    had not published is removed after the cluster's writer time-out. At most 5 blocks are in memory.

    Attributes:
        timeout: Seconds without a sign of life after which the cluster holds the writer for dead.
    """

    def __init__(
        self,
        connection: NodeConnection,
        memory: BlockMemory,
        workers: Workers,
        keeper: Keeper,
        request: storage_pb2.BeginWriteRequest,
    ) -> None:
        """Begins to write.

        Args:
            connection: Of a `wire.FileStub`.
            memory: For blocks of nodes on this host.
            workers: Carry the blocks.
            keeper: Keeps the writer alive.
            request: What to begin.
        """
        begun = connection.call("BeginWrite", lambda: request)
        self._connection = connection
        self._memory = memory
        self._workers = workers
        self._keeper = keeper
        self._path = request.path
        self._task = request.task if request.HasField("task") else None
        self._extent = begun.extent_id
        self._block_bytes = begun.block_bytes
        self._offset = begun.offset
        self.timeout = begun.writer_timeout
        self._process = os.getpid()
        self._lock = threading.RLock()
        # The block that is being filled; its number is that of the full ones before it.
        self._filling = bytearray(begun.head)
        self._number = 0
        # What of that block the nodes have already.
        self._stored = 0
        self._reserved = 0
        self._holders = storage_pb2.BlockHolders()
        self._flying: deque[Future[None]] = deque()
        self._failure: BaseException | None = None
        self._ended = False
        forks.remember(self)
        keeper.add(self)

    @property
    def path(self) -> str:
        """Where the file will be."""
        return str(self._path)

    @property
    def position(self) -> int:
        """Bytes of the file so far, with what was there before when it is appended to."""
        return int(self._offset + self._bytes)

    def write(self, data: ReadableBuffer) -> None:
        """Adds bytes at the end; waits when 4 blocks are on their way.

        Args:
            data: Anything with the buffer protocol, contiguous; it may be changed afterwards.

        Raises:
            FileChangedError: The cluster has held this writer for dead.
            ConnectionFailedError: No node answers.
            RequestTimeoutError: No answer came in time.
            ValueError: The writer is closed, or was opened before a fork.
        """
        view = memoryview(data)
        with self._lock:
            self._check()
            if not view.nbytes:
                return
            view = view.cast("B")
            while len(view):
                if not self._filling and len(view) >= self._block_bytes:
                    self._put(view[: self._block_bytes])
                    view = view[self._block_bytes :]
                    self._number += 1
                    continue
                room = self._block_bytes - len(self._filling)
                self._filling += view[:room]
                view = view[room:]
                if len(self._filling) == self._block_bytes:
                    self._put(self._filling)
                    self._filling = bytearray()
                    self._number += 1
                    self._stored = 0

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
            ValueError: The writer is closed, or was opened before a fork.
        """
        with self._lock:
            self._check()
            return self._publish(done=False)

    def close(self) -> None:
        """Publishes what was written, and ends; may be repeated. When it raises, nothing more is to come.

        Raises:
            TensorFlowIgniteError: As `publish`. After a `ConnectionFailedError` or `RequestTimeoutError` it is not
                known whether the file was published; whole, if so.
        """
        with self._lock:
            if self._ended or self._process != os.getpid():
                return
            try:
                self._check()
                self._publish(done=True)
            except BaseException as error:
                self._end()
                if not isinstance(error, (ConnectionFailedError, RequestTimeoutError)):
                    self._free()
                raise
            self._end()

    def abandon(self) -> None:
        """Ends without publishing; what was published before stays. Raises nothing; may be repeated."""
        with self._lock:
            if self._ended or self._process != os.getpid():
                return
            self._end()
            self._free()

    def keep_alive(self) -> None:
        """Says that the writer is alive; raises nothing."""
        request = storage_pb2.ReserveBlocksRequest(extent_id=self._extent, blocks=self._reserved)
        try:
            self._connection.call("ReserveBlocks", lambda: request)
        except FileChangedError as error:
            if not self._ended:
                self._failure = error
        except TensorFlowIgniteError:
            pass  # the next call, of ours or of whoever writes, tells whether it matters

    def after_fork(self) -> None:
        """In a forked child: the parent goes on to write."""
        self._lock = threading.RLock()
        self._flying = deque()

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

    @property
    def _bytes(self) -> int:
        return int(self._number * self._block_bytes + len(self._filling))

    def _check(self) -> None:
        if self._ended:
            raise ValueError(f"the writer of {self._path} is closed. It writes until close(). Open the file again.")
        if self._process != os.getpid():
            raise ValueError(
                f"the writer of {self._path} was opened by process {self._process}, this is {os.getpid()}. A writer is "
                "of one process. Open the file after the fork."
            )
        if self._failure is not None:
            raise self._failure

    def _put(self, data: ReadableBuffer) -> None:
        """Sends the block that is being filled on its way."""
        while len(self._flying) >= _FLYING:
            self._land()
        if self._number >= self._reserved:
            self._reserve(self._number + _RESERVED)
        holder = address_of(self._holders, self._number)
        put = put_block(self._connection, self._memory, self._extent, self._number, memoryview(data), holder)
        self._flying.append(self._workers.submit(put))

    def _land(self) -> None:
        """Waits for the oldest block on its way."""
        try:
            self._flying.popleft().result()
        except BaseException as error:
            self._failure = self._failure or error
            raise

    def _reserve(self, blocks: int) -> None:
        request = storage_pb2.ReserveBlocksRequest(extent_id=self._extent, blocks=blocks)
        self._holders = self._connection.call("ReserveBlocks", lambda: request).holders
        self._reserved = blocks

    def _publish(self, *, done: bool) -> FileInfo:
        if len(self._filling) > self._stored:
            if self._number >= self._reserved:
                self._reserve(self._number + 1)
            self._put(self._filling)
            self._stored = len(self._filling)
        while self._flying:
            self._land()
        request = storage_pb2.PublishWriteRequest(
            extent_id=self._extent, bytes=self._bytes, done=done, task=self._task, path=self._path
        )
        response = self._connection.call("PublishWrite", lambda: request)
        return FileInfo.from_proto(response.file, self._path)

    def _end(self) -> None:
        self._ended = True
        self._keeper.remove(self)
        self._filling = bytearray()

    def _free(self) -> None:
        """Lets the cluster remove what nobody will see; it does so by itself when it is not told."""
        # A block that arrived afterwards would stay for ever.
        wait([future for future in self._flying if not future.cancel()])
        self._flying.clear()
        request = storage_pb2.AbandonWriteRequest(extent_id=self._extent)
        with contextlib.suppress(TensorFlowIgniteError):
            self._connection.call("AbandonWrite", lambda: request)
