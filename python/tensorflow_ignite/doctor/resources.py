"""Memory, shared memory and open files of this machine."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import psutil

from tensorflow_ignite.doctor.finding import Finding, failed, ok, warning

__all__ = ["examine"]

_GIB = 1024**3
_SHARED_MEMORY = Path("/dev/shm")
_CGROUP = Path("/sys/fs/cgroup")
# Libraries beneath TensorFlow (NCCL) keep their buffers there; containers get 64 MiB unless told otherwise.
_ENOUGH_SHARED_MEMORY = 1 * _GIB
# A node's heap and the smallest useful data region, and a TensorFlow process.
_LEAST_MEMORY = 1 * _GIB
_ENOUGH_MEMORY = 3 * _GIB
# A cache has 1024 partitions; kept on disk, each is a file.
_ENOUGH_FILES = 4096


def examine() -> Iterator[Finding]:
    """Looks at what a node and its tasks live on."""
    yield _shared_memory()
    yield _memory()
    yield _open_files()


def _shared_memory() -> Finding:
    try:
        system = os.statvfs(_SHARED_MEMORY)
    except OSError as error:
        text = f"{_SHARED_MEMORY}: {error.strerror}. Programs share memory through it"
        return failed("machine", "shared memory", text, f"Mount it: mount -t tmpfs -o size=2g tmpfs {_SHARED_MEMORY}")
    size, free = system.f_blocks * system.f_frsize, system.f_bavail * system.f_frsize
    text = f"{_SHARED_MEMORY} has {_gib(size)}, {_gib(free)} of it free"
    if free < _ENOUGH_SHARED_MEMORY:
        return warning(
            "machine",
            "shared memory",
            f"{text}. {_gib(_ENOUGH_SHARED_MEMORY)} should be free for the buffers of tasks on GPUs",
            f"In a container: docker run --shm-size=2g; else: mount -o remount,size=2g {_SHARED_MEMORY}",
        )
    return ok("machine", "shared memory", text)


def _memory() -> Finding:
    available = psutil.virtual_memory().available
    limit, used = _number(_CGROUP / "memory.max"), _number(_CGROUP / "memory.current")
    text = f"{_gib(available)} available"
    if limit is not None and limit - (used or 0) < available:
        available = limit - (used or 0)
        text = f"{_gib(available)} available below this container's limit of {_gib(limit)}"
    remedy = "Give the machine or container more memory, or a node less: --jvm-arg=-Xmx512m, and a smaller data region"
    if available < _LEAST_MEMORY:
        return failed("machine", "memory", f"{text}. A node and one task need {_gib(_LEAST_MEMORY)} at least", remedy)
    if available < _ENOUGH_MEMORY:
        rule = f"A node (heap 1 GiB, data) and its tasks (1 GiB each) want {_gib(_ENOUGH_MEMORY)}"
        return warning("machine", "memory", f"{text}. {rule}", remedy)
    return ok("machine", "memory", text)


def _open_files() -> Finding:
    # A JVM raises its own limit as far as it may.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = "no limit" if hard == resource.RLIM_INFINITY else f"a process may open {hard:,} files"
    if hard != resource.RLIM_INFINITY and hard < _ENOUGH_FILES:
        return warning(
            "machine",
            "open files",
            f"{text}. A node should be allowed {_ENOUGH_FILES:,}: a cache on disk has 1,024 files, each peer a socket",
            "Raise the limit: ulimit -Hn 65536, nofile in /etc/security/limits.conf, docker run --ulimit nofile=65536",
        )
    return ok("machine", "open files", text)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return None


def _gib(size: int) -> str:
    return f"{size / _GIB:.1f} GiB"
