"""One spare: a process that has TensorFlow imported, below a keeper, and waits for one task."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tensorflow_ignite.agent import keeper, memory
from tensorflow_ignite.agent.environment import keeper_command
from tensorflow_ignite.agent.keeper import Keeper
from tensorflow_ignite.agent.process import MARK_VARIABLE
from tensorflow_ignite.agent.spare_key import SpareKey
from tensorflow_ignite.agent.stall import processor_time

_PROGRAM = Path(__file__).with_name("spare_process.py")
# Empty arguments reserve space for the task's command line, which `ps` shows and which is longer than the spare's own.
_PADDING = 400
_MAX_MESSAGE = 1 << 16
# A spare that has to work, and has used no processor for this time, hangs.
HANG_SECONDS = 5.0
# The longest time of a task's wait for a spare that still imports.
WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.25
# The nice value of spares while they import: a tenth of the processor if other processes need it.
LOW_PRIORITY = 10
_LOWEST_PRIORITY = 19
_TAIL_BYTES = 2000


class SpareState(enum.Enum):
    """How far a spare is."""

    IMPORTING = enum.auto()
    READY = enum.auto()
    ENDED = enum.auto()


@dataclass(frozen=True)
class SpareTask:
    """What a spare becomes."""

    #: The script and its arguments; of a module, any name and the arguments.
    arguments: Sequence[str]
    #: A module that is run in place of a script; empty: none.
    module: str
    #: The variables that are set when the spare is taken.
    variables: Mapping[str, str]
    #: The directory of the code, which is the working directory too.
    code: Path
    #: The kernel's limits: the number of each, the soft and the hard limit.
    limits: Sequence[tuple[int, int, int]]
    #: Added to the nice value of the agent.
    nice: int
    #: Descriptor of the file for the output.
    output: int


class Spare:
    """A spare from its start to the task that takes it, or to its end. Belongs to the agent's event loop."""

    def __init__(self, key: SpareKey, directory: Path, mark: str, nice: int, changed: Callable[[Spare], None]) -> None:
        """Starts the process, on the thread of the event loop, which lives as long as the agent.

        Args:
            key: What its task has in common with it.
            directory: Its directory, which is made.
            mark: Its process mark.
            nice: Added to the nice value of the agent while it imports; its task sets its own value.
            changed: Called when it is ready, and when it has ended without a task.

        Raises:
            OSError: It cannot be started.
        """
        self.key = key
        self.state = SpareState.IMPORTING
        self.started_at = self.worked_at = time.monotonic()
        #: Seconds of processor time that it had used at `worked_at`.
        self.processor_time = 0.0
        #: Its resident memory, without pages of files, when it was ready.
        self.bytes = 0
        #: It has refused its task, whose script would find something else after a start by Python; it has not failed.
        self.is_unfit = False
        self._directory = directory
        self._nice = nice
        self._is_low = False
        self._changed = changed
        self._answer: asyncio.Future[str] | None = None
        (directory / "tmp").mkdir(parents=True, mode=0o700)
        self._control, program_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        log = os.open(directory / "log", os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with program_end:
                descriptor = program_end.fileno()
                program = [key.python, "-u", str(_PROGRAM), str(descriptor), *[""] * _PADDING]
                self.keeper = Keeper(
                    [*keeper_command(f",FD={descriptor}"), *program],
                    lease_until_nanos=None,
                    directory=directory,
                    environment={**dict(key.variables), "TMPDIR": str(directory / "tmp"), MARK_VARIABLE: mark},
                    output=log,
                    inherited=descriptor,
                )
        finally:
            os.close(log)
        asyncio.get_running_loop().add_reader(self._control.fileno(), self._receive)
        if nice:
            asyncio.get_running_loop().call_later(_POLL_SECONDS / 5, self._lower_priority)

    @property
    def last_line(self) -> str:
        """The last line of its output, which names the reason of a failure."""
        with contextlib.suppress(OSError), (self._directory / "log").open("rb") as opened:
            opened.seek(max(0, os.fstat(opened.fileno()).st_size - _TAIL_BYTES))
            lines = opened.read().decode("utf-8", "replace").split("\n")
            return next((line.strip() for line in reversed(lines) if line.strip()), "")
        return ""

    async def become(self, task: SpareTask) -> str:
        """Makes the spare run the script of a task; waits for the end of its imports.

        The keeper belongs to the task from the call on. The caller ends it if the spare cannot be used.

        Returns:
            An empty text: the script runs; else why the spare cannot be used.
        """
        priority = _lowered(task.nice)
        if self._is_low:
            _set_priority(self.keeper.script or 0, priority)
        description = json.dumps(
            {
                "arguments": list(task.arguments),
                "module": task.module,
                "environment": dict(task.variables),
                "code": str(task.code),
                "limits": list(task.limits),
                "priority": priority,
                "nice": task.nice,
            }
        )
        self._answer = asyncio.get_running_loop().create_future()
        try:
            if self.state is SpareState.ENDED:
                return "it has ended"
            self._send(description, task.output)
            return await self._await_answer(self._answer)
        except OSError as error:
            return f"it cannot be reached: {error}"
        finally:
            self._answer = None
            self._close()

    async def end(self) -> None:
        """Ends the process, and removes its directory."""
        self._close()
        await keeper.end(lambda: [self.keeper], grace=0)
        await self.remove_directory()

    async def remove_directory(self) -> None:
        """Removes what only the spare used."""
        await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)

    def _send(self, description: str, output: int) -> None:
        file = os.memfd_create("task", os.MFD_CLOEXEC)
        try:
            with open(file, "wb", closefd=False) as opened:
                opened.write(description.encode("utf-8", "surrogateescape"))
            os.lseek(file, 0, os.SEEK_SET)
            socket.send_fds(self._control, [b"task"], [output, file])
        finally:
            os.close(file)

    async def _await_answer(self, answer: asyncio.Future[str]) -> str:
        begin = worked_at = time.monotonic()
        used = 0.0
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                return await asyncio.wait_for(asyncio.shield(answer), _POLL_SECONDS)
            # A keeper that is stopped goes on.
            self.keeper.poll()
            now = time.monotonic()
            total = processor_time(self.keeper.script or 0)
            if total > used:
                used, worked_at = total, now
            if now - worked_at >= HANG_SECONDS or now - begin >= WAIT_SECONDS:
                return f"it did not answer for {now - begin:.1f} s"

    def _receive(self) -> None:
        try:
            message = self._control.recv(_MAX_MESSAGE).decode("utf-8", "replace")
        except BlockingIOError:
            return
        except OSError:
            message = ""
        if message == "ready":
            self.state = SpareState.READY
            self.keeper.poll()
            self.bytes = memory.resident_bytes(self.keeper.script or 0)
            if self._answer is None:
                self._changed(self)
            return
        kind, _, reason = message.partition(" ")
        self.is_unfit = kind == "unfit"
        if self._answer is not None:
            if not self._answer.done():
                self._answer.set_result("" if kind == "taken" else reason or f"it has ended: {self.last_line}")
            asyncio.get_running_loop().remove_reader(self._control.fileno())
            return
        self.state = SpareState.ENDED
        self._close()
        self._changed(self)

    def _close(self) -> None:
        if self._control.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._control.fileno())
            self._control.close()

    def _lower_priority(self) -> None:
        self.keeper.poll()
        if self.state is not SpareState.IMPORTING or self._control.fileno() < 0 or self._answer is not None:
            return
        if self.keeper.script is None:
            asyncio.get_running_loop().call_later(_POLL_SECONDS / 5, self._lower_priority)
        else:
            self._is_low = True
            _set_priority(self.keeper.script, _lowered(self._nice))


def may_raise_priority() -> bool:
    """Whether this process may undo a lower priority: the superuser, and users with RLIMIT_NICE."""
    allowed = False

    def probe() -> None:
        # Of this thread alone, which ends.
        nonlocal allowed
        before = os.getpriority(os.PRIO_PROCESS, 0)
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, before + 1)
            os.setpriority(os.PRIO_PROCESS, 0, before)
            allowed = True

    thread = threading.Thread(target=probe)
    thread.start()
    thread.join()
    return allowed


def _lowered(nice: int) -> int:
    return min(_LOWEST_PRIORITY, os.getpriority(os.PRIO_PROCESS, 0) + nice)


def _set_priority(pid: int, priority: int) -> None:
    # Linux has a priority for each thread.
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, int(thread), priority)
