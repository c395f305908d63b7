"""Memory, shared memory and open files of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil

from tensorflow_ignite.doctor.finding import Finding, Step

_SHARED_MEMORY_STEP = Step("machine", "shared memory")
_MEMORY = Step("machine", "memory")
_OPEN_FILES = Step("machine", "open files")
_GIB = 1024**3
_SHARED_MEMORY = Path("/dev/shm")
_CGROUP = Path("/sys/fs/cgroup")
# Libraries beneath TensorFlow (NCCL) keep their buffers there; containers get 64 MiB by default.
_ENOUGH_SHARED_MEMORY = 1 * _GIB
# A node's heap and the smallest useful data region, and a TensorFlow process.
_LEAST_MEMORY = 1 * _GIB
_ENOUGH_MEMORY = 3 * _GIB
# A cache has 1024 partitions; kept on disk, each is a file.
_ENOUGH_FILES = 4096


def examine() -> Iterator[Finding]:
    """Checks the memory and files that a node and its tasks need."""
    yield _shared_memory()
    yield _memory()
    yield _open_files()


def _shared_memory() -> Finding:
    try:
        system = os.statvfs(_SHARED_MEMORY)
    except OSError as error:
        text = f"{_SHARED_MEMORY}: {error.strerror}. Programs share memory through it"
        return _SHARED_MEMORY_STEP.failed(text, f"Mount it: mount -t tmpfs -o size=2g tmpfs {_SHARED_MEMORY}")
    size, free = system.f_blocks * system.f_frsize, system.f_bavail * system.f_frsize
    text = f"{_SHARED_MEMORY} has {_gib(size)}, {_gib(free)} of it free"
    if free < _ENOUGH_SHARED_MEMORY:
        return _SHARED_MEMORY_STEP.warning(
            f"{text}. {_gib(_ENOUGH_SHARED_MEMORY)} should be free for the buffers of tasks on GPUs",
            f"In a container: docker run --shm-size=2g; else: mount -o remount,size=2g {_SHARED_MEMORY}",
        )
    return _SHARED_MEMORY_STEP.ok(text)


def _memory() -> Finding:
    available = psutil.virtual_memory().available
    limit, used = _number(_CGROUP / "memory.max"), _number(_CGROUP / "memory.current")
    text = f"{_gib(available)} available"
    if limit is not None and limit - (used or 0) < available:
        available = limit - (used or 0)
        text = f"{_gib(available)} available below this container's limit of {_gib(limit)}"
    remedy = "Give the machine or container more memory, or a node less: --jvm-arg=-Xmx512m, and a smaller data region"
    if available < _LEAST_MEMORY:
        return _MEMORY.failed(f"{text}. A node and one task need {_gib(_LEAST_MEMORY)} at least", remedy)
    if available < _ENOUGH_MEMORY:
        rule = f"A node (heap 1 GiB, data) and its tasks (1 GiB each) want {_gib(_ENOUGH_MEMORY)}"
        return _MEMORY.warning(f"{text}. {rule}", remedy)
    return _MEMORY.ok(text)


def _open_files() -> Finding:
    import resource  # not on Windows

    # A JVM raises its own limit as far as it may.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = "no limit" if hard == resource.RLIM_INFINITY else f"a process may open {hard:,} files"
    if hard != resource.RLIM_INFINITY and hard < _ENOUGH_FILES:
        return _OPEN_FILES.warning(
            f"{text}. A node should be allowed {_ENOUGH_FILES:,}: a cache on disk has 1,024 files, each peer a socket",
            "Raise the limit: ulimit -Hn 65536, nofile in /etc/security/limits.conf, docker run --ulimit nofile=65536",
        )
    return _OPEN_FILES.ok(text)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return None


def _gib(size: int) -> str:
    return f"{size / _GIB:.1f} GiB"
