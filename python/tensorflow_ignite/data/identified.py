"""Streams whose rows are identified, so that what changes later can be found and read alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from tensorflow_ignite.data.epochs.changes import IDENTITY_BYTES, IDENTITY_COLUMNS, PARTITION_MASK, Changes, Position
from tensorflow_ignite.data.epochs.prefetch import Stream
from tensorflow_ignite.data.transport.flight import Endpoint
from tensorflow_ignite.data.transport.moved_partitions import MovedPartitionStream
from tensorflow_ignite.v1 import data_pb2


class FixedStream:
    """A stream whose rows are identified, of partitions that must not move meanwhile: they come in their order.

    Attributes:
        partitions: The partitions that it reads.
        is_mixed: Whether rows of all partitions come among each other, as the database finds them.
    """

    def __init__(self, stream: Stream, partitions: Iterable[int], is_mixed: bool = False) -> None:
        """Opens nothing before iteration."""
        self.partitions = frozenset(partitions)
        self.is_mixed = is_mixed
        self._batches = stream

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yields the batches in order; in each, the rows of a partition lie together."""
        return map(_by_partition, self._batches) if self.is_mixed else iter(self._batches)

    def cancel(self) -> None:
        """Ends the stream; returns at once."""
        self._batches.cancel()

    def outcome(self) -> Changes:
        """Nothing is known of changes."""
        return Changes()


class IdentifiedStream(FixedStream):
    """A stream with what its nodes say about its partitions. One thread iterates; any thread may cancel."""

    def __init__(
        self,
        stream: MovedPartitionStream,
        is_mixed: bool = False,
        end: Callable[[IdentifiedStream], None] = lambda stream: None,
    ) -> None:
        """Opens nothing before iteration; ``end`` is called with this stream after the last row."""
        super().__init__(stream, stream.partitions, is_mixed)
        self._stream = stream
        self._end = end

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yields the batches in order; in each, the rows of a partition lie together."""
        yield from super().__iter__()
        self._end(self)

    @property
    def has_moved(self) -> bool:
        """Whether a partition was read from another node than the given one."""
        return any(result.moved for result in self._stream.results)

    def outcome(self) -> Changes:
        """What the nodes say after the last row; it has no rows."""
        return changes(self._stream.results)


def _by_partition(records: pa.RecordBatch) -> pa.RecordBatch:
    if records.schema.names[-1:] != [IDENTITY_COLUMNS[-1]]:
        # A node of an earlier version sends rows without identities.
        return records
    partitions = records.column(records.num_columns - 1).to_numpy() & PARTITION_MASK
    return records.take(pa.array(np.argsort(partitions, kind="stable")))


def changes(results: Sequence[data_pb2.ReadResult]) -> Changes:
    """What nodes say after the last row."""
    removed = np.frombuffer(b"".join(result.removed for result in results), ">i8").reshape(-1, 2)
    return Changes(
        removed=removed.astype(np.int64),
        whole=frozenset(partition for result in results for partition in result.whole),
        positions={
            position.partition: Position(position.feed, position.sequence)
            for result in results
            for position in result.positions
        },
    )


def since(endpoint: Endpoint, positions: Mapping[int, Position]) -> Endpoint:
    """The endpoint with a command for what has changed since positions; partitions without one are read whole."""
    command = endpoint.command
    return identified(endpoint).modified(
        positions=True,
        since=[
            data_pb2.PartitionPosition(partition=partition, feed=position.feed, sequence=position.sequence)
            for partition in command.partitions
            if (position := positions.get(partition)) is not None
        ],
    )


def identified(endpoint: Endpoint) -> Endpoint:
    """The endpoint with a command for rows with the columns that identify them."""
    command = endpoint.command
    # These columns must not end a batch before its number of rows does.
    size = command.batch_bytes + IDENTITY_BYTES * command.batch_rows if command.batch_bytes else 0
    return endpoint.modified(identities=True, batch_bytes=size)
