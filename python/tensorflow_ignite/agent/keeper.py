"""The agent's side of the keepers of tasks: what a keeper reports, and how everything below it is ended."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tensorflow_ignite.agent import process
from tensorflow_ignite.agent.process import ProcessId

# A keeper has ended this time after all other processes of its task, unless it is stopped.
KEEPER_SECONDS = 1.0
_POLL_SECONDS = 0.01
_MAX_MESSAGE = 64

# The keepers that this process has started and not reaped. Another child of this process is an orphan: its keeper was
# killed. The lock is held while a keeper is started or reaped, so that no scan takes it for an orphan.
_started: set[int] = set()
_lock = threading.Lock()


class Keeper:
    """The keeper of one task, see launch.py. The thread that starts it must live as long as the agent."""

    def __init__(
        self,
        command: list[str],
        *,
        lease_until_nanos: int | None,
        directory: Path,
        environment: Mapping[str, str],
        output: int,
        inherited: int | None = None,
    ) -> None:
        """Starts the keeper.

        Args:
            command: Command line that begins with the launcher.
            lease_until_nanos: The end of the lease, as for `extend_lease`; None: there is none yet.
            directory: The task's working directory.
            environment: The task's whole environment.
            output: Descriptor of the file for the task's output.
            inherited: A further descriptor, which the command names too.
        """
        #: Pid of the script, as soon as it is known.
        self.script: int | None = None
        #: Exit code of the script; negative: the number of a signal.
        self.exit_code: int | None = None
        #: The keeper has killed the task at the end of its attempt's lease.
        self.lease_ended = False
        #: The keeper ended before it reported the end of the script, which the kernel kills then.
        self.was_killed = False
        self._control, keepers_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        self._received: asyncio.Event | None = None
        if lease_until_nanos is not None:
            # Before the start: an agent that is stopped just afterwards could not send it.
            self.extend_lease(lease_until_nanos)
        with keepers_end, _lock:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                command,
                cwd=directory,
                env=environment,
                stdin=keepers_end.fileno(),
                stdout=output,
                stderr=output,
                pass_fds=() if inherited is None else (inherited,),
                start_new_session=True,
            )
            _started.add(self._process.pid)

    @property
    def pid(self) -> int:
        """Pid of the keeper."""
        return self._process.pid

    @property
    def is_reaped(self) -> bool:
        """Whether the keeper has ended and was reaped: another process may have its pid now."""
        return self._process.returncode is not None

    def poll(self) -> None:
        """Takes the keeper's messages; a keeper that was stopped by a signal goes on."""
        with contextlib.suppress(ChildProcessError):
            if not self.is_reaped and os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG) is not None:
                os.kill(self.pid, signal.SIGCONT)
        if self._control.fileno() < 0:
            return
        try:
            while message := self._control.recv(_MAX_MESSAGE):
                self._take(message.decode())
        except BlockingIOError:
            return
        except OSError:
            pass
        if self._received is not None:
            asyncio.get_running_loop().remove_reader(self._control.fileno())
            self._received.set()
        self._control.close()
        if self.exit_code is None:
            self.exit_code = -signal.SIGKILL
            self.was_killed = True

    async def wait(self, seconds: float) -> None:
        """Returns after some seconds, or as soon as the keeper has sent a message or has ended, or at `wake`."""
        if self._received is None:
            self._received = asyncio.Event()
            if self._control.fileno() >= 0:
                asyncio.get_running_loop().add_reader(self._control.fileno(), self._receive)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._received.wait(), seconds)
        self._received.clear()

    def wake(self) -> None:
        """Ends the present `wait`."""
        if self._received is not None:
            self._received.set()

    def _receive(self) -> None:
        self.poll()
        self.wake()

    def _take(self, message: str) -> None:
        kind, _, value = message.partition(" ")
        if kind == "pid":
            self.script = int(value)
        elif kind == "exit":
            self.exit_code = int(value)
        elif kind == "lease":
            self.lease_ended = True

    def extend_lease(self, until_nanos: int) -> None:
        """Sends the end of the lease, on CLOCK_MONOTONIC, after which the keeper kills everything."""
        with contextlib.suppress(OSError):
            self._control.send(str(until_nanos).encode())

    def request_end(self) -> None:
        """Makes the keeper kill everything below it, and end."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    def kill(self) -> None:
        """Kills the keeper alone: its descendants become orphans of this process."""
        self._process.kill()

    def has_ended(self) -> bool:
        """Whether the keeper has ended; it is reaped then."""
        with _lock:
            if self._process.poll() is None:
                return False
            _started.discard(self.pid)
        self.poll()
        return True


def below(keepers: Iterable[Keeper]) -> set[ProcessId]:
    """Returns the living processes of the tasks of keepers, and all orphans, which may be of any task."""
    with _lock:
        table = process.table()
        roots = {keeper.pid for keeper in keepers if not keeper.is_reaped}
        orphans = {entry.id.pid for entry in table.values() if entry.parent == os.getpid()} - _started
        for pid in orphans:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    return {found for found in process.with_descendants(table, roots | orphans) if found.pid not in roots}


async def end(keepers: Callable[[], list[Keeper]], grace: float, first: signal.Signals = signal.SIGTERM) -> None:
    """Ends all processes of tasks; returns when none of them is left, and no keeper.

    Args:
        keepers: Returns the keepers of the tasks.
        grace: Seconds between the first signal and SIGKILL; 0: only SIGKILL.
        first: The first signal. Keepers do not get it.
    """
    if grace > 0:
        await process.end_gently(lambda: below(keepers()), grace, first)
    for keeper in keepers():
        keeper.request_end()
    while True:
        await process.kill(lambda: below(keepers()))
        if await _have_ended(keepers()):
            return
        for keeper in keepers():
            keeper.kill()


async def _have_ended(keepers: list[Keeper]) -> bool:
    deadline = time.monotonic() + KEEPER_SECONDS
    while [keeper for keeper in keepers if not keeper.has_ended()]:
        if time.monotonic() >= deadline:
            return False
        for keeper in keepers:
            keeper.poll()
        await asyncio.sleep(_POLL_SECONDS)
    return True
