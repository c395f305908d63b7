"""What a dataset reads, and from whom.

What is asked is fixed where the graph is built; who sends it is found out where the graph runs.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from tensorflow_ignite import errors
from tensorflow_ignite.data import flight, place
from tensorflow_ignite.data.layout import Column, columns_of, layout_of
from tensorflow_ignite.train.context import Context, context
from tensorflow_ignite.v1 import data_pb2

# The partitions of the job's cache that the frozen assignment gives to the task that runs the graph.
ASSIGNED = "assigned"
ALL = "all"
# The partitions of the node that is asked.
LOCAL = "local"

# Name of the column that holds the key, when it is asked for.
KEY_COLUMN = "_key"

_NULLS = {"error": data_pb2.NULLS_ERROR, "default": data_pb2.NULLS_DEFAULT, "mask": data_pb2.NULLS_KEEP}
_MISMATCHES = {"error": data_pb2.MISMATCH_ERROR, "skip": data_pb2.MISMATCH_SKIP}

Parameter = bool | int | float | str | None


@dataclass(frozen=True)
class Request:
    """What a dataset reads; travels inside the graph as JSON, and is the same on every worker.

    Attributes:
        cache: Name of the cache.
        columns: Names of the columns; empty: all.
        key: Whether the key comes first, as column ``_key``.
        partitions: ``"assigned"``, ``"all"``, ``"local"`` or numbers of partitions.
        address: ``host:port[,host:port]`` given by the script, for processes outside a job.
        batch_bytes: Size of a batch in bytes, about; 0: the node's choice.
        schema: Types that the reader wants, an Arrow schema as an IPC message in base 64; empty: those of the cache.
        nulls: What becomes of nulls: ``"error"``, ``"default"`` or ``"mask"``.
        on_mismatch: What becomes of rows that do not fit the schema: ``"error"`` or ``"skip"``.
        where: Condition in SQL; empty: every row.
        sql: SELECT whose rows are read; empty: those of the cache.
        parameters: For the question marks of either.
        rows: Rows of an epoch as told when the dataset was made; -1: not known there.
        layout: How the graph expects each column.
    """

    cache: str
    columns: tuple[str, ...]
    key: bool
    partitions: str | tuple[int, ...]
    address: str | None
    batch_bytes: int
    schema: str = ""
    nulls: str = "error"
    on_mismatch: str = "error"
    where: str = ""
    sql: str = ""
    parameters: tuple[Parameter, ...] = ()
    rows: int = -1
    layout: tuple[Column, ...] = ()

    def to_json(self) -> str:
        """As text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Request:
        """From text."""
        fields = json.loads(text)
        for name in ("columns", "partitions", "parameters"):
            fields[name] = tuple(fields[name]) if isinstance(fields[name], list) else fields[name]
        fields["layout"] = layout_of(fields["layout"])
        return cls(**fields)

    def command(self, partitions: Sequence[int] = ()) -> data_pb2.ReadCommand:
        """The command that reads these partitions, all of them when none is named."""
        return data_pb2.ReadCommand(
            cache=self.cache,
            columns=self.columns,
            key=self.key,
            partitions=partitions,
            batch_bytes=self.batch_bytes,
            schema=base64.b64decode(self.schema),
            nulls=_NULLS[self.nulls],
            on_mismatch=_MISMATCHES[self.on_mismatch],
            where=self.where,
            sql=self.sql,
            parameters=[_parameter(value) for value in self.parameters],
        )


def _parameter(value: Parameter) -> data_pb2.Parameter:
    if value is None:
        return data_pb2.Parameter()
    if isinstance(value, bool):
        return data_pb2.Parameter(bool_value=value)
    if isinstance(value, int):
        return data_pb2.Parameter(int_value=value)
    if isinstance(value, float):
        return data_pb2.Parameter(double_value=value)
    return data_pb2.Parameter(string_value=value)


@dataclass(frozen=True)
class Plan:
    """Who sends the rows of one epoch to this process.

    Attributes:
        endpoints: One for each node that sends.
        rows: Rows that must arrive; -1: not known.
        what: What is read, for messages.
    """

    endpoints: tuple[flight.Endpoint, ...]
    rows: int
    what: str


def request(
    cache: str,
    *,
    columns: Sequence[str] | None,
    key: bool,
    partitions: Sequence[int] | str | None,
    address: str | None,
    batch_bytes: int,
) -> Request:
    """Completes what a script asks for by the job, the environment and the cluster's answer.

    Returns:
        The request with its rows and layout.

    Raises:
        InvalidRequestError: If an argument breaks a rule.
        TensorFlowIgniteError: As the node says; or if no node answers.
    """
    if columns is not None and (isinstance(columns, str) or not columns):
        raise errors.InvalidRequestError(f'columns={columns!r} is not a list of names, such as ["pixels", "label"]')
    if columns is not None and len(set(columns)) < len(columns):
        raise errors.InvalidRequestError(f"columns={list(columns)!r} names a column twice")
    if batch_bytes < 0:
        raise errors.InvalidRequestError(
            f"batch_bytes={batch_bytes} is negative; it is a size in bytes, 0 for the node's choice"
        )
    here = context()
    wanted = _wanted(partitions)
    if here.in_job:
        if wanted is None:
            wanted = ASSIGNED if cache == here.cache else ALL
    else:
        said = place.overrides()
        cache = said.cache or cache
        wanted = said.partitions or (LOCAL if said.local else wanted or ALL)
    asked = Request(cache, tuple(columns or ()), key, wanted, address, batch_bytes)
    told = flight.describe(_address(asked, here), asked.command(_named(asked, here)))
    rows = told.rows if wanted != LOCAL else -1
    if wanted == ASSIGNED:
        own = here.own_assignment
        # The client process builds graphs for workers whose rows differ in number.
        rows = own.rows if own else -1
    return replace(asked, rows=rows, layout=columns_of(told.schema))


def _wanted(partitions: Sequence[int] | str | None) -> str | tuple[int, ...] | None:
    if partitions is None or partitions == ALL:
        return partitions
    if isinstance(partitions, str) or not partitions or any(number < 0 for number in partitions):
        raise errors.InvalidRequestError(
            f'partitions={partitions!r} is neither "all" nor a list of partition numbers, such as [0, 1]'
        )
    if len(set(partitions)) < len(partitions):
        raise errors.InvalidRequestError(f"partitions={list(partitions)!r} names a partition twice")
    return tuple(int(number) for number in partitions)


def _named(asked: Request, here: Context) -> tuple[int, ...]:
    if isinstance(asked.partitions, tuple):
        return asked.partitions
    own = here.own_assignment
    return own.partitions if asked.partitions == ASSIGNED and own else ()


def _address(asked: Request, here: Context) -> str:
    """A task asks the node that it runs beside, whatever a script says for its runs outside a job."""
    return here.node_address if here.in_job else place.answering(place.addresses(asked.address))


def plan(asked: Request) -> Plan:
    """Finds out who sends the rows of one epoch to this very process.

    Raises:
        TensorFlowIgniteError: If this process has no partitions assigned; as the node says; or if no node answers.
    """
    here = context()
    if asked.partitions == ASSIGNED:
        return _assigned(asked, here)
    address = _address(asked, here)
    told = flight.describe(address, asked.command(_named(asked, here)))
    endpoints, rows = told.endpoints, told.rows
    if asked.partitions == LOCAL:
        endpoints = tuple(endpoint for endpoint in endpoints if place.same(endpoint.address, address))
        rows = -1
        if not endpoints and told.endpoints:
            raise errors.PartitionNotLocalError(
                f"cache {asked.cache!r} has no rows on the node at {address}; nodes that have: "
                f"{', '.join(endpoint.address for endpoint in told.endpoints)}. IGNITE_DATASET_LOCAL=true reads only "
                f"the node that is asked. Ask one of these, or unset it"
            )
    what = f"cache {asked.cache!r}" + (
        f", {len(asked.partitions)} partitions" if isinstance(asked.partitions, tuple) else ""
    )
    return Plan(endpoints, asked.rows if asked.rows >= 0 else rows, what)


def _assigned(asked: Request, here: Context) -> Plan:
    own = here.own_assignment
    if own is None:
        raise errors.InvalidRequestError(
            f"{here.task} has no partitions of cache {asked.cache!r} to read. Only workers have; a dataset of the "
            f"job's cache reads those of the worker that runs it. Give it to ClusterCoordinator."
            f'create_per_worker_dataset, or read the whole cache with partitions="all"'
        )
    what = f"cache {asked.cache!r}, {len(own.partitions)} partitions of {here.task}"
    if not own.partitions:
        return Plan((), 0, what)
    ticket = asked.command(own.partitions).SerializeToString()
    return Plan((flight.Endpoint(here.node_address, ticket),), own.rows, what)


def count_rows(cache: str, *, address: str | None = None) -> int:
    """Rows of a whole cache, asked of the cluster now.

    Raises:
        TensorFlowIgniteError: As the node says; or if no node answers.
    """
    here = context()
    asked = Request(cache, (), False, ALL, address, 0)
    return flight.describe(_address(asked, here), asked.command()).rows
