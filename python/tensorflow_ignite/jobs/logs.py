"""A task's output as lines, assembled from the pieces that a node streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tensorflow_ignite.spec import Role

# A longer line is yielded in parts, so that output without line ends is shown, too.
_MAX_LINE_BYTES = 64 * 1024


@dataclass(frozen=True)
class LogLine:
    """One line of a task's output.

    Attributes:
        attempt: The attempt, from 1.
        role: The task's role.
        index: The task's index within its role.
        text: The line without its end; bytes that are not UTF-8 are replaced.
        dropped_bytes: Output of this task that was dropped or lost before this line.
        incarnation: Incarnation of the task: 0 is its first process in the attempt.
        role_name: The name that a custom job has given the role; empty: the role has none.
        role_index: Position among the tasks of that name, from 0.
    """

    attempt: int
    role: Role
    index: int
    text: str
    dropped_bytes: int = 0
    incarnation: int = 0
    role_name: str = ""
    role_index: int = 0

    @property
    def task(self) -> str:
        """Name of the task in texts for people: ``worker 0``."""
        return f"{self.role_name} {self.role_index}" if self.role_name else f"{self.role} {self.index}"

    def __str__(self) -> str:
        """The line with its task before it: ``"[worker 0] text"``."""
        return f"[{self.task}] {self.text}"


@dataclass
class _Stream:
    """Output of one process: the position of the reader, and the bytes of the incomplete line."""

    read: int = 0
    """Bytes that were read, including dropped ones."""
    position: int = 0
    """Position of the present stream; less than `read` after a restart."""
    pending: bytearray = field(default_factory=bytearray)
    dropped: int = 0


#: Attempt, role, index, incarnation: each process of a task has its own output.
_Key = tuple[int, Role, int, int]


class LineAssembler:
    """Turns pieces into lines; when a stream restarts from its first piece, bytes that were read before are skipped."""

    def __init__(self) -> None:
        """Starts with nothing read."""
        self._streams: dict[_Key, _Stream] = {}

    def restart(self) -> None:
        """Expects the pieces from the beginning of the output again."""
        for stream in self._streams.values():
            stream.position = 0

    def add(
        self, attempt: int, role: Role, index: int, data: bytes, dropped_bytes: int, incarnation: int = 0
    ) -> Iterator[LogLine]:
        """Adds one piece, and yields the lines that it completes."""
        key = (attempt, role, index, incarnation)
        if key not in self._streams:
            # The replaced process has ended and its output is complete, so its last line does not go on.
            yield from self._flush_before(key)
        stream = self._streams.setdefault(key, _Stream())
        stream.position += dropped_bytes
        if stream.position > stream.read:
            yield from self._flush(key, stream)
            stream.dropped += stream.position - stream.read
            stream.read = stream.position
        fresh = data[stream.read - stream.position :]
        stream.position += len(data)
        stream.read = max(stream.read, stream.position)
        stream.pending += fresh
        if b"\n" in fresh:
            *lines, rest = bytes(stream.pending).split(b"\n")
            stream.pending = bytearray(rest)
            for line in lines:
                yield self._line(key, stream, line)
        while len(stream.pending) > _MAX_LINE_BYTES:
            end = _MAX_LINE_BYTES
            while end > _MAX_LINE_BYTES - 3 and stream.pending[end] & 0xC0 == 0x80:
                end -= 1  # do not split a character
            part = bytes(stream.pending[:end])
            del stream.pending[:end]
            yield self._line(key, stream, part)

    def finish(self) -> Iterator[LogLine]:
        """Yields the incomplete last line of each task."""
        for key, stream in self._streams.items():
            yield from self._flush(key, stream)
            if stream.dropped:
                yield self._line(key, stream, b"")

    def _flush_before(self, key: _Key) -> Iterator[LogLine]:
        for earlier, stream in self._streams.items():
            if earlier[:3] == key[:3] and earlier[3] < key[3]:
                yield from self._flush(earlier, stream)

    def _flush(self, key: _Key, stream: _Stream) -> Iterator[LogLine]:
        if stream.pending:
            line = bytes(stream.pending)
            stream.pending.clear()
            yield self._line(key, stream, line)

    def _line(self, key: _Key, stream: _Stream, line: bytes) -> LogLine:
        dropped, stream.dropped = stream.dropped, 0
        attempt, role, index, incarnation = key
        text = line.removesuffix(b"\r").decode(errors="replace")
        return LogLine(attempt, role, index, text, dropped, incarnation)
