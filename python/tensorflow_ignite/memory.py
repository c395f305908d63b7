"""Memory of this process that a node of this host may use, for rows and for blocks of files.

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

from tensorflow_ignite import errors

__all__ = ["NAME", "NONCE_BYTES", "Janitor", "PrivateMemory", "Segment"]

#: What the system calls each segment.
NAME = "tensorflow-ignite"
#: Random bytes by which a node finds out that it has the right memory.
NONCE_BYTES = 32

_MAP_FAILED = ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_MAP_POPULATE = 0x8000
_MADV_REMOVE = 9
_MADV_HUGEPAGE = 14


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


class PrivateMemory:
    """Memory of this process alone, in large pages where the machine has them; given back with its last user."""

    def __init__(self, size: int) -> None:
        """Makes it; OSError where there is none."""
        self.size = size
        self.address = 0
        self.address = _map(size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)
        _libc.madvise(self.address, size, _MADV_HUGEPAGE)

    def __del__(self) -> None:
        """Gives it back."""
        if self.address:
            _libc.munmap(self.address, self.size)


class Janitor(threading.Thread):
    """Does something after a while, unless it is dismissed before."""

    def __init__(self, clean: Callable[[], None], seconds: float) -> None:
        """Starts nothing yet."""
        # Said here, since threads of TensorFlow that ask for a default become Python threads for ever.
        super().__init__(name="tensorflow-ignite-segments", daemon=True)
        self._clean = clean
        self._seconds = seconds
        self._dismissed = threading.Event()

    def run(self) -> None:
        """Waits, then cleans."""
        if not self._dismissed.wait(self._seconds):
            self._clean()

    def dismiss(self) -> None:
        """It is not to be done any more."""
        self._dismissed.set()
