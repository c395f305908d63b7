"""The memory that this process may still use, of its limit."""

from __future__ import annotations

import ctypes
import re
import resource
from pathlib import Path

#: A model that keeps more than this part of the memory for its requests has lost it. The part is small: a variable that
#: grows is copied, so a request lacks memory when the variable has two fifths of it.
_LARGEST_PART = 1 / 3
_STATUS = Path("/proc/self/status")


class Headroom:
    """The memory that a limited process had for requests when it began to serve, and the memory it has kept since."""

    def __init__(self) -> None:
        """Measures now."""
        self._limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
        self._used = _used_bytes()

    def loss(self) -> str:
        """Says how much the process keeps after the release of free memory; empty if little, or without limit."""
        if self._limit == resource.RLIM_INFINITY:
            return ""
        ctypes.CDLL(None).malloc_trim(0)
        kept, whole = _used_bytes() - self._used, self._limit - self._used
        if kept <= _LARGEST_PART * whole:
            return ""
        return f"keeps {kept >> 20} MiB between requests, of the {whole >> 20} MiB that its requests may use"


def lacks_memory(error: BaseException) -> bool:
    """Whether an error, or the error of TensorFlow that it was made of, says that there is no memory."""
    import tensorflow as tf

    lacks = (MemoryError, tf.errors.ResourceExhaustedError)
    return isinstance(error, lacks) or isinstance(error.__cause__, lacks)


def _used_bytes() -> int:
    """What the limit of the kernel counts."""
    found = re.search(r"^VmData:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    return int(found[1]) << 10 if found else 0
