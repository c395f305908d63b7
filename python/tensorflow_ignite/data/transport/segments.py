"""Leases of shared memory that a node has written, and the pool of segments between streams."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

import pyarrow as pa

from tensorflow_ignite.base import forks
from tensorflow_ignite.memory import DaemonTimer, PrivateMemory, Segment

# Limits of the pool, which saves the cost of new memory for the next epoch. Between two epochs a script may read other
# datasets, or evaluate a model.
WARM_BYTES = 256 * 1024 * 1024
WARM_SECONDS = 60.0

_ALIGNMENT = 64
# From this size on memory in large pages takes half the time.
_LARGE = 2 * 1024 * 1024


class Lease:
    """A lease of a segment: it ends when the last user of the segment's memory was collected."""

    def __init__(self, segment: Segment, end: Callable[[Segment], None]) -> None:
        """Starts the lease.

        Args:
            segment: The leased segment.
            end: Called with the segment when the lease ends, in a finalizer on any thread.
        """
        self._segment = segment
        self._end = end

    def buffer(self) -> pa.Buffer:
        """The segment's memory; the buffer, its slices and arrays over them keep the lease."""
        return pa.foreign_buffer(self._segment.address, self._segment.size, base=self)

    def __del__(self) -> None:
        """Ends the lease."""
        self._end(self._segment)


def private_buffer(size: int) -> pa.Buffer:
    """New memory at a multiple of 64, which is freed after its last user was collected."""
    if size < _LARGE:
        target = pa.allocate_buffer(size)
    else:
        own = PrivateMemory(size)
        target = pa.foreign_buffer(own.address, size, base=own)
    assert target.address % _ALIGNMENT == 0
    return target


def copy(source: pa.Buffer, size: int) -> pa.Buffer:
    """A copy of the first ``size`` bytes of a buffer, at a multiple of 64."""
    target = private_buffer(size)
    # memmove runs without the interpreter's lock, so other threads run meanwhile.
    ctypes.memmove(target.address, source.address, size)
    return target


class SegmentPool:
    """The segments that a process keeps between streams: a bounded number of bytes, for a short time."""

    def __init__(self, warm_bytes: int = WARM_BYTES, warm_seconds: float = WARM_SECONDS) -> None:
        """Has no segment.

        Args:
            warm_bytes: Maximum size of all segments in the pool.
            warm_seconds: Time after the end of a stream until the pool is cleared.
        """
        self._warm_bytes = warm_bytes
        self._warm_seconds = warm_seconds
        # Re-entrant: a lease may end in a finalizer, which the interpreter runs anywhere.
        self._lock = threading.RLock()
        self._idle: list[Segment] = []
        self._timer: DaemonTimer | None = None

    def take(self, size: int) -> Segment:
        """A segment of at least ``size`` bytes, with any content.

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
        """Keeps returned segments from now on, for ``warm_seconds``; a stream calls it at its end."""
        timer = DaemonTimer(self.clear, self._warm_seconds)
        with self._lock:
            previous, self._timer = self._timer, timer
        if previous is not None:
            previous.cancel()
        timer.start()

    def put_back(self, segment: Segment) -> None:
        """Returns a segment that no other process writes any more; the pool keeps it after :meth:`keep_warm`.

        If the pool is full, the segments that were returned first are freed.
        """
        with self._lock:
            if self._timer is None or segment.fd < 0 or segment.size > self._warm_bytes:
                return
            while self.idle_bytes() + segment.size > self._warm_bytes:
                self._idle.pop(0)
            self._idle.append(segment)

    def idle_bytes(self) -> int:
        """Bytes of the segments in the pool."""
        with self._lock:
            return sum(segment.size for segment in self._idle)

    def clear(self) -> None:
        """Frees all segments in the pool."""
        with self._lock:
            self._idle = []
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def after_fork(self) -> None:
        """Resets the pool in a forked child: segments, lock and timer belong to the parent."""
        self._lock = threading.RLock()
        self._idle = []
        self._timer = None


_pool = SegmentPool()
forks.register(_pool)


def pool() -> SegmentPool:
    """The pool of this process."""
    return _pool
