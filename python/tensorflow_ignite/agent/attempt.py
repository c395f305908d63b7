"""One attempt on this node: its ports, its unpacked code, and its tasks, which are ended together."""

import asyncio
import shutil
import signal
import time
from pathlib import Path

from tensorflow_ignite.agent import keeper, names, notifier
from tensorflow_ignite.agent.keeper import Keeper
from tensorflow_ignite.agent.lease import AttemptLease
from tensorflow_ignite.agent.ports import ReservedPort
from tensorflow_ignite.agent.rejection import FAILED_PRECONDITION, RequestRejected
from tensorflow_ignite.agent.stall import DUMP_SECONDS
from tensorflow_ignite.agent.task import Ending, NodeParts, Task
from tensorflow_ignite.agent.unpack import unpack
from tensorflow_ignite.agent.work_directory import remove_tree
from tensorflow_ignite.v1 import job_pb2
from tensorflow_ignite.v1.agent_pb2 import StartTaskRequest, TaskKey

# A stop waits at most this many seconds until the end of each task is reported.
REPORT_SECONDS = 5.0
# Parameter servers and client processes mostly wait; tasks of all other roles compute.
_WAITING_ROLES = frozenset({job_pb2.ROLE_PS, job_pb2.ROLE_CLIENT})


class Attempt:
    """The tasks, ports and files of one attempt on this node."""

    def __init__(self, job_id: str, number: int, node: NodeParts) -> None:
        """An attempt without ports and tasks."""
        self.lease = AttemptLease()
        self.stopping: asyncio.Task[None] | None = None
        #: The kill at the end of the lease.
        self.expiring: asyncio.Task[None] | None = None
        self._directory = node.work / names.attempt_path(job_id, number)
        self._node = node
        # By role and index: a new incarnation of a task uses the same port.
        self._ports: dict[tuple[int, int], ReservedPort] = {}
        self._tasks: dict[str, Task] = {}
        self._lives: list[asyncio.Task[None]] = []
        self._kills: set[asyncio.Task[None]] = set()
        self._unpacking: asyncio.Task[Path] | None = None
        self._planned_end: tuple[int, bool] | None = None

    @property
    def tasks(self) -> list[Task]:
        """The tasks in the order of their starts."""
        return list(self._tasks.values())

    @property
    def is_active(self) -> bool:
        """Whether a task has not ended."""
        return any(not task.is_final for task in self._tasks.values())

    @property
    def computing(self) -> int:
        """The number of tasks that compute here, or will: all ports are reserved before the first task starts."""
        ended: dict[tuple[int, int], bool] = {
            (task.key.role, task.key.index): task.is_final for task in self._tasks.values()
        }
        return sum(role not in _WAITING_ROLES and not ended.get((role, index)) for role, index in self._ports)

    def extend_lease(self, until_nanos: int) -> None:
        """Extends the lease, also for the keepers of the tasks."""
        self.lease.extend(until_nanos)
        for task in self._tasks.values():
            task.extend_lease()

    def reserve(self, key: TaskKey) -> int:
        """Returns the port that is reserved for a task; reserves one at the first call."""
        slot = (key.role, key.index)
        if slot not in self._ports:
            self._ports[slot] = ReservedPort(self._node.host)
        return self._ports[slot].number

    def start(self, request: StartTaskRequest) -> None:
        """Starts a task; does nothing if it was started before."""
        key = request.key
        path = names.task_path(key)
        if path in self._tasks:
            return
        if self._kills:
            raise RequestRejected(
                FAILED_PRECONDITION,
                f"task {path} was not started: the attempt's tasks are being killed. No task starts meanwhile. Start a "
                "new attempt",
            )
        self.lease.extend(request.lease_until_nanos)
        if self.lease.remaining() <= 0:
            raise RequestRejected(
                FAILED_PRECONDITION,
                f"task {path} was not started: the lease of its attempt ended {-self.lease.remaining():.1f} s ago. A "
                "task starts only while its node has proof of a majority of the job's nodes. Wait for the next lease",
            )
        if (key.role, key.index) not in self._ports:
            raise RequestRejected(
                FAILED_PRECONDITION,
                f"task {path} was not started: no port is reserved for it. Ports of all tasks are reserved before the "
                "first task starts. Call ReservePorts",
            )
        for other in self._tasks.values():
            if (other.key.role, other.key.index) == (key.role, key.index) and (
                not other.is_final or other.key.incarnation > key.incarnation
            ):
                raise RequestRejected(
                    FAILED_PRECONDITION,
                    f"task {path} was not started: incarnation {other.key.incarnation} is "
                    f"{'newer' if other.is_final else 'still running'}. One incarnation runs at a time, with ascending "
                    "numbers. Wait for its end, and use the next number",
                )
        gpus = self._node.gpus.assign(path, request.gpus)
        try:
            task = Task(
                request,
                self._node,
                address=f"{self._node.host}:{self.reserve(key)}",
                lease=self.lease,
                code=lambda: self._unpacked(Path(request.code_archive)),
                gpus=gpus,
            )
        except BaseException:
            # For example: no space is left for its files.
            self._node.gpus.release(path)
            raise
        self._tasks[path] = task
        if self._planned_end is not None:
            task.command.plan(*self._planned_end)
        life = asyncio.create_task(task.live())
        # No process of the task is left then.
        life.add_done_callback(lambda _: self._node.gpus.release(path))
        self._lives.append(life)

    def plan_end(self, step: int, agreed: bool) -> None:
        """Passes a planned end, and the step that was proposed or agreed on, to every task, later ones included."""
        self._planned_end = step, agreed
        for task in self._tasks.values():
            task.command.plan(step, agreed)

    async def kill(self, ending: Ending, grace: float, first: signal.Signals = signal.SIGTERM) -> None:
        """Ends every task with its process tree; returns when all processes have ended and every status says so."""
        killing = asyncio.create_task(keeper.end(self._keepers, grace, first))
        self._kills.add(killing)
        for task in self._tasks.values():
            task.request_end(ending, killing)
        try:
            await killing
            # Includes tasks whose code was being unpacked: after request_end they start no process.
            await asyncio.gather(*self._lives)
        finally:
            self._kills.discard(killing)

    async def stop(self, grace: float, *, dump_stacks: bool = False) -> None:
        """Kills the tasks, waits until each end is reported, releases the ports, and removes the files.

        Args:
            grace: Seconds between SIGTERM and SIGKILL.
            dump_stacks: Use SIGABRT and a short grace instead, so that Python writes the stacks of its threads.
        """
        stopped = Ending(job_pb2.TASK_STATE_STOPPED)
        if dump_stacks:
            await self.kill(stopped, DUMP_SECONDS, signal.SIGABRT)
        else:
            await self.kill(stopped, grace)
        deadline = time.monotonic() + REPORT_SECONDS
        while time.monotonic() < deadline:
            change = self._node.notifier.next()
            if all(task.end_reported for task in self._tasks.values()):
                break
            await notifier.wait(change, deadline - time.monotonic())
        for task in self._tasks.values():
            task.discard()
        for port in self._ports.values():
            port.release()
        self._ports.clear()
        await asyncio.to_thread(self._remove_files)

    def _keepers(self) -> list[Keeper]:
        return [task.keeper for task in self._tasks.values() if task.keeper is not None]

    async def _unpacked(self, archive: Path) -> Path:
        if self._unpacking is None:
            self._unpacking = asyncio.create_task(_unpack(archive, self._directory / "code"))
        return await asyncio.shield(self._unpacking)

    def _remove_files(self) -> None:
        if self._directory.exists():
            remove_tree(self._directory)
        of_job = self._directory.parent
        if of_job.exists() and not any(of_job.iterdir()):
            shutil.rmtree(of_job, ignore_errors=True)


async def _unpack(archive: Path, code: Path) -> Path:
    await asyncio.to_thread(unpack, archive, code)
    return code
