"""Reading a file of the cluster: ranges, read ahead when they follow each other, from the nodes with the blocks."""

from __future__ import annotations

import builtins
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import chain
from types import TracebackType
from typing import Any

from tensorflow_ignite import forks
from tensorflow_ignite.errors import FileChangedError, FileCorruptError, StorageError, StoredFileNotFoundError
from tensorflow_ignite.rpc import NodeConnection
from tensorflow_ignite.storage.blocks import get_block
from tensorflow_ignite.storage.info import FileInfo
from tensorflow_ignite.storage.layout import Block, Layout, Piece
from tensorflow_ignite.storage.memory import BlockMemory
from tensorflow_ignite.storage.workers import Workers
from tensorflow_ignite.v1 import storage_pb2

__all__ = ["Reader"]

# Blocks that are on their way, or ahead of the reader, at once.
_AHEAD = 4
# Whole blocks that an open file keeps: those ahead, the one it is in, and one behind.
_KEPT = _AHEAD + 2
# A file that is no longer is read when it is opened: what many replace and read, as the names of checkpoints, is small.
_SMALL = 64 * 1024


class Reader:
    """An open file, as it was when it was opened; made by `Files.open_reader`. Safe to use from several threads.

    What is read is the content at the time of opening, whole; when somebody has replaced or removed the file since and
    the blocks are gone, `FileChangedError` is raised, never a mix of old and new. A file of one block of at most 64 KiB
    is there from its opening on, whatever becomes of it. Keeps at most 6 blocks in memory, and 4 more for each further
    thread that reads at the same time.
    """

    def __init__(
        self, connection: NodeConnection, memory: BlockMemory, workers: Workers, locate: Callable[[], Any]
    ) -> None:
        """Opens a file.

        Args:
            connection: Of a `wire.FileStub`.
            memory: For blocks of nodes on this host.
            workers: Carry the blocks.
            locate: Asks for the file with its holders; a GetFileResponse.
        """
        self._connection = connection
        self._memory = memory
        self._workers = workers
        self._locate = locate
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, int], Future[memoryview]] = OrderedDict()
        self._next = 0
        self._ahead = 0
        self._closed = False
        forks.remember(self)
        self._info: FileInfo
        self._layout: Layout
        while not self._open():
            pass

    @property
    def info(self) -> FileInfo:
        """The file as it was when it was opened, or last refreshed."""
        return self._info

    @property
    def bytes(self) -> int:
        """Size of the file when it was opened, or last refreshed."""
        return self._layout.bytes

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
            ValueError: The reader is closed, or the offset negative.
        """
        if buffer.nbytes == 0:
            return 0
        view = buffer.cast("B")
        count = 0
        for piece, data in self._read(offset, len(view)):
            view[piece.position : piece.position + piece.bytes] = data
            count += piece.bytes
        return count

    def read(self, offset: int, count: int) -> builtins.bytes:
        """Reads a range; like `read_into`.

        Args:
            offset: Of the first byte.
            count: Bytes; fewer come only at the end of the file.

        Returns:
            The bytes.
        """
        parts = self._read(offset, count)
        first = next(parts, None)
        if first is None:
            return b""
        if first[0].bytes == min(count, self.bytes - offset):
            return builtins.bytes(first[1])
        data = bytearray(min(count, self.bytes - offset))
        view = memoryview(data)
        for piece, part in chain((first,), parts):
            view[piece.position : piece.position + piece.bytes] = part
        return builtins.bytes(data)

    def refresh(self) -> FileInfo:
        """Looks whether the file has grown since, as those do that somebody appends to.

        Returns:
            The file as it is now; what was appended can be read from now on.

        Raises:
            FileChangedError: It is another file now.
            StoredFileNotFoundError: It is gone.
        """
        response = self._locate()
        layout = Layout(response.file.extents, response.holders)
        if not layout.continues(self._layout):
            raise self._changed("is not the file any more that was opened")
        with self._lock:
            end = self._layout.block_at(self._layout.bytes - 1)
            if end is not None:  # it may have been short, and is longer now
                self._kept.pop((end.extent, end.number), None)
            self._info = FileInfo.from_proto(response.file)
            self._layout = layout
        return self._info

    def close(self) -> None:
        """Forgets what was read ahead; may be repeated."""
        with self._lock:
            self._closed = True
            kept, self._kept = self._kept, OrderedDict()
        for future in kept.values():
            future.cancel()

    def after_fork(self) -> None:
        """In a forked child: what was on its way went to the parent."""
        self._lock = threading.Lock()
        self._kept = OrderedDict()

    def __enter__(self) -> Reader:
        """Returns itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the file."""
        self.close()

    def _open(self) -> bool:
        """Asks where the file is, and reads it if it is small; False: it was replaced in between, by a newer one."""
        response = self._locate()
        self._info = FileInfo.from_proto(response.file)
        self._layout = Layout(response.file.extents, response.holders)
        block = self._layout.block_at(0)
        if block is None or block.bytes != self._layout.bytes or block.bytes > _SMALL:
            return True
        there: Future[memoryview] = Future()
        try:
            there.set_result(self._fetch(block, 0, block.bytes))
        except StorageError as error:
            # Damage is told to whoever reads it.
            return not isinstance(self._explain(error), FileChangedError)
        self._kept[block.extent, block.number] = there
        return True

    def _read(self, offset: int, count: int) -> Iterator[tuple[Piece, memoryview]]:
        """Yields the parts of a range, in order."""
        if self._closed:
            raise ValueError(f"{self._info.path} is closed. A reader reads until close(). Open the file again.")
        if offset < 0:
            raise ValueError(f"offset {offset} is negative. A file begins at 0.")
        layout = self._layout
        count = max(min(count, layout.bytes - offset), 0)
        if not count:
            return
        with self._lock:
            in_order = offset == self._next
            self._next = offset + count
            if not in_order:
                self._ahead = 0
        try:
            yield from self._parts(layout, list(layout.pieces(offset, count)), in_order)
        except StorageError as error:
            raise self._explain(error) from None

    def _parts(self, layout: Layout, pieces: list[Piece], in_order: bool) -> Iterator[tuple[Piece, memoryview]]:
        """Yields each piece with its data; the next ones are on their way meanwhile."""
        if len(pieces) == 1 and not in_order:
            yield pieces[0], self._part(pieces[0])
            return
        flying: deque[tuple[Piece, Future[memoryview]]] = deque()
        waiting = deque(pieces)
        while waiting or flying:
            while waiting and len(flying) < _AHEAD:
                piece = waiting.popleft()
                flying.append((piece, self._begin(piece, keep=in_order)))
            piece, future = flying.popleft()
            if in_order:
                self._read_ahead(layout, piece, len(flying))
            data = future.result()
            yield piece, data[piece.offset : piece.offset + piece.bytes] if in_order else data
            if in_order and piece.offset + piece.bytes == piece.block.bytes and waiting:
                self._forget(piece.block)

    def _begin(self, piece: Piece, *, keep: bool) -> Future[memoryview]:
        """The whole block, kept for the reads that follow, or just the piece."""
        if keep:
            return self._whole(piece.block)
        return self._workers.submit(partial(self._part, piece))

    def _part(self, piece: Piece) -> memoryview:
        """Just this part of a block, out of what is kept or from its node."""
        with self._lock:
            kept = self._kept.get((piece.block.extent, piece.block.number))
        if kept is not None and kept.done() and not kept.cancelled() and kept.exception() is None:
            return kept.result()[piece.offset : piece.offset + piece.bytes]
        return self._fetch(piece.block, piece.offset, piece.bytes)

    def _whole(self, block: Block) -> Future[memoryview]:
        key = block.extent, block.number
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and not (kept.done() and (kept.cancelled() or kept.exception() is not None)):
                self._kept.move_to_end(key)
                return kept
            while len(self._kept) >= _KEPT:
                self._kept.popitem(last=False)
            future = self._workers.submit(partial(self._fetch, block, 0, block.bytes))
            if not self._closed:
                self._kept[key] = future
            return future

    def _read_ahead(self, layout: Layout, piece: Piece, flying: int) -> None:
        """Lets the blocks behind those on their way come, ever more of them the longer the reads follow each other."""
        with self._lock:
            if piece.offset == 0 and piece.block.start > 0:
                self._ahead = min(max(2 * self._ahead, 1), _AHEAD)
            ahead = self._ahead
        block: Block | None = piece.block
        for number in range(ahead):
            block = block and layout.block_at(block.start + block.bytes)
            if block is None:
                return
            if number >= flying:
                self._whole(block)

    def _forget(self, block: Block) -> None:
        with self._lock:
            self._kept.pop((block.extent, block.number), None)

    def _fetch(self, block: Block, offset: int, count: int) -> memoryview:
        # A block that grows while it is appended to has more than belongs to this file.
        whole = offset == 0 and count == block.bytes
        request = storage_pb2.ReadBlocksRequest(
            extent_id=block.extent, numbers=(block.number,), offset=offset, bytes=0 if whole else count
        )
        data = get_block(self._connection, self._memory, request, count, block.holder)
        if len(data) < count:
            raise FileCorruptError(
                f"block {block.number} of extent {block.extent} of {self._info.path} ends after {offset + len(data)} "
                f"of {block.bytes} bytes. A block is as long as it was written. Check the cluster: "
                "tensorflow-ignite fs check"
            )
        return data[:count]

    def _explain(self, error: StorageError) -> StorageError:
        """What it means that a block is not there: damage, or that the file is another one now."""
        try:
            extents = {extent.id for extent in self._locate().file.extents}
        except StoredFileNotFoundError:
            return self._changed("was removed")
        except Exception:
            return error
        if {extent.id for extent in self._layout.extents} <= extents:
            return error
        return self._changed("was replaced")

    def _changed(self, what: str) -> FileChangedError:
        return FileChangedError(
            f"{self._info.path} {what} since it was opened with {self._layout.bytes} bytes. A reader gives the content "
            "at the time of opening, or this error. Open it again."
        )
