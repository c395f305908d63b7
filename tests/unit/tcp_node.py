"""A node that keeps tcp.proto's contract for one column of numbers, in this process."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from row_node import SCHEMA, RowNode

from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.v1 import tcp_pb2, tcp_pb2_grpc

SECONDS = patiently(20)


class Node(RowNode, tcp_pb2_grpc.TcpRowsServiceServicer):  # type: ignore[misc]
    """Sends its batches over a connection; with 0 of them it says nothing at all."""

    def __init__(self) -> None:
        self._port = socket.create_server(("127.0.0.1", 0))
        self._port.settimeout(SECONDS)
        self.cut = self.reset = False
        self.behind = 0
        super().__init__(tcp_pb2_grpc.add_TcpRowsServiceServicer_to_server)

    def close_port(self) -> None:
        """Nobody can connect to its other port any more."""
        with suppress(OSError):
            self._port.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        # A call that was cancelled at once has nobody who connects.
        self.close_port()
        super().stop()
        self._port.close()

    def ReadOverTcp(self, request: tcp_pb2.ReadOverTcpRequest, context: Any) -> Iterator[tcp_pb2.ReadOverTcpResponse]:
        context.add_callback(self.ended.set)
        if self.batches == 0:
            return
        token = os.urandom(32)
        schema = SCHEMA.serialize().to_pybytes()
        port = self._port.getsockname()[1]
        yield tcp_pb2.ReadOverTcpResponse(connection=tcp_pb2.TcpConnection(port=port, token=token, schema=schema))
        try:
            reader, _ = self._port.accept()
        except OSError:
            return
        with reader:
            assert reader.recv(len(token), socket.MSG_WAITALL) == token
            self._send(reader, context)
        if self.result is not None:
            yield tcp_pb2.ReadOverTcpResponse(result=self.result)

    def _send(self, reader: socket.socket, context: Any) -> None:
        for number in range(self.batches):
            last = number == self.batches - 1
            self.fail_before_last(number, context)
            values = self.values(number).tobytes()
            layout = self.layout(self.behind).SerializeToString()
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
