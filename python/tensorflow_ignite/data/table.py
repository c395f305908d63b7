"""Rows of a cache as a table in this process's memory."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, Literal

import pyarrow as pa

from tensorflow_ignite import task
from tensorflow_ignite.data import arguments, queries
from tensorflow_ignite.data.epochs.prefetch import Stream
from tensorflow_ignite.data.options import ReadOptions, group
from tensorflow_ignite.data.queries import Parameter
from tensorflow_ignite.data.reader import THIN, reader_of
from tensorflow_ignite.data.request import ALL, Request, accepts_data_loss
from tensorflow_ignite.data.schema_argument import parse_schema
from tensorflow_ignite.data.transport.choice import AUTO, FLIGHT, NETWORK, TCP
from tensorflow_ignite.net import credentials as net_credentials

# Number of nodes that send at a time.
STREAMS = 8


def read_table(
    cache: str,
    *,
    columns: Sequence[str] | None = None,
    key: bool = False,
    schema: Any = None,
    where: str | None = None,
    sql: str | None = None,
    parameters: Sequence[Parameter] = (),
    partitions: Sequence[int] | Literal["all"] | None = None,
    on_mismatch: Literal["error", "skip"] = "error",
    accept_data_loss: bool | None = None,
    options: ReadOptions | None = None,
) -> pa.Table:
    """Reads a cache into a table; nulls stay nulls, and each column has the Arrow type of docs/types.md.

    Up to 8 nodes send at a time. The whole cache is read, also in a job, unless ``partitions`` limits it. The rows are
    copied into the memory of the table. A cache that has columns but no rows becomes an empty table.

    Args:
        cache: Name of the cache.
        columns: Columns to read, in this order; None: all.
        key: Read the cache's key too, as column ``_key``, before the others.
        schema: Requested types of columns: a dict from column to a pyarrow.DataType, a type of numpy, a tf.DType or a
            tf.TensorSpec of one row's value; or a pyarrow.Schema.
        where: SQL condition; only rows that meet it are read.
        sql: SELECT over the cache's table, whose rows are read instead of those of the cache; it may join tables that
            lie with it.
        parameters: Values for the question marks of ``where`` or ``sql``, in their order.
        partitions: Numbers of partitions to read; None or ``"all"``: all partitions.
        on_mismatch: A row that does not fit the schema is an ``"error"``, or is left out (``"skip"``).
        accept_data_loss: As for :func:`tensorflow_ignite.dataset`.
        options: How rows are read, as for :func:`tensorflow_ignite.dataset`. Nodes on this host send over TCP or Flight
            too: ``transport="shared"`` is refused.

    Returns:
        The table. Rows are in the order of the nodes that sent them, and of the partitions of each node.

    Raises:
        InvalidRequestError: If an argument breaks a rule.
        DataLossError: If partitions of the cache have lost all their copies.
        UnsupportedTypeError: If a column cannot become the requested type.
        TensorFlowIgniteError: CacheNotFoundError and other errors of a node; if no node answers.
    """
    options = group("options", options, ReadOptions) or ReadOptions()
    transport = arguments.one_of("transport", options.transport, (AUTO, TCP, FLIGHT, THIN))
    read_rate = arguments.read_rate(options.read_rate)
    given = net_credentials.from_argument(options.credentials)
    condition, select, values = queries.checked(where, sql, parameters, columns, key)
    chosen = arguments.partitions(partitions, ALL) or ALL
    request = Request(
        cache=cache,
        columns=arguments.columns(columns),
        key=key,
        partitions=chosen,
        address=options.address,
        batch_bytes=arguments.not_negative("batch_bytes", options.batch_bytes),
        schema=base64.b64encode(parse_schema(schema).message).decode(),
        nulls="mask",
        on_mismatch=arguments.one_of("on_mismatch", on_mismatch, ("error", "skip")),
        where=condition,
        sql=select,
        parameters=values,
        transport=NETWORK if transport == AUTO else transport,
        accept_data_loss=accepts_data_loss(arguments.flag("accept_data_loss", accept_data_loss)),
        read_rate=read_rate or task.current().read_rate,
        read_group="" if read_rate else task.current().job_id,
    )
    reader = reader_of(request.transport, given)
    node = reader.address(options.address)
    command = request.command(() if isinstance(chosen, str) else chosen, uncounted=True)
    description = reader.describe(node, command)
    streams = [
        stream
        for endpoint in description.endpoints
        # A single stream for each node keeps the order of its partitions, and each batch keeps its memory.
        for stream in reader.moved_streams(
            endpoint,
            f"cache {cache!r}",
            node,
            keep=lambda _: True,
            keeps_back=True,
            others=[other.address for other in description.endpoints if other.address != node],
            most=1,
        )
    ]
    return pa.Table.from_batches(_batches(streams), description.schema)


def _batches(streams: Sequence[Stream]) -> Iterator[pa.RecordBatch]:
    """The batches of all streams, stream after stream; if a stream breaks, all are cancelled."""
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
            # Also after an interrupt: the pool waits for its threads, and a thread ends when its stream is cancelled.
            for read, stream in zip(reads, streams, strict=True):
                read.cancel()
                stream.cancel()
            raise
    for read in reads:
        yield from read.result()
