"""UUIDs travel as text of 36 characters, with their stored type in the field's metadata."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

# Value of `tensor_schema.TYPE_KEY`.
UUID = b"uuid"

_BYTES, _CHARACTERS = 16, 36
_DIGITS = [index for index in range(_CHARACTERS) if index not in (8, 13, 18, 23)]
_HEX = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), np.uint8).reshape(256, 2)


def is_uuid(kind: pa.DataType) -> bool:
    """Whether the type is Arrow's extension type of UUIDs."""
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name == "arrow.uuid"


def text_of(column: pa.Array) -> pa.Array:
    """A column of UUIDs as text."""
    storage = column.storage
    length = len(storage)
    data = storage.buffers()[1]
    raw = np.frombuffer(data, np.uint8, length * _BYTES, storage.offset * _BYTES) if length else np.empty(0, np.uint8)
    text = np.full((length, _CHARACTERS), ord("-"), np.uint8)
    text[:, _DIGITS] = _HEX[raw].reshape(length, 2 * _BYTES)
    offsets = np.arange(0, (length + 1) * _CHARACTERS, _CHARACTERS, dtype=np.int32)
    found = pa.StringArray.from_buffers(length, pa.py_buffer(offsets), pa.py_buffer(text))
    return compute.if_else(storage.is_valid(), found, pa.scalar(None, pa.string()))
