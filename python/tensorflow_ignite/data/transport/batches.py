"""Arrow record batches over memory that a node has laid out."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tensorflow_ignite.v1 import shared_pb2


def record_batch(answer: shared_pb2.SharedBatch, schema: pa.Schema, memory: pa.Buffer) -> pa.RecordBatch:
    """The batch that an answer describes; nothing is copied, and the batch keeps the memory.

    Args:
        answer: Lengths of the columns, and where in the memory their buffers lie.
        schema: The columns.
        memory: What the answer's offsets count from.
    """
    nodes = iter(answer.nodes)
    buffers = iter(answer.buffers)
    columns = [_array(field.type, nodes, buffers, memory) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _array(
    kind: pa.DataType,
    nodes: Iterator[shared_pb2.SharedNode],
    buffers: Iterator[shared_pb2.SharedBuffer],
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


def _slice(buffer: shared_pb2.SharedBuffer, memory: pa.Buffer) -> pa.Buffer:
    return memory.slice(buffer.offset if buffer.bytes else 0, buffer.bytes)
