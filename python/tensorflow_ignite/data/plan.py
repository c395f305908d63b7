"""A request resolved against the cluster, by the process that reads: the nodes that send its rows."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from tensorflow_ignite import errors, task
from tensorflow_ignite.data.epochs import shuffling
from tensorflow_ignite.data.request import (
    ALL,
    ASSIGNED,
    LOCAL,
    Request,
    accepts_data_loss,
    describe,
    named_partitions,
)
from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.net import resolve
from tensorflow_ignite.task import Task
from tensorflow_ignite.v1 import data_pb2


@dataclass(frozen=True)
class Plan:
    """The nodes that send the rows of one epoch to this process.

    Attributes:
        endpoints: One endpoint for each node that sends.
        rows: Number of rows that were counted; -1: not counted.
        subject: Names the rows in error texts, such as "cache 'x'".
        via: ``host:port`` of the node that returned the endpoints.
    """

    endpoints: tuple[flight.Endpoint, ...]
    rows: int
    subject: str
    via: str = ""

    def shuffled(self, seed: int, epoch: int) -> tuple[flight.Endpoint, ...]:
        """The endpoints, with their partitions in the order of an epoch."""
        return tuple(
            endpoint.modified(partitions=shuffling.order(tuple(endpoint.command.partitions), seed, epoch, number))
            for number, endpoint in enumerate(self.endpoints)
        )

    def beginning_at(self, share: float) -> tuple[flight.Endpoint, ...]:
        """The endpoints, each with its partitions after a part of them, of 1, before the others."""
        return tuple(
            endpoint.modified(partitions=[*numbers[begin:], *numbers[:begin]])
            for endpoint in self.endpoints
            for numbers in [list(endpoint.command.partitions)]
            for begin in [math.floor(len(numbers) * share)]
        )

    def digest(self, request: Request) -> bytes:
        """Identifies the rows of an epoch and their order before shuffling; a restored iterator needs the same one."""
        commands = [_rows_of(endpoint.command) for endpoint in self.endpoints]
        identity: list[Any] = [commands, astuple(request.length), request.window, request.seed, request.transport]
        identity += [request.since] if request.since else []
        return hashlib.sha256(repr(identity).encode()).digest()


def _rows_of(command: data_pb2.ReadCommand) -> bytes:
    """What decides which rows a command reads: the next job may read them at another rate."""
    rows = data_pb2.ReadCommand()
    rows.CopyFrom(command)
    rows.ClearField("read_rate")
    return rows.SerializeToString(deterministic=True)


def make_plan(request: Request) -> Plan:
    """Finds the nodes that send the rows of one epoch to this process.

    Raises:
        TensorFlowIgniteError: If no partitions are assigned to this process; any error of a node; if no node answers.
    """
    here = task.current()
    if request.partitions == ASSIGNED:
        return _assigned(request, here)
    reader = request.reader
    address = reader.address(request.address)
    # The rows were counted when the dataset was made.
    description = describe(request, address, request.command(named_partitions(request, here), uncounted=True))
    is_local = request.partitions == LOCAL
    endpoints = reader.local(description, address, request.cache) if is_local else description.endpoints
    subject = f"cache {request.cache!r}" + (
        f", {len(request.partitions)} partitions" if isinstance(request.partitions, tuple) else ""
    )
    return Plan(_ordered(endpoints), request.rows, subject, address)


def _assigned(request: Request, here: Task) -> Plan:
    own = here.own_assignment
    if own is None:
        remedy = 'Read the whole cache with partitions="all"'
        if here.rules is not None and here.rules.parameter_servers:
            remedy = (
                "Pass the dataset to ClusterCoordinator.create_per_worker_dataset, or read the whole cache with "
                'partitions="all"'
            )
        raise errors.InvalidRequestError(
            f"{here.task} has no partitions of cache {request.cache!r} to read. A dataset of the job's cache reads the "
            f"partitions of the task that iterates over it, and all "
            f"{sum(len(worker.partitions) for worker in here.assignment)} are assigned to workers, of which there "
            f"{'is' if len(here.assignment) == 1 else 'are'} {len(here.assignment)}. {remedy}"
        )
    subject = f"cache {request.cache!r}, {len(own.partitions)} partitions of {here.task}"
    if not own.partitions:
        return Plan((), 0, subject)
    # Partitions may have moved since they were assigned, in a job that allows it; their present owners send them.
    description = describe(request, here.node_address, request.command(own.partitions, uncounted=True))
    found = [number for endpoint in description.endpoints for number in _partitions(endpoint)]
    missing = sorted(set(own.partitions) - set(found))
    if (missing and not request.accept_data_loss) or len(found) > len(own.partitions):
        raise errors.PartitionNotLocalError(
            f"{subject}: partitions {missing or sorted(found)} have no single owner, according to the node at "
            f"{here.node_address}. Each partition is read from the one node that owns it. Read again when the cluster "
            f"is balanced; a job that follows moves restarts without your help"
        )
    return Plan(_ordered(description.endpoints), own.rows, subject, here.node_address)


def _ordered(endpoints: Sequence[flight.Endpoint]) -> tuple[flight.Endpoint, ...]:
    """The endpoints in the order of their partitions, so that the order of rows does not depend on that of nodes."""
    return tuple(sorted(endpoints, key=_partitions))


def _partitions(endpoint: flight.Endpoint) -> tuple[int, ...]:
    return tuple(endpoint.command.partitions)


def count_rows(cache: str, *, address: str | None = None) -> int:
    """Number of rows of a whole cache, counted by the cluster now.

    Raises:
        TensorFlowIgniteError: Any error of a node; if no node answers.
    """
    request = Request(cache, (), False, ALL, address, 0, accept_data_loss=accepts_data_loss(None))
    return describe(request, resolve.node(address), request.command()).rows
