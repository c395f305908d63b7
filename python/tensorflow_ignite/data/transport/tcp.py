"""The only file that speaks to a node's TcpRows service: batches over a TCP connection of their own.

gRPC says where the connection is, and how the stream ends; the batches are received by the system's own copy, straight
into memory that TensorFlow takes as it is. That memory is used in turns, unless the batches' users keep it: then the
next batches get memory of their own.
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
from tensorflow_ignite.channels import grpc_channel, tcp_connection
from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.data.transport.batches import (
    BATCH_BYTES,
    Keep,
    most_segments,
    record_batch,
    segment_bytes,
    used_bytes,
)
from tensorflow_ignite.data.transport.calls import Running, translate
from tensorflow_ignite.data.transport.flight import Endpoint, check_result
from tensorflow_ignite.data.transport.segments import Lease, pool, unshared
from tensorflow_ignite.memory import Segment
from tensorflow_ignite.v1 import data_pb2, tcp_pb2, tcp_pb2_grpc

# A port that a firewall drops answers nothing.
SECONDS_TO_CONNECT = 2.0
# The node notices as well when a connection breaks, and says so.
SECONDS_TO_EXPLAIN = 5.0
# What stands before each batch: the length of its layout, and that of its buffers.
_LENGTHS = struct.Struct(">IQ")
# More than any node sends: another server's bytes must not be taken for lengths.
_MOST_LAYOUT_BYTES = 64 * 1024 * 1024
_MOST_BYTES = 4 * 1024**3


class TcpUnavailableError(errors.ConnectionFailedError):
    """A node sends no rows over connections of their own, or they cannot be reached; nothing has been read."""


class TcpStream:
    """The record batches behind one endpoint, in order. One thread iterates; any thread may cancel.

    Attributes:
        result: What the node said at the end; None before.
    """

    def __init__(
        self, endpoint: Endpoint, what: str, keep: Keep | None = None, *, credentials: Credentials | None = None
    ) -> None:
        """Remembers what to read; nothing is opened before iteration.

        Args:
            endpoint: Who sends, and what.
            what: What is read, for messages.
            keep: Asked, with its size in bytes, for each batch whose memory is to be its own for good. Once it answers
                False it is not asked any more, and memory is used in turns from then on.
            credentials: Who asks.
        """
        self._credentials = credentials
        self._endpoint = endpoint
        self._what = what
        self._keep = keep
        self._running = Running()
        self._size = 0
        # Changed by one operation each, so that a lease may end in the middle of anything.
        self._free: list[Segment] = []
        self._lent: set[Segment] = set()
        self._open = False
        self.result: data_pb2.ReadResult | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Opens the stream and yields its batches; ends early, without an error, when cancelled.

        Raises:
            TcpUnavailableError: If rows cannot be had in this way; before any batch.
            TensorFlowIgniteError: If the node refuses or the stream breaks.
        """
        command = data_pb2.ReadCommand.FromString(self._endpoint.ticket)
        command.batch_bytes = command.batch_bytes or BATCH_BYTES
        self._size = segment_bytes(command.batch_bytes, command.batch_rows)
        self._open = True
        try:
            with grpc_channel(self._endpoint.address, self._credentials) as channel:
                call = tcp_pb2_grpc.TcpRowsStub(channel).Read(  # type: ignore[no-untyped-call]
                    tcp_pb2.ReadTcp(command=command)
                )
                self._running.begin(call)
                yield from self._batches(call)
        except grpc.RpcError as error:
            if not self._running.cancelled:
                raise translate(error, self._endpoint.address, self._what, self._credentials, _unserved) from None
        finally:
            self._end()

    def cancel(self) -> None:
        """Ends the stream; returns at once."""
        self._running.cancel()

    def _batches(self, call: Any) -> Iterator[pa.RecordBatch]:
        told = next(call, tcp_pb2.TcpAnswer()).connection
        if not told.port:
            check_result(None, 0, self._what)
        schema = pa.ipc.read_schema(pa.py_buffer(told.schema))
        rows = 0
        with self._connect(told.port) as connection:
            ended = _watch(call, connection)
            try:
                connection.sendall(told.token)
                while (layout := self._layout(connection)) is not None:
                    head, size = layout
                    memory = self._memory(size)
                    if not _receive(connection, memory.address, size):
                        break
                    used_bytes(head, size, self._what)
                    rows += head.rows
                    batch = record_batch(head, schema, memory)
                    # The frame must not hold what its user has let go of.
                    del memory
                    yield batch
                    del batch
            except OSError as error:
                # The call tells why, unless this connection alone was cut.
                if not ended.wait(SECONDS_TO_EXPLAIN):
                    raise errors.ConnectionFailedError(
                        f"{self._what} was not read to its end: the connection to port {told.port} of the node at "
                        f"{self._endpoint.address} broke after {rows} rows ({error}). Rows come over a connection of "
                        f'their own. Read again, or over the node\'s own port (transport="flight")'
                    ) from None
        for answer in call:
            if answer.HasField("result"):
                self.result = answer.result
        if not self._running.cancelled:
            check_result(self.result, rows, self._what)

    def _connect(self, port: int) -> socket.socket:
        try:
            return tcp_connection(self._endpoint.address, port, SECONDS_TO_CONNECT)
        except OSError as error:
            raise TcpUnavailableError(
                f"{self._what} was not read: no connection to port {port} ({error}), where the node at "
                f"{self._endpoint.address} sends rows (its tensorflow.ignite.rows.port). Let that port through, or "
                f'read over the node\'s own port (transport="flight")'
            ) from None

    def _layout(self, connection: socket.socket) -> tuple[data_pb2.BatchLayout, int] | None:
        """The next batch's layout and the bytes of its buffers; None behind the last."""
        lengths = bytearray(_LENGTHS.size)
        if not _receive_into(connection, memoryview(lengths)):
            return None
        described, size = _LENGTHS.unpack(lengths)
        if described > _MOST_LAYOUT_BYTES or size > _MOST_BYTES:
            raise errors.InternalError(
                f"{self._what}: a batch of {size} bytes with a layout of {described} was announced. A node announces "
                f"at most {_MOST_BYTES} and {_MOST_LAYOUT_BYTES}. Check that nothing but the node at "
                f"{self._endpoint.address} answers at the port that it names"
            )
        text = bytearray(described)
        if not _receive_into(connection, memoryview(text)):
            return None
        return data_pb2.BatchLayout.FromString(bytes(text)), size

    def _memory(self, size: int) -> pa.Buffer:
        """Where the next batch goes."""
        if self._keep is not None:
            if self._keep(size):
                return unshared(size)
            self._keep = None
        if len(self._lent) >= most_segments(self._size):
            return unshared(size)
        while self._free:
            segment = self._free.pop()
            if segment.size >= size:
                return self._lend(segment)
        try:
            return self._lend(pool().take(max(self._size, segment_bytes(size, 1))))
        except errors.SharingUnavailableError:
            # The machine is full, or has no such memory.
            return unshared(size)

    def _lend(self, segment: Segment) -> pa.Buffer:
        self._lent.add(segment)
        return Lease(segment, self._returned).buffer()

    def _returned(self, segment: Segment) -> None:
        """A lease has ended, in any thread, perhaps long after the stream."""
        self._lent.discard(segment)
        if self._open:
            self._free.append(segment)
        else:
            pool().give_back(segment)

    def _end(self) -> None:
        self._open = False
        self._running.end()
        pool().keep_warm()
        while self._free:
            pool().give_back(self._free.pop())


def _unserved(address: str) -> TcpUnavailableError:
    return TcpUnavailableError(
        f"the node at {address} sends no rows over connections of their own: it uses TLS, which these do not, or its "
        f'tensorflow.ignite.rows.port is none. Read over the node\'s own port (transport="flight")'
    )


def _watch(call: Any, connection: socket.socket) -> threading.Event:
    """What is set when a call has ended: gRPC notices a node that freezes, and nobody waits for its bytes any more."""
    ended = threading.Event()

    def end(_: Any) -> None:
        # Of a call that has ended well, bytes may be on their way.
        if call.code() is not grpc.StatusCode.OK:
            # It may be closed already.
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        ended.set()

    call.add_done_callback(end)
    return ended


def _receive(connection: socket.socket, address: int, size: int) -> bool:
    return _receive_into(connection, memoryview((ctypes.c_char * size).from_address(address)).cast("B"))


def _receive_into(connection: socket.socket, memory: memoryview) -> bool:
    """Fills memory; False when the connection ends before."""
    while memory:
        count = connection.recv_into(memory, flags=socket.MSG_WAITALL)
        if count == 0:
            return False
        memory = memory[count:]
    return True
