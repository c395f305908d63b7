"""The task that this process is: its context and its token, read once from the context file."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import cast

from google.protobuf import json_format

from tensorflow_ignite import corrections
from tensorflow_ignite.base.messages import enum_text, from_json
from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.groups import Rounds
from tensorflow_ignite.kinds import KINDS, JobKind, Kind
from tensorflow_ignite.v1 import agent_pb2

#: Names the file that the job wrote for this task; not set outside a job.
CONTEXT_VARIABLE = "TENSORFLOW_IGNITE_CONTEXT"


@dataclass(frozen=True)
class WorkerAssignment:
    """The partitions of the job's cache that one worker reads, frozen for the attempt.

    Attributes:
        index: The worker's index.
        node_id: Id of the node that the worker runs beside.
        partitions: Numbers of the partitions, ascending.
        rows: Rows in these partitions when they were counted.
    """

    index: int
    node_id: str
    partitions: tuple[int, ...]
    rows: int


@dataclass(frozen=True)
class Task:
    """A task of a job, or a process outside any job.

    Attributes:
        in_job: Whether a job started this process.
        job_id: Id of the job; empty outside.
        job_name: Its name; empty outside.
        attempt: Number of the attempt, from 1; 0 outside.
        role: ``client``, ``worker``, ``ps``, ``evaluator``, or a role that a custom job has named; ``worker`` outside.
        index: Index within the role.
        incarnation: Number of the process within the attempt.
        kind: Such as ``multi-worker-mirrored``, see `tensorflow_ignite.kinds`; empty outside.
        cache: The cache that is split over the workers; empty outside.
        node_address: ``host:port`` of the node that the task runs beside; empty outside.
        assignment: One entry for each worker, in the order of their indices; empty outside.
        assignment_digest: Identifies the assignment; empty outside.
        checkpoint_directory: Directory of the job's checkpoints, by default in the cluster; empty outside.
        num_workers: Number of workers of the attempt; 1 outside.
        allow_data_loss: Whether the job goes on with the remaining rows of caches that have lost partitions.
        read_rate: The most that the job's tasks together read from each node in a second, such as ``"200MB"``; empty:
            no limit of the job.
        rounds: How the job trains in rounds; None: it does not.
        evaluator_cache: The cache with the rows that the evaluator uses; empty: none was named.
        named_index: Of a role that a custom job has named, its index among all tasks with such roles; None otherwise.
    """

    in_job: bool = False
    job_id: str = ""
    job_name: str = ""
    attempt: int = 0
    role: str = "worker"
    index: int = 0
    incarnation: int = 0
    kind: str = ""
    cache: str = ""
    node_address: str = ""
    assignment: tuple[WorkerAssignment, ...] = ()
    assignment_digest: str = ""
    checkpoint_directory: str = ""
    num_workers: int = 1
    allow_data_loss: bool = False
    read_rate: str = ""
    rounds: Rounds | None = None
    evaluator_cache: str = ""
    named_index: int | None = None

    @property
    def key(self) -> tuple[str, int]:
        """Role and index by which the nodes know this task."""
        return (self.role, self.index) if self.named_index is None else ("named", self.named_index)

    @property
    def task(self) -> str:
        """Name of this process for messages: ``worker 0 of job 7f3a``."""
        return f"{self.role} {self.index} of job {self.job_id}" if self.in_job else "a process outside any job"

    @property
    def own_assignment(self) -> WorkerAssignment | None:
        """The partitions that this task reads; None for roles that read none, and outside a job."""
        if self.role != "worker":
            return None
        return next((worker for worker in self.assignment if worker.index == self.index), None)

    @property
    def log_directory(self) -> str:
        """Directory in the cluster for event files, which `tensorflow-ignite tensorboard JOB` shows; empty outside.

        For callbacks such as ``keras.callbacks.TensorBoard``. The figures of `tensorflow_ignite.train.report` are there
        already.
        """
        return f"ignite:///jobs/{self.job_id}/tensorboard" if self.in_job else ""

    @property
    def is_chief(self) -> bool:
        """Whether this process writes the files of which the job has one copy: the first worker, or the client process.

        True outside a job.
        """
        return self.index == 0 and self.role == (self.rules.script_role if self.rules else "worker")

    @property
    def is_evaluator(self) -> bool:
        """Whether it evaluates checkpoints, and does no steps itself."""
        return self.role == "evaluator"

    @property
    def rules(self) -> Kind | None:
        """What the kind of its job means; None outside, and for a kind of a later version."""
        return KINDS.get(cast("JobKind", self.kind))

    @property
    def takes_equal_steps(self) -> bool:
        """Whether the workers of its job must take equal steps, each with rows of its own."""
        return self.rules is not None and self.rules.equal_steps

    @property
    def is_waited_for(self) -> bool:
        """Whether this is a worker that must take as many steps as the others: each step waits for all of them."""
        return self.takes_equal_steps and self.own_assignment is not None


_adopted: Task | None = None


def adopt(adopted: Task | None) -> None:
    """Makes this process, which no job has started, the client process of a job; None: not any more."""
    global _adopted
    _adopted = adopted
    if adopted is not None:
        corrections.install()


def current() -> Task:
    """Returns the task that this process is; outside a job, a single worker.

    Raises:
        TensorFlowIgniteError: The context file cannot be read.
    """
    path = os.environ.get(CONTEXT_VARIABLE)
    return _read(path)[0] if path else _adopted or Task()


def task_token() -> tuple[str, str]:
    """Returns the task's token, a secret, and ``host:port`` of the node that accepts it; empty texts outside a job.

    The token is not an attribute of `Task`, because scripts print a task and send it to other processes.

    Raises:
        TensorFlowIgniteError: The context file cannot be read.
    """
    path = os.environ.get(CONTEXT_VARIABLE)
    if not path:
        return "", ""
    _, token, node_address = _read(path)
    return token, node_address


def _parse(path: str) -> agent_pb2.TaskContext:
    message = agent_pb2.TaskContext()
    try:
        with open(path, encoding="utf-8") as file:
            from_json(file.read(), message)
    except (OSError, ValueError, json_format.ParseError) as error:
        raise TensorFlowIgniteError(
            f"the context of this task cannot be read from {path}: {error}. The environment variable "
            f"{CONTEXT_VARIABLE} names the file that its job wrote for it. Unset it to run outside a job"
        ) from None
    return message


@functools.lru_cache(maxsize=1)
def _read(path: str) -> tuple[Task, str, str]:
    """Returns the task, its token, and the address of its node."""
    message = _parse(path)
    workers = tuple(
        WorkerAssignment(worker.index, worker.node_id, tuple(worker.partitions), worker.rows)
        for worker in sorted(message.workers, key=lambda worker: worker.index)
    )
    task = Task(
        in_job=True,
        job_id=message.job_id,
        job_name=message.job_name,
        attempt=message.attempt,
        role=message.role_name or enum_text(message, "role"),
        index=message.role_index if message.role_name else message.index,
        incarnation=message.incarnation,
        kind=enum_text(message, "kind"),
        cache=message.cache,
        node_address=message.node_address,
        assignment=workers,
        assignment_digest=message.assignment_digest,
        checkpoint_directory=message.checkpoint_directory,
        num_workers=len(workers),
        allow_data_loss=message.allow_data_loss,
        read_rate=message.read_rate,
        rounds=Rounds.from_proto(message.rounds) if message.HasField("rounds") else None,
        evaluator_cache=message.evaluator_cache,
        named_index=message.index if message.role_name else None,
    )
    return task, message.token, message.node_address
