"""Does what :mod:`tensorflow_ignite.data.transport.flight` does, for clusters without our service."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.data.transport.flight import Description, Endpoint
from tensorflow_ignite.data.transport.thin import schema
from tensorflow_ignite.data.transport.thin.connection import ThinConnection
from tensorflow_ignite.data.transport.thin.rows import Rows, plain
from tensorflow_ignite.v1 import data_pb2

# Python decodes one page at a time, whatever the number of threads; the others keep it busy while some wait for a node.
STREAMS = 4
# As the data endpoint's own.
BATCH_BYTES = 8 * 1024 * 1024
BATCH_ROWS = 65_536
# Of one answer; the next is made, and waits, while one is decoded.
PAGE_BYTES = 1024 * 1024
# Rows may be larger than those that were looked at.
PAGE_ROWS = 4096
MOST_PARTITIONS = 65_000

# Of a ticket's schema: rows of one answer.
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
    """Asks nodes for the columns and the number of rows of a cache, and shares its partitions out.

    Args:
        addresses: ``host:port`` of thin ports; those that answer are read from, each for the partitions it owns where
            the cluster tells which these are.
        command: What is read; where and sql are refused.
        credentials: Who asks.
        local: Only rows of the first node that answers.
        page_rows: Rows of one answer; 0: about 1 MiB of them.

    Returns:
        The schema, the rows, and endpoints for :class:`BatchStream`. The number of rows is -1 when only some partitions
        are read, which the thin protocol does not count.

    Raises:
        TensorFlowIgniteError: CacheNotFoundError, SchemaUnknownError and others, as for Flight; SqlInvalidError for
            where and sql; ConnectionFailedError if no node answers; InvalidRequestError if none lets the reader in.
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
        looked = partitions if rows else []
        book = schema.TypeBook(first.address, credentials, failure)
        found = schema.find(first, configuration, command, looked, book)
        ticket = data_pb2.ReadCommand()
        ticket.CopyFrom(command)
        page = {_PAGE_KEY: str(page_rows or _page_rows(found.row_bytes))}
        ticket.schema = found.schema.with_metadata(page).serialize().to_pybytes()
        endpoints = tuple(
            Endpoint(node.address, _part(ticket, part)) for node, part in _shared(nodes, partitions, owners)
        )
    counted = whole and not command.uncounted
    return Description(pa.schema([plain(field) for field in found.schema]), rows if counted else -1, endpoints)


def _refuse_sql(command: data_pb2.ReadCommand) -> None:
    if command.where or command.sql:
        raise errors.SqlInvalidError(
            f"{'where' if command.where else 'sql'}= cannot be read with transport='thin': pyignite asks SQL for no "
            f"single partition, so that its rows could neither be split nor read in parts. Run the service "
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
    told = sorted(set().union(*owners.values()))
    # Right after a node is lost, some partitions have no owner in the map.
    whole = bool(told) and told == list(range(len(told)))
    if not command.partitions:
        return told if whole else list(range(_number_of_partitions(node, command.cache)))
    for number in command.partitions:
        if number not in told and not (number < MOST_PARTITIONS and node.has_partition(command.cache, number)):
            raise errors.InvalidRequestError(
                f"cache {command.cache!r} has no partition {number}. Partitions are numbered from 0. Name others, or "
                f"leave partitions out"
            )
    return list(command.partitions)


def _number_of_partitions(node: ThinConnection, cache: str) -> int:
    """Found by halving: the protocol tells it for some caches only."""
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
        told = "owns none of its partitions" if owners else "does not tell which of its partitions it owns"
        raise errors.PartitionNotLocalError(
            f"cache {cache!r}: the node at {node.address} {told}. IGNITE_DATASET_LOCAL=true reads only what the node "
            f"that is asked owns. Ask another node, or unset it"
        )
    return [number for number in partitions if number in own]


def _page_rows(row_bytes: int) -> int:
    return max(1, min(PAGE_ROWS, PAGE_BYTES // row_bytes if row_bytes else PAGE_ROWS))


def _shared(
    nodes: list[ThinConnection], partitions: list[int], owners: dict[str, set[int]]
) -> Iterator[tuple[ThinConnection, list[int]]]:
    """Who reads what: each partition from its owner where that is known and connected, else from the nodes in turn."""
    parts: dict[int, list[int]] = {index: [] for index in range(len(nodes))}
    owner = {number: index for index, node in enumerate(nodes) for number in owners.get(node.node, ())}
    for number in partitions:
        parts[owner.get(number, number % len(nodes))].append(number)
    streams = max(1, STREAMS // sum(map(bool, parts.values())) if partitions else 1)
    for index, part in parts.items():
        size = -(-len(part) // streams) or 1
        for begin in range(0, len(part), size):
            yield nodes[index], part[begin : begin + size]


def _part(ticket: data_pb2.ReadCommand, partitions: list[int]) -> bytes:
    part = data_pb2.ReadCommand()
    part.CopyFrom(ticket)
    del part.partitions[:]
    part.partitions.extend(partitions)
    return part.SerializeToString()


class BatchStream:
    """The record batches behind one endpoint of :func:`describe`, in order; each partition is scanned in turn.

    One thread iterates; any thread may cancel.
    """

    def __init__(self, endpoint: Endpoint, what: str, *, credentials: Credentials | None = None) -> None:
        """Remembers what to read; nothing is opened before iteration.

        Args:
            endpoint: Who sends, and what.
            what: What is read, for messages.
            credentials: Who asks.
        """
        self._endpoint = endpoint
        self._what = what
        self._credentials = credentials
        # Re-entrant: cancel may run in a finalizer, wherever the interpreter happens to be.
        self._lock = threading.RLock()
        self._cancelled = False
        self._connection: ThinConnection | None = None
        self._result: data_pb2.ReadResult | None = None

    @property
    def result(self) -> data_pb2.ReadResult | None:
        """Rows that were sent, and left out, when all have been; None before."""
        return self._result

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Connects and yields batches; ends early, without an error, when cancelled.

        Raises:
            TensorFlowIgniteError: If the node refuses, the connection breaks, or a row does not fit.
        """
        self._result = None
        command = data_pb2.ReadCommand.FromString(self._endpoint.ticket)
        failure = f"{self._what} was not read to its end"
        try:
            connection = ThinConnection(self._endpoint.address, self._credentials, failure)
            with self._lock:
                if self._cancelled:
                    return
                self._connection = connection
            with connection:
                yield from self._batches(connection, command, failure)
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
        book = schema.TypeBook(self._endpoint.address, self._credentials, failure)
        columns = pa.ipc.read_schema(pa.BufferReader(command.schema))
        waiting = Rows(columns, nulls, skip, book, self._what)
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
