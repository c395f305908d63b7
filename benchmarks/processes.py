"""The processor time of processes and of everything below them."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import psutil


def cpu_seconds(roots: Iterable[int], without: Collection[int] = ()) -> float:
    """Processor time, user and system, of processes and of all that came from them, ended ones included.

    Args:
        roots: Process ids.
        without: Processes below them that are left out, with everything below these.
    """
    return sum(_of(psutil.Process(root), frozenset(without)) for root in roots)


def own_seconds(pids: Iterable[int]) -> float:
    """Processor time, user and system, of processes alone, without what came from them."""
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)


def _of(process: psutil.Process, without: frozenset[int]) -> float:
    if process.pid in without:
        return 0.0
    # A process that ends meanwhile is counted among the ended children of its parent the next time.
    with contextlib.suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        own = times.user + times.system + times.children_user + times.children_system
        return own + sum(_of(child, without) for child in process.children())
    return 0.0


# Begins of the names of the threads that compile a JVM's code: they work in the first hours, less and less.
_COMPILERS = ("C1 Compiler", "C2 Compiler")
_NANOSECONDS = 1e9


def thread_seconds(roots: Iterable[int], without: Collection[int] = ()) -> dict[int, float]:
    """Processor time of each living thread by its id, without the compilers of JVMs; arguments as of `cpu_seconds`."""
    found = {}
    for root in roots:
        for pid in _living(psutil.Process(root), frozenset(without)):
            # A process or a thread may end meanwhile.
            with contextlib.suppress(OSError):
                for thread in Path(f"/proc/{pid}/task").iterdir():
                    with contextlib.suppress(OSError):
                        if not (thread / "comm").read_text().startswith(_COMPILERS):
                            used = (thread / "schedstat").read_text().split()[0]
                            found[int(thread.name)] = int(used) / _NANOSECONDS
    return found


def added_seconds(before: dict[int, float], after: dict[int, float]) -> float:
    """The processor time between two results of `thread_seconds`; the time of threads that have ended is missing."""
    return sum(seconds - before.get(thread, 0.0) for thread, seconds in after.items())


def _living(process: psutil.Process, without: frozenset[int]) -> Iterator[int]:
    with contextlib.suppress(psutil.NoSuchProcess):
        if process.pid not in without:
            yield process.pid
            for child in process.children():
                yield from _living(child, without)
