"""Reading a file of the cluster: ranges, with prefetch if they follow each other, from the owners of the blocks."""

from __future__ import annotations

import builtins
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import chain
from typing import Any

from tensorflow_ignite import errors
from tensorflow_ignite.base import forks
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.storage.blocks import get_block
from tensorflow_ignite.storage.file_blocks import Block, BlockRange, Layout
from tensorflow_ignite.storage.info import FileInfo
from tensorflow_ignite.storage.memory import BlockMemory
from tensorflow_ignite.storage.workers import Workers
from tensorflow_ignite.v1 import storage_pb2

# Size of one read and write of a copy, in bytes.
_COPY_BYTES = 4 * 1024 * 1024

# Blocks in flight or prefetched at once.
_MAX_PREFETCH = 4
# Whole blocks that an open file caches: the prefetched ones, the present one, and the one before.
_MAX_CACHED = _MAX_PREFETCH + 2
# A file of at most this size, in bytes, is read when it is opened: files that are often replaced and read, such as the
# list of checkpoints, are small.
_SMALL = 64 * 1024


class Reader:
    """An open file, as it was when it was opened; returned by `Files.open_reader`. Safe to use from several threads.

    Reads return the content at the time of opening. If the file was replaced or removed since, and its blocks were
    removed, they raise `FileChangedError`, and never mix old and new content. A file of one block of at most 64 KiB is
    read when it is opened, and stays readable. At most 6 blocks are in memory, and 4 more for each further thread that
    reads at the same time.
    """

    def __init__(
        self, connection: NodeConnection, memory: BlockMemory, workers: Workers, locate: Callable[[], Any]
    ) -> None:
        """Opens a file.

        Args:
            connection: Connection with a `wire.FileStub`.
            memory: Memory for blocks of nodes on this host.
            workers: Threads that transfer blocks.
            locate: Returns the GetFileResponse of the file, with the owners of its blocks.
        """
        self._connection = connection
        self._memory = memory
        self._workers = workers
        self._locate = locate
        self._lock = threading.Lock()
        self._cached: OrderedDict[Block, Future[memoryview]] = OrderedDict()
        self._next = 0
        self._prefetch = 0
        self._closed = False
        forks.register(self)
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
            offset: Offset of the first byte in the file.
            buffer: Writable and contiguous; filled from its start.

        Returns:
            Bytes read; fewer than the size of the buffer only at the end of the file, 0 after the end.

        Raises:
            FileChangedError: The file was replaced or removed, and its blocks were removed.
            FileLostError: All copies of a block are lost.
            FileCorruptError: The checksum of a block is wrong.
            ConnectionFailedError: No node answers.
            RequestTimeoutError: No answer came in time.
            ValueError: The reader is closed, or the offset is negative.
        """
        if buffer.nbytes == 0:
            return 0
        view = buffer.cast("B")
        count = 0
        for part, data in self._read(self._layout, offset, len(view)):
            view[part.position : part.position + part.bytes] = data
            count += part.bytes
        return count

    def read(self, offset: int, count: int) -> builtins.bytes:
        """Reads a range; like `read_into`.

        Args:
            offset: Offset of the first byte in the file.
            count: Number of bytes; fewer are returned only at the end of the file.

        Returns:
            The bytes.
        """
        layout = self._layout  # another thread may refresh it
        parts = self._read(layout, offset, count)
        first = next(parts, None)
        if first is None:
            return b""
        if first[0].bytes == min(count, layout.bytes - offset):
            return builtins.bytes(first[1])
        result = bytearray(min(count, layout.bytes - offset))
        view = memoryview(result)
        for part, data in chain((first,), parts):
            view[part.position : part.position + part.bytes] = data
        return builtins.bytes(result)

    def block_offsets(self) -> Iterator[int]:
        """Yields the offset of the first byte of each block."""
        block = self._layout.block_at(0)
        while block is not None:
            yield block.start
            block = self._layout.block_at(block.start + block.bytes)

    def refresh(self) -> FileInfo:
        """Gets the present size of a file that is being appended to.

        Returns:
            The file as it is now; appended bytes can be read from now on.

        Raises:
            FileChangedError: The file was replaced.
            StoredFileNotFoundError: The file was removed.
        """
        response = self._locate()
        layout = Layout(response.file.extents, response.holders)
        if not layout.continues(self._layout):
            raise self._changed("was replaced")
        with self._lock:
            self._info = FileInfo.from_proto(response.file)
            self._layout = layout
        return self._info

    def close(self) -> None:
        """Drops prefetched blocks; may be repeated."""
        with self._lock:
            self._closed = True
            cached, self._cached = self._cached, OrderedDict()
        for future in cached.values():
            future.cancel()

    def after_fork(self) -> None:
        """In a forked child: blocks in flight go to the parent."""
        self._lock = threading.Lock()
        self._cached = OrderedDict()

    def __enter__(self) -> Reader:
        """Returns itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the file."""
        self.close()

    def _open(self) -> bool:
        """Locates the file, and reads it if it is small; False: the file was replaced in between."""
        response = self._locate()
        self._info = FileInfo.from_proto(response.file)
        self._layout = Layout(response.file.extents, response.holders)
        block = self._layout.block_at(0)
        if block is None or block.bytes != self._layout.bytes or block.bytes > _SMALL:
            return True
        there: Future[memoryview] = Future()
        try:
            there.set_result(self._fetch(block, 0, block.bytes))
        except errors.StorageError as error:
            # A lost or corrupt block is an error of read(), not of open.
            return not isinstance(self._changed_or(error), errors.FileChangedError)
        self._cached[block] = there
        return True

    def _read(self, layout: Layout, offset: int, count: int) -> Iterator[tuple[BlockRange, memoryview]]:
        """Yields the parts of a range, in order."""
        if self._closed:
            raise ValueError(f"{self._info.path} is closed. A reader reads until close(). Open the file again.")
        if offset < 0:
            raise ValueError(f"offset {offset} is negative. A file begins at 0.")
        count = max(min(count, layout.bytes - offset), 0)
        if not count:
            return
        with self._lock:
            in_order = offset == self._next
            self._next = offset + count
            if not in_order:
                self._prefetch = 0
        try:
            yield from self._parts(layout, list(layout.ranges(offset, count)), in_order)
        except errors.StorageError as error:
            raise self._changed_or(error) from None

    def _parts(
        self, layout: Layout, ranges: list[BlockRange], in_order: bool
    ) -> Iterator[tuple[BlockRange, memoryview]]:
        """Yields each part with its data, while the next ones are in flight."""
        if len(ranges) == 1 and not in_order:
            yield ranges[0], self._part(ranges[0])
            return
        in_flight: deque[tuple[BlockRange, Future[memoryview]]] = deque()
        waiting = deque(ranges)
        while waiting or in_flight:
            while waiting and len(in_flight) < _MAX_PREFETCH:
                part = waiting.popleft()
                in_flight.append((part, self._submit(part, cache=in_order)))
            part, future = in_flight.popleft()
            if in_order:
                self._prefetch_blocks(layout, part, len(in_flight))
            data = future.result()
            yield part, data[part.offset : part.offset + part.bytes] if in_order else data
            if in_order and part.offset + part.bytes == part.block.bytes and waiting:
                self._evict(part.block)

    def _submit(self, part: BlockRange, *, cache: bool) -> Future[memoryview]:
        """Starts the transfer of the whole block, which is then cached, or only of the part."""
        if cache:
            return self._whole(part.block)
        return self._workers.submit(partial(self._part, part))

    def _part(self, part: BlockRange) -> memoryview:
        """Returns this part of a block, from the cache or from its node."""
        with self._lock:
            cached = self._cached.get(part.block)
        if cached is not None and cached.done() and not cached.cancelled() and cached.exception() is None:
            return cached.result()[part.offset : part.offset + part.bytes]
        return self._fetch(part.block, part.offset, part.bytes)

    def _whole(self, block: Block) -> Future[memoryview]:
        with self._lock:
            cached = self._cached.get(block)
            if cached is not None and not (cached.done() and (cached.cancelled() or cached.exception() is not None)):
                self._cached.move_to_end(block)
                return cached
            while len(self._cached) >= _MAX_CACHED:
                self._cached.popitem(last=False)
            future = self._workers.submit(partial(self._fetch, block, 0, block.bytes))
            if not self._closed:
                self._cached[block] = future
            return future

    def _prefetch_blocks(self, layout: Layout, part: BlockRange, in_flight: int) -> None:
        """Prefetches the blocks after those in flight; their number doubles with each block of sequential reads."""
        with self._lock:
            if part.offset == 0 and part.block.start > 0:
                self._prefetch = min(max(2 * self._prefetch, 1), _MAX_PREFETCH)
            ahead = self._prefetch
        block: Block | None = part.block
        for number in range(ahead):
            block = block and layout.block_at(block.start + block.bytes)
            if block is None:
                return
            if number >= in_flight:
                self._whole(block)

    def _evict(self, block: Block) -> None:
        with self._lock:
            self._cached.pop(block, None)

    def _fetch(self, block: Block, offset: int, count: int) -> memoryview:
        # A block of a file that is appended to may be longer than the part that this reader knows.
        whole = offset == 0 and count == block.bytes
        request = storage_pb2.ReadBlocksRequest(
            extent_id=block.extent, numbers=(block.number,), offset=offset, bytes=0 if whole else count
        )
        data = get_block(self._connection, self._memory, request, count, block.owner)
        if len(data) < count:
            raise errors.FileCorruptError(
                f"block {block.number} of extent {block.extent} of {self._info.path} ends after {offset + len(data)} "
                f"of {block.bytes} bytes. A stored block keeps its written length. Check the cluster: "
                "tensorflow-ignite fs check"
            )
        return data[:count]

    def _changed_or(self, error: errors.StorageError) -> errors.StorageError:
        """Returns `FileChangedError` if the file was removed or replaced; otherwise the error, with the file's path."""
        try:
            extents = {extent.id for extent in self._locate().file.extents}
        except errors.StoredFileNotFoundError:
            return self._changed("was removed")
        except Exception:
            return error
        if not {extent.id for extent in self._layout.extents} <= extents:
            return self._changed("was replaced")
        if type(error) is errors.FileLostError and self._info.path not in str(error):
            return errors.FileLostError(f"{self._info.path} cannot be read: {error}")
        return error

    def _changed(self, event: str) -> errors.FileChangedError:
        return errors.FileChangedError(
            f"{self._info.path} {event} since it was opened with {self._layout.bytes} bytes. A reader returns the "
            "content at the time of opening, or this error. Open the file again."
        )


def copy_bytes(reader: Any, writer: Any) -> None:
    """Copies all bytes of an open file into a `Writer`."""
    buffer = memoryview(bytearray(min(_COPY_BYTES, reader.bytes)))
    position = 0
    while count := reader.read_into(position, buffer):
        writer.write(buffer[:count])
        position += count
