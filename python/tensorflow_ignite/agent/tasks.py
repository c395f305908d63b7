"""All attempts and tasks of this node, and the lease that limits how long they run."""

import asyncio
import contextlib
import logging
import math
import os
from collections.abc import Iterable
from pathlib import Path

from tensorflow_ignite.agent import names, process, threads
from tensorflow_ignite.agent.attempt import Attempt
from tensorflow_ignite.agent.gpus import Gpus
from tensorflow_ignite.agent.lease import Lease
from tensorflow_ignite.agent.notifier import Notifier
from tensorflow_ignite.agent.rejection import ABORTED, FAILED_PRECONDITION, NOT_FOUND, RequestRejected
from tensorflow_ignite.agent.spares import Spares
from tensorflow_ignite.agent.task import Ending, NodeParts, Task
from tensorflow_ignite.v1 import job_pb2
from tensorflow_ignite.v1.agent_pb2 import AttemptLease, StartTaskRequest, TaskKey, TaskProfile

_log = logging.getLogger(__name__)


class Tasks:
    """All attempts of this node. All methods run on one event loop."""

    def __init__(self, work: Path, *, host: str, lease: Lease, log_limit: int, spares: Spares, gpus: Gpus) -> None:
        """Starts without attempts.

        Args:
            work: The agent's work directory.
            host: Host of the reserved ports.
            lease: Tasks are killed when it expires.
            log_limit: Largest size of the output that is sent for a task, in bytes.
            spares: The spares of this node.
            gpus: The GPUs of this node.
        """
        self.notifier = Notifier()
        #: ``host:port`` of other nodes, by the last heartbeat or the last start of a task.
        self.peers: tuple[str, ...] = ()
        self._lease = lease
        self._node = NodeParts(work, host, log_limit, spares, gpus, self._threads, self.notifier)
        self._attempts: dict[tuple[str, int], Attempt] = {}
        # Never removed: a delayed call must not start an attempt again.
        self._stopped: set[tuple[str, int]] = set()
        self._ending = False
        self._changed = asyncio.Event()

    @property
    def all_tasks(self) -> list[Task]:
        """Every task of every attempt that has not been stopped."""
        return [task for attempt in self._attempts.values() for task in attempt.tasks]

    @property
    def running(self) -> list[StartTaskRequest]:
        """One task of each attempt that has a task which was started and has not ended."""
        return [
            next(task.request for task in attempt.tasks if not task.is_final)
            for attempt in self._attempts.values()
            if not all(task.is_final for task in attempt.tasks)
        ]

    def heartbeat(self, leases: Iterable[AttemptLease] = (), peers: Iterable[str] = ()) -> None:
        """Renews the lease of this agent, and extends the leases of attempts; `peers` are other nodes."""
        self._lease.renew()
        self.peers = tuple(peers)
        for lease in leases:
            attempt = self._attempts.get((lease.job_id, lease.attempt))
            if attempt is not None:
                attempt.extend_lease(lease.until_nanos)
        self._changed.set()

    def reserve(self, keys: Iterable[TaskKey]) -> list[int]:
        """Reserves ports for tasks, in their order; a task that has a port keeps it.

        Raises:
            RequestRejected: ABORTED: the attempt was stopped. Or a key is invalid, or no port can be reserved.
        """
        ports = []
        for key in keys:
            names.check(key)
            identity = (key.job_id, key.attempt)
            self._refuse_stopped(identity)
            if identity not in self._attempts:
                self._attempts[identity] = Attempt(*identity, self._node)
            ports.append(self._attempts[identity].reserve(key))
        return ports

    def start(self, request: StartTaskRequest) -> None:
        """Starts a task, whose status reports the result.

        Raises:
            RequestRejected: FAILED_PRECONDITION: no port is reserved, or the lease has expired. ABORTED: as `reserve`.
        """
        names.check(request.key)
        identity = (request.key.job_id, request.key.attempt)
        self._refuse_stopped(identity)
        if self._lease.remaining() <= 0:
            raise RequestRejected(
                FAILED_PRECONDITION,
                f"task {names.task_path(request.key)} was not started: the last heartbeat came "
                f"{self._lease.silence():.1f} s ago. Tasks start within {self._lease.timeout:g} s after a heartbeat. "
                "Send a heartbeat",
            )
        attempt = self._attempts.get(identity)
        if attempt is None:
            raise RequestRejected(
                FAILED_PRECONDITION,
                f"task {names.task_path(request.key)} was not started: its attempt has no reserved ports. Ports of all "
                "tasks are reserved before the first task starts. Call ReservePorts",
            )
        attempt.start(request)
        if request.peers:
            self.peers = tuple(request.peers)
        self._changed.set()

    def plan_end(self, job_id: str, number: int, step: int, agreed: bool) -> None:
        """Passes the planned end of an attempt to its tasks.

        Raises:
            RequestRejected: ABORTED: the attempt was stopped.
        """
        names.check_attempt(job_id, number)
        self._refuse_stopped((job_id, number))
        attempt = self._attempts.get((job_id, number))
        if attempt is not None:
            attempt.plan_end(step, agreed)

    def profile(self, request: TaskProfile) -> None:
        """Passes a request for a profile to its task.

        Raises:
            RequestRejected: NOT_FOUND: no such task runs.
        """
        names.check(request.key)
        task = next((task for task in self.all_tasks if task.key == request.key and not task.is_final), None)
        if task is None:
            raise RequestRejected(
                NOT_FOUND,
                f"task {names.task_path(request.key)} does not run here. Only a task that runs has a profile. See the "
                "tasks of the job",
            )
        task.command.profile(request)

    async def stop(self, job_id: str, number: int, grace: float, *, dump_stacks: bool = False) -> None:
        """Ends an attempt; returns when none of its processes and files is left. It cannot start here any more."""
        names.check_attempt(job_id, number)
        identity = (job_id, number)
        self._stopped.add(identity)
        attempt = self._attempts.get(identity)
        if attempt is None:
            return
        if attempt.stopping is None:
            attempt.stopping = asyncio.create_task(attempt.stop(grace, dump_stacks=dump_stacks))
            attempt.stopping.add_done_callback(lambda done: self._remove(identity, done))
        # The stop goes on if the caller is cancelled, and a second caller waits for the same stop.
        await asyncio.shield(attempt.stopping)

    def _threads(self) -> int | None:
        """Threads of TensorFlow in a task that starts now; None: its own default."""
        computing = sum(attempt.computing for attempt in self._attempts.values() if attempt.stopping is None)
        return threads.share(computing, threads.processors())

    async def keep_lease(self) -> None:
        """Kills every task whose lease expires; runs as long as the agent."""
        while True:
            self._changed.clear()
            remaining = self._lease.remaining()
            if remaining > 0:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), min(remaining, self._kill_expired()))
                continue
            error = (
                f"the node's service was silent for {self._lease.silence():.1f} s (lease {self._lease.timeout:g} s): "
                "its tasks were killed; see the log of the node for a long pause or a crash"
            )
            if self.all_tasks:
                _log.warning("%s", error)
            await self._kill_all(Ending(job_pb2.TASK_STATE_FAILED, error, node_failed=True), grace=0)
            await self._changed.wait()

    def _kill_expired(self) -> float:
        """Kills the tasks of attempts whose lease has ended; returns the seconds until the next one ends."""
        following = math.inf
        for (job_id, number), attempt in self._attempts.items():
            remaining = attempt.lease.remaining()
            if not attempt.is_active:
                continue
            if remaining > 0:
                following = min(following, remaining)
            elif attempt.expiring is None or attempt.expiring.done():
                error = (
                    "the lease of its attempt ended, so the task was killed: its node had no contact with a majority "
                    f"of the job's nodes (the node's last heartbeat came {self._lease.silence():.1f} s ago)"
                )
                _log.warning("attempt %d of job %s: %s", number, job_id, error)
                ending = Ending(job_pb2.TASK_STATE_FAILED, error, node_failed=True)
                # Without grace, also where a stop with a grace is under way.
                attempt.expiring = asyncio.create_task(attempt.kill(ending, grace=0))
                attempt.expiring.add_done_callback(lambda _: self._changed.set())
        return following

    async def end(self, grace: float) -> None:
        """Ends all tasks; no task starts afterwards."""
        self._ending = True
        error = (
            f"its agent (pid {os.getpid()}) ended, by a signal or with its node, and ended the task. A task runs only "
            "beside its agent. See the log of the node"
        )
        await asyncio.gather(
            self._kill_all(Ending(job_pb2.TASK_STATE_STOPPED, error, node_failed=True), grace), self._node.spares.end()
        )
        await process.kill(lambda: process.find(names.mark(self._node.work, "")))

    async def _kill_all(self, ending: Ending, grace: float) -> None:
        await asyncio.gather(*(attempt.kill(ending, grace) for attempt in self._attempts.values()))

    def _remove(self, identity: tuple[str, int], stopping: "asyncio.Task[None]") -> None:
        if stopping.cancelled():
            return
        if stopping.exception() is None:
            del self._attempts[identity]
        else:
            # The next call stops the attempt again.
            self._attempts[identity].stopping = None

    def _refuse_stopped(self, identity: tuple[str, int]) -> None:
        if self._ending:
            raise RequestRejected(
                ABORTED, "this agent is ending. It starts no tasks any more. Call the next agent of the node"
            )
        if identity in self._stopped:
            raise RequestRejected(
                ABORTED,
                f"attempt {identity[1]} of job {identity[0]} was stopped on this node. A stopped attempt cannot start "
                "again. Start a new attempt",
            )
