"""The only file that speaks to a node's SharedMemoryService: batches that a node of this host writes into our memory.

A stream has a bounded number of segments. The node fills the offered segments. A filled segment is leased to the users
of the batch, and offered again after its last user was collected. If the users' leases leave no segment for the node, a
batch is copied, and its segment is offered again at once. So the node never waits for a user, and memory that a user
holds is never written again.
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
from tensorflow_ignite.data.transport import batches
from tensorflow_ignite.data.transport.calls import translate
from tensorflow_ignite.data.transport.flight import BatchStream, Endpoint, check_result
from tensorflow_ignite.data.transport.segments import Lease, copy, pool
from tensorflow_ignite.memory import NONCE_BYTES, Segment
from tensorflow_ignite.net.channels import grpc_channel
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.v1 import shared_pb2, shared_pb2_grpc

# Number of segments that are offered to the node at a time.
FREE = 2
_MOST_BYTES = 2**31 - 1


@dataclass(frozen=True)
class _OfferedSegment:
    segment: Segment
    # Whether the node unmaps the segment after it has filled it.
    once: bool


class SharedStream(BatchStream):
    """The record batches behind one endpoint on this host, in order. One thread iterates; any thread may cancel.

    It uses up to ``most_segments`` segments of ``segment_bytes(batch_bytes)``, or larger ones of the pool; larger rows
    get larger segments.
    """

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
        self._nonce = os.urandom(NONCE_BYTES)
        self._requests: queue.SimpleQueue[shared_pb2.ReadIntoMemoryRequest | None] = queue.SimpleQueue()
        self._size = 0
        self._limit = 0
        self._ids = itertools.count(1)
        # Segments that the node may write, by id. Each change is atomic, because a lease may end at any point.
        self._offered: dict[int, _OfferedSegment] = {}
        # Ids of segments that the node has mapped.
        self._known: dict[Segment, int] = {}
        self._leased: set[Segment] = set()
        self._open = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Opens the stream and yields its batches; ends early, without an error, when cancelled.

        Raises:
            SharingUnavailableError: If the node cannot write into this process's memory; before any batch.
            TensorFlowIgniteError: If the node refuses the call or the stream breaks.
        """
        command = self._endpoint.modified(batch_bytes=self._endpoint.command.batch_bytes or batches.BATCH_BYTES).command
        self._size = batches.segment_bytes(command.batch_bytes, command.batch_rows)
        self._limit = batches.most_segments(self._size)
        opening = shared_pb2.ReadIntoMemoryStart(command=command, pid=os.getpid(), nonce=self._nonce)
        self._requests.put(shared_pb2.ReadIntoMemoryRequest(start=opening))
        self._open = True
        complete = False
        try:
            self._offer_more()
            with grpc_channel(self._endpoint.address, self._credentials) as channel:
                stub = shared_pb2_grpc.SharedMemoryServiceStub(channel)  # type: ignore[no-untyped-call]
                call = stub.ReadIntoMemory(iter(self._requests.get, None))
                self._call.begin(call)
                yield from self._batches(call)
                complete = True
        except grpc.RpcError as error:
            if not self._call.cancelled:
                raise translate(
                    error, self._endpoint.address, self._subject, self._credentials, _not_supported
                ) from None
        finally:
            self._end(complete)

    def _batches(self, answers: Iterator[shared_pb2.ReadIntoMemoryResponse]) -> Iterator[pa.RecordBatch]:
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
        if not self._call.cancelled:
            check_result(self.result, rows, self._subject)

    def _batch(self, answer: shared_pb2.ReadIntoMemoryResponse, schema: pa.Schema) -> pa.RecordBatch:
        offer = self._offered.pop(answer.segment)
        segment = offer.segment
        used = batches.used_bytes(answer.batch, segment.size, self._subject)
        if self._keep is not None and offer.once:
            if self._keep(used):
                return batches.record_batch(answer.batch, schema, self._kept(segment, used))
            self._keep = None
        self._leased.add(segment)
        memory = Lease(segment, self._returned).buffer()
        self._offer_more()
        if len(self._offered) < FREE:
            # The lease ends here, and the segment is offered again.
            memory = copy(memory, used)
        return batches.record_batch(answer.batch, schema, memory)

    def _kept(self, segment: Segment, used: int) -> pa.Buffer:
        self._offer_more()
        segment.close_fd()
        segment.trim(used)
        return Lease(segment, _release).buffer()

    def _offer_more(self) -> None:
        """Offers new segments until the node has enough, or the stream has its maximum."""
        while len(self._offered) < FREE and len(self._offered) + len(self._leased) < self._limit:
            try:
                self._offer(pool().take(self._size))
            except errors.SharingUnavailableError:
                # The machine has no more memory: continue with the present segments.
                self._keep = None
                self._limit = len(self._offered) + len(self._leased)
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
        self._offered[number] = _OfferedSegment(segment, once)
        offered = shared_pb2.Segment(id=number, fd=segment.fd, bytes=segment.size, once=once)
        self._requests.put(shared_pb2.ReadIntoMemoryRequest(offer=offered))

    def _returned(self, segment: Segment) -> None:
        """Handles the end of a lease, on any thread, perhaps long after the end of the stream."""
        self._leased.discard(segment)
        if not self._open:
            pool().put_back(segment)
        elif segment.size >= self._size:
            self._offer(segment)

    def _enlarge(self, needed: int) -> None:
        """Offers larger segments; the node has unmapped all smaller ones."""
        self._size = max(
            needed,
            min(batches.segment_bytes(needed), _MOST_BYTES // batches.SEGMENT_ROUNDING * batches.SEGMENT_ROUNDING),
        )
        self._limit = min(self._limit, batches.most_segments(self._size))
        for number, offer in list(self._offered.items()):
            if offer.segment.size < needed:
                del self._offered[number]
                self._known.pop(offer.segment, None)
        # The node needs free segments, also if all others are leased.
        self._limit = max(self._limit, len(self._leased) + FREE)
        self._offer_more()

    def _end(self, complete: bool) -> None:
        self._open = False
        self._call.end()
        self._requests.put(None)
        offered, self._offered = self._offered, {}
        self._known.clear()
        # After an interrupted stream the node may still write into the segments, so they are not reused.
        if complete:
            pool().keep_warm()
            for offer in offered.values():
                pool().put_back(offer.segment)


def _not_supported(address: str) -> errors.SharingUnavailableError:
    return errors.SharingUnavailableError(
        f"the node at {address} shares no memory: it serves no SharedMemoryService. Node and client are of different "
        f'versions. Install the same, or read over the network (tfi.ReadOptions(transport="tcp"))'
    )


def _release(segment: Segment) -> None:
    """Does nothing: the memory is freed with the segment."""
