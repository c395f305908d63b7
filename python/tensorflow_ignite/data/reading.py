"""What a dataset reads, and from whom.

What is asked is fixed where the graph is built; who sends it is found out where the graph runs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from tensorflow_ignite import errors
from tensorflow_ignite.data import arguments, shares, shuffling
from tensorflow_ignite.data.layout import Column, columns_of, layout_of
from tensorflow_ignite.data.shares import NOT_COUNTED, Share
from tensorflow_ignite.data.transport import flight, place, ways
from tensorflow_ignite.data.wanted import WantedSchema
from tensorflow_ignite.train.context import MULTI_WORKER_MIRRORED, Context, context
from tensorflow_ignite.v1 import data_pb2

# The partitions of the job's cache that the frozen assignment gives to the task that runs the graph.
ASSIGNED = "assigned"
ALL = "all"
# The partitions of the node that is asked.
LOCAL = "local"

# Name of the column that holds the key, when it is asked for.
KEY_COLUMN = "_key"
# Name of the column that tells rows of the cache from those that fill an epoch, when those are asked for.
WEIGHT_COLUMN = "_weight"

# Rows of fixed length below this many bytes travel in batches of about so many; others as the node chooses, 8 MiB.
SMALL_ROW_BYTES = 64 << 10
SMALL_ROWS_BATCH_BYTES = 4 << 20
LARGE_ROWS_BATCH_BYTES = 8 << 20
# Of batches that are as large as the script's own.
LARGEST_BATCH_BYTES = 64 << 20

_NULLS = {"error": data_pb2.NULLS_ERROR, "default": data_pb2.NULLS_DEFAULT, "mask": data_pb2.NULLS_KEEP}
_MISMATCHES = {"error": data_pb2.MISMATCH_ERROR, "skip": data_pb2.MISMATCH_SKIP}

Parameter = bool | int | float | str | None


@dataclass(frozen=True)
class Request:
    """What a dataset reads; travels inside the graph as JSON, and is the same on every worker.

    Attributes:
        cache: Name of the cache.
        columns: Names of the columns; empty: all, or those of ``sql``.
        key: Whether the key comes first, as column ``_key``.
        partitions: ``"assigned"``, ``"all"``, ``"local"`` or numbers of partitions.
        address: ``host:port[,host:port]`` given by the script, for processes outside a job.
        batch_bytes: Size of a batch in bytes, about; 0: the node's choice.
        schema: Types of the columns as the cluster resolved them, or as the reader wants them, an Arrow schema as an
            IPC message in base 64; empty: those of the cache.
        nulls: What becomes of nulls: ``"error"``, ``"default"`` or ``"mask"``.
        on_mismatch: What becomes of rows that do not fit the schema: ``"error"`` or ``"skip"``.
        where: Condition in SQL; empty: every row.
        sql: SELECT whose rows are read; empty: those of the cache.
        parameters: For the question marks of either.
        window: Rows that are shuffled together; 0: as memory suggests; None: nothing is shuffled.
        seed: Of the order of rows; None: one is drawn for each process.
        snapshot: Whether batches are kept for later epochs.
        memory: Bytes that all snapshots of a process may have; -1: as the machine has.
        transport: How batches travel.
        credentials: The name under which this process keeps a script's credentials; never these themselves.
        weighted: Whether a weight comes with each row.
        share: Rows of an epoch as told when the dataset was made.
        layout: How the graph expects each column.
        zeros: Schema of rows that fill an epoch, an Arrow schema as an IPC message in base 64; empty: none are needed.
        name: Tells this dataset from others, of the same rows too.
        batch_rows: Rows of a batch, at most; 0: as many as it has bytes for.
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
    window: int | None = None
    seed: int | None = None
    snapshot: bool = False
    memory: int = -1
    transport: str = "auto"
    credentials: str = ""
    weighted: bool = False
    share: Share = NOT_COUNTED
    layout: tuple[Column, ...] = ()
    zeros: str = ""
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    batch_rows: int = 0

    @property
    def rows(self) -> int:
        """Rows of an epoch; -1: not known before they are read."""
        return self.share.rows

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
        fields["share"] = Share(**fields["share"])
        return cls(**fields)

    def command(self, partitions: Sequence[int] = (), uncounted: bool = False) -> data_pb2.ReadCommand:
        """The command that reads these partitions, all of them when none is named."""
        return data_pb2.ReadCommand(
            cache=self.cache,
            columns=self.columns,
            key=self.key,
            partitions=partitions,
            batch_bytes=self.batch_bytes,
            batch_rows=self.batch_rows,
            schema=base64.b64decode(self.schema),
            nulls=_NULLS[self.nulls],
            on_mismatch=_MISMATCHES[self.on_mismatch],
            where=self.where,
            sql=self.sql,
            parameters=[_parameter(value) for value in self.parameters],
            uncounted=uncounted,
        )

    def in_batches_of(self, rows: int) -> Request:
        """The same rows, in batches out of which batches of so many rows can be cut without a copy.

        Rows of a length that is not known, and more of them than memory should hold at once, come as they would.
        """
        row = _row_bytes(self.layout)
        if row == 0:
            return self
        size = self.batch_bytes or LARGE_ROWS_BATCH_BYTES
        # TensorFlow's own copy into new memory, page by page, costs more than anything else on the way.
        if rows * row > LARGEST_BATCH_BYTES:
            return self
        whole = rows * max(1, size // (rows * row))
        # Validity and the like are extra: the number of rows ends a batch, not its size.
        return replace(self, batch_rows=whole, batch_bytes=max(size, whole * row + whole * row // 8))

    def arrow_of_zeros(self) -> bytes:
        """The schema of rows that fill an epoch, as an IPC message."""
        return base64.b64decode(self.zeros)

    @property
    def filtered(self) -> bool:
        """Whether it reads other rows than the partitions have."""
        return bool(self.where or self.sql) or self.on_mismatch == "skip"


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
        rows: Rows that were counted; -1: nobody counted.
        what: What is read, for messages.
        asked: ``host:port`` of the node that told who sends.
    """

    endpoints: tuple[flight.Endpoint, ...]
    rows: int
    what: str
    asked: str = ""

    def shuffled(self, seed: int, epoch: int) -> tuple[flight.Endpoint, ...]:
        """The endpoints, with their partitions in the order of an epoch."""
        found = []
        for place_, endpoint in enumerate(self.endpoints):
            command = data_pb2.ReadCommand.FromString(endpoint.ticket)
            command.partitions[:] = shuffling.order(tuple(command.partitions), seed, epoch, place_)
            found.append(replace(endpoint, ticket=command.SerializeToString()))
        return tuple(found)

    def digest(self, asked: Request) -> bytes:
        """Identifies the rows of an epoch and their order before shuffling: equal in a process that can go on."""
        tickets = [endpoint.ticket for endpoint in self.endpoints]
        told = [tickets, asked.share, asked.window, asked.seed, asked.transport]
        return hashlib.sha256(repr(told).encode()).digest()


def request(
    cache: str,
    *,
    columns: Sequence[str] | None,
    key: bool,
    partitions: Sequence[int] | str | None,
    address: str | None,
    batch_bytes: int,
    window: int | None = None,
    seed: int | None = None,
    nulls: str = "error",
    on_mismatch: str = "error",
    uneven: shares.Uneven = "repeat",
    snapshot: bool | None = False,
    memory: int = -1,
    transport: str = "auto",
    where: str = "",
    sql: str = "",
    parameters: Sequence[Parameter] = (),
    schema: WantedSchema | None = None,
    credentials: str = "",
) -> Request:
    """Completes what a script asks for by the job, the environment and the cluster's answer.

    Returns:
        The request with its share of rows and its layout.

    Raises:
        InvalidRequestError: If an argument breaks a rule.
        TensorFlowIgniteError: As the node says; or if no node answers.
    """
    names = arguments.columns(columns)
    batch_bytes = arguments.not_negative("batch_bytes", batch_bytes)
    here = context()
    wanted = arguments.partitions(partitions, ALL)
    if here.in_job and transport == ways.THIN and wanted is None and cache == here.cache:
        raise errors.InvalidRequestError(
            f'transport="thin" reads no partitions that a job has assigned, those of cache {cache!r}. It is for '
            f'clusters without the service, and a job runs on one with it. Leave it out, or use partitions="all"'
        )
    if here.in_job:
        if wanted is None:
            wanted = ASSIGNED if cache == here.cache else ALL
    else:
        said = place.overrides()
        cache = said.cache or cache
        wanted = said.partitions or (LOCAL if said.local else wanted or ALL)
    asked = Request(
        cache=cache,
        columns=names,
        key=key,
        partitions=wanted,
        address=address,
        batch_bytes=batch_bytes,
        schema=base64.b64encode(schema.message if schema else b"").decode(),
        nulls=nulls,
        on_mismatch=on_mismatch,
        where=where,
        sql=sql,
        parameters=tuple(parameters),
        window=window,
        seed=seed,
        snapshot=here.in_job if snapshot is None else snapshot,
        memory=memory,
        transport=transport,
        credentials=credentials,
        weighted=uneven == "pad",
    )
    told = _describe(asked, _address(asked), asked.command(_named(asked, here)))
    layout = columns_of(told.schema, nulls, schema.tensors if schema else None)
    if asked.weighted and any(column.name == WEIGHT_COLUMN for column in layout):
        raise errors.InvalidRequestError(
            f'cache {cache!r} has a column {WEIGHT_COLUMN!r}, which uneven="pad" adds. Choose others with columns=[...]'
        )
    return replace(
        _as_told(asked, told),
        batch_bytes=batch_bytes or _batch_bytes(layout),
        share=_share(asked, here, told.rows, uneven, snapshot),
        layout=layout,
        zeros=base64.b64encode(told.schema.serialize().to_pybytes()).decode() if asked.weighted else "",
    )


def _as_told(asked: Request, told: flight.Description) -> Request:
    """The columns and types that the cluster found out: no epoch needs to look at rows for them again."""
    if asked.transport == ways.THIN or not told.endpoints:
        return asked
    ticket = data_pb2.ReadCommand.FromString(told.endpoints[0].ticket)
    return replace(asked, columns=tuple(ticket.columns), schema=base64.b64encode(ticket.schema).decode())


def _batch_bytes(layout: Sequence[Column]) -> int:
    """Small rows are read fastest in batches that stay in a processor's cache; large ones in fewer messages."""
    return SMALL_ROWS_BATCH_BYTES if 0 < _row_bytes(layout) < SMALL_ROW_BYTES else 0


def _row_bytes(layout: Sequence[Column]) -> int:
    """Bytes of one row's tensors; 0 when they differ."""
    row = 0
    for column in layout:
        if column.children or column.ragged or column.dtype == "string":
            return 0
        row += np.dtype(column.dtype).itemsize * math.prod(column.shape)
    return row


def _share(asked: Request, here: Context, counted: int, uneven: shares.Uneven, snapshot: bool | None) -> Share:
    if here.in_job:
        if here.kind != MULTI_WORKER_MIRRORED or here.own_assignment is None:
            # Each worker goes at its own pace, and none needs to know the rows of another.
            return NOT_COUNTED
        if asked.partitions == ASSIGNED:
            counts = _count_all(asked, here) if asked.filtered else [worker.rows for worker in here.assignment]
            return shares.agreed(uneven, counts, here.assignment.index(here.own_assignment), asked.cache)
        if asked.partitions == ALL and asked.cache == here.cache and not asked.filtered:
            # Every worker counts at a moment of its own; the assignment tells them all the same.
            counted = sum(worker.rows for worker in here.assignment)
        return Share(counted, counted, shares.WRAP if counted > 0 else shares.OPEN)
    if asked.partitions == LOCAL or snapshot is False:
        return NOT_COUNTED
    return Share(counted, counted, shares.STRICT if counted >= 0 else shares.OPEN)


def _count_all(asked: Request, here: Context) -> list[int]:
    """Rows of each worker that the request leaves of its partitions, the same on all workers.

    Each worker counts for all. They would disagree over a cache that is being written, and then wait for each other for
    ever; so a count is only taken when it comes twice in a row.
    """

    def count(partitions: tuple[int, ...]) -> int:
        return _describe(asked, here.node_address, asked.command(partitions)).rows if partitions else 0

    first, second = ([count(worker.partitions) for worker in here.assignment] for _ in range(2))
    if first != second or min(first) < 0:
        raise errors.RowMismatchError(
            f"cache {asked.cache!r} is written while its rows are counted: rows a worker are {first}, then {second}. "
            f'With where=, sql= or on_mismatch="skip" all workers of a mirrored job count, and must come to the same '
            f"numbers. Start the job when the cache is at rest, or filter in Dataset.map with steps of your own choice"
        )
    return first


def _named(asked: Request, here: Context) -> tuple[int, ...]:
    if isinstance(asked.partitions, tuple):
        return asked.partitions
    own = here.own_assignment
    return own.partitions if asked.partitions == ASSIGNED and own else ()


def _address(asked: Request) -> str:
    if asked.transport == ways.THIN:
        return asked.address or ""
    return place.node(asked.address)


def _describe(asked: Request, address: str, command: data_pb2.ReadCommand) -> flight.Description:
    return ways.describe(asked.transport, address, command, who=asked.credentials, local=asked.partitions == LOCAL)


def plan(asked: Request) -> Plan:
    """Finds out who sends the rows of one epoch to this very process.

    Raises:
        TensorFlowIgniteError: If this process has no partitions assigned; as the node says; or if no node answers.
    """
    here = context()
    if asked.partitions == ASSIGNED:
        return _assigned(asked, here)
    address = _address(asked)
    # Rows were counted when the dataset was made.
    told = _describe(asked, address, asked.command(_named(asked, here), uncounted=True))
    endpoints = told.endpoints
    if asked.partitions == LOCAL and asked.transport != ways.THIN:
        endpoints = tuple(endpoint for endpoint in endpoints if place.same(endpoint.address, address))
        if not endpoints and told.endpoints:
            raise errors.PartitionNotLocalError(
                f"cache {asked.cache!r} has no rows on the node at {address}; nodes that have: "
                f"{', '.join(endpoint.address for endpoint in told.endpoints)}. IGNITE_DATASET_LOCAL=true reads only "
                f"the node that is asked. Ask one of these, or unset it"
            )
    what = f"cache {asked.cache!r}" + (
        f", {len(asked.partitions)} partitions" if isinstance(asked.partitions, tuple) else ""
    )
    return Plan(_ordered(endpoints), asked.rows, what, address)


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
    # Partitions may have moved since they were assigned, in a job that does not mind; whoever has them now sends them.
    told = _describe(asked, here.node_address, asked.command(own.partitions, uncounted=True))
    found = [number for endpoint in told.endpoints for number in _partitions(endpoint)]
    missing = sorted(set(own.partitions) - set(found))
    if missing or len(found) > len(own.partitions):
        raise errors.PartitionNotLocalError(
            f"{what}: partitions {missing or sorted(found)} have no single owner now, says the node at "
            f"{here.node_address}. Each partition is read from the one node that owns it. Ask again when the cluster "
            f"is balanced; a job that follows moves is started again by itself"
        )
    return Plan(_ordered(told.endpoints), own.rows, what, here.node_address)


def _ordered(endpoints: Sequence[flight.Endpoint]) -> tuple[flight.Endpoint, ...]:
    """By their partitions: the order of rows must not depend on the order of nodes in an answer."""
    return tuple(sorted(endpoints, key=_partitions))


def _partitions(endpoint: flight.Endpoint) -> tuple[int, ...]:
    return tuple(data_pb2.ReadCommand.FromString(endpoint.ticket).partitions)


def count_rows(cache: str, *, address: str | None = None) -> int:
    """Rows of a whole cache, asked of the cluster now.

    Raises:
        TensorFlowIgniteError: As the node says; or if no node answers.
    """
    asked = Request(cache, (), False, ALL, address, 0)
    return _describe(asked, place.node(address), asked.command()).rows
