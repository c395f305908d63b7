"""A task's output: one file, divided into numbered chunks that can be sent again.

Chunks are ranges of the file, so a chunk has the same bytes whenever it is read. Up to a limit all output becomes
chunks at once. After the limit, only the last part becomes chunks, when the task has ended; the output in between is
dropped, and its disk space is freed while the task still writes.
"""

import ctypes
import os
import re
from array import array
from dataclasses import dataclass
from pathlib import Path

CHUNK_BYTES = 64 * 1024
# Part of the limit for the end of the output, where a failed task prints the cause.
TAIL_BYTES = 1024 * 1024
_PUNCH_STEP = 4 * 1024 * 1024
# What importing TensorFlow prints on processors with AVX512, twice, whatever TF_CPP_MIN_LOG_LEVEL is.
_CHATTER = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR\n"
    rb"|I\d{4} \S+ +\d+ port\.cc:\d+\] oneDNN custom operations are on\..*\n"
)
_FALLOC_KEEP_SIZE_AND_PUNCH_HOLE = 0x01 | 0x02


@dataclass(frozen=True)
class Chunk:
    """Consecutive bytes of the output, and the number of dropped bytes before them."""

    data: bytes
    dropped_bytes: int


class Output:
    """The file of a task's standard output and error."""

    def __init__(self, path: Path, limit: int) -> None:
        """Creates the file; `limit` is the largest total size of all chunks, in bytes."""
        self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._limit = limit
        self._live_limit = limit - min(TAIL_BYTES, limit // 2)
        # Chunk i is [starts[i], ends[i]): arrays of 8-byte numbers, since a long training has millions of chunks.
        self._starts = array("q")
        self._ends = array("q")
        self._position = 0
        self._partial_line_at = -1
        self._punched = 0
        self._seen = 0
        # Chatter before this chunk is in no chunk.
        self._quiet_at = -1
        self._skipped = 0
        self._dropped = 0
        self._complete = False

    @property
    def fd(self) -> int:
        """The descriptor for the task's standard output and error."""
        return self._fd

    @property
    def count(self) -> int:
        """Number of chunks so far."""
        return len(self._ends)

    @property
    def bytes(self) -> int:
        """Bytes in chunks and dropped before them; after `complete`, of the whole output without skipped lines."""
        return self._position - self._skipped

    @property
    def waiting_bytes(self) -> int:
        """Bytes that have been written since the last `advance`."""
        return os.fstat(self._fd).st_size - self._seen

    @property
    def dropped_bytes(self) -> int:
        """Bytes that are in no chunk, and will not be."""
        if self._complete:
            return self._dropped
        return max(0, os.fstat(self._fd).st_size - self._limit)

    def chunk(self, number: int) -> Chunk:
        """Reads one chunk."""
        start, end = self._starts[number], self._ends[number]
        before = self._ends[number - 1] if number else 0
        if number == self._quiet_at:
            before += self._skipped
        return Chunk(os.pread(self._fd, end - start, start), start - before)

    def skip_chatter(self) -> None:
        """Skips the lines that TensorFlow prints when it is imported, up to the next other line."""
        self._quiet_at = self.count

    def advance(self) -> bool:
        """Divides new output into chunks; returns whether there are new ones.

        Chunks end at line ends. An incomplete line becomes a chunk at the second call that finds it: progress bars and
        prompts do not end their line.
        """
        before = self.count
        self._restore()
        self._seen = os.fstat(self._fd).st_size
        self._cut(self._live_limit, last=False)
        if self._position >= self._live_limit:
            self._free_disk()
        return self.count > before

    def complete(self) -> None:
        """Divides the rest, or its last part, into chunks, after all writers have ended."""
        self._restore()
        size = os.fstat(self._fd).st_size
        tail = size - (self._limit - self._position)
        if tail > self._position:
            # Begin at the next line, if it starts within one chunk.
            window = os.pread(self._fd, CHUNK_BYTES, tail)
            begin = tail + window.find(b"\n") + 1
            self._dropped = begin - self._position
            self._position = begin
        self._cut(size, last=True)
        self._complete = True

    def tail(self, size: int) -> str:
        """The last bytes of the output as text."""
        end = os.fstat(self._fd).st_size
        start = max(0, end - size)
        # Zeros are what `_restore` has left of a part that was read.
        return os.pread(self._fd, end - start, start).lstrip(b"\0").decode("utf-8", "replace")

    def close(self) -> None:
        """Closes the file; chunks cannot be read afterwards."""
        os.close(self._fd)

    def _cut(self, limit: int, last: bool) -> None:
        while self._position < limit:
            requested = min(CHUNK_BYTES, limit - self._position)
            window = os.pread(self._fd, requested, self._position)
            if self._quiet_at == self.count and (skipped := _chatter_bytes(window)):
                self._position += skipped
                self._skipped += skipped
                continue
            length = window.rfind(b"\n") + 1
            if length == 0 and (last or len(window) == requested or self._partial_line_at == self._position):
                length = len(window)
            if length == 0:
                self._partial_line_at = self._position if window else -1
                return
            self._starts.append(self._position)
            self._position += length
            self._ends.append(self._position)

    def _restore(self) -> None:
        """Moves what follows an emptied part behind it: `> /dev/stderr` in a shell of the task empties the file.

        Else no output would be read before the file is as long as it was.
        """
        size = os.fstat(self._fd).st_size
        if size < self._position:
            written = os.pread(self._fd, size, 0)
            for length in (0, self._position):
                os.ftruncate(self._fd, length)
            while written:
                written = written[os.write(self._fd, written) :]
            self._partial_line_at = -1
            self._punched = min(self._punched, self._position)

    def _free_disk(self) -> None:
        end = os.fstat(self._fd).st_size - TAIL_BYTES
        start = max(self._position, self._punched)
        if end - start < _PUNCH_STEP:
            return
        libc = ctypes.CDLL(None, use_errno=True)
        # A file system without support for holes keeps the bytes; the only effect is more disk usage.
        libc.fallocate(self._fd, _FALLOC_KEEP_SIZE_AND_PUNCH_HOLE, ctypes.c_int64(start), ctypes.c_int64(end - start))
        self._punched = end


def _chatter_bytes(window: bytes) -> int:
    """The length of the lines at the beginning that TensorFlow prints when it is imported."""
    end = 0
    while line := _CHATTER.match(window, end):
        end = line.end()
    return end
