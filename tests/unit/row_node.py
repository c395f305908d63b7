"""What the nodes in this process that send rows have in common, and streams without a node: a column of numbers."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any, TypeVar

import grpc
import numpy as np
import pyarrow as pa

from tensorflow_ignite.data.transport import segments
from tensorflow_ignite.data.transport.flight import Endpoint
from tensorflow_ignite.v1 import data_pb2

SCHEMA = pa.schema([pa.field("x", pa.int64(), nullable=False)])


class RowNode:
    """Sends ``batches`` batches of ``rows`` numbers, counted through."""

    def __init__(self, add_to_server: Callable[[Any, grpc.Server], None]) -> None:
        self.batches, self.rows = 50, 1000
        self.result: data_pb2.ReadResult | None = data_pb2.ReadResult(rows=50_000)
        self.error: str | None = None
        self.silent = False
        self.ended = threading.Event()
        self._threads = futures.ThreadPoolExecutor(4)
        self._server = grpc.server(self._threads)
        add_to_server(self, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    @property
    def endpoint(self) -> Endpoint:
        """Where a stream reads it, in batches of 8,000 bytes."""
        return Endpoint(self.address, data_pb2.ReadCommand(cache="c", batch_bytes=8000))

    def stop(self) -> None:
        self._server.stop(0).wait()
        self._threads.shutdown()

    def values(self, number: int) -> np.ndarray:
        return np.arange(number * self.rows, (number + 1) * self.rows)

    def layout(self, behind: int = 0) -> data_pb2.BatchLayout:
        """The layout of the rows, which begin ``behind`` bytes after the start of their memory."""
        return data_pb2.BatchLayout(
            rows=self.rows,
            nodes=[data_pb2.BatchNode(length=self.rows)],
            buffers=[data_pb2.BatchBuffer(), data_pb2.BatchBuffer(offset=0, bytes=8 * self.rows + behind)],
        )

    def fail_before_last(self, number: int, context: Any) -> None:
        """Ends the call with its error, if it has one, where the last batch would come."""
        if self.error is not None and number == self.batches - 1:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, self.error)


@contextmanager
def serving_nothing() -> Iterator[Endpoint]:
    with futures.ThreadPoolExecutor(1) as threads:
        server = grpc.server(threads)
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        try:
            yield Endpoint(address, data_pb2.ReadCommand())
        finally:
            server.stop(0).wait()


class RowStream:
    """Batches of given rows, of column c; it may wait for an event before them, and break after them."""

    def __init__(
        self, *batches: list[int], error: Exception | None = None, wait_for: threading.Event | None = None
    ) -> None:
        self.batches, self.error, self.wait_for = batches, error, wait_for
        self.fetched = 0
        self.began, self.cancelled = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        self.began.set()
        if self.wait_for is not None:
            assert self.wait_for.wait(20)
        for rows in self.batches:
            self.fetched += 1
            yield pa.RecordBatch.from_pydict({"c": pa.array(rows, pa.int64())})
        if self.error is not None:
            raise self.error

    def cancel(self) -> None:
        self.cancelled.set()


_Node = TypeVar("_Node", bound=RowNode)


@contextmanager
def running(node: _Node) -> Iterator[_Node]:
    """Ends a node, and releases all memory that was shared with it."""
    yield node
    node.stop()
    gc.collect()
    segments.pool().clear()


def numbers(read: list[pa.RecordBatch]) -> list[int]:
    return [number for batch in read for number in batch["x"].to_pylist()]
