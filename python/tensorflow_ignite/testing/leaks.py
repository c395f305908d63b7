"""What a cluster has left behind: processes, ports, files, shared memory."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tensorflow_ignite.errors import TensorFlowIgniteError

CLUSTER_MARKER = "TENSORFLOW_IGNITE_CLUSTER"
TASK_MARKER = "TENSORFLOW_IGNITE_TASK"
_LISTENING = "0A"
_POLL = 0.05


class LeakError(TensorFlowIgniteError):
    """Something exists after its owner has ended.

    Attributes:
        leaks: One line for each thing that was left.
    """

    def __init__(self, owner: str, leaks: Iterable[str]) -> None:
        """Makes a message of the owner and of what it left."""
        self.leaks = list(leaks)
        super().__init__(f"{owner} left behind:\n" + "\n".join(f"  {leak}" for leak in self.leaks))


@dataclass(frozen=True, kw_only=True)
class MarkedProcess:
    """A process found by a variable in its environment, which all its children inherit."""

    pid: int
    command: str
    task: str | None

    def __str__(self) -> str:
        """For a list of leaks."""
        of_task = f", task {self.task}" if self.task else ""
        return f"process {self.pid}{of_task}: {self.command}"


def marked_processes(directory: Path) -> list[MarkedProcess]:
    """Every living process of the cluster in this directory: nodes, agents, tasks, and what those started."""
    found: list[MarkedProcess] = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        # A process that has ended meanwhile, or belongs to another user, is not of the cluster.
        with contextlib.suppress(OSError):
            environment = _environment(Path(entry.path))
            task = environment.get(TASK_MARKER)
            if environment.get(CLUSTER_MARKER) == str(directory) or (task or "").startswith(f"{directory}/"):
                command = Path(entry.path, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(MarkedProcess(pid=int(entry.name), command=command.strip()[:200], task=task))
    return found


def _environment(process: Path) -> dict[str, str]:
    """The environment of a living process; a zombie's is empty."""
    pairs = (process / "environ").read_bytes().decode(errors="surrogateescape").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def await_no_processes(directory: Path, timeout: float) -> list[MarkedProcess]:
    """Waits until the cluster has no process left.

    Args:
        directory: The cluster's directory.
        timeout: In seconds.

    Returns:
        The processes that are still there.
    """
    deadline = time.monotonic() + timeout
    while (left := marked_processes(directory)) and time.monotonic() < deadline:
        # The end of a process that is not a child cannot be waited for here.
        time.sleep(_POLL)
    return left


def kill_processes(directory: Path, timeout: float = 10.0) -> None:
    """Kills all processes of the cluster, and those that they start meanwhile."""
    deadline = time.monotonic() + timeout
    while (left := marked_processes(directory)) and time.monotonic() < deadline:
        for process in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)
        time.sleep(_POLL)


def listening_sockets(pids: Iterable[int] | None = None) -> dict[str, int]:
    """Listening TCP sockets, by inode, with their ports: another socket of the same port has another inode.

    Args:
        pids: Only those that these processes hold; None: all of this machine.
    """
    ports: dict[str, int] = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING:
                    ports[fields[9]] = int(fields[1].rsplit(":", 1)[1], 16)
    if pids is None:
        return ports
    held = {inode for pid in pids for inode in _socket_inodes(pid)}
    return {inode: port for inode, port in ports.items() if inode in held}


def _socket_inodes(pid: int) -> set[str]:
    prefix = "socket:["
    return {target[len(prefix) : -1] for target in _descriptors(pid) if target.startswith(prefix)}


def _descriptors(pid: int) -> list[str]:
    """What the process has open, as the links in /proc name it."""
    targets: list[str] = []
    with contextlib.suppress(OSError):
        for descriptor in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                targets.append(os.readlink(descriptor.path))
    return targets


def shared_memory(pids: Iterable[int]) -> set[Path]:
    """The files in /dev/shm that these processes have open or mapped."""
    files: set[Path] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            mapped = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
            files |= {Path(fields[5]) for line in mapped if len(fields := line.split(maxsplit=5)) == 6}
        files |= {Path(target) for target in _descriptors(pid)}
    return {path for path in files if path.is_relative_to("/dev/shm")}


def files_below(directory: Path) -> list[Path]:
    """Every file below a directory; none when it does not exist."""
    return sorted(path for path in directory.rglob("*") if not path.is_dir())
