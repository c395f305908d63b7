"""File objects for Python, fsspec and Arrow, over `Reader` and `Writer`."""

from __future__ import annotations

import dis
import io
import os
import sys
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fsspec.spec import AbstractBufferedFile

from tensorflow_ignite.storage.reader import Reader
from tensorflow_ignite.storage.writer import Writer

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

# Size of the buffer for small reads, in bytes; larger reads go directly into the caller's memory.
_BUFFER_BYTES = 256 * 1024
# What Python runs when an error leaves a `with` block: it calls `__exit__` of the block.
_LEAVES_BY_ERROR = dis.opmap["WITH_EXCEPT_START"]
# Calls between the `with` block of another library and the file that it closes.
_MOST_CALLS = 8


class ReadFile(AbstractBufferedFile):  # type: ignore[misc]
    """A file open for reading.

    The reader prefetches by itself, so a cache of fsspec is used only if `cache_type` names one.
    """

    closed: bool

    def __init__(
        self, fs: Any, path: str, reader: Reader, block_size: Any, cache_type: str | None, cache_options: Any
    ) -> None:
        """Wraps a reader, and closes it in `close`."""
        self._reader = reader
        # The file of an unpickled one, which has the cache "none".
        is_plain = cache_type in (None, "none")
        self._buffered = io.BufferedReader(_RawReader(reader), _BUFFER_BYTES) if is_plain else None
        super().__init__(
            fs,
            path,
            mode="rb",
            block_size=block_size or "default",
            cache_type=cache_type or "none",
            cache_options=cache_options,
            size=reader.bytes,
        )

    @property
    def loc(self) -> int:
        """The position, which fsspec reads and sets, for example to pickle a file."""
        return self._loc if self._buffered is None else self._buffered.tell()

    @loc.setter
    def loc(self, position: int) -> None:
        self._loc = position

    def read(self, length: int | None = -1) -> bytes:
        """Reads `length` bytes, or to the end if it is None or negative."""
        if self._buffered is None:
            return super().read(-1 if length is None else length)  # type: ignore[no-any-return]
        return self._buffered.read(length)

    def read1(self, length: int = -1) -> bytes:
        """Reads at most `length` bytes, with at most one read of the file."""
        return self.read(length) if self._buffered is None else self._buffered.read1(length)

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Reads into memory."""
        if self._buffered is None:
            return super().readinto(buffer)  # type: ignore[no-any-return]
        return self._buffered.readinto(buffer)

    def readline(self, size: int | None = -1) -> bytes:
        """Reads a line."""
        if self._buffered is None:
            return super().readline()  # type: ignore[no-any-return]
        return self._buffered.readline(size)

    def __next__(self) -> bytes:
        """The next line."""
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def seek(self, loc: int, whence: int = 0) -> int:
        """Goes to a position."""
        if self._buffered is None:
            return super().seek(loc, whence)  # type: ignore[no-any-return]
        return self._buffered.seek(loc, whence)

    def close(self) -> None:
        """Closes the reader; may be repeated."""
        self.closed = True
        if self._buffered is not None:
            self._buffered.close()
        self._reader.close()

    def _fetch_range(self, start: int, end: int) -> bytes:
        return self._reader.read(start, end - start)


class WriteFile(AbstractBufferedFile):  # type: ignore[misc]
    """A file open for writing; it becomes visible, whole, when it or its transaction of fsspec is closed.

    A file whose ``with`` block raised, also one of a writer that closes the file, or that was never closed, is not
    published.
    """

    closed: bool

    def __init__(self, fs: Any, path: str, mode: str, writer: Writer, block_size: Any, autocommit: bool) -> None:
        """Wraps a writer, and ends it in `close`, `commit` or `discard`."""
        self._writer = writer
        self._failed = False
        # An error that is handled already says nothing about this file.
        self._handled = id(sys.exc_info()[1])
        super().__init__(fs, path, mode=mode, block_size=block_size or "default", autocommit=autocommit)

    def write(self, data: ReadableBuffer) -> int:
        """Appends bytes; returns their number."""
        if self.closed:
            raise ValueError(f"{self.path} is closed. A file accepts data until close(). Open the file again.")
        view = memoryview(data)
        self._writer.write(view)
        return view.nbytes

    def tell(self) -> int:
        """Bytes of the file so far."""
        return self._writer.position

    def flush(self, force: bool = False) -> None:
        """With `force` makes all bytes written so far visible, unless the file is part of a transaction."""
        if force and self.autocommit:
            self._writer.publish()

    def fail(self) -> None:
        """Makes `close` abandon the file."""
        self._failed = True

    def close(self) -> None:
        """Publishes the file, unless it is part of a transaction; may be repeated."""
        if self.closed:
            return
        self.closed = True
        if self._failed or (id(sys.exc_info()[1]) != self._handled and _is_left_by_an_error()):
            self._writer.abandon()
        elif self.autocommit:
            self._writer.close()

    def commit(self) -> None:
        """Publishes a file of a transaction."""
        self.closed = True
        self._writer.close()

    def discard(self) -> None:
        """Abandons a file of a transaction."""
        self.closed = True
        self._writer.abandon()

    def __exit__(self, *error: object) -> None:
        """Closes the file, or abandons it if the block raised."""
        if error and error[0] is not None:
            self.fail()
        self.close()

    def __del__(self) -> None:
        """Warns about a file that was not closed; the cluster removes its blocks after the writer timeout."""
        if not self.closed:
            self.closed = True
            warnings.warn(
                f"{self.path} was written, but not closed, so it is not visible. close() publishes a file. "
                "Open the file in a `with` block.",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )


class CompressedFile(io.BufferedWriter):
    """A file open for compressed bytes; it is published, or abandoned, as a `WriteFile` is."""

    def __init__(self, compressor: Any, file: WriteFile) -> None:
        """Wraps the compressor, which does not close its file."""
        super().__init__(compressor)
        self._file = file

    def fail(self) -> None:
        """Makes `close` abandon the file."""
        self._file.fail()

    def close(self) -> None:
        """Writes the end of the compressed bytes, and closes the file; may be repeated."""
        try:
            super().close()
        except BaseException:
            self.fail()
            raise
        finally:
            self._file.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the file, or abandons it if the block raised."""
        if kind is not None:
            self.fail()
        self.close()

    def __del__(self) -> None:
        """Abandons a file that was not closed."""
        if not self.closed:
            self.fail()
            self.close()


class TextFile(io.TextIOWrapper):
    """A file open for text; if its ``with`` block raises, nothing is published."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the file, or abandons it if the block raised."""
        if kind is not None:
            self._fail()
        super().__exit__(kind, error, trace)

    def __del__(self) -> None:
        """Abandons a file that was not closed."""
        if not self.closed:
            self._fail()
            self.close()

    def _fail(self) -> None:
        buffer: Any = self.buffer
        if isinstance(buffer, (WriteFile, CompressedFile)):
            buffer.fail()


def _is_left_by_an_error() -> bool:
    """Whether an error leaves a ``with`` block of a caller: fsspec, pandas and Arrow then close a file as ever."""
    frame = sys._getframe(1).f_back
    for _ in range(_MOST_CALLS):
        if frame is None:
            return False
        if frame.f_code.co_code[frame.f_lasti] == _LEAVES_BY_ERROR:
            return True
        frame = frame.f_back
    return False


class _RawReader(io.RawIOBase):
    """A reader with a position."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, loc: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._reader.bytes}
        if whence not in base:
            raise ValueError(f"whence {whence} is unknown. It is 0 (start), 1 (position) or 2 (end). Use one of these.")
        if base[whence] + loc < 0:
            raise ValueError(
                f"position {base[whence] + loc} is before the start of {self._reader.info.path}. Positions begin at 0. "
                "Seek to another position."
            )
        self._position = base[whence] + loc
        return self._position

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = self._reader.read_into(self._position, memoryview(buffer).cast("B"))
        self._position += count
        return count
