"""Arrow columns as arrays for TensorFlow, without a copy where Arrow and TensorFlow have the same layout.

TensorFlow uses the memory of an array whose address is a multiple of 64. The array keeps its Arrow buffer alive, and no
buffer is written again while it lives, so a tensor may live as long as its user needs it. But TensorFlow takes that
memory for its own: an operation may write its result there. So an array has memory that nobody else reads (`owned`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.tensor_schema import Column, is_list, is_text, numpy_dtype

# TensorFlow uses an array without a copy exactly if its address is a multiple of this number.
ALIGNMENT = 64

Array = npt.NDArray[Any]
# True where there is a value; None: True everywhere.
Validity = npt.NDArray[np.bool_] | None


def arrays_of(batch: pa.RecordBatch, layout: Sequence[Column], real: bool = True) -> list[Array]:
    """The arrays of a batch: for each leaf its values, its mask if it has one, then its row splits, outermost first.

    Args:
        batch: Rows with exactly these columns.
        layout: The result of :func:`columns_of` for the schema of the batch.
        real: Whether these are rows of a cache; the masks of rows that only fill an epoch are False.

    Returns:
        One array for each type of :func:`types_of`. Values and masks have the shape ``[rows, *shape]`` for a dense
        leaf, and ``[elements, *shape]`` for a ragged one; splits are int64. A value that is null, or inside a null, is
        zero, False or an empty text; a null list is an empty list.

    Raises:
        RowMismatchError: If a value is null where nulls are an error.
    """
    arrays: list[Array] = []
    valid = None if real else np.zeros(batch.num_rows, np.bool_)
    for column, array in zip(layout, batch.columns, strict=True):
        _ArrayBuilder(column.name, column.nulls == "error", arrays).descend(
            column, _Level(array, valid, batch.num_rows, ())
        )
    return arrays


def owned(arrays: Sequence[Array], kept: bool) -> list[Array]:
    """The arrays of a batch; copied to new memory where TensorFlow would otherwise use the memory of the batch.

    Args:
        arrays: The result of :func:`arrays_of`.
        kept: Whether their memory is read again, such as the memory of a snapshot.
    """
    own: list[Array] = []
    addresses: set[int] = set()
    for array in arrays:
        address = array.ctypes.data
        is_used = array.size > 0 and array.dtype != object and address % ALIGNMENT == 0
        # The elements of a list may have one validity, and one array of row splits.
        own.append(_copied(array) if is_used and (kept or address in addresses) else array)
        addresses.add(address)
    return own


def _copied(array: Array) -> Array:
    """A copy that TensorFlow uses without another one."""
    memory = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    copy: Array = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def empty_arrays(layout: Sequence[Column]) -> list[Array]:
    """The arrays of a batch without rows."""
    arrays: list[Array] = []
    for column in layout:
        if column.children:
            arrays += empty_arrays(column.children)
            continue
        shape = (0, *column.shape)
        arrays.append(np.empty(shape, object if column.dtype == "string" else column.dtype))
        arrays += [np.empty(shape, np.bool_)] * column.masked
        arrays += [np.zeros(1, np.int64)] * column.ragged
    return arrays


class _Fixed(NamedTuple):
    """A dimension of lists of one length: the number of lists, and of elements in each."""

    lists: int
    size: int


class _Level(NamedTuple):
    """The values of a column at one depth.

    Attributes:
        array: The values.
        valid: Which values are not inside a null.
        base: Number of elements of the innermost enclosing list of any length, or number of rows.
        dims: The enclosing lists, from the outermost; a list of any length as its row splits.
    """

    array: pa.Array
    valid: Validity
    base: int
    dims: tuple[Array | _Fixed, ...]


class _ArrayBuilder:
    """Descends from a column to its leaves, and appends their arrays."""

    def __init__(self, name: str, strict: bool, arrays: list[Array]) -> None:
        self._name = name
        self._strict = strict
        self._arrays = arrays

    def descend(self, column: Column, level: _Level) -> None:
        array, _, base, dims = level
        array = _stored(array)
        valid = self._combined_validity(array, level.valid)
        if is_list(array.type):
            splits, elements = _elements(array, valid)
            self.descend(column, _Level(elements, None, len(elements), (*dims, splits)))
        elif types.is_fixed_size_list(array.type):
            size = array.type.list_size
            elements = array.values.slice(array.offset * size, len(array) * size)
            inside = None if valid is None else np.repeat(valid, size)
            self.descend(column, _Level(elements, inside, base, (*dims, _Fixed(len(array), size))))
        elif types.is_struct(array.type):
            for index, child in enumerate(column.children):
                self.descend(child, _Level(array.field(index), valid, base, dims))
        else:
            self._leaf(column, _Level(array, valid, base, dims))

    def _combined_validity(self, array: pa.Array, valid: Validity) -> Validity:
        if not array.null_count:
            return valid
        if self._strict:
            raise errors.RowMismatchError(
                f"column {self._name!r} holds {array.null_count} null value(s) in one batch of {len(array)}. A tensor "
                f"has no null. Replace nulls with nulls='default' or nulls='mask', or choose other columns with "
                f"columns=[...]"
            )
        own: npt.NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
        return own if valid is None else own & valid

    def _leaf(self, column: Column, level: _Level) -> None:
        shape = (level.base, *column.shape)
        self._arrays.append(_values(self._name, level.array, column.dtype, level.valid).reshape(shape))
        if column.masked:
            mask = np.ones(len(level.array), np.bool_) if level.valid is None else level.valid
            self._arrays.append(mask.reshape(shape))
        self._arrays += [_splits(dim) for dim in level.dims[: column.ragged]]


def _stored(array: pa.Array) -> pa.Array:
    """The values of dictionaries and extension types."""
    while True:
        if isinstance(array, pa.DictionaryArray):
            array = array.dictionary_decode()
        elif isinstance(array, pa.ExtensionArray):
            array = array.storage
        else:
            return array


def _elements(array: pa.Array, valid: Validity) -> tuple[Array, pa.Array]:
    """Row splits of lists of any length, and their elements; a list that is not valid becomes an empty list."""
    if not len(array):
        return np.zeros(1, np.int64), array.values.slice(0, 0)
    offsets = array.offsets.to_numpy()
    start, end = int(offsets[0]), int(offsets[-1])
    elements = array.values.slice(start, end - start)
    if valid is None:
        splits = offsets.astype(np.int64, copy=False)
        return (splits - start if start else splits), elements
    sizes = np.diff(offsets)
    splits = np.zeros(len(offsets), np.int64)
    np.cumsum(np.where(valid, sizes, 0), out=splits[1:])
    if splits[-1] != len(elements):
        # Arrow allows elements inside a null list.
        elements = elements.filter(pa.array(np.repeat(valid, sizes)))
    return splits, elements


def _splits(dim: Array | _Fixed) -> Array:
    if isinstance(dim, _Fixed):
        return np.arange(dim.lists + 1, dtype=np.int64) * dim.size
    return dim


def _values(name: str, array: pa.Array, dtype: str, valid: Validity) -> Array:
    if dtype == "string":
        return _bytes(array, valid)
    if types.is_decimal(array.type) or is_text(array.type):
        if valid is not None:
            # A text inside a null object need not be a number.
            array = pc.if_else(pa.array(valid), array, pa.scalar(None, array.type))
        if types.is_decimal(array.type):
            # A cast by way of text rounds once; Arrow's direct cast turns 3.01 into 3.0100000000000002.
            array = array.cast(pa.string())
        try:
            array = array.cast(pa.float32() if dtype == "float32" else pa.float64())
        except pa.ArrowInvalid as error:
            raise errors.RowMismatchError(
                f"column {name!r} holds a text that is no decimal number: {error}. Its tensor is of type {dtype}. "
                f"Read the column as text with schema={{{name!r}: pyarrow.string()}}, or load a number into the row"
            ) from error
    values = _numbers(array)
    return values if valid is None else np.where(valid, values, np.zeros((), values.dtype))


def _numbers(array: pa.Array) -> Array:
    """The values of numbers, booleans, dates and times, without a copy; the values of nulls are not defined."""
    if not len(array):
        return np.empty(0, numpy_dtype(_number_type(array.type)))
    data = array.buffers()[1]
    plain = pa.Array.from_buffers(_number_type(array.type), len(array), [None, data], 0, array.offset)
    values: Array = plain.to_numpy(zero_copy_only=not types.is_boolean(array.type))
    return values


def _number_type(kind: pa.DataType) -> pa.DataType:
    if types.is_temporal(kind):
        return pa.int64() if kind.bit_width == 64 else pa.int32()
    return kind


def _bytes(array: pa.Array, valid: Validity) -> Array:
    """Bytes objects, which C makes in one call; TensorFlow takes them as strings, and would encode str again."""
    if types.is_decimal(array.type):
        array = array.cast(pa.string())
    large = types.is_large_string(array.type) or types.is_large_binary(array.type)
    array = array.cast(pa.large_binary() if large else pa.binary())
    if valid is not None:
        array = pc.if_else(pa.array(valid), array, pa.scalar(b"", array.type))
    values: Array = array.to_numpy(zero_copy_only=False)
    return values
