"""A stream that goes on where its partitions have moved."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport.flight import Endpoint
from tensorflow_ignite.data.transport.streams import Stream
from tensorflow_ignite.v1 import data_pb2

# As long as a node itself waits for new owners of what a node had that left.
SECONDS_TO_SETTLE = 10.0
# Between two questions about partitions that nobody has who should.
SECONDS_BETWEEN_QUESTIONS = 0.1


class FollowingStream:
    """The record batches behind an endpoint, each partition from whoever has it when its turn comes.

    A node sends a partition to its end when that moves meanwhile, and names those that moved before their turn; these
    are read from their new owners, after the rest. So each row that is there all the while comes once, but partitions
    are not in the order in which they were asked for. One thread iterates; any thread may cancel.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        what: str,
        opened: Callable[[Endpoint], Stream],
        owners: Callable[[data_pb2.ReadCommand], Sequence[Endpoint]],
    ) -> None:
        """Remembers what to read; nothing is opened before iteration.

        Args:
            endpoint: Who sends, and what.
            what: What is read, for messages.
            opened: Gives the stream of an endpoint, which opens nothing before iteration either.
            owners: Tells who has the partitions of a command now.
        """
        self._endpoint = endpoint
        self._what = what
        self._opened = opened
        self._owners = owners
        # Re-entrant: cancel may run in a finalizer, wherever the interpreter happens to be.
        self._lock = threading.RLock()
        self._cancelled = threading.Event()
        self._stream: Stream | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Opens one stream after the other and yields their batches; ends early, without an error, when cancelled.

        Raises:
            PartitionNotLocalError: If nobody has a partition who should, for 10 s.
            TensorFlowIgniteError: If a node refuses or a stream breaks.
        """
        command = data_pb2.ReadCommand.FromString(self._endpoint.ticket)
        command.uncounted = True
        waiting = deque([self._endpoint])
        missed = 0.0
        while waiting and not self._cancelled.is_set():
            endpoint = waiting.popleft()
            stream = self._begin(endpoint)
            for batch in stream:
                yield batch
                # The frame must not hold what its user has let go of.
                del batch
            moved = list(stream.result.moved) if stream.result else []
            if not moved:
                continue
            if len(moved) < len(_partitions(endpoint)):
                missed = 0.0
            elif not missed:
                missed = time.monotonic()
            elif time.monotonic() - missed > SECONDS_TO_SETTLE:
                raise errors.PartitionNotLocalError(
                    f"{self._what} was not read to its end: {len(moved)} partitions, such as {moved[0]}, are said to "
                    f"be on the node at {endpoint.address}, which has not had them for {SECONDS_TO_SETTLE:.0f} s. "
                    f"Partitions that move are read from their new owners as soon as the nodes agree on these. Read "
                    f"again when the cluster is balanced"
                )
            else:
                self._cancelled.wait(SECONDS_BETWEEN_QUESTIONS)
            del command.partitions[:]
            command.partitions.extend(moved)
            waiting.extend(self._owners(command))

    def cancel(self) -> None:
        """Ends the stream; returns at once."""
        with self._lock:
            self._cancelled.set()
            if self._stream is not None:
                self._stream.cancel()

    def _begin(self, endpoint: Endpoint) -> Stream:
        command = data_pb2.ReadCommand.FromString(endpoint.ticket)
        command.follow = True
        stream = self._opened(Endpoint(endpoint.address, command.SerializeToString()))
        with self._lock:
            self._stream = stream
            if self._cancelled.is_set():
                stream.cancel()
        return stream


def _partitions(endpoint: Endpoint) -> Sequence[int]:
    return data_pb2.ReadCommand.FromString(endpoint.ticket).partitions
