"""Describes and reads caches, as :mod:`tensorflow_ignite.data.transport.flight`, without our service."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport.flight import Description, Endpoint
from tensorflow_ignite.data.transport.thin import schema
from tensorflow_ignite.data.transport.thin.connection import ThinConnection
from tensorflow_ignite.data.transport.thin.page_rows import PageRows, plain
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.v1 import data_pb2

# Python decodes one page at a time, with any number of streams; while some streams wait, others have pages.
STREAMS = 4
# The defaults of the data endpoint.
BATCH_BYTES = 8 * 1024 * 1024
BATCH_ROWS = 65_536
# Size of one message in bytes; the next one is requested while one is decoded.
PAGE_BYTES = 1024 * 1024
# Maximum number of rows of one message, because rows may be larger than the sampled ones.
PAGE_ROWS = 4096
MOST_PARTITIONS = 65_000

# Schema metadata of an endpoint: number of rows of one message.
_PAGE_KEY = b"tensorflow-ignite.page"

_NULLS = {data_pb2.NULLS_DEFAULT: "default", data_pb2.NULLS_KEEP: "keep"}


def describe(
    addresses: Sequence[str],
    command: data_pb2.ReadCommand,
    *,
    credentials: Credentials | None = None,
    local: bool = False,
    page_rows: int = 0,
) -> Description:
    """Asks nodes for the columns and the number of rows of a cache, and assigns its partitions to nodes.

    Args:
        addresses: ``host:port`` of thin client ports; nodes that answer are read from, each for the partitions that it
            owns if the cluster sends the owners.
        command: The rows to read; where and sql are errors.
        credentials: Credentials of the caller.
        local: Only rows of the first node that answers.
        page_rows: Number of rows of one message; 0: about 1 MiB.

    Returns:
        The schema, the rows, and endpoints for :class:`BatchStream`. The number of rows is -1 when only some partitions
        are read, which the thin protocol does not count.

    Raises:
        TensorFlowIgniteError: CacheNotFoundError, SchemaUnknownError and others, as for Flight; SqlInvalidError for
            where and sql; ConnectionFailedError if no node answers; InvalidRequestError if all reject the credentials.
    """
    _refuse_sql(command)
    failure = f"cache {command.cache!r} was not described"
    with contextlib.ExitStack() as closing:
        nodes = _connect(addresses[:1] if local and len(addresses) == 1 else addresses, credentials, failure, closing)
        if local:
            del nodes[1:]
        first = nodes[0]
        configuration = first.configuration(command.cache)
        owners = first.owners(command.cache)
        partitions = _partitions(first, command, owners)
        if local and not schema.replicated(configuration):
            partitions = _local(first, command.cache, owners, partitions)
        whole = len(partitions) == _count(owners, partitions) and not command.partitions and not local
        rows = first.size(command.cache) if (whole or not command.uncounted) else -1
        sampled = partitions if rows else []
        type_cache = schema.TypeCache(first.address, credentials, failure)
        found = schema.find(first, configuration, command, sampled, type_cache)
        page = {_PAGE_KEY: str(page_rows or _page_rows(found.row_bytes))}
        message = found.schema.with_metadata(page).serialize().to_pybytes()
        endpoints = tuple(
            Endpoint(node.address, command).modified(schema=message, partitions=part)
            for node, part in _shared(nodes, partitions, owners)
        )
    counted = whole and not command.uncounted
    return Description(pa.schema([plain(field) for field in found.schema]), rows if counted else -1, endpoints)


def _refuse_sql(command: data_pb2.ReadCommand) -> None:
    if command.where or command.sql:
        raise errors.SqlInvalidError(
            f"{'where' if command.where else 'sql'}= cannot be read with transport='thin'. pyignite cannot run SQL "
            f"over single partitions, so the rows could not be divided among streams. Run the service "
            f"tensorflow-ignite on the cluster's nodes and leave transport out, or filter the dataset: "
            f"dataset(...).filter(...)"
        )


def _connect(
    addresses: Sequence[str], credentials: Credentials | None, failure: str, closing: contextlib.ExitStack
) -> list[ThinConnection]:
    nodes: list[ThinConnection] = []
    refusals: list[errors.TensorFlowIgniteError] = []
    for address in addresses:
        try:
            nodes.append(closing.enter_context(ThinConnection(address, credentials, failure)))
        except (errors.ConnectionFailedError, errors.RequestTimeoutError) as refusal:
            refusals.append(refusal)
    if not nodes:
        raise refusals[0]
    return nodes


def _partitions(node: ThinConnection, command: data_pb2.ReadCommand, owners: dict[str, set[int]]) -> list[int]:
    known = sorted(set().union(*owners.values()))
    # After the loss of a node some partitions have no owner for a moment.
    whole = bool(known) and known == list(range(len(known)))
    if not command.partitions:
        return known if whole else list(range(_number_of_partitions(node, command.cache)))
    for number in command.partitions:
        if number not in known and not (number < MOST_PARTITIONS and node.has_partition(command.cache, number)):
            raise errors.InvalidRequestError(
                f"cache {command.cache!r} has no partition {number}. Partitions are numbered from 0. Name existing "
                f"partitions, or remove partitions="
            )
    return list(command.partitions)


def _number_of_partitions(node: ThinConnection, cache: str) -> int:
    """The number of partitions, by bisection, because the protocol has it for some caches only."""
    has, lacks = 0, MOST_PARTITIONS
    while lacks - has > 1:
        middle = (has + lacks) // 2
        has, lacks = (middle, lacks) if node.has_partition(cache, middle) else (has, middle)
    return has + 1


def _count(owners: dict[str, set[int]], partitions: list[int]) -> int:
    return len(set().union(*owners.values())) or len(partitions)


def _local(node: ThinConnection, cache: str, owners: dict[str, set[int]], partitions: list[int]) -> list[int]:
    own = owners.get(node.node)
    if own is None:
        known = "owns none of its partitions" if owners else "does not report which of its partitions it owns"
        raise errors.PartitionNotLocalError(
            f"cache {cache!r}: the node at {node.address} {known}. IGNITE_DATASET_LOCAL=true reads only the partitions "
            "of the node at the address. Give the address of another node, or unset the variable"
        )
    return [number for number in partitions if number in own]


def _page_rows(row_bytes: int) -> int:
    return max(1, min(PAGE_ROWS, PAGE_BYTES // row_bytes if row_bytes else PAGE_ROWS))


def _shared(
    nodes: list[ThinConnection], partitions: list[int], owners: dict[str, set[int]]
) -> Iterator[tuple[ThinConnection, list[int]]]:
    """Nodes and their partitions: each partition is read from its owner if that is known, else from any node."""
    parts: dict[int, list[int]] = {index: [] for index in range(len(nodes))}
    owner = {number: index for index, node in enumerate(nodes) for number in owners.get(node.node, ())}
    for number in partitions:
        parts[owner.get(number, number % len(nodes))].append(number)
    streams = max(1, STREAMS // sum(map(bool, parts.values())) if partitions else 1)
    for index, part in parts.items():
        size = -(-len(part) // streams) or 1
        for begin in range(0, len(part), size):
            yield nodes[index], part[begin : begin + size]


class BatchStream:
    """The record batches behind one endpoint of :func:`describe`, in order; each partition is scanned in turn.

    One thread iterates; any thread may cancel.
    """

    def __init__(self, endpoint: Endpoint, subject: str, *, credentials: Credentials | None = None) -> None:
        """Opens nothing before iteration.

        Args:
            endpoint: The node and the command.
            subject: Names the rows in error texts, such as "cache 'x'".
            credentials: Credentials of the caller.
        """
        self._endpoint = endpoint
        self._subject = subject
        self._credentials = credentials
        # Re-entrant: a finalizer, which the interpreter runs anywhere, may call cancel().
        self._lock = threading.RLock()
        self._cancelled = False
        self._connection: ThinConnection | None = None
        self._result: data_pb2.ReadResult | None = None

    @property
    def result(self) -> data_pb2.ReadResult | None:
        """Number of rows that were sent and left out, after the last row; None before."""
        return self._result

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Connects and yields batches; ends early, without an error, when cancelled.

        Raises:
            TensorFlowIgniteError: If the node refuses the call, the connection breaks, or a row does not fit.
        """
        self._result = None
        failure = f"{self._subject} was not read to its end"
        try:
            connection = ThinConnection(self._endpoint.address, self._credentials, failure)
            with self._lock:
                if self._cancelled:
                    return
                self._connection = connection
            with connection:
                yield from self._batches(connection, self._endpoint.command, failure)
        except errors.TensorFlowIgniteError:
            if not self._cancelled:
                raise
        finally:
            with self._lock:
                self._connection = None

    def _batches(
        self, connection: ThinConnection, command: data_pb2.ReadCommand, failure: str
    ) -> Iterator[pa.RecordBatch]:
        nulls = _NULLS.get(command.nulls, "error")
        skip = command.on_mismatch == data_pb2.MISMATCH_SKIP
        type_cache = schema.TypeCache(self._endpoint.address, self._credentials, failure)
        columns = pa.ipc.read_schema(pa.BufferReader(command.schema))
        waiting = PageRows(columns, nulls, skip, type_cache, self._subject)
        most_rows, most_bytes = command.batch_rows or BATCH_ROWS, command.batch_bytes or BATCH_BYTES
        size = sent = 0
        page_rows = min(most_rows, int(columns.metadata[_PAGE_KEY]))
        for page in connection.pages(command.cache, command.partitions, page_rows):
            if self._cancelled:
                return
            waiting.add(page)
            size += len(page.data)
            if size >= most_bytes or len(waiting) + page_rows > most_rows:
                sent, size = sent + len(waiting), 0
                yield waiting.batch()
        if len(waiting):
            sent += len(waiting)
            yield waiting.batch()
        self._result = data_pb2.ReadResult(rows=sent, skipped=waiting.skipped)

    def cancel(self) -> None:
        """Ends the stream; returns at once."""
        with self._lock:
            self._cancelled = True
            if self._connection is not None:
                self._connection.cut()
