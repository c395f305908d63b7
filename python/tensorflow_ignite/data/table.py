"""Rows of a cache as a table in this process's memory."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, Literal

import pyarrow as pa

from tensorflow_ignite import credentials as who
from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.data import arguments, queries, reading
from tensorflow_ignite.data.reader import Stream
from tensorflow_ignite.data.transport import flight, place, ways
from tensorflow_ignite.data.transport.following import FollowingStream
from tensorflow_ignite.data.transport.streams import AUTO, FLIGHT, TCP, open_stream, over_network
from tensorflow_ignite.data.transport.streams import Stream as StreamOfNode
from tensorflow_ignite.data.wanted import wanted_of

# Nodes that send at a time.
STREAMS = 8


def read_table(
    cache: str,
    *,
    columns: Sequence[str] | None = None,
    key: bool = False,
    schema: Any = None,
    where: str | None = None,
    sql: str | None = None,
    parameters: Sequence[reading.Parameter] = (),
    partitions: Sequence[int] | Literal["all"] | None = None,
    on_mismatch: Literal["error", "skip"] = "error",
    transport: Literal["auto", "tcp", "flight", "thin"] = "auto",
    address: str | None = None,
    credentials: Any = None,
) -> pa.Table:
    """Reads a cache into a table; nulls stay nulls, and each value keeps the Arrow type of its column.

    All owners of partitions send at once, up to 8 of them. The whole cache is read, in a job too, unless ``partitions``
    says otherwise. The table has memory of its own, as much as its rows need; a cache that has columns but no rows
    gives an empty table. docs/types.md tells which Arrow type a value of Ignite has.

    Args:
        cache: Name of the cache.
        columns: Columns to read, in this order; None: all.
        key: Read the cache's key too, as column ``_key``, before the others.
        schema: Types that some of the columns shall have: a dict from column to a pyarrow.DataType, a type of numpy, a
            tf.DType or a tf.TensorSpec of one row's value; or a pyarrow.Schema.
        where: Only rows that meet this SQL condition.
        sql: The rows of this SELECT over the cache's table, in place of the cache's own.
        parameters: For the question marks of either, in their order.
        partitions: Numbers of partitions to read; None or ``"all"``: all.
        on_mismatch: What becomes of rows that do not fit the schema: an ``"error"``, or ``"skip"``.
        transport: ``"thin"`` reads a cluster without our service by its thin client port, row by row, and slowly.
            Otherwise rows come over the network, from nodes on this host too, as a table keeps its memory: over TCP
            connections of their own, or where these cannot be had Arrow Flight. ``"tcp"`` and ``"flight"`` insist on
            one of them.
        address: ``host:port[,host:port]`` of any nodes; None: as for :func:`tensorflow_ignite.dataset`.
        credentials: Who asks, and whom it trusts; as for :func:`tensorflow_ignite.dataset`.

    Returns:
        The table. Rows are in the order of the nodes that sent them, and of the partitions of each.

    Raises:
        InvalidRequestError: If an argument breaks a rule.
        UnsupportedTypeError: If a column cannot become what ``schema`` says.
        TensorFlowIgniteError: CacheNotFoundError and others, as a node says; or if no node answers.
    """
    transport = arguments.one_of("transport", transport, (AUTO, TCP, FLIGHT, ways.THIN))
    given = who.given(credentials)
    condition, select, values = queries.checked(where, sql, parameters, columns, key)
    chosen = arguments.partitions(partitions, reading.ALL) or reading.ALL
    asked = reading.Request(
        cache=cache,
        columns=arguments.columns(columns),
        key=key,
        partitions=chosen,
        address=address,
        batch_bytes=0,
        schema=base64.b64encode(wanted_of(schema).message).decode(),
        nulls="mask",
        on_mismatch=arguments.one_of("on_mismatch", on_mismatch, ("error", "skip")),
        where=condition,
        sql=select,
        parameters=values,
    )
    command = asked.command(() if isinstance(chosen, str) else chosen, uncounted=True)
    what = f"cache {cache!r}"
    if transport == ways.THIN:
        # Only here: who reads without it needs no pyignite.
        from tensorflow_ignite.data.transport import thin

        reader = given or who.from_dataset_environment()
        told = thin.describe(place.thin_addresses(address), command, credentials=reader)
        streams: list[Stream] = [thin.BatchStream(endpoint, what, credentials=reader) for endpoint in told.endpoints]
    else:
        node = place.node(address)
        reader = who.find(given, (node,), data=True)
        told = flight.describe(node, command, reader)
        streams = [
            FollowingStream(
                endpoint,
                what,
                lambda part: _stream(part, what, transport, reader),
                lambda moved: flight.describe(node, moved, reader).endpoints,
            )
            for endpoint in told.endpoints
        ]
    return pa.Table.from_batches(_batches(streams), told.schema)


def _stream(endpoint: flight.Endpoint, what: str, transport: str, reader: Credentials | None) -> StreamOfNode:
    if transport == AUTO:
        return over_network(endpoint, what, _always, reader)
    return open_stream(endpoint, what, transport, keep=_always, credentials=reader)


def _always(_: int) -> bool:
    return True


def _batches(streams: Sequence[Stream]) -> Iterator[pa.RecordBatch]:
    """The batches of all streams, stream after stream; when one breaks, all are ended."""
    if not streams:
        return
    with ThreadPoolExecutor(min(STREAMS, len(streams)), "tensorflow-ignite-table") as pool:
        reads: list[Future[list[pa.RecordBatch]]] = [pool.submit(list[pa.RecordBatch], stream) for stream in streams]
        try:
            done, _ = wait(reads, return_when=FIRST_EXCEPTION)
            failures = [read.exception() for read in reads if read in done and read.exception()]
            if failures and failures[0]:
                raise failures[0]
        except BaseException:
            # Also when interrupted: the pool waits for its threads, and those end when their streams are cancelled.
            for read, stream in zip(reads, streams, strict=True):
                read.cancel()
                stream.cancel()
            raise
    for read in reads:
        yield from read.result()
