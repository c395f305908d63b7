"""The agent's work directory: used by one agent at a time, emptied before its use, and removed after it."""

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import time
from pathlib import Path

from tensorflow_ignite.agent import process

_LOCK = ".tensorflow-ignite-agent"
# Characters of the pid in the lock.
_PID_WIDTH = 10
# An agent whose service has just died needs this time to end its tasks.
WAIT_SECONDS = 15.0
# Keepers of tasks whose agent was killed end them within this time.
KEEPERS_SECONDS = 2.0
# The kernel ends a process that gets SIGKILL within this time, unless it waits for a device.
KILL_SECONDS = 10.0
_POLL_SECONDS = 0.05
_REMEDY = "Name another directory in TENSORFLOW_IGNITE_WORK"


class WorkDirectoryError(Exception):
    """The directory cannot be used; the text has the reason."""


class WorkDirectory:
    """A directory that belongs to this agent until it is removed."""

    def __init__(self, path: str) -> None:
        """Sets the path; the directory is not touched yet."""
        self.path = Path(os.path.abspath(path))
        self._lock_fd = -1

    async def take(self) -> None:
        """Locks the directory, ends every process that a killed agent left, and empties the directory.

        Raises:
            WorkDirectoryError: It is not an agent's directory, or another agent has locked it, or a process of a killed
                agent does not end.
        """
        self._make()
        await self._lock()
        await self._end_leftovers()
        self._empty()

    def remove(self) -> None:
        """Removes the directory with everything in it, and its lock last."""
        self._empty()
        (self.path / _LOCK).unlink(missing_ok=True)
        try:
            self.path.rmdir()
        finally:
            os.close(self._lock_fd)

    async def _end_leftovers(self) -> None:
        def find() -> set[process.ProcessId]:
            return process.find(f"{self.path}:")

        # Keepers are ending everything below them; SIGCONT is for a keeper that is stopped.
        await process.end_gently(find, KEEPERS_SECONDS, signal.SIGCONT)
        try:
            await asyncio.wait_for(process.kill(find), KILL_SECONDS)
        except asyncio.TimeoutError:
            pids = ", ".join(str(left.pid) for left in sorted(find(), key=lambda left: left.pid))
            raise WorkDirectoryError(
                f"processes of tasks of an agent that was killed do not end {KILL_SECONDS:g} s after SIGKILL (pids "
                f"{pids}). No task starts beside them. Free what they wait for, such as a device or a network file "
                "system, or start the machine again"
            ) from None

    def _make(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.path.is_symlink() or self.path.stat().st_uid != os.geteuid():
                raise WorkDirectoryError(
                    f"work directory {self.path} is a link or another user's. It must belong to the agent's user, "
                    f"since everything in it is removed. {_REMEDY}"
                )
            self.path.chmod(0o700)
            if any(self.path.iterdir()) and not (self.path / _LOCK).exists():
                raise WorkDirectoryError(
                    f"work directory {self.path} contains files that no agent made. It must be empty or an agent's, "
                    f"since everything in it is removed. {_REMEDY}"
                )
        except OSError as error:
            raise WorkDirectoryError(
                f"work directory {self.path} cannot be made: {error.strerror}. The agent stores its tasks' files "
                f"there. {_REMEDY}"
            ) from error

    async def _lock(self) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not self._try_lock():
            if time.monotonic() >= deadline:
                raise WorkDirectoryError(
                    f"work directory {self.path} is still used by another agent after {WAIT_SECONDS:.0f} s. Only one "
                    "agent may use a directory. Give each node its own in TENSORFLOW_IGNITE_WORK"
                )
            await asyncio.sleep(_POLL_SECONDS)

    def _try_lock(self) -> bool:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.path / _LOCK
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous agent may have removed the file that was locked here.
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                self._lock_fd = fd
                os.pwrite(fd, f"{os.getpid():<{_PID_WIDTH}}".encode(), 0)
                return True
        except BlockingIOError:
            self._continue_stopped(fd)
        except FileNotFoundError:
            pass
        os.close(fd)
        return False

    @staticmethod
    def _continue_stopped(fd: int) -> None:
        """An agent that is stopped cannot end, although its node has ended."""
        holder = os.pread(fd, _PID_WIDTH, 0).strip()
        with contextlib.suppress(ProcessLookupError):
            if holder.isdigit() and process.is_stopped(int(holder)):
                os.kill(int(holder), signal.SIGCONT)

    def _empty(self) -> None:
        for entry in self.path.iterdir():
            if entry.name == _LOCK:
                continue
            if entry.is_dir() and not entry.is_symlink():
                remove_tree(entry)
            else:
                entry.unlink()


def remove_tree(directory: Path) -> None:
    """Removes a directory, also if its owner has no permission to write in it."""
    try:
        shutil.rmtree(directory)
    except PermissionError:
        for path, _, _ in os.walk(directory):
            os.chmod(path, 0o700)
        shutil.rmtree(directory)
