"""Process trees: which processes descend from others or have a mark, and how they are ended and proven gone.

The processes of a running task are the descendants of its keeper (see `keeper`). If an agent was killed, its keepers
and the processes of its tasks are found by the mark in their environment.
"""

import asyncio
import ctypes
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MARK_VARIABLE = "TENSORFLOW_IGNITE_TASK"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ENDED_STATES = frozenset("ZXx")
_POLL_SECONDS = 0.02
# A flag of the kernel in /proc/PID/stat.
_PF_EXITING = 0x4


@dataclass(frozen=True)
class ProcessId:
    """A unique process: a pid may be reused, but not a pid with its start time."""

    pid: int
    started: int


@dataclass(frozen=True)
class Entry:
    """What the kernel says about a process."""

    id: ProcessId
    state: str
    parent: int


def die_with_parent(number: signal.Signals) -> None:
    """Makes the kernel send a signal to this process when the thread that started it ends."""
    _prctl(_PR_SET_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Makes descendants that lose their parent children of this process, unless a keeper adopts them."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def find(mark: str) -> set[ProcessId]:
    """Returns every living process with a mark, and their descendants.

    Args:
        mark: Prefix of the value of TENSORFLOW_IGNITE_TASK.
    """
    entries = table()
    needle = f"{MARK_VARIABLE}={mark}".encode()
    return with_descendants(entries, {pid for pid in entries if _carries(pid, needle)})


def is_alive(process: ProcessId) -> bool:
    """Whether this process still runs; a zombie does not."""
    entry = _entry(process.pid)
    return entry is not None and entry.id == process and entry.state not in _ENDED_STATES


def is_stopped(pid: int) -> bool:
    """Whether a process stands still because of SIGSTOP."""
    entry = _entry(pid)
    return entry is not None and entry.state == "T"


def is_parent_ending(pid: int) -> bool:
    """Whether the parent of this process, as it was, has ended or is about to: it cannot go back any more.

    The kernel closes the files of a process before its children get another parent: after the end of a pipe only this
    says whether the other end was closed by a living process.
    """
    if os.getppid() != pid:
        return True
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return True
    return fields[0].decode() in _ENDED_STATES or bool(int(fields[6]) & _PF_EXITING)


async def end_gently(find_all: Callable[[], set[ProcessId]], grace: float, first: signal.Signals) -> None:
    """Sends the first signal; returns when its receivers have ended, at the latest after `grace` seconds."""
    living = await asyncio.to_thread(find_all)
    _signal(living, first)
    await _await_end(living, grace)


async def kill(find_all: Callable[[], set[ProcessId]]) -> None:
    """Sends SIGKILL; returns when two scans find no process.

    One scan of /proc can miss a process that is between fork and exec, or that starts during the scan. A process that
    the kernel cannot end (waiting for a device) is waited for. A process that a scan has found stays known: after
    the end of its parent, a later scan may not recognize it as a process of the task.
    """
    living: set[ProcessId] = set()
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
    entries = table()
    still = {process.pid for process in known if process.pid in entries and entries[process.pid].id == process}
    return find_all() | with_descendants(entries, still)


def with_descendants(entries: dict[int, Entry], members: set[int]) -> set[ProcessId]:
    """Returns the living processes among the members and their descendants."""
    members = set(members)
    while more := {pid for pid, entry in entries.items() if entry.parent in members} - members:
        members |= more
    members.discard(os.getpid())
    return {entries[pid].id for pid in members if pid in entries and entries[pid].state not in _ENDED_STATES}


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


def table() -> dict[int, Entry]:
    """Returns all processes by their pids."""
    entries = (_entry(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {entry.id.pid: entry for entry in entries if entry is not None}


def _entry(pid: int) -> Entry | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name in parentheses may contain any characters, also parentheses.
    fields = text[text.rindex(b")") + 2 :].split()
    return Entry(
        id=ProcessId(pid, int(fields[19])),
        state=fields[0].decode(),
        parent=int(fields[1]),
    )


def _carries(pid: int, needle: bytes) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return environment.startswith(needle) or b"\0" + needle in environment
