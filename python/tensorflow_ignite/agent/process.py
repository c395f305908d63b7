"""Process trees: who belongs to a task, and how all of it is ended and proven gone.

A process belongs to a task when it carries the task's mark in its environment, is in the session or group of the
task's leader, or descends from one that is. The mark finds what a leader left behind, the session finds what cleared
its environment. A leader must not be reaped before its tree is gone: until then its number cannot be reused.
"""

import asyncio
import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

MARK_VARIABLE = "TENSORFLOW_IGNITE_TASK"
_PR_SET_PDEATHSIG = 1
_GONE_STATES = frozenset("ZXx")
_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class ProcessId:
    """One process for ever: a number may be reused, a number and its start time may not."""

    pid: int
    started: int


@dataclass(frozen=True)
class _Entry:
    id: ProcessId
    state: str
    parent: int
    group: int
    session: int


def die_with_parent(number: signal.Signals) -> None:
    """Asks the kernel for a signal when the thread that started this process ends."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def find(mark: str, leaders: Iterable[int] = ()) -> set[ProcessId]:
    """Every living process of a mark, or of some leaders.

    Args:
        mark: What the value of TENSORFLOW_IGNITE_TASK begins with; ending it with a NUL makes it the whole value.
        leaders: Pids of session leaders that have not been reaped yet.
    """
    table = _table()
    chosen = frozenset(leaders)
    needle = f"{MARK_VARIABLE}={mark}".encode()
    members = {
        pid
        for pid, entry in table.items()
        if pid in chosen or entry.session in chosen or entry.group in chosen or _carries(pid, needle)
    }
    return _with_descendants(table, members)


def is_alive(process: ProcessId) -> bool:
    """Whether this very process still runs; a zombie does not."""
    entry = _entry(process.pid)
    return entry is not None and entry.id == process and entry.state not in _GONE_STATES


async def end(find_all: Callable[[], set[ProcessId]], grace: float) -> None:
    """SIGTERM, up to `grace` seconds, SIGKILL; returns when nothing is found twice in a row.

    Twice, since a process can be missed by one look at /proc: one that is between fork and exec, or that was made
    while the look went on. A process that the kernel cannot end (waiting for a device) is waited for. One that was
    found once is not forgotten: when its parent ends first, nothing may show any more whose it was.
    """
    living: set[ProcessId] = set()
    if grace > 0:
        living = await asyncio.to_thread(_look_again, living, find_all)
        _signal(living, signal.SIGTERM)
        await _gone(living, grace)
    empty_looks = 0
    while True:
        living = await asyncio.to_thread(_look_again, living, find_all)
        empty_looks = 0 if living else empty_looks + 1
        if empty_looks == 2:
            return
        _signal(living, signal.SIGKILL)
        await _gone(living, 1.0)
        await asyncio.sleep(_POLL_SECONDS / 2)


def _look_again(known: set[ProcessId], find_all: Callable[[], set[ProcessId]]) -> set[ProcessId]:
    table = _table()
    still = {process.pid for process in known if process.pid in table and table[process.pid].id == process}
    return find_all() | _with_descendants(table, still)


def _with_descendants(table: dict[int, _Entry], members: set[int]) -> set[ProcessId]:
    """The living among some processes and all that descend from them."""
    members = set(members)
    while more := {pid for pid, entry in table.items() if entry.parent in members} - members:
        members |= more
    members.discard(os.getpid())
    return {table[pid].id for pid in members if pid in table and table[pid].state not in _GONE_STATES}


async def _gone(living: set[ProcessId], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(is_alive(process) for process in living):
        await asyncio.sleep(_POLL_SECONDS)


def _signal(processes: set[ProcessId], number: signal.Signals) -> None:
    for process in processes:
        if is_alive(process):
            try:
                os.kill(process.pid, number)
            except (ProcessLookupError, PermissionError):
                continue


def _table() -> dict[int, _Entry]:
    entries = (_entry(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {entry.id.pid: entry for entry in entries if entry is not None}


def _entry(pid: int) -> _Entry | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name in parentheses may hold anything, parentheses included.
    fields = text[text.rindex(b")") + 2 :].split()
    return _Entry(
        id=ProcessId(pid, int(fields[19])),
        state=fields[0].decode(),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
    )


def _carries(pid: int, needle: bytes) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return environment.startswith(needle) or b"\0" + needle in environment
