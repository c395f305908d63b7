"""A node that keeps tcp.proto's contract for one column of numbers, in this process."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import numpy as np
import pyarrow as pa

from tensorflow_ignite.data.transport.flight import Endpoint
from tensorflow_ignite.v1 import data_pb2, tcp_pb2, tcp_pb2_grpc

SCHEMA = pa.schema([pa.field("x", pa.int64(), nullable=False)])
SECONDS = 20


class Node(tcp_pb2_grpc.TcpRowsServicer):  # type: ignore[misc]
    """Sends ``batches`` batches of ``rows`` numbers, counted through.

    Attributes:
        batches: How many it sends; 0: it says nothing at all.
        rows: Numbers in each.
        result: What it says at the end; None: nothing.
        error: Description of the status in which it ends before its last batch; None: it goes on.
        cut: It closes the connection within its last batch.
        reset: The connection is reset in place of the last batch, of which the node learns nothing.
        silent: It sends nothing after its first batch, until the call ends.
        behind: Bytes behind each batch's values that its layout says they have, and that are not there.
        ended: Set when a call is over.
    """

    def __init__(self) -> None:
        """Starts to serve."""
        self.batches, self.rows = 50, 1000
        self.result: data_pb2.ReadResult | None = data_pb2.ReadResult(rows=50_000)
        self.error: str | None = None
        self.cut = self.reset = self.silent = False
        self.behind = 0
        self.ended = threading.Event()
        self._port = socket.create_server(("127.0.0.1", 0))
        self._port.settimeout(SECONDS)
        self._threads = futures.ThreadPoolExecutor(4)
        self._server = grpc.server(self._threads)
        tcp_pb2_grpc.add_TcpRowsServicer_to_server(self, self._server)  # type: ignore[no-untyped-call]
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    @property
    def endpoint(self) -> Endpoint:
        """Where a stream reads it, in batches of 8,000 bytes."""
        return Endpoint(self.address, data_pb2.ReadCommand(cache="c", batch_bytes=8000).SerializeToString())

    def close_port(self) -> None:
        """Nobody can connect to its other port any more."""
        self._port.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        """Ends every call."""
        self._server.stop(0).wait()
        self._threads.shutdown()
        self._port.close()

    def Read(self, request: tcp_pb2.ReadTcp, context: Any) -> Iterator[tcp_pb2.TcpAnswer]:
        """As tcp.proto says."""
        context.add_callback(self.ended.set)
        if self.batches == 0:
            return
        token = os.urandom(32)
        schema = SCHEMA.serialize().to_pybytes()
        port = self._port.getsockname()[1]
        yield tcp_pb2.TcpAnswer(connection=tcp_pb2.TcpConnection(port=port, token=token, schema=schema))
        reader, _ = self._port.accept()
        with reader:
            assert reader.recv(len(token), socket.MSG_WAITALL) == token
            self._send(reader, context)
        if self.result is not None:
            yield tcp_pb2.TcpAnswer(result=self.result)

    def _send(self, reader: socket.socket, context: Any) -> None:
        for number in range(self.batches):
            last = number == self.batches - 1
            if self.error is not None and last:
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, self.error)
            values = np.arange(number * self.rows, (number + 1) * self.rows).tobytes()
            layout = data_pb2.BatchLayout(
                rows=self.rows,
                nodes=[data_pb2.BatchNode(length=self.rows)],
                buffers=[data_pb2.BatchBuffer(), data_pb2.BatchBuffer(bytes=len(values) + self.behind)],
            ).SerializeToString()
            if self.reset and last:
                reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                reader.close()
                self.ended.wait(SECONDS)
                return
            if self.cut and last:
                values = values[:100]
            reader.sendall(struct.pack(">IQ", len(layout), 8 * self.rows) + layout + values)
            if self.silent:
                self.ended.wait(SECONDS)
                return
