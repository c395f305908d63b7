"""Writing a file of the cluster: blocks go to their owners first; then one transaction publishes the file."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Literal

from tensorflow_ignite import errors
from tensorflow_ignite.base import forks
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.storage.blocks import address_of, put_block
from tensorflow_ignite.storage.info import FileInfo
from tensorflow_ignite.storage.keep_alive import WriterKeepAlive
from tensorflow_ignite.storage.memory import BlockMemory
from tensorflow_ignite.storage.workers import Workers
from tensorflow_ignite.v1 import storage_pb2

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

WriteMode = Literal["w", "x", "a"]
MODES = {"w": storage_pb2.WRITE_MODE_REPLACE, "x": storage_pb2.WRITE_MODE_CREATE, "a": storage_pb2.WRITE_MODE_APPEND}
# Blocks in flight at once.
_MAX_IN_FLIGHT = 4
# Blocks that one call reserves.
_BLOCKS_PER_RESERVATION = 64


class Writer:
    """A file that is being written; returned by `Files.open_writer`. Safe to use from several threads of one process.

    Nothing is visible before `publish` or `close`, then everything at once. The cluster removes unpublished blocks of a
    process that died, after the writer timeout. At most 5 blocks are in memory.

    Attributes:
        timeout: Seconds without a call after which the cluster abandons the writer.
    """

    def __init__(
        self,
        connection: NodeConnection,
        memory: BlockMemory,
        workers: Workers,
        keep_alive: WriterKeepAlive,
        request: storage_pb2.BeginWriteRequest,
    ) -> None:
        """Starts a writer in the cluster.

        Args:
            connection: Connection with a `wire.FileStub`.
            memory: Memory for blocks of nodes on this host.
            workers: Threads that transfer blocks.
            keep_alive: The thread that keeps the writer alive.
            request: Path, mode and task of the writer.
        """
        begun = connection.call("BeginWrite", lambda: request)
        self._connection = connection
        self._memory = memory
        self._workers = workers
        self._keep_alive = keep_alive
        self._path = request.path
        self._task = request.task if request.HasField("task") else None
        self._extent = begun.extent_id
        self._block_bytes = begun.block_bytes
        self._offset = begun.offset
        self.timeout = begun.writer_timeout.ToTimedelta().total_seconds()
        self._process = os.getpid()
        self._lock = threading.RLock()
        # The block that is being filled; `_number` full blocks are before it.
        self._current_block = bytearray(begun.head)
        self._number = 0
        # Bytes of that block that are already stored.
        self._stored = 0
        self._reserved = 0
        self._holders = storage_pb2.BlockHolders()
        self._in_flight: deque[Future[None]] = deque()
        self._failure: BaseException | None = None
        self._ended = False
        forks.register(self)
        keep_alive.add(self)

    @property
    def path(self) -> str:
        """The path of the file."""
        return str(self._path)

    @property
    def position(self) -> int:
        """Bytes of the file so far, including those before an append."""
        return int(self._offset + self._bytes)

    def write(self, data: ReadableBuffer) -> None:
        """Appends bytes; waits while 4 blocks are in flight.

        Args:
            data: Anything with the buffer protocol, contiguous; it may be changed afterwards.

        Raises:
            FileChangedError: The cluster has abandoned this writer after its timeout.
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
            try:
                self._write(view)
            except BaseException as error:
                self._fail(error)
                raise

    def publish(self) -> FileInfo:
        """Makes all bytes written so far visible in one step; more may be written afterwards.

        Returns:
            The file as it is now.

        Raises:
            FileChangedError: Another writer has replaced, removed or appended to the file since the last publication,
                or the cluster has abandoned this writer after its timeout.
            StoredFileExistsError: Mode ``"x"``, and another writer has published the file first.
            StoredFileNotFoundError: The directory was removed.
            AttemptSupersededError: This process is a task of an attempt that has been replaced.
            ConnectionFailedError: No node answers.
            RequestTimeoutError: No answer came in time.
            ValueError: The writer is closed, or was opened before a fork.
        """
        with self._lock:
            self._check()
            return self._publish(done=False)

    def close(self) -> None:
        """Publishes the file and ends the writer, also when it raises; may be repeated.

        Raises:
            TensorFlowIgniteError: As `publish`. After a `ConnectionFailedError` or `RequestTimeoutError` the file was
                either published whole, or not at all.
        """
        with self._lock:
            if self._ended or self._process != os.getpid():
                return
            try:
                self._check()
                self._publish(done=True)
            except BaseException as error:
                self._finish()
                if not isinstance(error, (errors.ConnectionFailedError, errors.RequestTimeoutError)):
                    self._abandon_on_server()
                raise
            self._finish()

    def abandon(self) -> None:
        """Ends the writer without publishing; earlier publications stay. Raises nothing; may be repeated."""
        with self._lock:
            if self._ended or self._process != os.getpid():
                return
            self._finish()
            self._abandon_on_server()

    def keep_alive(self) -> None:
        """Prevents the writer timeout by a call; raises nothing."""
        request = storage_pb2.ReserveBlocksRequest(extent_id=self._extent, blocks=self._reserved)
        try:
            self._connection.call("ReserveBlocks", lambda: request)
        except errors.FileChangedError as error:
            if not self._ended:
                self._failure = error
        except errors.TensorFlowIgniteError:
            pass  # the next call fails too if the error lasts

    def after_fork(self) -> None:
        """In a forked child: the writer belongs to the parent."""
        self._lock = threading.RLock()
        self._in_flight = deque()

    def __enter__(self) -> Writer:
        """Returns itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Closes the file, or abandons it when the block raised."""
        if kind is None:
            self.close()
        else:
            self.abandon()

    @property
    def _bytes(self) -> int:
        return int(self._number * self._block_bytes + len(self._current_block))

    def _check(self) -> None:
        if self._ended:
            raise ValueError(f"the writer of {self._path} is closed. It can be used until close(). Open it again.")
        if self._process != os.getpid():
            raise ValueError(
                f"the writer of {self._path} was opened by process {self._process}, this is {os.getpid()}. Only the "
                "process that opened a writer may use it. Open the file after the fork."
            )
        if self._failure is not None:
            raise self._failure

    def _write(self, view: memoryview) -> None:
        while len(view):
            if not self._current_block and len(view) >= self._block_bytes:
                self._put(view[: self._block_bytes])
                view = view[self._block_bytes :]
                self._number += 1
                continue
            room = self._block_bytes - len(self._current_block)
            self._current_block += view[:room]
            view = view[room:]
            if len(self._current_block) == self._block_bytes:
                self._put(self._current_block)
                self._current_block = bytearray()
                self._number += 1
                self._stored = 0

    def _put(self, data: ReadableBuffer) -> None:
        """Starts the transfer of the present block."""
        while len(self._in_flight) >= _MAX_IN_FLIGHT:
            self._await_oldest()
        if self._number >= self._reserved:
            self._reserve(self._number + _BLOCKS_PER_RESERVATION)
        holder = address_of(self._holders, self._number)
        put = put_block(self._connection, self._memory, self._extent, self._number, memoryview(data), holder)
        self._in_flight.append(self._workers.submit(put))

    def _await_oldest(self) -> None:
        """Waits for the oldest block in flight."""
        try:
            self._in_flight.popleft().result()
        except BaseException as error:
            self._fail(error)
            raise

    def _fail(self, error: BaseException) -> None:
        """Bytes are missing: the file must not be published without them."""
        if not isinstance(error, Exception):
            error = ValueError(
                f"a write of {self._path} was interrupted by {type(error).__name__}. A file without some of its bytes "
                "is not published. Write it again."
            )
        self._failure = self._failure or error

    def _reserve(self, blocks: int) -> None:
        request = storage_pb2.ReserveBlocksRequest(extent_id=self._extent, blocks=blocks)
        self._holders = self._connection.call("ReserveBlocks", lambda: request).holders
        self._reserved = blocks

    def _publish(self, *, done: bool) -> FileInfo:
        if len(self._current_block) > self._stored:
            if self._number >= self._reserved:
                self._reserve(self._number + 1)
            self._put(self._current_block)
            self._stored = len(self._current_block)
        while self._in_flight:
            self._await_oldest()
        request = storage_pb2.PublishWriteRequest(
            extent_id=self._extent, bytes=self._bytes, done=done, task=self._task, path=self._path
        )
        response = self._connection.call("PublishWrite", lambda: request)
        return FileInfo.from_proto(response.file, self._path)

    def _finish(self) -> None:
        self._ended = True
        self._keep_alive.remove(self)
        self._current_block = bytearray()

    def _abandon_on_server(self) -> None:
        """Has the cluster remove the unpublished blocks; if this call is lost, it does so after the writer timeout."""
        # A block that arrived afterwards would never be removed.
        wait([future for future in self._in_flight if not future.cancel()])
        self._in_flight.clear()
        request = storage_pb2.AbandonWriteRequest(extent_id=self._extent)
        with contextlib.suppress(errors.TensorFlowIgniteError):
            self._connection.call("AbandonWrite", lambda: request)
