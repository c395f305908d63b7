"""A node that keeps shared.proto's contract for one column of numbers, in this process."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import numpy as np
import pyarrow as pa

from tensorflow_ignite.data.transport.flight import Endpoint
from tensorflow_ignite.v1 import data_pb2, shared_pb2, shared_pb2_grpc

SCHEMA = pa.schema([pa.field("x", pa.int64(), nullable=False)])


class Node(shared_pb2_grpc.SharedMemoryServicer):  # type: ignore[misc]
    """Sends ``batches`` batches of ``rows`` numbers, counted through.

    Attributes:
        batches: How many it sends.
        rows: Numbers in each.
        result: What it says at the end; None: nothing.
        error: Description of the status in which it ends before its last batch; None: it goes on.
        silent: It sends nothing after its first batch, until the call ends.
        offers: The segments that it was offered, in order.
        ended: Set when a call is over.
    """

    def __init__(self) -> None:
        """Starts to serve."""
        self.batches, self.rows = 50, 1000
        self.result: data_pb2.ReadResult | None = data_pb2.ReadResult(rows=50_000)
        self.error: str | None = None
        self.silent = False
        self.offers: list[shared_pb2.Segment] = []
        self.ended = threading.Event()
        self._threads = futures.ThreadPoolExecutor(4)
        self._server = grpc.server(self._threads)
        shared_pb2_grpc.add_SharedMemoryServicer_to_server(self, self._server)  # type: ignore[no-untyped-call]
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    @property
    def endpoint(self) -> Endpoint:
        """Where a stream reads it, in batches of 8,000 bytes."""
        return Endpoint(self.address, data_pb2.ReadCommand(cache="c", batch_bytes=8000).SerializeToString())

    def stop(self) -> None:
        """Ends every call."""
        self._server.stop(0).wait()
        self._threads.shutdown()

    def Read(self, requests: Iterator[shared_pb2.SharedRequest], context: Any) -> Iterator[shared_pb2.SharedBatch]:
        """As shared.proto says."""
        context.add_callback(self.ended.set)
        opening = next(requests).open
        yield shared_pb2.SharedBatch(schema=SCHEMA.serialize().to_pybytes())
        wanted = 0
        for number in range(self.batches):
            values = np.arange(number * self.rows, (number + 1) * self.rows)
            while (offer := self._offer(requests)).bytes < max(values.nbytes, wanted):
                if not wanted:
                    wanted = values.nbytes
                    yield shared_pb2.SharedBatch(needs_bytes=wanted)
            if self.error is not None and number == self.batches - 1:
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, self.error)
            self._fill(opening, offer, values)
            layout = data_pb2.BatchLayout(
                rows=self.rows,
                nodes=[data_pb2.BatchNode(length=self.rows)],
                buffers=[data_pb2.BatchBuffer(), data_pb2.BatchBuffer(offset=0, bytes=values.nbytes)],
            )
            yield shared_pb2.SharedBatch(batch=layout, segment=offer.id)
            if self.silent:
                self.ended.wait(30)
        if self.result is not None:
            yield shared_pb2.SharedBatch(result=self.result)

    def _offer(self, requests: Iterator[shared_pb2.SharedRequest]) -> shared_pb2.Segment:
        offer = next(requests).offer
        self.offers.append(offer)
        return offer

    def _fill(self, opening: shared_pb2.OpenShared, offer: shared_pb2.Segment, values: Any) -> None:
        with open(f"/proc/{opening.pid}/fd/{offer.fd}", "r+b") as file, mmap.mmap(file.fileno(), offer.bytes) as memory:
            if all(offer.id != earlier.id for earlier in self.offers[:-1]):
                assert memory[: len(opening.nonce)] == opening.nonce
            memory[: values.nbytes] = values.tobytes()
