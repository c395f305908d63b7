"""Loans of shared memory to whoever uses what a node has written there, and what is kept of it between streams."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable

import pyarrow as pa

from tensorflow_ignite.memory import Janitor, PrivateMemory, Segment

# What a process keeps, in bytes, for the next epoch, and for how many seconds at most. First touches are expensive, and
# between two epochs others are read, or a model is evaluated.
WARM_BYTES = 256 * 1024 * 1024
WARM_SECONDS = 60.0

_ALIGNMENT = 64
# From here on it pays to ask for memory in large pages: it comes at half the price.
_LARGE = 2 * 1024 * 1024


class Lease:
    """A segment on loan: it ends when the last that looks into the segment's memory has gone."""

    def __init__(self, segment: Segment, end: Callable[[Segment], None]) -> None:
        """Begins it.

        Args:
            segment: What is lent.
            end: Called with the segment when the lease ends, by any thread, wherever the interpreter happens to be.
        """
        self._segment = segment
        self._end = end

    def buffer(self) -> pa.Buffer:
        """The segment's memory; it, its slices, and arrays over them keep the lease."""
        return pa.foreign_buffer(self._segment.address, self._segment.size, base=self)

    def __del__(self) -> None:
        """Ends it."""
        self._end(self._segment)


def unshared(size: int) -> pa.Buffer:
    """Memory of its own at a multiple of 64, for as long as somebody looks into it."""
    if size < _LARGE:
        target = pa.allocate_buffer(size)
    else:
        own = PrivateMemory(size)
        target = pa.foreign_buffer(own.address, size, base=own)
    assert target.address % _ALIGNMENT == 0
    return target


def copy(source: pa.Buffer, size: int) -> pa.Buffer:
    """The first ``size`` bytes of a buffer, in memory of their own at a multiple of 64."""
    target = unshared(size)
    # Other threads run meanwhile.
    ctypes.memmove(target.address, source.address, size)
    return target


class Pool:
    """The segments that a process keeps between its streams: a bounded number, for a short time."""

    def __init__(self, warm_bytes: int = WARM_BYTES, warm_seconds: float = WARM_SECONDS) -> None:
        """Keeps nothing yet.

        Args:
            warm_bytes: The most that is kept.
            warm_seconds: For how long after the end of a stream.
        """
        self._warm_bytes = warm_bytes
        self._warm_seconds = warm_seconds
        # Re-entrant: a lease may end wherever the interpreter happens to be.
        self._lock = threading.RLock()
        self._idle: list[Segment] = []
        self._janitor: Janitor | None = None

    def take(self, size: int) -> Segment:
        """A segment of so many bytes at least, with anything in it.

        Raises:
            SharingUnavailableError: As :class:`Segment`.
        """
        with self._lock:
            fitting = [segment for segment in self._idle if segment.size >= size]
            if fitting:
                found = min(fitting, key=lambda segment: segment.size)
                self._idle.remove(found)
                return found
        return Segment(size)

    def keep_warm(self) -> None:
        """Keeps what is given back from now on, for a while; a stream calls it when it ends."""
        janitor = Janitor(self.clear, self._warm_seconds)
        with self._lock:
            previous, self._janitor = self._janitor, janitor
        if previous is not None:
            previous.dismiss()
        janitor.start()

    def give_back(self, segment: Segment) -> None:
        """Takes a segment that no other process writes into any more; keeps it if streams were read just now.

        Where there is no room it takes that of the ones which came first: perhaps of a dataset that nobody reads now.
        """
        with self._lock:
            if self._janitor is None or segment.fd < 0 or segment.size > self._warm_bytes:
                return
            while self.idle_bytes() + segment.size > self._warm_bytes:
                self._idle.pop(0)
            self._idle.append(segment)

    def idle_bytes(self) -> int:
        """What it keeps right now."""
        with self._lock:
            return sum(segment.size for segment in self._idle)

    def clear(self) -> None:
        """Lets go of everything it keeps."""
        with self._lock:
            self._idle = []
            janitor, self._janitor = self._janitor, None
        if janitor is not None:
            janitor.dismiss()

    def forget(self) -> None:
        """In a forked child: what is kept here belongs to the parent, with its lock and its janitor."""
        self._lock = threading.RLock()
        self._idle = []
        self._janitor = None


_pool = Pool()
os.register_at_fork(after_in_child=_pool.forget)


def pool() -> Pool:
    """The pool of this process."""
    return _pool
