"""Memory that a node of this host may write into, and loans of it to whoever uses what was written.

A segment is a memfd: it belongs to no file system, is bound by no size but the machine's, and is gone when the last
process that maps it is, however that one ends. It is allocated when it is made, so that a full machine is told here and
does not end a process that touches the memory later.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import threading
from collections.abc import Callable

import pyarrow as pa

from tensorflow_ignite import errors

NAME = "tensorflow-ignite"

# What a process keeps, in bytes, for the next epoch, and for how many seconds at most. First touches are expensive.
WARM_BYTES = 64 * 1024 * 1024
WARM_SECONDS = 3.0

_MAP_FAILED = ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_MAP_POPULATE = 0x8000
_MADV_REMOVE = 9
_MADV_HUGEPAGE = 14
_ALIGNMENT = 64
# From here on it pays to ask for memory in large pages: it comes at half the price.
_LARGE = 2 * 1024 * 1024


class Segment:
    """One piece of shared memory, unmapped when nobody holds it any more.

    Attributes:
        size: Bytes.
        address: Where it begins in this process.
    """

    # mmap.mmap would keep a file descriptor of its own for as long as the mapping lives.
    def __init__(self, size: int) -> None:
        """Makes and allocates it.

        Raises:
            SharingUnavailableError: If the platform has no such memory, or not so much of it.
        """
        self.size = size
        self.address = 0
        self._fd = -1
        try:
            self._fd = os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(self._fd, size)
            # A node that writes into memory which has been cut off would be hurt.
            fcntl.fcntl(self._fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
            os.posix_fallocate(self._fd, 0, size)
            self.address = _map(size, mmap.MAP_SHARED | _MAP_POPULATE, self._fd)
        except (OSError, AttributeError) as error:
            raise _unavailable(size, error) from error

    @property
    def fd(self) -> int:
        """Its file descriptor, by which another process opens it; -1 once that has been given up."""
        return self._fd

    def give_up_fd(self) -> None:
        """From now on it is memory only; whoever has it mapped keeps it."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def write(self, data: bytes) -> None:
        """Puts bytes at its beginning."""
        ctypes.memmove(self.address, data, len(data))

    def trim(self, used: int) -> None:
        """Gives the memory behind so many bytes back to the machine; it reads as zeros."""
        start = -(-used // mmap.PAGESIZE) * mmap.PAGESIZE
        if start < self.size:
            _libc.madvise(self.address + start, self.size - start, _MADV_REMOVE)

    def __del__(self) -> None:
        """Unmaps it."""
        if self.address:
            _libc.munmap(self.address, self.size)
        self.give_up_fd()


def _map(size: int, flags: int, fd: int) -> int:
    address = _libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, fd, 0)
    if address == _MAP_FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(address)


def _unavailable(size: int, error: Exception) -> errors.SharingUnavailableError:
    reason = str(error)
    if isinstance(error, AttributeError):
        reason = "this platform has no memfd"
    elif isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.ENOMEM):
        reason = f"the machine has no {size} bytes left ({error.strerror})"
    return errors.SharingUnavailableError(
        f"no memory can be shared with a node: {reason}. It is Linux's memfd, allocated when it is made. Free memory, "
        f'read smaller batches (batch_bytes=), or read over the network (transport="flight")'
    )


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


class _Private:
    """Memory of this process alone, in large pages where the machine has them; given back with its last user."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.address = 0
        self.address = _map(size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)
        _libc.madvise(self.address, size, _MADV_HUGEPAGE)

    def __del__(self) -> None:
        if self.address:
            _libc.munmap(self.address, self.size)


def copy(source: pa.Buffer, size: int) -> pa.Buffer:
    """The first ``size`` bytes of a buffer, in memory of their own at a multiple of 64."""
    if size < _LARGE:
        target = pa.allocate_buffer(size)
    else:
        own = _Private(size)
        target = pa.foreign_buffer(own.address, size, base=own)
    assert target.address % _ALIGNMENT == 0
    # Other threads run meanwhile.
    ctypes.memmove(target.address, source.address, size)
    return target


class _Janitor(threading.Thread):
    """Does something after a while, unless it is dismissed before."""

    def __init__(self, clean: Callable[[], None], seconds: float) -> None:
        # Said here, since threads of TensorFlow that ask for a default become Python threads for ever.
        super().__init__(name="tensorflow-ignite-segments", daemon=True)
        self._clean = clean
        self._seconds = seconds
        self._dismissed = threading.Event()

    def run(self) -> None:
        if not self._dismissed.wait(self._seconds):
            self._clean()

    def dismiss(self) -> None:
        self._dismissed.set()


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
        self._janitor: _Janitor | None = None

    def take(self, size: int) -> Segment:
        """A segment of so many bytes, with anything in it.

        Raises:
            SharingUnavailableError: As :class:`Segment`.
        """
        with self._lock:
            for index, segment in enumerate(self._idle):
                if segment.size == size:
                    return self._idle.pop(index)
        return Segment(size)

    def keep_warm(self) -> None:
        """Keeps what is given back from now on, for a while; a stream calls it when it ends."""
        janitor = _Janitor(self.clear, self._warm_seconds)
        with self._lock:
            previous, self._janitor = self._janitor, janitor
        if previous is not None:
            previous.dismiss()
        janitor.start()

    def give_back(self, segment: Segment) -> None:
        """Takes a segment that no other process writes into any more; keeps it if streams were read just now."""
        with self._lock:
            if self._janitor is None or segment.fd < 0 or self.idle_bytes() + segment.size > self._warm_bytes:
                return
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
