"""Arrow record batches over memory that a node has filled, and the sizes of that memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.v1 import data_pb2

# A batch of this size stays in the processor's caches between the node that writes it and the reader.
BATCH_BYTES = 4 * 1024 * 1024
# Maximum number of segments of a stream: TensorFlow uses several while it makes a batch of its own.
SEGMENTS = 10
# Large segments are fewer, down to LEAST_SEGMENTS, so that a stream has at most STREAM_BYTES.
STREAM_BYTES = 128 * 1024 * 1024
LEAST_SEGMENTS = 4
SEGMENT_ROUNDING = 64 * 1024

#: Whether the reader keeps a batch of this size in bytes permanently, so that the batch needs its own memory.
Keep = Callable[[int], bool]


def segment_bytes(batch_bytes: int, batch_rows: int = 0) -> int:
    """The size of segments for batches of ``batch_bytes``, with a reserve for one more row and for columns that grow.

    If the number of rows ends a batch, the size is exact, and no reserve is needed.
    """
    reserve = 0 if batch_rows else batch_bytes // 4
    return -(-(batch_bytes + reserve) // SEGMENT_ROUNDING) * SEGMENT_ROUNDING


def most_segments(size: int) -> int:
    """Maximum number of segments of this size in a stream."""
    return max(LEAST_SEGMENTS, min(SEGMENTS, STREAM_BYTES // max(1, size)))


def used_bytes(layout: data_pb2.BatchLayout, size: int, subject: str) -> int:
    """The offset of the end of the last buffer of a batch.

    Args:
        layout: Offsets of the buffers.
        size: Size of the memory in bytes.
        subject: Names the rows in error texts, such as "cache 'x'".

    Raises:
        InternalError: If this offset is beyond the end of the memory.
    """
    used = max((buffer.offset + buffer.bytes for buffer in layout.buffers), default=0)
    if used > size:
        raise errors.InternalError(
            f"{subject}: a batch ends at byte {used} of memory of {size}. A node writes only inside the memory of a "
            f"batch. Install the same version of tensorflow-ignite on node and client"
        )
    return used


def record_batch(layout: data_pb2.BatchLayout, schema: pa.Schema, memory: pa.Buffer) -> pa.RecordBatch:
    """The batch that a layout describes, without a copy; the batch keeps the memory alive.

    Args:
        layout: Lengths of the columns, and offsets of their buffers in the memory.
        schema: Schema of the batch.
        memory: The memory.
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
    layouts = [next(buffers) for _ in range(kind.num_buffers)]
    # Arrow accepts a missing buffer for a validity without nulls, but not for the values of empty texts.
    validity = _slice(layouts[0], memory) if layouts[0].bytes else None
    own = [validity, *(_slice(buffer, memory) for buffer in layouts[1:])]
    # -1: Arrow counts the nulls of a validity when the count is needed.
    nulls = node.nulls or (0 if validity is None else -1)
    children = [_array(kind.field(index).type, nodes, buffers, memory) for index in range(kind.num_fields)]
    return pa.Array.from_buffers(kind, node.length, own, nulls, children=children)


def _slice(buffer: data_pb2.BatchBuffer, memory: pa.Buffer) -> pa.Buffer:
    return memory.slice(buffer.offset if buffer.bytes else 0, buffer.bytes)
