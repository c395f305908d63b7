"""Arrow record batches over memory that a node has laid out, and that memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.v1 import data_pb2

# A batch of this size stays in the processor's caches between the node that writes it and the one who reads it.
BATCH_BYTES = 4 * 1024 * 1024
# The most segments of one stream that are lent at once: TensorFlow holds several while it makes a batch of its own.
SEGMENTS = 10
# Segments of large batches may be fewer, down to LEAST_SEGMENTS, so that a stream has no more than so many bytes.
STREAM_BYTES = 128 * 1024 * 1024
LEAST_SEGMENTS = 4
SEGMENT_ROUNDING = 64 * 1024

#: Told the bytes of a batch; answers whether they may be kept for good.
Keep = Callable[[int], bool]


def segment_bytes(batch_bytes: int, batch_rows: int = 0) -> int:
    """The size of the segments for batches of about so many bytes: one row more, and room for columns that grow.

    Where the number of rows ends a batch, it is known what its columns need, and there is no row more.
    """
    more = 0 if batch_rows else batch_bytes // 4
    return -(-(batch_bytes + more) // SEGMENT_ROUNDING) * SEGMENT_ROUNDING


def most_segments(size: int) -> int:
    """How many segments of a size a stream may have."""
    return max(LEAST_SEGMENTS, min(SEGMENTS, STREAM_BYTES // max(1, size)))


def used_bytes(layout: data_pb2.BatchLayout, size: int, what: str) -> int:
    """Where the last buffer of a batch ends.

    Args:
        layout: Where the buffers lie.
        size: Bytes of the memory that they lie in.
        what: What is read, for messages.

    Raises:
        InternalError: If that is behind the memory's end.
    """
    used = max((buffer.offset + buffer.bytes for buffer in layout.buffers), default=0)
    if used > size:
        raise errors.InternalError(
            f"{what}: a batch ends at byte {used} of memory of {size}. A node writes inside of the memory that it is "
            f"lent. Node and client are of different versions; install the same"
        )
    return used


def record_batch(layout: data_pb2.BatchLayout, schema: pa.Schema, memory: pa.Buffer) -> pa.RecordBatch:
    """The batch that a layout describes; nothing is copied, and the batch keeps the memory.

    Args:
        layout: Lengths of the columns, and where in the memory their buffers lie.
        schema: The columns.
        memory: What the layout's offsets count from.
    """
    nodes = iter(layout.nodes)
    buffers = iter(layout.buffers)
    columns = [_array(field.type, nodes, buffers, memory) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _array(
    kind: pa.DataType,
    nodes: Iterator[data_pb2.BatchNode],
    buffers: Iterator[data_pb2.BatchBuffer],
    memory: pa.Buffer,
) -> pa.Array:
    node = next(nodes)
    told = [next(buffers) for _ in range(kind.num_buffers)]
    # Nothing stands for a validity without nulls; but Arrow takes no text without bytes.
    validity = _slice(told[0], memory) if told[0].bytes else None
    own = [validity, *(_slice(buffer, memory) for buffer in told[1:])]
    # A validity that came along is counted by Arrow, where somebody asks.
    nulls = node.nulls or (0 if validity is None else -1)
    children = [_array(kind.field(index).type, nodes, buffers, memory) for index in range(kind.num_fields)]
    return pa.Array.from_buffers(kind, node.length, own, nulls, children=children)


def _slice(buffer: data_pb2.BatchBuffer, memory: pa.Buffer) -> pa.Buffer:
    return memory.slice(buffer.offset if buffer.bytes else 0, buffer.bytes)
