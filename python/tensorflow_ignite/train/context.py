"""What a task's script may know of its job; the same questions have answers outside a job."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass

from google.protobuf import json_format

from tensorflow_ignite.data.shares import UNEVEN, Uneven, check_counts
from tensorflow_ignite.errors import InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.v1 import agent_pb2, job_pb2

CONTEXT_VARIABLE = "TENSORFLOW_IGNITE_CONTEXT"

MULTI_WORKER_MIRRORED = "multi-worker-mirrored"
PARAMETER_SERVER = "parameter-server"


@dataclass(frozen=True)
class WorkerAssignment:
    """The partitions of the job's cache that one worker reads, frozen for the attempt.

    Attributes:
        index: The worker's index.
        node_id: The node that it runs beside.
        partitions: Numbers of the partitions, ascending.
        rows: Rows in these partitions when they were counted.
    """

    index: int
    node_id: str
    partitions: tuple[int, ...]
    rows: int


@dataclass(frozen=True)
class Context:
    """Where a script runs: a task of a job, or a plain process outside any job.

    Attributes:
        in_job: Whether a job started this process.
        job_id: Id of the job; empty outside.
        job_name: Its name; empty outside.
        attempt: Number of the attempt, from 1; 0 outside.
        role: ``client``, ``chief``, ``worker``, ``ps`` or ``evaluator``; ``worker`` outside.
        index: Index within the role.
        incarnation: Number of the process within the attempt.
        kind: ``multi-worker-mirrored`` or ``parameter-server``; empty outside.
        cache: The cache that is split over the workers; outside, the one given to :func:`context`.
        node_address: ``host:port`` of the node that the task runs beside; empty outside.
        assignment: One entry a worker, in the order of their indices; empty outside.
        assignment_digest: Identifies the assignment; empty outside.
        checkpoint_directory: Where the job's checkpoints belong, in the cluster unless the job says otherwise; empty
            outside.
        num_workers: Workers of the attempt; 1 outside.
        address: Where rows are asked for outside a job; None: as for :func:`tensorflow_ignite.dataset`.
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
    address: str | None = None

    @property
    def task(self) -> str:
        """Who this process is, for messages: ``worker 0 of job 7f3a``."""
        return f"{self.role} {self.index} of job {self.job_id}" if self.in_job else "a process outside any job"

    @property
    def own_assignment(self) -> WorkerAssignment | None:
        """What this very task reads of the job's cache; None for roles that read none, and outside a job."""
        if self.role != "worker":
            return None
        return next((worker for worker in self.assignment if worker.index == self.index), None)

    def steps_per_epoch(self, global_batch_size: int, uneven: Uneven = "repeat") -> int:
        """Steps in which the workers read the cache once, the same number for every worker.

        Under ``multi-worker-mirrored`` each of N workers takes a N-th of ``global_batch_size`` rows a step from its
        own rows, and all need the same number of steps although their rows differ in number. Under
        ``parameter-server`` a step is one batch of ``global_batch_size`` rows on one of the workers.

        Args:
            global_batch_size: Rows in a step, over all workers.
            uneven: As given to :func:`tensorflow_ignite.dataset`. ``"repeat"`` and ``"pad"``: the worker with the most
                rows decides, the others read some of theirs again, or zeros of weight 0. ``"drop"``: the worker with
                the fewest decides, the others leave some unread. Use ``dataset.repeat()``: an epoch may end within a
                batch.

        Returns:
            The number of steps, at least 1.

        Raises:
            InvalidRequestError: If the batch is smaller than the number of workers, or an option is unknown.
            TensorFlowIgniteError: If no number of steps fits, or outside a job, if the rows cannot be asked for.
        """
        if uneven not in UNEVEN:
            raise InvalidRequestError(f'uneven={uneven!r} is unknown; it is "repeat", "drop" or "pad"')
        collective = self.kind == MULTI_WORKER_MIRRORED
        workers = max(1, self.num_workers) if collective else 1
        if global_batch_size < workers:
            raise InvalidRequestError(
                f"global_batch_size={global_batch_size} gives some of {workers} workers no row; "
                f"it must be at least {workers}"
            )
        shares = [worker.rows for worker in self.assignment] if collective else [self._rows()]
        if uneven != "drop":
            check_counts(uneven, shares, self.cache)
            return max(1, -(-max(shares) // (global_batch_size // workers)))
        steps = min(shares) // -(-global_batch_size // workers)
        if steps == 0:
            raise TensorFlowIgniteError(
                f'uneven="drop" leaves no step for cache {self.cache!r}: rows a worker are {shares}, and a step of '
                f"{global_batch_size} takes {-(-global_batch_size // workers)} of each. Use a smaller batch, or "
                f'uneven="repeat"'
            )
        return steps

    def _rows(self) -> int:
        """Rows of the whole cache."""
        if self.in_job:
            return sum(worker.rows for worker in self.assignment)
        if not self.cache:
            raise TensorFlowIgniteError(
                "the steps of an epoch are not known outside a job without a cache. Name it: "
                'tfi.train.context(cache="...")'
            )
        from tensorflow_ignite.data import reading

        return reading.count_rows(self.cache, address=self.address)


def context(*, cache: str = "", address: str | None = None) -> Context:
    """The context of this process.

    Args:
        cache: The cache that the script trains on when it runs outside a job; a job names its own.
        address: ``host:port[,host:port]`` of nodes, used outside a job only.

    Returns:
        The task's context in a job, otherwise that of one worker with the whole cache to itself.

    Raises:
        TensorFlowIgniteError: If the file that the job wrote for this task cannot be read.
    """
    path = os.environ.get(CONTEXT_VARIABLE)
    if not path:
        return Context(cache=cache or os.environ.get("IGNITE_DATASET_CACHE_NAME", ""), address=address)
    return _read(path)[0]


def own_token() -> tuple[str, str]:
    """What this task says who it is with, a secret, and ``host:port`` of the node that it says it to; empty outside.

    It is no part of the context, which scripts print and send to each other.

    Raises:
        TensorFlowIgniteError: If the file that the job wrote for this task cannot be read.
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
            json_format.Parse(file.read(), message, ignore_unknown_fields=True)
    except (OSError, UnicodeDecodeError, json_format.ParseError) as error:
        raise TensorFlowIgniteError(
            f"the context of this task cannot be read from {path}: {error}. The environment variable "
            f"{CONTEXT_VARIABLE} names the file that its job wrote for it. Unset it to run outside a job"
        ) from None
    return message


@functools.lru_cache(maxsize=1)
def _read(path: str) -> tuple[Context, str, str]:
    """The context; the token and the node that are no part of it."""
    message = _parse(path)
    workers = tuple(
        WorkerAssignment(worker.index, worker.node_id, tuple(worker.partitions), worker.rows)
        for worker in sorted(message.workers, key=lambda worker: worker.index)
    )
    told = Context(
        in_job=True,
        job_id=message.job_id,
        job_name=message.job_name,
        attempt=message.attempt,
        role=_text(job_pb2.Role.Name(message.role)),
        index=message.index,
        incarnation=message.incarnation,
        kind=_text(job_pb2.JobKind.Name(message.kind)),
        cache=message.cache,
        node_address=message.node_address,
        assignment=workers,
        assignment_digest=message.assignment_digest,
        checkpoint_directory=message.checkpoint_directory,
        num_workers=len(workers),
    )
    return told, message.token, message.node_address


def _text(enum_name: str) -> str:
    return enum_name.lower().replace("_", "-")
