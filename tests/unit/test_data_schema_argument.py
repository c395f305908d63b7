"""What schema= asks a node for, and the tensors that come of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.tensor_schema import SHAPE_KEY, TYPE_KEY, columns_of, describe
from tensorflow_ignite.data.schema_argument import parse_schema


def test_types_of_numpy_and_arrow_are_understood() -> None:
    asked = {
        "a": np.float32,
        "b": "int8",
        "c": bool,
        "d": str,
        "e": np.dtype((np.uint8, (28, 28))),
        "f": pa.list_(pa.int16()),
        "g": pa.field("ignored", pa.decimal128(9, 2)),
        "h": {"x": np.int64, "y": {"z": pa.string()}},
        "i": pa.map_(pa.string(), pa.list_(pa.date32())),
    }
    requested = parse_schema(asked)
    assert describe(columns_of(requested.schema, "error", requested.tensors)) == (
        "a:float32, b:int8, c:bool, d:string, e:uint8[28, 28], f:int16[None], g:float64, h:{x:int64, y:{z:string}}, "
        "i:{keys:string[None], values:int32[None, None]}"
    )


def test_the_message_is_the_schema_that_the_node_reads() -> None:
    assert parse_schema(None).message == b""
    read = pa.ipc.read_schema(pa.py_buffer(parse_schema({"e": np.dtype((np.uint8, (4, 3)))}).message))
    assert read.field("e").type == pa.list_(pa.uint8(), 12)
    assert read.field("e").metadata == {SHAPE_KEY: b"[4, 3]"}
    schema = pa.schema([pa.field("x", pa.int8()), pa.field("y", pa.timestamp("ms", "UTC"))])
    assert pa.ipc.read_schema(pa.py_buffer(parse_schema(schema).message)) == schema


def test_a_column_requested_as_text_is_text_even_if_it_is_stored_as_decimal() -> None:
    arrived = pa.schema([pa.field("price", pa.string(), metadata={TYPE_KEY: b"decimal"})])
    assert describe(columns_of(arrived)) == "price:float64"
    for spec in (str, pa.string(), pa.field("price", pa.string())):
        assert describe(columns_of(arrived, "error", parse_schema({"price": spec}).tensors)) == "price:string"
    decimal = pa.field("price", pa.string(), metadata={TYPE_KEY: b"decimal"})
    assert describe(columns_of(arrived, "error", parse_schema({"price": decimal}).tensors)) == "price:float64"


def test_a_shape_survives_a_node_that_does_not_repeat_it() -> None:
    arrived = pa.schema([pa.field("e", pa.list_(pa.uint8(), 12))])
    requested = parse_schema({"e": np.dtype((np.uint8, (4, 3)))})
    assert describe(columns_of(arrived, "error", requested.tensors)) == "e:uint8[4, 3]"


@pytest.mark.parametrize("schema", [{}, [], "int8", 7, {"a": None}, {"a": 3.5}, {"": np.int8}, {1: np.int8}, {"a": {}}])
def test_an_unsupported_schema_is_refused(schema: Any) -> None:
    with pytest.raises(errors.InvalidRequestError, match="schema="):
        parse_schema(schema)


@pytest.mark.parametrize("dtype", ["complex64", "datetime64[ms]", "timedelta64[s]"])
def test_types_that_no_column_becomes_are_refused_by_name(dtype: str) -> None:
    with pytest.raises(errors.UnsupportedTypeError, match=r"column 'a\.b' as .*(complex64|datetime64|timedelta64)"):
        parse_schema({"a": {"b": dtype}})
