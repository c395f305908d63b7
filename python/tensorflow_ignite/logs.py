"""A task's output as lines, put together from the pieces that a node streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tensorflow_ignite.spec import Role

__all__ = ["LineAssembler", "LogLine"]

# A line longer than this is handed out in parts: a script that never ends its line must still be seen.
_MAX_LINE_BYTES = 64 * 1024


@dataclass(frozen=True)
class LogLine:
    """One line of a task's output.

    Attributes:
        attempt: The attempt, from 1.
        role: The task's role.
        index: The task's index within its role.
        text: The line without its end; what is not UTF-8 is replaced.
        dropped_bytes: Output of this task that was dropped before this line.
        incarnation: Counts the task's replacements inside the attempt: 0 is its first process.
    """

    attempt: int
    role: Role
    index: int
    text: str
    dropped_bytes: int = 0
    incarnation: int = 0


@dataclass
class _Stream:
    """One process's output: how far it was read, and what waits for the end of its line."""

    read: int = 0
    """Bytes of the output that were taken, dropped ones included."""
    position: int = 0
    """Where the stream now being read stands; behind `read` after a restart."""
    pending: bytearray = field(default_factory=bytearray)
    dropped: int = 0


#: Attempt, role, index, incarnation: each process of a task has an output of its own.
_Key = tuple[int, Role, int, int]


class LineAssembler:
    """Turns pieces into lines; knows what it has had when a stream begins again from its first piece."""

    def __init__(self) -> None:
        """Starts with nothing read."""
        self._streams: dict[_Key, _Stream] = {}

    def restart(self) -> None:
        """The next piece comes from the beginning of the output again."""
        for stream in self._streams.values():
            stream.position = 0

    def add(
        self, attempt: int, role: Role, index: int, data: bytes, dropped_bytes: int, incarnation: int = 0
    ) -> Iterator[LogLine]:
        """Takes one piece, and yields the lines that it completes."""
        key = (attempt, role, index, incarnation)
        if key not in self._streams:
            # The process that this one replaces has ended, its output stored: nobody will end its last line.
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
                end -= 1  # not in the middle of a character
            part = bytes(stream.pending[:end])
            del stream.pending[:end]
            yield self._line(key, stream, part)

    def finish(self) -> Iterator[LogLine]:
        """Yields the last line of each task that did not end it."""
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
