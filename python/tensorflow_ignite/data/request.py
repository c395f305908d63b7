"""The request of a dataset: fixed where the graph is built, and the same on every worker; `plan` resolves it."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, get_args

import numpy as np

from tensorflow_ignite import errors, task
from tensorflow_ignite.base import rates
from tensorflow_ignite.data import agreement, arguments, cache_position, changes_rules, queries
from tensorflow_ignite.data.cache_position import CachePosition
from tensorflow_ignite.data.environment import overrides
from tensorflow_ignite.data.epochs import rows_per_worker
from tensorflow_ignite.data.epochs.changes import NO_POSITION
from tensorflow_ignite.data.epochs.rows_per_worker import NOT_COUNTED, EpochLength
from tensorflow_ignite.data.epochs.tensor_schema import Column, columns_of, layout_of
from tensorflow_ignite.data.options import Changes, HoldOut, ReadOptions, RowArguments, Transport, group
from tensorflow_ignite.data.queries import Parameter
from tensorflow_ignite.data.reader import Reader, reader_of
from tensorflow_ignite.data.schema_argument import parse_schema
from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.data.transport.service import KEPT
from tensorflow_ignite.net import credentials as net_credentials
from tensorflow_ignite.task import Task
from tensorflow_ignite.v1 import data_pb2

# The partitions of the job's cache that are assigned to the task that runs the graph.
ASSIGNED = "assigned"
ALL = "all"
# The partitions of the node at the address.
LOCAL = "local"

# Name of the column that is 1 for rows of the cache, and 0 for rows that only fill an epoch.
WEIGHT_COLUMN = "_weight"

# Rows of fixed length below SMALL_ROW_BYTES travel in smaller batches than the node's default of 8 MiB.
SMALL_ROW_BYTES = 64 << 10
SMALL_ROWS_BATCH_BYTES = 4 << 20
LARGE_ROWS_BATCH_BYTES = 8 << 20
# Maximum size of batches that have a multiple of the rows of the script's batches.
LARGEST_BATCH_BYTES = 64 << 20

_NULLS = {"error": data_pb2.NULLS_ERROR, "default": data_pb2.NULLS_DEFAULT, "mask": data_pb2.NULLS_KEEP}
_MISMATCHES = {"error": data_pb2.MISMATCH_ERROR, "skip": data_pb2.MISMATCH_SKIP}
# In this order, because bool is a subclass of int.
_PARAMETER_FIELDS = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value"}


@dataclass(frozen=True)
class Request:
    """The request of a dataset; travels inside the graph as JSON, and is the same on every worker.

    Attributes:
        cache: Name of the cache.
        columns: Names of the columns; empty: all, or those of ``sql``.
        key: Whether the key comes first, as column ``_key``.
        partitions: ``"assigned"``, ``"all"``, ``"local"`` or numbers of partitions.
        address: ``host:port[,host:port]`` of the script, for processes outside a job.
        batch_bytes: Size of a batch in bytes, about; 0: the node chooses.
        schema: Types of the columns that the cluster resolved or the reader requests, an Arrow schema as an IPC message
            in base 64; empty: those of the cache.
        nulls: How nulls are treated: ``"error"``, ``"default"`` or ``"mask"``.
        on_mismatch: How rows that do not fit the schema are treated: ``"error"`` or ``"skip"``.
        where: Condition in SQL; empty: every row.
        sql: SELECT whose rows are read; empty: those of the cache.
        parameters: Values for the question marks of ``where`` or ``sql``.
        window: Number of rows that are shuffled together; 0: determined by their size; None: nothing is shuffled.
        seed: Seed of the order of rows; None: each process draws a random one.
        snapshot: What later epochs have: ``"refresh"``: cached batches, and changes since; ``"frozen"``: cached
            batches; ``""``: rows are read again.
        memory: Bytes that all snapshots of a process may have; -1: a part of the available memory.
        transport: Name of the transport.
        credentials: The name under which this process stores the script's credentials; never a secret.
        weighted: Whether each row has a weight.
        length: Length of an epoch, as counted when the dataset was made.
        layout: The layout of each column in the graph.
        zeros: Schema of rows that fill an epoch, an Arrow schema as an IPC message in base 64; empty: not needed.
        name: Identifies the dataset, also among datasets of the same rows.
        batch_rows: Maximum number of rows of a batch; 0: limited by the bytes only.
        accept_data_loss: Whether the remaining rows are read if partitions have lost all their copies.
        uneven: How the workers of a mirrored job get equal numbers of rows.
        agreement: The name under which workers agree on the rows of each epoch when it begins; empty: they do not.
        read_rate: The most that is read from each node in a second, such as ``"200MB"``; empty: no limit of its own.
        read_group: Identifies the readers that share the limit on each node: a job, or a dataset.
        since: The positions after which rows are read, as of :func:`cache_position.encode`; empty: all rows are read.
        follow: Whether reading goes on with what is put later.
        deletions: Whether rows that were removed come too.
        replay: The part of the rows that have not changed since the positions, about.
        replay_begin: The hash of keys at which their sample begins.
        keys: The range of hashes of the keys that are read: begin and end; empty: of all keys.
        identified: Whether rows are identified, so that an epoch can continue in other processes.
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
    snapshot: str = ""
    memory: int = -1
    transport: str = "auto"
    credentials: str = ""
    weighted: bool = False
    length: EpochLength = NOT_COUNTED
    layout: tuple[Column, ...] = ()
    zeros: str = ""
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    batch_rows: int = 0
    accept_data_loss: bool = False
    uneven: rows_per_worker.Uneven = "repeat"
    agreement: str = ""
    read_rate: str = ""
    read_group: str = ""
    since: str = ""
    follow: bool = False
    deletions: bool = False
    replay: float = 0.0
    replay_begin: int = field(default_factory=lambda: secrets.randbits(32))
    keys: tuple[int, ...] = ()
    identified: bool = False

    @property
    def rows(self) -> int:
        """Number of rows of an epoch; -1: not known before they are read."""
        return self.length.rows

    def to_json(self) -> str:
        """The request as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Request:
        """The request of :meth:`to_json`."""
        fields = json.loads(text)
        for name in ("columns", "partitions", "parameters", "keys"):
            fields[name] = tuple(fields[name]) if isinstance(fields[name], list) else fields[name]
        fields["layout"] = layout_of(fields["layout"])
        fields["length"] = EpochLength(**fields["length"])
        return cls(**fields)

    def command(self, partitions: Sequence[int] = (), uncounted: bool = False) -> data_pb2.ReadCommand:
        """The command that reads these partitions; without partitions it reads all."""
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
            accept_data_loss=self.accept_data_loss,
            read_rate=self._limit(),
            deletions=self.deletions,
            keys=data_pb2.KeyRange(begin=self.keys[0], end=self.keys[1]) if self.keys else None,
            replay=data_pb2.Replay(share=self.replay, begin=self.replay_begin) if self.replay else None,
        )

    def _limit(self) -> data_pb2.ReadLimit | None:
        rate = rates.parse(self.read_rate)
        if rate is None:
            return None
        return data_pb2.ReadLimit(
            bytes_per_second=rate.bytes_per_second,
            rows_per_second=rate.rows_per_second,
            group=self.read_group or self.name,
        )

    def in_batches_of(self, rows: int) -> Request:
        """The same request, with batches that can be cut into batches of ``rows`` rows without a copy.

        Returns the request itself if the size of a row is not known, or if such a batch is too large.
        """
        row = _row_bytes(self.layout)
        if row == 0:
            return self
        size = self.batch_bytes or LARGE_ROWS_BATCH_BYTES
        if rows * row > LARGEST_BATCH_BYTES:
            return self
        whole = rows * max(1, size // (rows * row))
        # Validity bits need further bytes; the number of rows, not the size, must end a batch.
        return replace(self, batch_rows=whole, batch_bytes=max(size, whole * row + whole * row // 8))

    @property
    def filtered(self) -> bool:
        """Whether it may leave out rows of the partitions, or reads other rows."""
        return bool(self.where or self.sql or self.since or self.keys) or self.on_mismatch == "skip"

    @property
    def selection(self) -> str:
        """A digest of what decides which rows of the cache it has, apart from what the job assigns to a worker."""
        values = self.partitions, self.where, self.sql, self.parameters, self.keys, self.since, self.on_mismatch
        return hashlib.sha256(repr(values).encode()).hexdigest()[:16]

    @property
    def is_identifiable(self) -> bool:
        """Whether its rows have identities; those of a SELECT have none."""
        return not (self.sql or self.since or self.follow) and self.reader.identifies_rows

    @property
    def reader(self) -> Reader:
        """The reader of its transport, with its credentials."""
        return reader_of(self.transport, net_credentials.stored(self.credentials))

    @property
    def counts_by_reading(self) -> bool:
        """Whether the number of its rows is not known before they are read."""
        return bool(self.since or self.keys)


def _parameter(value: Parameter) -> data_pb2.Parameter:
    name = next((name for kind, name in _PARAMETER_FIELDS.items() if isinstance(value, kind)), None)
    fields: dict[str, Any] = {name: value} if name else {}
    return data_pb2.Parameter(**fields)


def make_request(given: RowArguments) -> Request:
    """Makes the request of a dataset from its arguments, the job, the environment and the cluster's answer.

    Returns:
        The request with its number of rows and its layout.

    Raises:
        InvalidRequestError: If an argument breaks a rule.
        TensorFlowIgniteError: Any error of a node; if no node answers.
    """
    options = group("options", given.options, ReadOptions) or ReadOptions()
    changes = group("changes", given.changes, Changes) or Changes()
    hold_out = group("hold_out", given.hold_out, HoldOut)
    where, sql, parameters = queries.checked(given.where, given.sql, given.parameters, given.columns, given.key)
    exact = bool(arguments.flag("exact", given.exact))
    nulls = arguments.one_of("nulls", given.nulls, tuple(_NULLS))
    window = arguments.window(given.shuffle)
    snapshot = arguments.snapshot(given.snapshot)
    schema = parse_schema(given.schema)
    transport = arguments.one_of("transport", options.transport, get_args(Transport))
    credentials = net_credentials.from_argument(options.credentials)
    reader = reader_of(transport, credentials)
    read_rate = arguments.read_rate(options.read_rate)
    since, follow = changes_rules.parse(changes.since), bool(arguments.flag("follow", changes.follow))
    deletions, replay = bool(arguments.flag("deletions", changes.deletions)), arguments.replay(changes.replay)
    keys = arguments.key_range(hold_out.validation_split, hold_out.subset) if hold_out else ()
    changes_rules.check(
        cache=given.cache,
        since=since,
        follow=follow,
        deletions=deletions,
        query=bool(where or sql),
        refusal=reader.no_changes,
        exact=exact,
        shuffle=window is not None,
        snapshot=bool(snapshot),
        nulls=nulls,
    )
    arguments.check_selection(
        given.cache,
        replay=replay,
        split=bool(keys),
        since=since is not None and not follow,
        query=bool(where or sql),
        refusal=reader.no_choice,
        exact=exact,
    )
    here = task.current()
    cache, partitions = _cache_and_partitions(given, here)
    reader.check(cache, is_assigned=partitions == ASSIGNED, read_rate=read_rate)
    if snapshot is None:
        snapshot = KEPT if here.in_job else ""
    request = Request(
        cache=cache,
        columns=arguments.columns(given.columns),
        key=given.key,
        partitions=partitions,
        address=options.address,
        batch_bytes=arguments.not_negative("batch_bytes", options.batch_bytes),
        schema=base64.b64encode(schema.message).decode(),
        nulls=nulls,
        on_mismatch=arguments.one_of("on_mismatch", given.on_mismatch, tuple(_MISMATCHES)),
        where=where,
        sql=sql,
        parameters=parameters,
        window=window,
        seed=arguments.seed(given.seed),
        snapshot="" if follow else reader.snapshot(snapshot),
        memory=arguments.memory(options.memory),
        transport=transport,
        # In this process, under a random name for a graph.
        credentials=net_credentials.store(credentials),
        weighted=given.uneven == "pad",
        uneven=arguments.one_of("uneven", given.uneven, rows_per_worker.UNEVEN),
        accept_data_loss=accepts_data_loss(arguments.flag("accept_data_loss", given.accept_data_loss)),
        read_rate=read_rate or here.read_rate,
        read_group="" if read_rate else here.job_id,
        since=cache_position.encode(since.partitions) if since else "",
        follow=follow,
        deletions=deletions,
        replay=replay,
        keys=keys,
    )
    # Identities decide the order of shuffled rows and of those of a condition, so that it is the same for
    # every reader. They cost time where rows are small, and outside a job most readers need no position.
    needs_identities = here.in_job or window is not None or bool(where)
    request = replace(request, identified=request.is_identifiable and needs_identities)
    if since is not None and not follow and here.is_waited_for and request.partitions != ASSIGNED:
        raise errors.InvalidRequestError(
            f"the workers of a mirrored job cannot each read since= of cache {cache!r} as a whole: they must take "
            f"equal steps, and may find different numbers of changed rows. They agree on those of the job's cache "
            f"{here.cache!r}. Read that one without partitions=, or read this one in a job of another strategy"
        )
    description = _described(request, here)
    if here.in_job and given.partitions is None and cache != here.cache == _resolved_cache(request, description):
        # The script names the SQL table of the job's cache.
        request = replace(request, cache=here.cache, partitions=_by_default(here.cache, here))
        description = _described(request, here)
    layout = columns_of(description.schema, nulls, schema.tensors)
    if request.weighted and any(column.name == WEIGHT_COLUMN for column in layout):
        raise errors.InvalidRequestError(
            f'cache {cache!r} has a column {WEIGHT_COLUMN!r}, which uneven="pad" adds. Choose other columns with '
            "columns=[...]"
        )
    request = _with_resolved_schema(request, description)
    changes_rules.check_cache(since, request.cache)
    if follow:
        request = replace(request, since=_begin_of(request, since, here, description))
    # Workers must take equal steps, each with rows of its own.
    agrees = request.partitions == ASSIGNED and here.is_waited_for and not exact and not follow
    return replace(
        request,
        batch_bytes=request.batch_bytes or _batch_bytes(layout),
        length=NOT_COUNTED if follow else _length(request, here, description.rows, exact),
        agreement=agreement.name(_identity(request)) if agrees else "",
        layout=layout,
        zeros=base64.b64encode(description.schema.serialize().to_pybytes()).decode() if request.weighted else "",
    )


def _cache_and_partitions(given: RowArguments, here: Task) -> tuple[str, str | tuple[int, ...]]:
    """The cache and its partitions: by the arguments, the job, or the environment of the earlier IgniteDataset."""
    requested = arguments.partitions(given.partitions, ALL)
    if not here.in_job:
        environment = overrides()
        return environment.cache or given.cache, environment.partitions or (
            LOCAL if environment.local else requested or ALL
        )
    return given.cache, _by_default(given.cache, here) if requested is None else requested


def _by_default(cache: str, here: Task) -> str:
    """The partitions that a dataset reads without partitions=: in a job, those that it assigned to the task.

    An evaluator has none. It reads all of them, and holds rows out by other arguments.
    """
    return ASSIGNED if here.in_job and cache == here.cache and not here.is_evaluator else ALL


def _described(request: Request, here: Task) -> flight.Description:
    # How many rows have changed is not known before they are read.
    uncounted = request.counts_by_reading or request.follow
    return describe(
        request, request.reader.address(request.address), request.command(named_partitions(request, here), uncounted)
    )


def _begin_of(request: Request, since: CachePosition | None, here: Task, description: flight.Description) -> str:
    """The positions of all partitions of the cache, those that this process does not read among them."""
    if named_partitions(request, here):
        description = describe(request, request.reader.address(request.address), request.command(uncounted=True))
    number = 1 + max(
        (number for endpoint in description.endpoints for number in endpoint.command.partitions), default=-1
    )
    known = since.partitions if since else ()
    return cache_position.encode([*known, *[NO_POSITION] * (number - len(known))])


def _identity(request: Request) -> str:
    """Identifies what the workers of a job read together."""
    values = (
        request.columns,
        request.key,
        request.where,
        request.sql,
        request.parameters,
        request.uneven,
        request.since,
        request.keys,
    )
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


def accepts_data_loss(argument: bool | None) -> bool:
    """Whether a reader accepts lost partitions: by its argument, or else if its job does."""
    return task.current().allow_data_loss if argument is None else argument


def _with_resolved_schema(request: Request, description: flight.Description) -> Request:
    """The request with the columns and types that the cluster resolved, so that no epoch resolves them again."""
    if not request.reader.resolves_columns or not description.endpoints:
        return request
    command = description.endpoints[0].command
    return replace(
        request,
        cache=_resolved_cache(request, description),
        columns=tuple(command.columns),
        schema=base64.b64encode(command.schema).decode(),
    )


def _resolved_cache(request: Request, description: flight.Description) -> str:
    """The name of the cache, where the request may have that of its SQL table."""
    return description.endpoints[0].command.cache if description.endpoints else request.cache


def _batch_bytes(layout: Sequence[Column]) -> int:
    """Small rows are read fastest in batches that fit a processor's cache; large rows in fewer messages."""
    return SMALL_ROWS_BATCH_BYTES if 0 < _row_bytes(layout) < SMALL_ROW_BYTES else 0


def _row_bytes(layout: Sequence[Column]) -> int:
    """Bytes of the tensors of one row; 0 if rows differ in size."""
    row = 0
    for column in layout:
        if column.children or column.ragged or column.dtype == "string":
            return 0
        row += np.dtype(column.dtype).itemsize * math.prod(column.shape)
    return row


def _length(request: Request, here: Task, counted: int, exact: bool) -> EpochLength:
    if here.in_job:
        if not here.is_waited_for:
            # The workers read independently, and none needs the number of rows of another.
            return NOT_COUNTED
        if request.partitions == ASSIGNED:
            if not exact:
                if not request.filtered:
                    # Now rather than in the first epoch, where the error would be one of TensorFlow.
                    counts = [worker.rows for worker in here.assignment]
                    rows_per_worker.check_counts(request.uneven, counts, request.cache)
                return NOT_COUNTED
            counts = _count_all(request, here) if request.filtered else [worker.rows for worker in here.assignment]
            return rows_per_worker.agreed_length(
                request.uneven, counts, here.assignment.index(here.own_assignment), request.cache
            )
        if request.partitions == ALL and request.cache == here.cache and not request.filtered:
            # Workers that count at different times may get different numbers; the assignment has one number.
            counted = sum(worker.rows for worker in here.assignment)
        return EpochLength(counted, counted, rows_per_worker.WRAP if counted > 0 else rows_per_worker.OPEN)
    if not exact:
        return NOT_COUNTED
    if request.partitions == LOCAL or request.on_mismatch == "skip":
        raise errors.InvalidRequestError(
            "exact=True needs the number of rows before they are read. It is not known of the partitions of one node "
            '(IGNITE_DATASET_LOCAL=true), nor of the rows that fit (on_mismatch="skip"). Leave exact= out'
        )
    return EpochLength(counted, counted, rows_per_worker.STRICT if counted >= 0 else rows_per_worker.OPEN)


def _count_all(request: Request, here: Task) -> list[int]:
    """Number of rows of each worker that the request selects, equal on all workers.

    Each worker counts the rows of all workers. With different counts the workers would wait for each other without end,
    so the rows are counted twice, and the counts must be equal.
    """
    first, second = ([counted(request, here, worker.partitions) for worker in here.assignment] for _ in range(2))
    if first != second or min(first) < 0:
        raise errors.RowMismatchError(
            f"cache {request.cache!r} is written while its rows are counted: rows a worker are {first}, then {second}. "
            f'With where=, sql= or on_mismatch="skip" all workers of a mirrored job count, and must get equal numbers. '
            f"Start the job when the cache is not written, or filter with Dataset.filter and give fit steps_per_epoch"
        )
    return first


def counted(request: Request, here: Task, partitions: tuple[int, ...]) -> int:
    """Number of rows in partitions that the request selects, counted by their owners now."""
    return describe(request, here.node_address, request.command(partitions)).rows if partitions else 0


def named_partitions(request: Request, here: Task) -> tuple[int, ...]:
    """The partitions that a request names, or that the job assigned to this task; empty: all."""
    if isinstance(request.partitions, tuple):
        return request.partitions
    own = here.own_assignment
    return own.partitions if request.partitions == ASSIGNED and own else ()


def describe(request: Request, address: str, command: data_pb2.ReadCommand) -> flight.Description:
    """Asks a node for the columns, the rows and the endpoints of a command."""
    return request.reader.describe(address, command, is_local=request.partitions == LOCAL)
