"""The only file that speaks to a node's TcpRowsService: batches over a separate TCP connection.

A gRPC call returns the port of the connection and the result of the stream. The system copies the batches directly into
memory that TensorFlow uses without a copy. The memory is used in turns; if the users keep all of it, the next batches
get new memory.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import grpc
import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport import batches
from tensorflow_ignite.data.transport.calls import translate
from tensorflow_ignite.data.transport.flight import BatchStream, Endpoint, check_result
from tensorflow_ignite.data.transport.segments import Lease, pool, private_buffer
from tensorflow_ignite.memory import Segment
from tensorflow_ignite.net.channels import grpc_channel
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.sockets import connect_for_rows
from tensorflow_ignite.v1 import data_pb2, tcp_pb2, tcp_pb2_grpc

# Timeout for a port whose packets a firewall drops.
SECONDS_TO_CONNECT = 2.0
# Time for the node to notice a broken connection, and to end the call with its error.
SECONDS_TO_EXPLAIN = 5.0
# Header of each batch: the length of its layout, and of its buffers.
_LENGTHS = struct.Struct(">IQ")
# Limits above anything that a node sends, against lengths from another server.
_MOST_LAYOUT_BYTES = 64 * 1024 * 1024
_MOST_BYTES = 4 * 1024**3


class TcpUnavailableError(errors.ConnectionFailedError):
    """A node sends no rows over a separate connection, or its port cannot be reached; nothing has been read."""

    # Ports that are closed stay closed.
    is_lasting = True


class TcpStream(BatchStream):
    """The record batches behind one endpoint, in order. One thread iterates; any thread may cancel."""

    def __init__(
        self,
        endpoint: Endpoint,
        subject: str,
        keep: batches.Keep | None = None,
        *,
        credentials: Credentials | None = None,
    ) -> None:
        """Opens nothing before iteration; for the arguments see :class:`BatchStream`."""
        super().__init__(endpoint, subject, keep, credentials=credentials)
        self._size = 0
        # Each change is atomic, because a lease may end at any point.
        self._free: list[Segment] = []
        self._leased: set[Segment] = set()
        self._open = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Opens the stream and yields its batches; ends early, without an error, when cancelled.

        Raises:
            TcpUnavailableError: If no connection is available; before any batch.
            TensorFlowIgniteError: If the node refuses the call or the stream breaks.
        """
        command = self._endpoint.modified(batch_bytes=self._endpoint.command.batch_bytes or batches.BATCH_BYTES).command
        self._size = batches.segment_bytes(command.batch_bytes, command.batch_rows)
        self._open = True
        try:
            with grpc_channel(self._endpoint.address, self._credentials) as channel:
                call = tcp_pb2_grpc.TcpRowsServiceStub(channel).ReadOverTcp(  # type: ignore[no-untyped-call]
                    tcp_pb2.ReadOverTcpRequest(command=command)
                )
                self._call.begin(call)
                yield from self._batches(call)
        except grpc.RpcError as error:
            if not self._call.cancelled:
                raise translate(
                    error, self._endpoint.address, self._subject, self._credentials, _not_supported
                ) from None
        finally:
            self._end()

    def _batches(self, call: Any) -> Iterator[pa.RecordBatch]:
        connection_info = next(call, tcp_pb2.ReadOverTcpResponse()).connection
        if not connection_info.port:
            check_result(None, 0, self._subject)
        schema = pa.ipc.read_schema(pa.py_buffer(connection_info.schema))
        rows = 0
        with self._connect(connection_info.port) as connection:
            ended = _watch(call, connection)
            try:
                connection.sendall(connection_info.token)
                while (layout := self._layout(connection)) is not None:
                    head, size = layout
                    memory = self._memory(size)
                    if not _receive(connection, memory.address, size):
                        break
                    batches.used_bytes(head, size, self._subject)
                    rows += head.rows
                    batch = batches.record_batch(head, schema, memory)
                    # This frame must not keep the memory alive after its user has released it.
                    del memory
                    yield batch
                    del batch
            except OSError as error:
                # The call ends with the reason, unless only this connection was cut.
                if not ended.wait(SECONDS_TO_EXPLAIN):
                    raise errors.ConnectionFailedError(
                        f"{self._subject} was not read to its end: the connection to port {connection_info.port} of "
                        f"the node at {self._endpoint.address} broke after {rows} rows ({error}). Rows come over a "
                        'separate connection. Read again, or with tfi.ReadOptions(transport="flight")'
                    ) from None
        for answer in call:
            if answer.HasField("result"):
                self.result = answer.result
        if not self._call.cancelled:
            check_result(self.result, rows, self._subject)

    def _connect(self, port: int) -> socket.socket:
        try:
            return connect_for_rows(self._endpoint.address, port, SECONDS_TO_CONNECT)
        except OSError as error:
            raise TcpUnavailableError(
                f"{self._subject} was not read: no connection to port {port} ({error}), where the node at "
                f"{self._endpoint.address} sends rows (its tensorflow.ignite.rows.port). Let that port through, or "
                f'read over the node\'s own port (tfi.ReadOptions(transport="flight"))'
            ) from None

    def _layout(self, connection: socket.socket) -> tuple[data_pb2.BatchLayout, int] | None:
        """The layout of the next batch and the size of its buffers; None after the last batch."""
        lengths = bytearray(_LENGTHS.size)
        if not _receive_into(connection, memoryview(lengths)):
            return None
        described, size = _LENGTHS.unpack(lengths)
        if described > _MOST_LAYOUT_BYTES or size > _MOST_BYTES:
            raise errors.InternalError(
                f"{self._subject}: a batch of {size} bytes with a layout of {described} was announced. A node "
                f"announces at most {_MOST_BYTES} and {_MOST_LAYOUT_BYTES}. Check that no other program than the node "
                f"at {self._endpoint.address} answers at its port for rows"
            )
        text = bytearray(described)
        if not _receive_into(connection, memoryview(text)):
            return None
        return data_pb2.BatchLayout.FromString(bytes(text)), size

    def _memory(self, size: int) -> pa.Buffer:
        """Memory for the next batch."""
        if self._keep is not None:
            if self._keep(size):
                return private_buffer(size)
            self._keep = None
        if len(self._leased) >= batches.most_segments(self._size):
            return private_buffer(size)
        while self._free:
            segment = self._free.pop()
            if segment.size >= size:
                return self._lease(segment)
        try:
            return self._lease(pool().take(max(self._size, batches.segment_bytes(size, 1))))
        except errors.SharingUnavailableError:
            # The machine has no more memory, or no memfd.
            return private_buffer(size)

    def _lease(self, segment: Segment) -> pa.Buffer:
        self._leased.add(segment)
        return Lease(segment, self._returned).buffer()

    def _returned(self, segment: Segment) -> None:
        """Handles the end of a lease, on any thread, perhaps long after the end of the stream."""
        self._leased.discard(segment)
        if self._open:
            self._free.append(segment)
        else:
            pool().put_back(segment)

    def _end(self) -> None:
        self._open = False
        self._call.end()
        pool().keep_warm()
        while self._free:
            pool().put_back(self._free.pop())


def _not_supported(address: str) -> TcpUnavailableError:
    return TcpUnavailableError(
        f"the node at {address} sends no rows over separate connections: it uses TLS, which these do not, or its "
        f'tensorflow.ignite.rows.port is none. Read over the node\'s own port (tfi.ReadOptions(transport="flight"))'
    )


def _watch(call: Any, connection: socket.socket) -> threading.Event:
    """An event for the end of a call, which also ends the connection: gRPC notices a node that freezes."""
    ended = threading.Event()

    def end(_: Any) -> None:
        # After a successful call, bytes may still arrive over the connection.
        if call.code() is not grpc.StatusCode.OK:
            # The connection may be closed already.
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        ended.set()

    call.add_done_callback(end)
    return ended


def _receive(connection: socket.socket, address: int, size: int) -> bool:
    return _receive_into(connection, memoryview((ctypes.c_char * size).from_address(address)).cast("B"))


def _receive_into(connection: socket.socket, memory: memoryview) -> bool:
    """Fills the memory; False if the connection ends before."""
    while memory:
        count = connection.recv_into(memory, flags=socket.MSG_WAITALL)
        if count == 0:
            return False
        memory = memory[count:]
    return True
