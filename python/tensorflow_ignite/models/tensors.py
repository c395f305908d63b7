"""Arrays as messages, and back: whole batches, without work for each value, strings excepted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.models.signature import Array, Signature, TensorSpec
from tensorflow_ignite.v1 import predict_pb2

_STRING = "string"
_ANY_SIZE = -1
_TYPES_OF_NUMPY = frozenset(
    [
        *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
        "float16",
        "float32",
        "float64",
        "bool",
    ]
)


def to_arrays(tensors: Iterable[predict_pb2.Tensor]) -> dict[str, Array]:
    """The arrays of a request, by their names. They use the memory of the message.

    Raises:
        InvalidRequestError: The bytes of a tensor do not fit its type and shape.
    """
    return {tensor.name: _to_array(tensor) for tensor in tensors}


def to_tensor(name: str, array: Array) -> predict_pb2.Tensor:
    """The message of an array; an array of objects has strings."""
    if array.dtype.kind in "OSU":
        values = array.ravel().tolist()
        if not all(isinstance(value, bytes | str) for value in values):
            raise InvalidRequestError(
                f"input {name!r} has a value that is neither text nor bytes, such as a null. A tensor of strings has "
                "text or bytes. Give such values"
            )
        strings = [value if isinstance(value, bytes) else value.encode() for value in values]
        return predict_pb2.Tensor(name=name, dtype=_STRING, shape=array.shape, strings=strings)
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(array.shape)
    return predict_pb2.Tensor(name=name, dtype=native.dtype.name, shape=array.shape, data=native.tobytes())


def to_signatures(signatures: Mapping[str, Signature]) -> list[predict_pb2.ModelSignature]:
    """The messages of the signatures of a model, in their order."""
    return [
        predict_pb2.ModelSignature(
            name=name,
            inputs=map(_to_spec, signature.inputs),
            outputs=map(_to_spec, signature.outputs),
            method=signature.method,
        )
        for name, signature in signatures.items()
    ]


def _to_spec(spec: TensorSpec) -> predict_pb2.TensorSpec:
    shape = [_ANY_SIZE if size is None else size for size in spec.shape or ()]
    return predict_pb2.TensorSpec(name=spec.name, dtype=spec.dtype, shape=shape, any_rank=spec.shape is None)


def _to_array(tensor: predict_pb2.Tensor) -> Array:
    count = math.prod(tensor.shape)
    if tensor.dtype == _STRING:
        if len(tensor.strings) != count:
            raise _wrong_size(tensor, len(tensor.strings), "strings")
        strings: Array = np.empty(count, dtype=object)
        strings[:] = list(tensor.strings)
        return strings.reshape(tensor.shape)
    dtype = _numpy_type(tensor)
    if len(tensor.data) != count * dtype.itemsize:
        raise _wrong_size(tensor, len(tensor.data), "bytes")
    return np.frombuffer(tensor.data, dtype=dtype).reshape(tensor.shape)


def _numpy_type(tensor: predict_pb2.Tensor) -> np.dtype[Any]:
    if tensor.dtype in _TYPES_OF_NUMPY:
        return np.dtype(tensor.dtype)
    import tensorflow as tf

    try:
        found: np.dtype[Any] = np.dtype(tf.dtypes.as_dtype(tensor.dtype).as_numpy_dtype)
    except TypeError:
        raise InvalidRequestError(
            f"input {tensor.name!r} has the type {tensor.dtype!r}. Types are TensorFlow's, such as float32 and string. "
            "Send one of them"
        ) from None
    return found


def _wrong_size(tensor: predict_pb2.Tensor, size: int, unit: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"input {tensor.name!r} has {size} {unit} for the type {tensor.dtype} and the shape {list(tensor.shape)}. The "
        "size is the size of all elements. Send tensors as predict.proto defines them"
    )
