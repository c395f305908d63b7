"""What one attempt has on this node: its ports, its unpacked code, its tasks, and their common end."""

import asyncio
import shutil
import time
from pathlib import Path

from tensorflow_ignite.agent import changes, names, process
from tensorflow_ignite.agent.changes import Changes
from tensorflow_ignite.agent.ports import HeldPort
from tensorflow_ignite.agent.refusal import FAILED_PRECONDITION, Refusal
from tensorflow_ignite.agent.task import Ending, Task
from tensorflow_ignite.agent.unpack import unpack
from tensorflow_ignite.agent.work import remove_tree
from tensorflow_ignite.v1 import job_pb2
from tensorflow_ignite.v1.agent_pb2 import StartTaskRequest, TaskKey

# A watcher that tells nothing for so long is not waited for by a stop.
TELL_SECONDS = 5.0


class Attempt:
    """Everything of one attempt that is on this node."""

    def __init__(self, job_id: str, number: int, *, work: Path, host: str, log_limit: int, changes: Changes) -> None:
        """An attempt without ports and tasks."""
        self.stopping: asyncio.Task[None] | None = None
        self._path = names.attempt_path(job_id, number)
        self._work = work
        self._host = host
        self._log_limit = log_limit
        self._changes = changes
        # A task that takes another's place in the attempt takes its port: the incarnation is no part of the key.
        self._ports: dict[tuple[int, int], HeldPort] = {}
        self._tasks: dict[str, Task] = {}
        self._lives: list[asyncio.Task[None]] = []
        self._kills: set[asyncio.Task[None]] = set()
        self._unpacking: asyncio.Task[Path] | None = None

    @property
    def tasks(self) -> list[Task]:
        """In the order of their starts."""
        return list(self._tasks.values())

    def reserve(self, key: TaskKey) -> int:
        """The number of the port held for a task."""
        place = (key.role, key.index)
        if place not in self._ports:
            self._ports[place] = HeldPort(self._host)
        return self._ports[place].number

    def start(self, request: StartTaskRequest) -> None:
        """Lets a task begin; one that has begun goes on as it is."""
        key = request.key
        path = names.task_path(key)
        if path in self._tasks:
            return
        if self._kills:
            raise Refusal(
                FAILED_PRECONDITION,
                f"task {path} was not started: the attempt's tasks are being killed; nothing starts among them; "
                "start a new attempt",
            )
        if (key.role, key.index) not in self._ports:
            raise Refusal(
                FAILED_PRECONDITION,
                f"task {path} was not started: no port is held for it; ports of all tasks are reserved before the "
                "first task starts; call ReservePorts",
            )
        for other in self._tasks.values():
            if (other.key.role, other.key.index) == (key.role, key.index) and (
                not other.over or other.key.incarnation > key.incarnation
            ):
                raise Refusal(
                    FAILED_PRECONDITION,
                    f"task {path} was not started: incarnation {other.key.incarnation} is "
                    f"{'newer' if other.over else 'not over'}; one incarnation runs at a time, with rising numbers; "
                    "wait for its end",
                )
        task = Task(
            request,
            work=self._work,
            address=f"{self._host}:{self.reserve(key)}",
            code=lambda: self._unpacked(Path(request.code_archive)),
            log_limit=self._log_limit,
            changes=self._changes,
        )
        self._tasks[path] = task
        self._lives.append(asyncio.create_task(task.live()))

    async def kill(self, ending: Ending, grace: float) -> None:
        """Ends every task, each with its tree; returns when all of it is gone and its end stands in its status."""
        killing = asyncio.create_task(process.end(self._find, grace))
        self._kills.add(killing)
        for task in self._tasks.values():
            task.end_as(ending, killing)
        try:
            await killing
            # Also those whose code was being unpacked: told of their end, they have started nothing.
            await asyncio.gather(*self._lives)
        finally:
            self._kills.discard(killing)

    async def stop(self, grace: float) -> None:
        """Kills, waits until a watcher has told each end, releases the ports, removes the files."""
        await self.kill(Ending(job_pb2.TASK_STOPPED), grace)
        deadline = time.monotonic() + TELL_SECONDS
        while time.monotonic() < deadline:
            ring = self._changes.next()
            if all(task.told_end for task in self._tasks.values()):
                break
            await changes.wait(ring, deadline - time.monotonic())
        for task in self._tasks.values():
            task.forget()
        for port in self._ports.values():
            port.release()
        self._ports.clear()
        await asyncio.to_thread(self._remove_files)

    def _find(self) -> set[process.ProcessId]:
        leaders = [task.leader for task in self.tasks]
        return process.find(names.mark(self._work, self._path) + "/", [pid for pid in leaders if pid is not None])

    async def _unpacked(self, archive: Path) -> Path:
        if self._unpacking is None:
            code = self._work / self._path / "code"
            self._unpacking = asyncio.create_task(_unpack(archive, code))
        return await asyncio.shield(self._unpacking)

    def _remove_files(self) -> None:
        directory = self._work / self._path
        if directory.exists():
            remove_tree(directory)
        if directory.parent.exists() and not any(directory.parent.iterdir()):
            shutil.rmtree(directory.parent, ignore_errors=True)


async def _unpack(archive: Path, code: Path) -> Path:
    await asyncio.to_thread(unpack, archive, code)
    return code
