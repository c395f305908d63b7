"""Arrow columns as arrays."""

from __future__ import annotations

import gc
import itertools
import json
import weakref
from dataclasses import asdict
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.tensor_schema import (
    SHAPE_KEY,
    TYPE_KEY,
    Column,
    RequestedTensor,
    columns_like,
    columns_of,
    describe,
    layout_of,
    pack,
    types_of,
)
from tensorflow_ignite.data.epochs.tensors import ALIGNMENT, arrays_of, empty_arrays, owned


def batch_of(array: pa.Array, metadata: dict[bytes, bytes] | None = None) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([array], schema=pa.schema([pa.field("c", array.type, metadata=metadata)]))


def read(array: pa.Array, nulls: str = "error") -> list[np.ndarray[Any, Any]]:
    batch = batch_of(array)
    return arrays_of(batch, columns_of(batch.schema, nulls))


NUMBERS = [*(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float16", "float32", "float64"]


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        *((pa.from_numpy_dtype(dtype), dtype) for dtype in NUMBERS),
        *((kind, "int64") for kind in (pa.timestamp("ms", "UTC"), pa.timestamp("ns", "UTC"), pa.duration("ms"))),
        *((kind, "int32") for kind in (pa.date32(), pa.time32("ms"))),
        (pa.time64("ns"), "int64"),
    ],
    ids=str,
)
def test_numbers_and_times_keep_their_type_and_edges_without_a_copy(kind: pa.DataType, dtype: str) -> None:
    limits = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    # A time of a day has no others.
    numbers = [0, 1, 86_399_999] if pa.types.is_time(kind) else [limits.min, 0, limits.max]
    array = pa.array(np.array(numbers, dtype)).view(kind)
    (values,) = read(array)
    assert columns_of(batch_of(array).schema) == (Column("c", dtype),)
    assert (values.tolist(), values.dtype) == (numbers, dtype)
    assert values.ctypes.data == array.buffers()[1].address


def test_lists_of_fixed_length_are_dense_views() -> None:
    array = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(12, dtype=np.float32)), 4)
    (values,) = read(array)
    assert values.tolist() == array.to_pylist()
    assert values.ctypes.data == array.values.buffers()[1].address
    nested = pa.FixedSizeListArray.from_arrays(array, 3)
    assert columns_of(batch_of(nested).schema) == (Column("c", "float32", (3, 4)),)
    assert read(nested)[0].tolist() == nested.to_pylist()


def test_a_shape_in_the_metadata_is_the_shape_of_a_row() -> None:
    array = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(12)), 6)
    batch = batch_of(array, {SHAPE_KEY: b"[2, 3]"})
    columns = columns_of(batch.schema)
    assert columns == (Column("c", "int64", (2, 3)),)
    assert arrays_of(batch, columns)[0].tolist() == np.arange(12).reshape(2, 2, 3).tolist()
    with pytest.raises(errors.SchemaUnknownError, match="6 elements"):
        columns_of(batch_of(array, {SHAPE_KEY: b"[2, 4]"}).schema)


class Lease:
    """Owner of memory that is lent."""


@pytest.mark.parametrize(
    "kind",
    [
        pa.int64(),
        pa.timestamp("ns", "UTC"),
        pa.list_(pa.int64(), 4),
        pa.list_(pa.timestamp("ms"), 4),
        pa.struct([("x", pa.list_(pa.float64(), 2))]),
    ],
)
def test_shared_memory_is_viewed_and_released_when_the_last_array_is_collected(kind: pa.DataType) -> None:
    lease, numbers = Lease(), np.arange(64)
    released = weakref.ref(lease)
    array = pa.Array.from_buffers(pa.int64(), 64, [None, pa.foreign_buffer(numbers.ctypes.data, numbers.nbytes, lease)])
    if pa.types.is_struct(kind):
        inner = pa.FixedSizeListArray.from_arrays(array.view(pa.float64()), 2)
        array = pa.StructArray.from_arrays([inner], ["x"])
    elif pa.types.is_fixed_size_list(kind):
        array = pa.FixedSizeListArray.from_arrays(array.view(kind.value_type), kind.list_size)
    else:
        array = array.view(kind)
    (values,) = read(array)
    part = values[1:].reshape(-1)
    del array, lease, values
    if pa.types.is_struct(kind):
        del inner
    gc.collect()
    assert released() is not None
    assert numbers.ctypes.data <= part.ctypes.data < numbers.ctypes.data + numbers.nbytes
    del part
    gc.collect()
    assert released() is None


@pytest.mark.parametrize("array", [pa.array([1, None]), pa.array([[1, None]]), pa.array([{"x": 1}, {"x": None}])])
def test_the_error_of_nulls_names_the_column_and_their_number(array: pa.Array) -> None:
    with pytest.raises(errors.RowMismatchError, match="column 'c' holds 1 null"):
        read(array)


def test_decimals_are_floats_or_text_whatever_carries_them() -> None:
    marked = {TYPE_KEY: b"decimal"}
    numbers = [Decimal("-1.50"), Decimal("0.00"), Decimal("9999999999999999.25")]
    for array, metadata in [
        (pa.array(numbers), None),
        (pa.array([str(number) for number in numbers]), marked),
    ]:
        batch = batch_of(array, metadata)
        assert arrays_of(batch, columns_of(batch.schema))[0].tolist() == [float(number) for number in numbers]
        text = columns_of(batch.schema, "error", {("c",): RequestedTensor("string")})
        assert arrays_of(batch, text)[0].tolist() == [str(number).encode() for number in numbers]
    batch = batch_of(pa.array(["1", "one"]), marked)
    with pytest.raises(errors.RowMismatchError, match="column 'c' holds a text that is no decimal number"):
        arrays_of(batch, columns_of(batch.schema))


def test_dictionaries_and_views_of_text_are_text() -> None:
    assert read(pa.array(["a", "b", "a"]).dictionary_encode())[0].tolist() == [b"a", b"b", b"a"]
    assert read(pa.array([7, 8, 7]).dictionary_encode())[0].tolist() == [7, 8, 7]
    for kind in (pa.string_view(), pa.binary_view(), pa.large_binary(), pa.binary(1)):
        assert read(pa.array([b"a", b"b"]).cast(pa.binary()).cast(kind))[0].tolist() == [b"a", b"b"]


def test_bytes_below_a_null_of_arrow_do_not_reach_a_tensor() -> None:
    missing = pa.py_buffer(b"\x01")
    items = pa.array([1, 2, 3, 4, 5])
    lists = pa.ListArray.from_buffers(
        pa.list_(pa.int64()), 2, [missing, pa.array([0, 2, 5], pa.int32()).buffers()[1]], children=[items]
    )
    text = pa.array(["1", "no number"])
    fields = [
        pa.field("l", lists.type),
        pa.field("d", text.type, metadata={TYPE_KEY: b"decimal"}),
        pa.field("t", text.type),
    ]
    array = pa.StructArray.from_buffers(
        pa.struct(fields), 2, [missing], children=[pa.ListArray.from_arrays([0, 2, 5], items), text, text]
    )
    assert [part.tolist() for part in read(lists, nulls="default")] == [[1, 2], [0, 2, 2]]
    found = [part.tolist() for part in read(array, nulls="default")]
    assert found == [[1, 2], [0, 2, 2], [1.0, 0.0], [b"1", b""]]


def test_only_the_null_type_has_no_tensor() -> None:
    for kind in (pa.null(), pa.struct([]), pa.list_(pa.null()), pa.month_day_nano_interval()):
        with pytest.raises(errors.UnsupportedTypeError, match="column 'c' of type"):
            columns_of(pa.schema([("c", kind)]))


def test_a_tensor_that_a_type_cannot_become_is_refused_by_name() -> None:
    with pytest.raises(
        errors.UnsupportedTypeError, match=r"column 'c\.x' of type int8 cannot become a tensor of string"
    ):
        columns_of(pa.schema([("c", pa.struct([("x", pa.int8())]))]), "error", {("c", "x"): RequestedTensor("string")})


def test_two_tensors_never_have_one_name() -> None:
    schema = pa.schema([("a", pa.int8()), ("a_mask", pa.int8())])
    assert len(columns_of(schema, "default")) == 2
    with pytest.raises(errors.InvalidRequestError, match="two tensors named a_mask"):
        columns_of(schema, "mask")
    with pytest.raises(errors.InvalidRequestError, match="names a field twice"):
        columns_of(pa.schema([("c", pa.struct([("x", pa.int8()), ("x", pa.int8())]))]))


def test_a_layout_survives_json_and_knows_batches_that_fit_it() -> None:
    inner = pa.struct([("x", pa.list_(pa.int8(), 6)), ("d", pa.decimal128(5, 2))])
    schema = pa.schema([pa.field("c", pa.list_(inner)), ("m", pa.map_(pa.string(), pa.date32()))])
    layout = columns_of(
        schema, "mask", {("c", "x"): RequestedTensor("int8", (2, 3)), ("c", "d"): RequestedTensor("string")}
    )
    assert describe(layout) == "c:{x:int8[None, 2, 3], d:string[None]}, m:{keys:string[None], values:int32[None]}"
    assert layout_of(json.loads(json.dumps([asdict(column) for column in layout]))) == layout
    assert columns_like(schema, layout) == layout
    assert columns_like(schema.remove(1), layout) != layout


LEAVES: list[tuple[pa.DataType, st.SearchStrategy[Any], Any]] = [
    (pa.int8(), st.integers(-128, 127), 0),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1), 0),
    (pa.uint16(), st.integers(0, 65535), 0),
    (pa.float32(), st.floats(width=32, allow_nan=False), 0.0),
    (pa.bool_(), st.booleans(), False),
    (pa.string(), st.text(max_size=3), ""),
    (pa.large_string(), st.text(max_size=3), ""),
    (pa.binary(), st.binary(max_size=3), b""),
    (pa.timestamp("ms", "UTC"), st.integers(-(2**63), 2**63 - 1), 0),
    (pa.date32(), st.integers(-(2**31), 2**31 - 1), 0),
    (pa.decimal128(9, 2), st.integers(-(10**9) + 1, 10**9 - 1).map(lambda cents: Decimal(cents).scaleb(-2)), 0.0),
]
DEFAULTS = {kind: default for kind, _, default in LEAVES}
TYPES = st.recursive(
    st.sampled_from([kind for kind, _, _ in LEAVES]),
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(pa.large_list),
        st.tuples(inner, st.integers(0, 3)).map(lambda pair: pa.list_(*pair)),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda kinds: pa.struct([(f"f{place}", kind) for place, kind in enumerate(kinds)])
        ),
    ),
    max_leaves=5,
)


def values_of(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Python values of a type, None among them."""
    if pa.types.is_map(kind):
        return st.none() | st.lists(st.tuples(st.text(max_size=2), values_of(kind.item_type)), max_size=3)
    if pa.types.is_fixed_size_list(kind):
        return st.none() | st.lists(values_of(kind.value_type), min_size=kind.list_size, max_size=kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return st.none() | st.lists(values_of(kind.value_type), max_size=3)
    if pa.types.is_struct(kind):
        return st.none() | st.fixed_dictionaries({child.name: values_of(child.type) for child in kind})
    return st.none() | next(values for leaf, values, _ in LEAVES if leaf == kind)


def expected(kind: pa.DataType, values: list[Any], masks: bool) -> Any:
    """What a reader may expect: lists by row, in dicts for objects; None became a default, or False in a mask."""
    if pa.types.is_map(kind):
        pairs = pa.list_(pa.struct([("keys", kind.key_type), ("values", kind.item_type)]))
        named = [value and [{"keys": key, "values": item} for key, item in value] for value in values]
        return expected(pairs, named, masks)
    if pa.types.is_struct(kind):
        return {
            child.name: expected(child.type, [value and value[child.name] for value in values], masks) for child in kind
        }
    if pa.types.is_nested(kind):
        size = getattr(kind, "list_size", 0)
        lists = [[None] * size if value is None else value for value in values]
        flat = expected(kind.value_type, [item for items in lists for item in items], masks)
        return regrouped(flat, [len(items) for items in lists])
    if masks:
        return [value is not None for value in values]
    return [DEFAULTS[kind] if value is None else value for value in values]


def regrouped(flat: Any, sizes: list[int]) -> Any:
    """Consecutive entries in lists of the given sizes, at each leaf."""
    if isinstance(flat, dict):
        return {name: regrouped(entries, sizes) for name, entries in flat.items()}
    ends = np.cumsum([0, *sizes])
    return [flat[start:end] for start, end in itertools.pairwise(ends)]


def by_row(values: np.ndarray[Any, Any], shape: tuple[int, ...], splits: list[np.ndarray[Any, Any]]) -> list[Any]:
    """A tensor as lists, one for each row."""
    assert values.shape[1:] == shape
    rows = values.tolist()
    for split in reversed(splits):
        assert split.dtype == np.int64
        rows = [rows[start:end] for start, end in itertools.pairwise(split.tolist())]
    return rows


def plain(tree: Any) -> Any:
    """Text as bytes and decimals as floats, as tensors have them."""
    if isinstance(tree, dict):
        return {name: plain(entry) for name, entry in tree.items()}
    if isinstance(tree, list):
        return [plain(entry) for entry in tree]
    if isinstance(tree, str):
        return tree.encode()
    return float(tree) if isinstance(tree, Decimal) else tree


def unmasked(tree: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tensors, and their masks, of a packed element."""
    values, masks = {}, {}
    for name, entry in tree.items():
        if isinstance(entry, dict):
            values[name], masks[name] = unmasked(entry)
        elif name.endswith("_mask"):
            masks[name.removesuffix("_mask")] = entry
        else:
            values[name] = entry
    return values, masks


@settings(max_examples=150)
@given(st.data(), TYPES)
def test_any_column_has_the_values_and_masks_of_its_rows(data: st.DataObject, kind: pa.DataType) -> None:
    rows = data.draw(st.lists(values_of(kind), max_size=6))
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(rows))] * 2)))
    rows_seen = rows[start:stop]
    batch = batch_of(pa.array(rows, kind)).slice(start, stop - start)
    layout = columns_of(batch.schema, "mask")
    arrays = arrays_of(batch, layout)
    assert [str(array.dtype) for array in arrays] == [name.replace("string", "object") for name in types_of(layout)]
    values, masks = unmasked(pack(layout, arrays, by_row))
    assert values["c"] == plain(expected(kind, rows_seen, masks=False))
    assert masks["c"] == expected(kind, rows_seen, masks=True)
    for empty, array in zip(empty_arrays(layout), arrays, strict=True):
        assert (empty.dtype, empty.shape[1:]) == (array.dtype, array.shape[1:])
    expected_empty = expected(kind, [], masks=False)
    assert unmasked(pack(layout, empty_arrays(layout), by_row))[0]["c"] == expected_empty


@settings(max_examples=50)
@given(st.data(), TYPES)
def test_nulls_are_an_error_exactly_when_there_are_some(data: st.DataObject, kind: pa.DataType) -> None:
    rows = data.draw(st.lists(values_of(kind), max_size=4))
    batch = batch_of(pa.array(rows, kind))
    layout = columns_of(batch.schema)
    if has_null(rows):
        with pytest.raises(errors.RowMismatchError, match="column 'c' holds"):
            arrays_of(batch, layout)
    else:
        values = pack(layout, arrays_of(batch, layout), by_row)
        assert values["c"] == plain(expected(kind, rows, masks=False))


def has_null(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return value is None or (isinstance(value, (list, tuple)) and any(has_null(entry) for entry in value))


def test_memory_that_is_read_again_is_not_given_to_tensorflow() -> None:
    kept = read(pa.array(range(1000), pa.float32()))
    assert kept[0].ctypes.data % ALIGNMENT == 0
    (given_away,) = owned(kept, kept=True)
    assert given_away.ctypes.data % ALIGNMENT == 0, "TensorFlow copies it no more"
    given_away[:] = -1
    np.testing.assert_array_equal(kept[0], np.arange(1000, dtype=np.float32))
    # Of an array at another address TensorFlow makes a copy.
    (moved,) = owned([kept[0][1:]], kept=True)
    assert moved.ctypes.data == kept[0].ctypes.data + 4
    assert owned(kept, kept=False)[0].ctypes.data == kept[0].ctypes.data


def test_arrays_of_a_batch_that_share_memory_get_their_own() -> None:
    mask = np.ones(ALIGNMENT * 2, np.bool_)
    mask = mask[-mask.ctypes.data % ALIGNMENT :][:ALIGNMENT]
    first, second = owned([mask, mask], kept=False)
    first[:] = False
    assert second.all()
