"""The only file that speaks to a node's SharedMemory service: batches that a node of this host lays into our memory.

A stream has a bounded number of segments. The node fills those that it was offered; a filled one is lent to whoever
uses the batch, and offered again when the last user has gone. When users keep so many that the node would run out, a
batch is copied instead and its segment offered again at once: the node never waits for a user, and nothing that a user
holds is ever written again.
"""

from __future__ import annotations

import itertools
import os
import queue
from collections.abc import Iterator
from dataclasses import dataclass

import grpc
import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.channels import grpc_channel
from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.data.transport.batches import (
    BATCH_BYTES,
    SEGMENT_ROUNDING,
    Keep,
    most_segments,
    record_batch,
    segment_bytes,
    used_bytes,
)
from tensorflow_ignite.data.transport.calls import Running, translate
from tensorflow_ignite.data.transport.flight import Endpoint, check_result
from tensorflow_ignite.data.transport.segments import Lease, copy, pool
from tensorflow_ignite.memory import NONCE_BYTES, Segment
from tensorflow_ignite.v1 import data_pb2, shared_pb2, shared_pb2_grpc

# Of a stream's segments so many are the node's to fill.
FREE = 2
_MOST_BYTES = 2**31 - 1


@dataclass(frozen=True)
class _Offer:
    segment: Segment
    # The node forgets it when it is filled.
    once: bool


class SharedStream:
    """The record batches behind one endpoint on this host, in order. One thread iterates; any thread may cancel.

    It takes up to ``most_segments`` segments of ``segment_bytes(batch_bytes)``, or larger ones that are warm; rows that
    need larger ones get them.

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
            keep: Asked, with its size in bytes, for each batch whose memory is to be its own for good, never filled
                again. Once it answers False it is not asked any more, and memory is used in turns from then on.
            credentials: Who asks.
        """
        self._credentials = credentials
        self._endpoint = endpoint
        self._what = what
        self._keep = keep
        self._nonce = os.urandom(NONCE_BYTES)
        self._running = Running()
        self._requests: queue.SimpleQueue[shared_pb2.SharedRequest | None] = queue.SimpleQueue()
        self._size = 0
        self._limit = 0
        self._ids = itertools.count(1)
        # What the node may write into, by the ids it was offered under; changed by one operation each, so that a lease
        # may end in the middle of anything.
        self._offered: dict[int, _Offer] = {}
        # Ids of segments that the node has mapped.
        self._known: dict[Segment, int] = {}
        self._lent: set[Segment] = set()
        self._open = False
        self.result: data_pb2.ReadResult | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Opens the stream and yields its batches; ends early, without an error, when cancelled.

        Raises:
            SharingUnavailableError: If the node cannot write into this process's memory; before any batch.
            TensorFlowIgniteError: If the node refuses or the stream breaks.
        """
        command = data_pb2.ReadCommand.FromString(self._endpoint.ticket)
        command.batch_bytes = command.batch_bytes or BATCH_BYTES
        self._size = segment_bytes(command.batch_bytes, command.batch_rows)
        self._limit = most_segments(self._size)
        opening = shared_pb2.OpenShared(command=command, pid=os.getpid(), nonce=self._nonce)
        self._requests.put(shared_pb2.SharedRequest(open=opening))
        self._open = True
        complete = False
        try:
            self._replenish()
            with grpc_channel(self._endpoint.address, self._credentials) as channel:
                stub = shared_pb2_grpc.SharedMemoryStub(channel)  # type: ignore[no-untyped-call]
                call = stub.Read(iter(self._requests.get, None))
                self._running.begin(call)
                yield from self._batches(call)
                complete = True
        except grpc.RpcError as error:
            if not self._running.cancelled:
                raise translate(error, self._endpoint.address, self._what, self._credentials, _unserved) from None
        finally:
            self._end(complete)

    def cancel(self) -> None:
        """Ends the stream; returns at once."""
        self._running.cancel()

    def _batches(self, answers: Iterator[shared_pb2.SharedBatch]) -> Iterator[pa.RecordBatch]:
        schema: pa.Schema | None = None
        rows = 0
        for answer in answers:
            if answer.schema:
                schema = pa.ipc.read_schema(pa.py_buffer(answer.schema))
            if answer.needs_bytes:
                self._enlarge(answer.needs_bytes)
            if answer.HasField("batch"):
                assert schema is not None
                rows += answer.batch.rows
                yield self._batch(answer, schema)
            if answer.HasField("result"):
                self.result = answer.result
        if not self._running.cancelled:
            check_result(self.result, rows, self._what)

    def _batch(self, answer: shared_pb2.SharedBatch, schema: pa.Schema) -> pa.RecordBatch:
        offer = self._offered.pop(answer.segment)
        segment = offer.segment
        used = used_bytes(answer.batch, segment.size, self._what)
        if self._keep is not None and offer.once:
            if self._keep(used):
                return record_batch(answer.batch, schema, self._kept(segment, used))
            self._keep = None
        self._lent.add(segment)
        memory = Lease(segment, self._returned).buffer()
        self._replenish()
        if len(self._offered) < FREE:
            # The lease ends here, and the segment is offered again.
            memory = copy(memory, used)
        return record_batch(answer.batch, schema, memory)

    def _kept(self, segment: Segment, used: int) -> pa.Buffer:
        self._replenish()
        segment.give_up_fd()
        segment.trim(used)
        return Lease(segment, _let_go).buffer()

    def _replenish(self) -> None:
        """Offers new segments where the node has few, as long as the stream may have more."""
        while len(self._offered) < FREE and len(self._offered) + len(self._lent) < self._limit:
            try:
                self._offer(pool().take(self._size))
            except errors.SharingUnavailableError:
                # The machine is full: go on with those that there are.
                self._keep = None
                self._limit = len(self._offered) + len(self._lent)
                if self._limit == 0:
                    raise

    def _offer(self, segment: Segment) -> None:
        once = self._keep is not None
        known = self._known.get(segment)
        number = next(self._ids) if known is None else known
        if known is None:
            segment.write(self._nonce)
            if not once:
                self._known[segment] = number
        self._offered[number] = _Offer(segment, once)
        offered = shared_pb2.Segment(id=number, fd=segment.fd, bytes=segment.size, once=once)
        self._requests.put(shared_pb2.SharedRequest(offer=offered))

    def _returned(self, segment: Segment) -> None:
        """A lease has ended, in any thread, perhaps long after the stream."""
        self._lent.discard(segment)
        if not self._open:
            pool().give_back(segment)
        elif segment.size >= self._size:
            self._offer(segment)

    def _enlarge(self, needed: int) -> None:
        """The node has let go of all smaller segments."""
        self._size = max(needed, min(segment_bytes(needed), _MOST_BYTES // SEGMENT_ROUNDING * SEGMENT_ROUNDING))
        self._limit = min(self._limit, most_segments(self._size))
        for number, offer in list(self._offered.items()):
            if offer.segment.size < needed:
                del self._offered[number]
                self._known.pop(offer.segment, None)
        # Whatever is lent, the node needs one more.
        self._limit = max(self._limit, len(self._lent) + FREE)
        self._replenish()

    def _end(self, complete: bool) -> None:
        self._open = False
        self._running.end()
        self._requests.put(None)
        offered, self._offered = self._offered, {}
        self._known.clear()
        # A node that was interrupted may still be writing.
        if complete:
            pool().keep_warm()
            for offer in offered.values():
                pool().give_back(offer.segment)


def _unserved(address: str) -> errors.SharingUnavailableError:
    return errors.SharingUnavailableError(
        f"the node at {address} shares no memory: it serves no SharedMemory. Node and client are of different "
        f'versions. Install the same, or read over the network (transport="tcp")'
    )


def _let_go(segment: Segment) -> None:
    """The last user of memory of its own has gone, and with it the memory."""
