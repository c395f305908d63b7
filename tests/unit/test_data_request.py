"""Which partitions a dataset reads, by the task that makes it and the task that reads it."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
import pytest

from tensorflow_ignite import errors, task
from tensorflow_ignite.data.cache_position import CachePosition
from tensorflow_ignite.data.epochs.changes import NO_POSITION
from tensorflow_ignite.data.options import Changes, HoldOut, ReadOptions, RowArguments
from tensorflow_ignite.data.plan import Plan, make_plan
from tensorflow_ignite.data.request import ALL, ASSIGNED, make_request
from tensorflow_ignite.data.transport.flight import Description, Endpoint
from tensorflow_ignite.data.transport.service import ServiceReader
from tensorflow_ignite.data.transport.thin.reader import ThinReader
from tensorflow_ignite.task import Task, WorkerAssignment
from tensorflow_ignite.v1 import data_pb2

CACHE, TABLE = "digits", "DIGITS"
WORKERS = (WorkerAssignment(0, "a", (0, 2), 5), WorkerAssignment(1, "b", (1, 3), 7))
SCHEMA = pa.schema([pa.field("x", pa.int64(), nullable=False)])


def in_job(role: str, kind: str = "multi-worker-mirrored", **more: Any) -> Task:
    return Task(
        in_job=True,
        job_id="7f3a",
        role=role,
        kind=kind,
        cache=CACHE,
        node_address="beside:1",
        assignment=WORKERS,
        num_workers=2,
        **more,
    )


@pytest.fixture
def be(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes this process a task; a cluster with four partitions of one node describes its cache."""

    def describe(_: Any, __: str, command: data_pb2.ReadCommand, **___: Any) -> Description:
        found = data_pb2.ReadCommand()
        found.CopyFrom(command)
        found.cache = CACHE if command.cache == TABLE else command.cache
        found.partitions[:] = command.partitions or range(4)
        return Description(SCHEMA, 12, (Endpoint("n:1", found),))

    for reader in (ServiceReader, ThinReader):
        monkeypatch.setattr(reader, "describe", describe)

    def become(here: Task) -> None:
        monkeypatch.setattr(task, "current", lambda: here)

    return become


def plan(cache: str = CACHE, **more: Any) -> tuple[str, Plan]:
    request = make_request(RowArguments(cache, **{"options": ReadOptions(address="n:1"), **more}))
    return str(request.partitions), make_plan(request)


def partitions(found: Plan) -> list[int]:
    return [number for endpoint in found.endpoints for number in endpoint.command.partitions]


@pytest.mark.parametrize(
    ("kind", "name", "options"),
    [
        *itertools.product(("multi-worker-mirrored", "parameter-server", "one", "custom"), (CACHE, TABLE), [{}]),
        ("multi-worker-mirrored", CACHE, {"where": "x > 1"}),
        ("multi-worker-mirrored", CACHE, {"hold_out": HoldOut(0.25, "validation")}),
        ("multi-worker-mirrored", CACHE, {"options": ReadOptions(address="n:1", transport="thin")}),
        ("multi-worker-mirrored", CACHE, {"changes": Changes(since=CachePosition(CACHE, (NO_POSITION,) * 4))}),
    ],
)
def test_an_evaluator_reads_all_partitions_of_the_cache_of_its_job(
    be: Any, kind: str, name: str, options: dict[str, Any]
) -> None:
    be(in_job("evaluator", kind))
    requested, found = plan(name, **options)
    assert (requested, partitions(found)) == (ALL, [0, 1, 2, 3])


def test_a_worker_reads_the_partitions_that_are_assigned_to_it(be: Any) -> None:
    be(in_job("worker", index=1))
    requested, found = plan()
    assert (requested, partitions(found)) == (ASSIGNED, [1, 3])


@pytest.mark.parametrize(
    ("here", "remedy"),
    [
        (in_job("actor", "custom", named_index=0), r'Read the whole cache with partitions="all"$'),
        (
            in_job("client", "parameter-server"),
            r"Pass the dataset to ClusterCoordinator\.create_per_worker_dataset, or read the whole cache with "
            r'partitions="all"$',
        ),
    ],
)
def test_another_task_without_partitions_is_refused_with_what_helps_in_its_kind_of_job(
    be: Any, here: Task, remedy: str
) -> None:
    be(here)
    with pytest.raises(
        errors.InvalidRequestError,
        match=rf"{here.role} 0 of job 7f3a has no partitions of cache 'digits' to read\. A dataset .* all 4 are "
        rf"assigned to workers, of which there are 2\. {remedy}",
    ):
        plan()
    assert partitions(plan(partitions=ALL)[1]) == [0, 1, 2, 3]
