"""The argument ``schema=``: the Arrow types that are requested from a node, and the tensors that they become.

Types of TensorFlow are recognized without importing it: a script that uses them has imported it.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.tensor_schema import SHAPE_KEY, TYPE_KEY, RequestedTensor, is_text

_FORMS = (
    "a tf.TensorSpec, tf.RaggedTensorSpec or tf.DType, a type of numpy, a pyarrow.DataType or pyarrow.Field, or, for a "
    "nested object, a dict of these"
)


@dataclass(frozen=True)
class RequestedSchema:
    """The types that a reader requests for some columns.

    Attributes:
        schema: Requested Arrow types of the batches; None: those of the cache.
        tensors: Requested tensors, where they differ from those of the Arrow type.
    """

    schema: pa.Schema | None = None
    tensors: Mapping[tuple[str, ...], RequestedTensor] = field(default_factory=dict)

    @property
    def message(self) -> bytes:
        """The schema as an IPC message; empty without a schema."""
        return b"" if self.schema is None else bytes(self.schema.serialize().to_pybytes())


def parse_schema(schema: Any) -> RequestedSchema:
    """Parses the argument ``schema=``.

    Args:
        schema: None; a pyarrow.Schema; or a dict from column to its requested type: a tf.TensorSpec of one row's value,
            a tf.RaggedTensorSpec or a tf.TensorSpec with None in its shape for lists, a tf.DType or type of numpy for
            single values, a pyarrow.DataType, or a dict of these for a nested object.

    Raises:
        InvalidRequestError: If the argument is not one of these.
        UnsupportedTypeError: If no column of a cache can become the requested type.
    """
    if schema is None:
        return RequestedSchema()
    tensors: dict[tuple[str, ...], RequestedTensor] = {}
    if isinstance(schema, pa.Schema):
        fields = list(schema)
    elif isinstance(schema, Mapping) and schema:
        fields = [_field(name, spec, (name,), tensors) for name, spec in schema.items()]
    else:
        raise errors.InvalidRequestError(
            f"schema={schema!r:.200} is neither a pyarrow.Schema nor a dict from names of columns to their types, such "
            f"as {{'pixels': tf.TensorSpec([28, 28], tf.uint8)}}"
        )
    for each in fields:
        # A column that is requested as text stays text, also if the cluster stores decimals in it.
        for path in _texts(each, (each.name,)):
            tensors.setdefault(path, RequestedTensor("string"))
    return RequestedSchema(pa.schema(fields), tensors)


def _field(name: Any, spec: Any, path: tuple[Any, ...], tensors: dict[tuple[str, ...], RequestedTensor]) -> pa.Field:
    if not isinstance(name, str) or not name:
        raise errors.InvalidRequestError(
            f"schema= names a column {name!r}; the name of a column is a text that is not empty"
        )
    if isinstance(spec, pa.Field):
        return spec.with_name(name)
    if isinstance(spec, pa.DataType):
        return pa.field(name, spec)
    if isinstance(spec, Mapping) and spec:
        return pa.field(name, pa.struct([_field(key, entry, (*path, key), tensors) for key, entry in spec.items()]))
    dtype, shape = _dtype_and_shape(spec, path)
    lists = max((position + 1 for position, size in enumerate(shape) if size is None), default=0)
    tail = tuple(size for size in shape[lists:] if size is not None)
    tensors[path] = RequestedTensor(dtype, tail)
    kind, metadata = _arrow(dtype, path), None
    if tail:
        kind = pa.list_(kind, math.prod(tail))
        metadata = {SHAPE_KEY: json.dumps(tail).encode()} if len(tail) > 1 else None
    for size in reversed(shape[:lists]):
        kind = pa.list_(kind) if size is None else pa.list_(kind, size)
    return pa.field(name, kind, metadata=metadata)


def _dtype_and_shape(spec: Any, path: tuple[str, ...]) -> tuple[str, tuple[int | None, ...]]:
    tf: Any = sys.modules.get("tensorflow")
    if tf is not None and isinstance(spec, tf.DType):
        return spec.name, ()
    if tf is not None and isinstance(spec, (tf.TensorSpec, tf.RaggedTensorSpec)):
        return spec.dtype.name, _shape(spec, spec.shape, path)
    try:
        # numpy would make types of these.
        if spec is None or isinstance(spec, Mapping):
            raise TypeError
        dtype = np.dtype(spec)
    except TypeError as error:
        raise errors.InvalidRequestError(
            f"schema= has {spec!r:.200} for column {'.'.join(path)!r}. The type of a column is {_FORMS}. Give one of "
            "these"
        ) from error
    base, shape = dtype.subdtype or (dtype, ())
    return _name(base), _shape(spec, shape, path)


def _name(dtype: np.dtype[Any]) -> str:
    return "string" if dtype.kind in "OUS" else str(dtype.name)


def _shape(spec: Any, shape: Any, path: tuple[str, ...]) -> tuple[int | None, ...]:
    sizes: Sequence[int | None] | None = (
        None if getattr(shape, "rank", 0) is None else [None if size is None else int(size) for size in shape]
    )
    if sizes is None or 0 in sizes:
        raise errors.InvalidRequestError(
            f"schema= has {spec!r:.200} for column {'.'.join(path)!r}, whose shape is unknown or has no elements. Give "
            "the shape of one row's value, with None for lists of any length, such as [28, 28] or [None]"
        )
    return tuple(sizes)


def _arrow(dtype: str, path: tuple[str, ...]) -> pa.DataType:
    """The Arrow type that is requested for the elements of a tensor."""
    if dtype == "string":
        # Strings of TensorFlow are bytes, of a text or any other.
        return pa.binary()
    try:
        kind = pa.from_numpy_dtype(np.dtype(dtype))
    except (TypeError, pa.ArrowNotImplementedError):
        kind = None
    if kind is None or types.is_temporal(kind):
        raise errors.UnsupportedTypeError(
            f"schema= requests column {'.'.join(path)!r} as {dtype}, which no column of a cache becomes. Columns "
            "become bool, int8 to int64, uint8 to uint64, float16 to float64 and string. Choose one of these, and "
            "convert it with tf.cast in Dataset.map"
        )
    return kind


def _texts(each: pa.Field, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Paths of the leaves that are requested as plain text or bytes."""
    kind = each.type
    while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        each, kind = kind.value_field, kind.value_type
    if types.is_map(kind):
        yield from _texts(kind.key_field, (*path, "keys"))
        yield from _texts(kind.item_field, (*path, "values"))
    elif types.is_struct(kind):
        for child in kind:
            yield from _texts(child, (*path, child.name))
    elif is_text(kind) and TYPE_KEY not in (each.metadata or {}):
        yield path
