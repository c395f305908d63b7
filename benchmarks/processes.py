"""The processor time of a process and of everything below it."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable

import psutil


def cpu_seconds(roots: Iterable[int], without: Collection[int] = ()) -> float:
    """Processor time, user and system, of processes and of all that came from them, ended ones included.

    Args:
        roots: Process ids.
        without: Processes below them that are left out, with everything below these.
    """
    return sum(_of(psutil.Process(root), frozenset(without)) for root in roots)


def _of(process: psutil.Process, without: frozenset[int]) -> float:
    if process.pid in without:
        return 0.0
    # A process that ends meanwhile is counted among the ended children of its parent the next time.
    with contextlib.suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        own = times.user + times.system + times.children_user + times.children_system
        return own + sum(_of(child, without) for child in process.children())
    return 0.0
