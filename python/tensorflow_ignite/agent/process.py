"""Process trees: which processes belong to a task, and how all of them are ended and proven gone.

A process belongs to a task if it has the task's mark in its environment, is in the session or group of the task's
leader, or is a descendant of such a process. The mark finds processes that survived their leader, the session those
that cleared their environment. A leader must not be reaped before its tree has ended: until then its pid cannot be
reused.
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
_ENDED_STATES = frozenset("ZXx")
_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class ProcessId:
    """A unique process: a pid may be reused, but not a pid with its start time."""

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
    """Makes the kernel send a signal to this process when the thread that started it ends."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def find(mark: str, leaders: Iterable[int] = ()) -> set[ProcessId]:
    """Returns every living process with a mark, or of some leaders.

    Args:
        mark: Prefix of the value of TENSORFLOW_IGNITE_TASK; with a NUL at its end, the whole value.
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
    """Whether this process still runs; a zombie does not."""
    entry = _entry(process.pid)
    return entry is not None and entry.id == process and entry.state not in _ENDED_STATES


async def end(find_all: Callable[[], set[ProcessId]], grace: float, first: signal.Signals = signal.SIGTERM) -> None:
    """Sends the first signal, waits up to `grace` seconds, sends SIGKILL; returns when two scans find no process.

    One scan of /proc can miss a process that is between fork and exec, or that starts during the scan. A process that
    the kernel cannot end (waiting for a device) is waited for. A process that was found once stays known: after its
    parent has ended, a scan may not be able to tell that it belongs to the task.
    """
    living: set[ProcessId] = set()
    if grace > 0:
        living = await asyncio.to_thread(_rescan, living, find_all)
        _signal(living, first)
        await _await_end(living, grace)
    empty_scans = 0
    while True:
        living = await asyncio.to_thread(_rescan, living, find_all)
        empty_scans = 0 if living else empty_scans + 1
        if empty_scans == 2:
            return
        _signal(living, signal.SIGKILL)
        await _await_end(living, 1.0)
        await asyncio.sleep(_POLL_SECONDS / 2)


def _rescan(known: set[ProcessId], find_all: Callable[[], set[ProcessId]]) -> set[ProcessId]:
    table = _table()
    still = {process.pid for process in known if process.pid in table and table[process.pid].id == process}
    return find_all() | _with_descendants(table, still)


def _with_descendants(table: dict[int, _Entry], members: set[int]) -> set[ProcessId]:
    """Returns the living processes among the members and their descendants."""
    members = set(members)
    while more := {pid for pid, entry in table.items() if entry.parent in members} - members:
        members |= more
    members.discard(os.getpid())
    return {table[pid].id for pid in members if pid in table and table[pid].state not in _ENDED_STATES}


async def _await_end(living: set[ProcessId], seconds: float) -> None:
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
    # The name in parentheses may contain any characters, also parentheses.
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
