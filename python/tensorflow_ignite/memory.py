"""Memory of this process that a node of this host may use, for rows and for blocks of files.

A segment is a memfd: it belongs to no file system, and only the machine's memory limits its size. The kernel frees it
when the last process that maps it has ended. It is allocated when it is created: a full machine is then an error here,
and does not kill a process that touches the memory later.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import mmap
import os
import threading
from collections.abc import Callable

from tensorflow_ignite import errors

#: Name of each segment in the system's lists.
NAME = "tensorflow-ignite"
#: Length of the random bytes at the start of a segment. A node verifies by them that it has mapped the right memory.
NONCE_BYTES = 32

_MAP_FAILED = ctypes.c_void_p(-1).value
_MAP_POPULATE = 0x8000
_MADV_REMOVE = 9


class Segment:
    """Shared memory, unmapped when the last reference to this object is dropped.

    Attributes:
        size: Bytes.
        address: Address of the first byte in this process.
    """

    # mmap.mmap would keep a file descriptor of its own for as long as the mapping lives.
    def __init__(self, size: int) -> None:
        """Allocates `size` bytes.

        Raises:
            SharingUnavailableError: The platform has no memfd, or the machine has less memory.
        """
        self.size = size
        self.address = 0
        self._fd = -1
        try:
            import fcntl

            self._fd = os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(self._fd, size)
            # A node that writes behind the end of a truncated memfd would get SIGBUS.
            fcntl.fcntl(self._fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
            os.posix_fallocate(self._fd, 0, size)
            self.address = _map(size, self._fd)
        except (OSError, AttributeError, ImportError) as error:
            raise _unavailable(size, error) from error

    @property
    def fd(self) -> int:
        """The file descriptor that another process uses to open the segment; -1 after `close_fd`."""
        return self._fd

    def close_fd(self) -> None:
        """Closes the file descriptor; existing mappings stay valid. May be repeated."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def write(self, data: bytes) -> None:
        """Writes bytes at the start of the segment."""
        ctypes.memmove(self.address, data, len(data))

    def trim(self, used: int) -> None:
        """Returns the memory after the first `used` bytes to the machine; it then reads as zeros."""
        start = -(-used // mmap.PAGESIZE) * mmap.PAGESIZE
        if start < self.size:
            _libc().madvise(self.address + start, self.size - start, _MADV_REMOVE)

    def __del__(self) -> None:
        """Unmaps the segment."""
        if self.address:
            _libc().munmap(self.address, self.size)
        self.close_fd()


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return libc


def _map(size: int, fd: int) -> int:
    protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _MAP_POPULATE
    address = _libc().mmap(None, size, protection, flags, fd, 0)
    if address == _MAP_FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(address)


def _unavailable(size: int, error: Exception) -> errors.SharingUnavailableError:
    reason = str(error)
    if isinstance(error, (AttributeError, ImportError)):
        reason = "this platform has no memfd"
    elif isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.ENOMEM):
        reason = f"the machine has no {size} bytes left ({error.strerror})"
    return errors.SharingUnavailableError(
        f"no memory can be shared with a node: {reason}. Shared memory is a memfd of Linux, allocated when it is "
        f'created. Free memory, read smaller batches (batch_bytes=), or read over the network (transport="flight")'
    )


class PrivateMemory:
    """Memory of this process alone, in large pages if the machine has them; freed with the last reference to it."""

    def __init__(self, size: int) -> None:
        """Allocates `size` bytes.

        Raises:
            OSError: The machine has no memory left.
        """
        self.size = size
        flags = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
        self._memory = mmap.mmap(-1, size, **flags)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            self._memory.madvise(mmap.MADV_HUGEPAGE)
        self._first = ctypes.c_char.from_buffer(self._memory)
        self.address = ctypes.addressof(self._first)


class DaemonTimer(threading.Thread):
    """Calls a function after some seconds, unless it is cancelled before; `threading.Timer` as a daemon thread."""

    def __init__(self, action: Callable[[], None], seconds: float) -> None:
        """Starts nothing yet."""
        # `daemon` has a value: for the default, threading would register the calling thread of TensorFlow permanently.
        super().__init__(name="tensorflow-ignite-segments", daemon=True)
        self._action = action
        self._seconds = seconds
        self._cancelled = threading.Event()

    def run(self) -> None:
        """Waits, then calls the function."""
        if not self._cancelled.wait(self._seconds):
            self._action()

    def cancel(self) -> None:
        """Prevents the call, if it has not begun."""
        self._cancelled.set()
