"""What runs on this node: the attempts, the lease that lets them live, and the watcher that is told of them."""

import asyncio
import logging
from collections.abc import Iterable
from pathlib import Path

from tensorflow_ignite.agent import names, process
from tensorflow_ignite.agent.attempt import Attempt
from tensorflow_ignite.agent.changes import Changes
from tensorflow_ignite.agent.lease import Lease
from tensorflow_ignite.agent.refusal import ABORTED, FAILED_PRECONDITION, Refusal
from tensorflow_ignite.agent.task import Ending, Task
from tensorflow_ignite.v1 import job_pb2
from tensorflow_ignite.v1.agent_pb2 import StartTaskRequest, TaskKey

_log = logging.getLogger(__name__)


class Tasks:
    """All attempts of this node. Every method is called on one event loop."""

    def __init__(self, work: Path, *, host: str, lease: Lease, log_limit: int) -> None:
        """Nothing runs.

        Args:
            work: A directory that is this agent's own.
            host: Ports are held on it.
            lease: Tasks live as long as it does.
            log_limit: Bytes of output that are told of each task.
        """
        self.changes = Changes()
        self._work = work
        self._host = host
        self._lease = lease
        self._log_limit = log_limit
        self._attempts: dict[tuple[str, int], Attempt] = {}
        # For ever: a call that was delayed must not bring an attempt back.
        self._stopped: set[tuple[str, int]] = set()
        self._ending = False
        self._renewed = asyncio.Event()

    @property
    def known(self) -> list[Task]:
        """Every task of every attempt that has not been stopped."""
        return [task for attempt in self._attempts.values() for task in attempt.tasks]

    def heartbeat(self) -> None:
        """Renews the lease."""
        self._lease.renew()
        self._renewed.set()

    def reserve(self, keys: Iterable[TaskKey]) -> list[int]:
        """Ports for tasks, in their order; those that are already held stay the same.

        Raises:
            Refusal: ABORTED, the attempt is being stopped or was; or a key is invalid, or no port can be held.
        """
        ports = []
        for key in keys:
            names.check(key)
            identity = (key.job_id, key.attempt)
            self._refuse_stopped(identity)
            if identity not in self._attempts:
                self._attempts[identity] = Attempt(
                    *identity, work=self._work, host=self._host, log_limit=self._log_limit, changes=self.changes
                )
            ports.append(self._attempts[identity].reserve(key))
        return ports

    def start(self, request: StartTaskRequest) -> None:
        """Lets a task begin; what becomes of it stands in its status.

        Raises:
            Refusal: FAILED_PRECONDITION, its port is not held, or the lease has expired; ABORTED as for `reserve`.
        """
        names.check(request.key)
        identity = (request.key.job_id, request.key.attempt)
        self._refuse_stopped(identity)
        if self._lease.remaining() <= 0:
            raise Refusal(
                FAILED_PRECONDITION,
                f"task {names.task_path(request.key)} was not started: the last heartbeat came "
                f"{self._lease.silence():.1f} s ago; tasks start within {self._lease.timeout:g} s of one; send one",
            )
        attempt = self._attempts.get(identity)
        if attempt is None:
            raise Refusal(
                FAILED_PRECONDITION,
                f"task {names.task_path(request.key)} was not started: nothing is reserved for its attempt; ports of "
                "all tasks are reserved before the first task starts; call ReservePorts",
            )
        attempt.start(request)

    async def stop(self, job_id: str, number: int, grace: float) -> None:
        """Ends an attempt; returns when nothing of it is left. An attempt that never was here cannot come any more."""
        names.check_attempt(job_id, number)
        identity = (job_id, number)
        self._stopped.add(identity)
        attempt = self._attempts.get(identity)
        if attempt is None:
            return
        if attempt.stopping is None:
            attempt.stopping = asyncio.create_task(attempt.stop(grace))
            attempt.stopping.add_done_callback(lambda done: self._forget(identity, done))
        # A caller that goes away does not end the stop, and a second caller waits for the same one.
        await asyncio.shield(attempt.stopping)

    async def keep_lease(self) -> None:
        """Kills every task whenever the lease has expired; runs as long as the agent."""
        while True:
            self._renewed.clear()
            remaining = self._lease.remaining()
            if remaining > 0:
                await asyncio.sleep(remaining)
                continue
            error = (
                f"the node's service was silent for {self._lease.silence():.1f} s (lease {self._lease.timeout:g} s): "
                "its tasks were killed; see the log of the node for a long pause or a crash"
            )
            if self.known:
                _log.warning("%s", error)
            await self._kill_all(Ending(job_pb2.TASK_FAILED, error), grace=0)
            await self._renewed.wait()

    async def end(self, grace: float) -> None:
        """Ends everything; nothing starts any more."""
        self._ending = True
        await self._kill_all(Ending(job_pb2.TASK_STOPPED), grace)
        await process.end(lambda: process.find(names.mark(self._work, "")), grace=0)

    async def _kill_all(self, ending: Ending, grace: float) -> None:
        await asyncio.gather(*(attempt.kill(ending, grace) for attempt in self._attempts.values()))

    def _forget(self, identity: tuple[str, int], stopping: "asyncio.Task[None]") -> None:
        if stopping.cancelled():
            return
        if stopping.exception() is None:
            del self._attempts[identity]
        else:
            # The next call tries again.
            self._attempts[identity].stopping = None

    def _refuse_stopped(self, identity: tuple[str, int]) -> None:
        if self._ending:
            raise Refusal(ABORTED, "this agent is ending; it starts nothing any more; ask the next one")
        if identity in self._stopped:
            raise Refusal(
                ABORTED,
                f"attempt {identity[1]} of job {identity[0]} was stopped on this node; a stopped attempt does not come "
                "back; start a new attempt",
            )
