"""A stream that continues on other nodes if its partitions move, or if its node is lost before it has sent a row."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport.choice import Stream
from tensorflow_ignite.data.transport.flight import Endpoint
from tensorflow_ignite.data.transport.repeats import Repeats
from tensorflow_ignite.v1 import data_pb2

# Equal to the time for which a node waits for new owners of the partitions of a node that left.
SECONDS_TO_SETTLE = 10.0
# Pause before the next request for the owners of partitions whose owner does not have them yet.
SECONDS_BETWEEN_QUESTIONS = 0.1


class MovedPartitionStream:
    """The record batches of an endpoint; each partition is read from its owner at that time.

    If a partition moves while a node sends it, the node sends it to its end. At the end the node returns the partitions
    that moved before it reached them; these are read from their new owners. So each row that exists all the time comes
    once, but partitions are not in the requested order. One thread iterates; any thread may cancel.

    A node that is lost before its first batch is replaced by the new owners, as soon as the cluster names them. Later
    its partitions could come twice: then the stream fails, unless it keeps batches back until each node has sent all.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        subject: str,
        opened: Callable[[Endpoint], Stream],
        owners: Callable[[data_pb2.ReadCommand], Sequence[Endpoint]],
        *,
        keeps_back: bool = False,
    ) -> None:
        """Opens nothing before iteration.

        Args:
            endpoint: The node and the command.
            subject: Names the rows in error texts, such as "cache 'x'".
            opened: Returns the stream of an endpoint, which opens nothing before iteration either.
            owners: Returns the present owners of the partitions of a command.
            keeps_back: Whether batches are passed on only after the last one of their node.
        """
        self._endpoint = endpoint
        self._subject = subject
        self._opened = opened
        self._owners = owners
        self._keeps_back = keeps_back
        # Re-entrant: a finalizer, which the interpreter runs anywhere, may call cancel().
        self._lock = threading.RLock()
        self._cancelled = threading.Event()
        self._stream: Stream | None = None
        #: The partitions that are read.
        self.partitions = frozenset(endpoint.command.partitions)
        #: The results of the nodes so far.
        self.results: list[data_pb2.ReadResult] = []

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Opens one stream after the other and yields their batches; ends early, without an error, when cancelled.

        Raises:
            PartitionNotLocalError: If the owner of a partition does not have it for 10 s.
            ConnectionFailedError: If a node is lost while it sends, or no node has its partitions after a minute.
            TensorFlowIgniteError: If a node refuses the call.
        """
        waiting = deque([self._endpoint])
        missed = 0.0
        repeats = Repeats(self._cancelled.wait)
        while waiting and not self._cancelled.is_set():
            endpoint = waiting.popleft()
            stream = self._begin(endpoint)
            has_passed_on = False
            try:
                kept = list(stream) if self._keeps_back else stream
                for batch in kept:
                    has_passed_on = True
                    yield batch
                    # This frame must not keep the batch alive after its user has released it.
                    del batch
            except errors.ConnectionFailedError as error:
                if has_passed_on:
                    raise
                if self._cancelled.is_set():
                    return
                repeats.pause(error)
                # As if the node had said that they are elsewhere.
                self.results.append(data_pb2.ReadResult(moved=endpoint.command.partitions))
                waiting.extend(self._present_owners(endpoint.command.partitions, repeats, waits=True))
                continue
            repeats.begin_anew()
            if stream.result is not None:
                self.results.append(stream.result)
            moved = list(stream.result.moved) if stream.result else []
            if not moved:
                continue
            if len(moved) < len(endpoint.command.partitions):
                missed = 0.0
            elif not missed:
                missed = time.monotonic()
            elif time.monotonic() - missed > SECONDS_TO_SETTLE:
                raise errors.PartitionNotLocalError(
                    f"{self._subject} was not read to its end: the cluster names the node at {endpoint.address} as the "
                    f"owner of {len(moved)} partitions, such as {moved[0]}, but that node has not had them for "
                    f"{SECONDS_TO_SETTLE:.0f} s. Partitions that move are read from their new owners as soon as the "
                    f"nodes agree on the owners. Read again when the cluster is balanced"
                )
            else:
                self._cancelled.wait(SECONDS_BETWEEN_QUESTIONS)
            waiting.extend(self._present_owners(moved, repeats))

    def cancel(self) -> None:
        """Ends the stream; returns at once."""
        with self._lock:
            self._cancelled.set()
            if self._stream is not None:
                self._stream.cancel()

    def _command_of(self, partitions: Sequence[int], waits: bool) -> data_pb2.ReadCommand:
        """For partitions that another node may own now: it does not know positions of the earlier owner."""
        wait_millis = self._endpoint.command.wait_millis if waits else 0
        return self._endpoint.modified(partitions=partitions, uncounted=True, since=[], wait_millis=wait_millis).command

    def _present_owners(
        self, partitions: Sequence[int], repeats: Repeats, *, waits: bool = False
    ) -> Sequence[Endpoint]:
        """The owners of partitions that a node has not sent; none if the stream is cancelled meanwhile."""
        while not self._cancelled.is_set():
            try:
                return self._owners(self._command_of(partitions, waits))
            except errors.ConnectionFailedError as error:
                if not self._cancelled.is_set():
                    repeats.pause(error)
        return ()

    def _begin(self, endpoint: Endpoint) -> Stream:
        stream = self._opened(endpoint.modified(follow=True))
        with self._lock:
            self._stream = stream
            if self._cancelled.is_set():
                stream.cancel()
        return stream
