"""A cluster of Arrow Flight servers that keep data.proto's contract over tables in this process's memory."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import flight

from tensorflow_ignite import task
from tensorflow_ignite.data import agreement, pyfunc
from tensorflow_ignite.data.epoch_readers import readers
from tensorflow_ignite.data.epochs.changes import IDENTITY_COLUMNS
from tensorflow_ignite.data.loading.columns import table_of
from tensorflow_ignite.v1 import data_pb2

ROWS = 1000


@dataclass
class Cache:
    """A cache: the schema of its values, the type of its keys, and a table with both for each partition."""

    schema: pa.Schema
    partitions: list[pa.Table]


@dataclass
class Cluster:
    """Nodes, and the caches that they share; partition p belongs to node p modulo their number."""

    caches: dict[str, Cache] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    # Rows that DoGet leaves out at the end, to play a cluster that loses rows.
    missing_rows: int = 0
    # Streams end only when their reader cancels them.
    holds_streams: bool = False

    def __post_init__(self) -> None:
        """Makes the means to wait for the end of streams."""
        self._changed = threading.Condition()
        self._streams = 0

    @classmethod
    def start(cls, nodes: int) -> Cluster:
        """Starts a number of servers, each on a free port."""
        cluster = cls()
        cluster.nodes = [Node(cluster, index) for index in range(nodes)]
        return cluster

    def stop(self) -> None:
        for node in self.nodes:
            node.shutdown()

    @property
    def address(self) -> str:
        return self.nodes[0].address

    def add(self, name: str, table: pa.Table, partitions: int = 8) -> None:
        """Makes a cache of a table, with keys from 0 on."""
        keys = pa.array(range(table.num_rows), pa.int64())
        rows = table.add_column(0, pa.field("_key", pa.int64(), nullable=False), keys)
        parts = [rows.take(np.arange(part, rows.num_rows, partitions)) for part in range(partitions)]
        self.caches[name] = Cache(table.schema, parts)

    def own(self, node: int, cache: str) -> list[int]:
        """The partitions of a cache that belong to a node."""
        return list(range(node, len(self.caches[cache].partitions), len(self.nodes)))

    def stream_began(self) -> None:
        with self._changed:
            self._streams += 1
            self._changed.notify_all()

    def stream_ended(self) -> None:
        """Counts a stream that no longer sends."""
        with self._changed:
            self._streams -= 1
            self._changed.notify_all()

    def wait_for_streams(self, count: int, seconds: float = 20.0) -> bool:
        """Waits until exactly ``count`` streams send, or are held."""
        with self._changed:
            return self._changed.wait_for(lambda: self._streams == count, seconds)


@contextmanager
def numbers() -> Iterator[Cluster]:
    """Three nodes with the cache ``numbers``: 375, 375 and 250 rows. No reader may hold them at the end."""
    cluster = Cluster.start(3)
    ids = np.arange(ROWS)
    cluster.add(
        "numbers",
        table_of(
            {
                "pixels": np.repeat(ids, 12).astype(np.float32).reshape(ROWS, 3, 4),
                "label": ids.astype(np.int32),
                "name": [f"row {number}" for number in ids],
                "words": [["w"] * (number % 3) for number in ids],
                "even": ids % 2 == 0,
            }
        ),
    )
    yield cluster
    cluster.stop()
    gc.collect()
    assert pyfunc.open_readers() == 0
    assert readers.snapshot_bytes() == 0


BecomeTask = Callable[[int], None]


@contextmanager
def tasks(cluster: Cluster, cache: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BecomeTask]:
    """This process as workers of a mirrored job on a cache, one after another; outside any job before and after.

    The function makes it the worker beside a node. The other workers have the rows of their assignment in each epoch.
    """

    def agree(dataset: str, epoch: int, rows: int, last: Sequence[int], sleep: object) -> tuple[list[int], bool]:
        counts = list(last)
        counts[task.current().index] = rows
        return counts, False

    def further(name: str, number: int, rows: int, *others: object, **options: object) -> list[int]:
        return [rows]

    monkeypatch.setattr(agreement, "agree", agree)
    monkeypatch.setattr(agreement, "further", further)
    read = task._read
    for name in [name for name in os.environ if name.startswith(("IGNITE_DATASET_", "TENSORFLOW_IGNITE_"))]:
        monkeypatch.delenv(name)
    workers = [
        {
            "index": node,
            "nodeId": f"node-{node}",
            "partitions": cluster.own(node, cache),
            "rows": str(sum(cluster.caches[cache].partitions[part].num_rows for part in cluster.own(node, cache))),
        }
        for node in range(len(cluster.nodes))
    ]
    context = {
        "jobId": "7f3a",
        "jobName": "test",
        "attempt": 1,
        "role": "WORKER",
        "kind": "MULTI_WORKER_MIRRORED",
        "cache": cache,
        "workers": workers,
        "assignmentDigest": hashlib.sha256(json.dumps(workers).encode()).hexdigest(),
    }

    def become(index: int) -> None:
        path = folder / "context.json"
        path.write_text(json.dumps({**context, "index": index, "nodeAddress": cluster.nodes[index].address}))
        monkeypatch.setenv("TENSORFLOW_IGNITE_CONTEXT", str(path))
        read.cache_clear()

    yield become
    read.cache_clear()


class Node(flight.FlightServerBase):
    """One server."""

    def __init__(self, cluster: Cluster, index: int) -> None:
        super().__init__("grpc://127.0.0.1:0")
        self._cluster = cluster
        self._index = index

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def get_flight_info(
        self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor
    ) -> flight.FlightInfo:
        """Schema, rows, and an endpoint for each node with requested partitions."""
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
        return flight.GeneratorStream(_columns(cache, command), self._batches(cache, command, context))

    def _batches(
        self, cache: Cache, command: data_pb2.ReadCommand, context: flight.ServerCallContext
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
            while self._cluster.holds_streams and not context.is_cancelled():
                time.sleep(0.01)
            yield pa.RecordBatch.from_pylist([], schema), result.SerializeToString()
        finally:
            self._cluster.stream_ended()

    def _cache(self, name: str) -> Cache:
        cache = self._cluster.caches.get(name)
        if cache is None:
            raise flight.FlightServerError(
                f"cache {name!r} does not exist. A dataset reads a cache of the cluster. Caches: "
                f"{', '.join(self._cluster.caches)} [code=CACHE_NOT_FOUND]"
            )
        return cache


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
