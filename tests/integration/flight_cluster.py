"""A cluster of Arrow Flight servers that keep data.proto's contract over tables in this process's memory."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import flight

from tensorflow_ignite import task
from tensorflow_ignite.data import agreement
from tensorflow_ignite.data.epochs.changes import IDENTITY_COLUMNS
from tensorflow_ignite.v1 import data_pb2


@dataclass
class Cache:
    """A cache: the schema of its values, the type of its keys, and a table with both for each partition."""

    schema: pa.Schema
    partitions: list[pa.Table]

    @property
    def rows(self) -> int:
        """Rows of all partitions."""
        return sum(table.num_rows for table in self.partitions)


@dataclass
class Cluster:
    """Nodes, and the caches that they share; partition p belongs to node p modulo their number."""

    caches: dict[str, Cache] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    # (cache, partition) for each partition that was sent, in order.
    sent: list[tuple[str, int]] = field(default_factory=list)
    # Rows that DoGet leaves out at the end, to play a cluster that loses rows.
    missing_rows: int = 0

    def __post_init__(self) -> None:
        """Makes the means to wait for the end of streams."""
        self._changed = threading.Condition()
        self._streams = self.begun = 0

    @classmethod
    def start(cls, nodes: int) -> Cluster:
        """Starts so many servers, each on a free port."""
        cluster = cls()
        cluster.nodes = [Node(cluster, index) for index in range(nodes)]
        return cluster

    def stop(self) -> None:
        """Ends every server."""
        for node in self.nodes:
            node.shutdown()

    @property
    def address(self) -> str:
        """``host:port`` of the first node."""
        return self.nodes[0].address

    def add(self, name: str, table: pa.Table, partitions: int = 8) -> None:
        """Makes a cache of a table, with keys from 0 on."""
        keys = pa.array(range(table.num_rows), pa.int64())
        self.store(name, table.add_column(0, pa.field("_key", pa.int64(), nullable=False), keys), partitions)

    def store(self, name: str, rows: pa.Table, partitions: int) -> None:
        """Makes a cache of rows that begin with their key."""
        parts = [rows.take(np.arange(part, rows.num_rows, partitions)) for part in range(partitions)]
        schema = pa.schema(list(rows.schema)[1:])
        self.caches[name] = Cache(schema, parts)

    def own(self, node: int, cache: str) -> list[int]:
        """The partitions of a cache that belong to a node."""
        return list(range(node, len(self.caches[cache].partitions), len(self.nodes)))

    def stream_began(self) -> None:
        """Counts a stream that sends."""
        with self._changed:
            self._streams += 1
            self.begun += 1
            self._changed.notify_all()

    def stream_ended(self) -> None:
        """Counts a stream that no longer sends."""
        with self._changed:
            self._streams -= 1
            self._changed.notify_all()

    def wait_until_begun(self, count: int, seconds: float = 20.0) -> bool:
        """Waits until so many streams have begun in all; some may have ended by then.

        A connection sometimes takes in more than 20 MB that nobody reads, where the processors are busy.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self.begun >= count, seconds)

    def wait_for_streams(self, count: int, seconds: float = 20.0) -> bool:
        """Waits until exactly so many streams send."""
        with self._changed:
            return self._changed.wait_for(lambda: self._streams == count, seconds)

    def write_context(self, path: Path, cache: str, role: str, index: int, kind: str) -> Path:
        """Writes what a job would write for a task that runs beside node ``index``."""
        workers = [
            {
                "index": node,
                "nodeId": f"node-{node}",
                "partitions": self.own(node, cache),
                "rows": str(sum(self.caches[cache].partitions[part].num_rows for part in self.own(node, cache))),
            }
            for node in range(len(self.nodes))
        ]
        description: dict[str, Any] = {
            "jobId": "7f3a",
            "jobName": "test",
            "attempt": 1,
            "role": role,
            "index": index,
            "kind": kind,
            "cache": cache,
            "nodeAddress": self.nodes[index].address,
            "workers": workers,
            "assignmentDigest": hashlib.sha256(json.dumps(workers).encode()).hexdigest(),
        }
        path.write_text(json.dumps(description))
        return path


class BecomeTask(Protocol):
    """Makes this process one task of a job."""

    def __call__(self, index: int, role: str = "WORKER") -> None:
        """From now on; beside node ``index``."""


@contextmanager
def tasks(cluster: Cluster, cache: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BecomeTask]:
    """This process as tasks of a mirrored job on a cache, one after another; outside any job before and after.

    The other workers of the job have the rows of their assignment in each epoch.
    """

    def agree(dataset: str, epoch: int, rows: int, last: Sequence[int], sleep: object) -> list[int]:
        counts = list(last)
        counts[task.current().index] = rows
        return counts

    monkeypatch.setattr(agreement, "agree", agree)
    read = task._read
    for name in [name for name in os.environ if name.startswith(("IGNITE_DATASET_", "TENSORFLOW_IGNITE_"))]:
        monkeypatch.delenv(name)

    def become(index: int, role: str = "WORKER") -> None:
        path = cluster.write_context(folder / "context.json", cache, role, index, "MULTI_WORKER_MIRRORED")
        monkeypatch.setenv("TENSORFLOW_IGNITE_CONTEXT", str(path))
        read.cache_clear()

    yield become
    read.cache_clear()


class Node(flight.FlightServerBase):
    """One server."""

    def __init__(self, cluster: Cluster, index: int) -> None:
        """Starts to serve."""
        super().__init__("grpc://127.0.0.1:0")
        self._cluster = cluster
        self._index = index

    @property
    def address(self) -> str:
        """``host:port``."""
        return f"127.0.0.1:{self.port}"

    def get_flight_info(
        self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor
    ) -> flight.FlightInfo:
        """Schema, rows, and an endpoint for each node with partitions that are wanted."""
        command = data_pb2.ReadCommand.FromString(descriptor.command)
        cache = self._cache(command.cache)
        schema = _columns(cache, command)
        endpoints, rows = [], 0
        for index, node in enumerate(self._cluster.nodes):
            own = self._cluster.own(index, command.cache)
            parts = [part for part in own if not command.partitions or part in command.partitions]
            rows += sum(cache.partitions[part].num_rows for part in parts)
            if parts:
                ticket = data_pb2.ReadCommand()
                ticket.CopyFrom(command)
                ticket.partitions[:] = parts
                endpoints.append(flight.FlightEndpoint(ticket.SerializeToString(), [f"grpc://{node.address}"]))
        return flight.FlightInfo(schema, descriptor, endpoints, rows, -1)

    def do_get(self, context: flight.ServerCallContext, ticket: flight.Ticket) -> flight.FlightDataStream:
        """The rows of this node's partitions."""
        command = data_pb2.ReadCommand.FromString(ticket.ticket)
        cache = self._cache(command.cache)
        foreign = sorted(set(command.partitions) - set(self._cluster.own(self._index, command.cache)))
        if foreign:
            raise flight.FlightUnavailableError(
                f"partitions {foreign} of cache {command.cache!r} are not primary on node {self._index}. A node sends "
                f"its primary partitions. Ask for the owners again [code=PARTITION_NOT_LOCAL]"
            )
        return flight.GeneratorStream(_columns(cache, command), self._batches(cache, command))

    def _batches(
        self, cache: Cache, command: data_pb2.ReadCommand
    ) -> Iterator[pa.RecordBatch | tuple[pa.RecordBatch, bytes]]:
        self._cluster.stream_began()
        try:
            schema, sent = _columns(cache, command), 0
            since = {position.partition: position.sequence for position in command.since}
            result = data_pb2.ReadResult()
            for part in command.partitions:
                # A partition of this cluster changes as a whole.
                version = id(cache.partitions[part])
                if command.positions:
                    result.positions.add(partition=part, feed=1, sequence=version)
                    if since.get(part) == version:
                        continue
                    result.whole.append(part)
                self._cluster.sent.append((command.cache, part))
                table = cache.partitions[part].select([name for name in schema.names if name not in IDENTITY_COLUMNS])
                if command.positions:
                    keys = cache.partitions[part].column("_key")
                    table = table.append_column(IDENTITY_COLUMNS[0], keys)
                    table = table.append_column(IDENTITY_COLUMNS[1], pa.array([part] * len(keys), pa.int64()))
                    table = table.cast(schema)
                if part == command.partitions[-1] and self._cluster.missing_rows:
                    table = table.slice(0, table.num_rows - self._cluster.missing_rows)
                rows = max(1, (command.batch_bytes or 8 << 20) * table.num_rows // max(1, table.nbytes))
                yield from table.to_batches(max_chunksize=min(rows, command.batch_rows or 65_536))
                sent += table.num_rows
            result.rows = sent
            yield pa.RecordBatch.from_pylist([], schema), result.SerializeToString()
        finally:
            self._cluster.stream_ended()

    def do_put(
        self,
        context: flight.ServerCallContext,
        descriptor: flight.FlightDescriptor,
        reader: flight.MetadataRecordBatchReader,
        writer: flight.FlightMetadataWriter,
    ) -> None:
        """Stores rows."""
        command = data_pb2.LoadCommand.FromString(descriptor.command)
        table, sent = _sealed(reader)
        if sent != table.num_rows:
            raise flight.FlightServerError(
                f"{table.num_rows} rows of {sent} arrived. A load is whole or fails. Load again [code=INVALID_REQUEST]"
            )
        held = self._cluster.caches.get(command.cache)
        if held and command.existing == data_pb2.EXISTING_CACHE_ERROR:
            raise flight.FlightServerError(
                f"cache {command.cache!r} exists. A load creates its cache by default. Use "
                f'if_exists="append" or "replace" [code=CACHE_EXISTS]'
            )
        if command.key_column:
            keys = table.column(command.key_column)
            table = table.drop_columns([command.key_column])
        else:
            keys = pa.array(range(command.first_key, command.first_key + table.num_rows), pa.int64())
        rows = table.add_column(0, pa.field("_key", keys.type, nullable=False), keys)
        if held and command.existing == data_pb2.EXISTING_CACHE_APPEND:
            rows = pa.concat_tables([*held.partitions, rows])
        self._cluster.store(command.cache, rows, command.partitions or 4)
        writer.write(data_pb2.LoadResult(rows=table.num_rows).SerializeToString())

    def _cache(self, name: str) -> Cache:
        cache = self._cluster.caches.get(name)
        if cache is None:
            raise flight.FlightServerError(
                f"cache {name!r} does not exist. A dataset reads a cache of the cluster. Caches: "
                f"{', '.join(self._cluster.caches)} [code=CACHE_NOT_FOUND]"
            )
        return cache


def _sealed(reader: flight.MetadataRecordBatchReader) -> tuple[pa.Table, int]:
    """The rows of a stream, and their number as its last message tells it; -1 where none does."""
    batches, sent = [], -1
    while True:
        try:
            chunk = reader.read_chunk()
        except StopIteration:
            return pa.Table.from_batches(batches, reader.schema), sent
        if chunk.data is not None:
            batches.append(chunk.data)
        if chunk.app_metadata is not None:
            sent = data_pb2.LoadResult.FromString(chunk.app_metadata.to_pybytes()).rows


def _columns(cache: Cache, command: data_pb2.ReadCommand) -> pa.Schema:
    missing = [name for name in command.columns if name not in cache.schema.names]
    if missing:
        raise flight.FlightServerError(
            f"no column {missing[0]!r}. Columns: {cache.schema.names} [code=COLUMN_NOT_FOUND]"
        )
    fields = [cache.schema.field(name) for name in command.columns] or list(cache.schema)
    keys = [cache.partitions[0].schema.field("_key")] if command.key else []
    identities = [pa.field(name, pa.int64(), nullable=False) for name in IDENTITY_COLUMNS if command.positions]
    return pa.schema([*keys, *fields, *identities])
