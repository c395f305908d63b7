"""Loads keep every value: what a cast to one type for all rows would change is refused, by column, row and value."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data.loading.inputs import open_input

DAY, NOON = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 13)


def read(data: Any, schema: Any = None) -> pa.Table:
    """All rows, as they are loaded."""
    opened = open_input(data, schema)
    return pa.Table.from_batches(opened.batches, schema=opened.schema)


def files(folder: Path, kind: str, *columns: pa.Array) -> str:
    """A folder of files, each with one column x."""
    for number, column in enumerate(columns):
        table, path = pa.table({"x": column}), str(folder / f"{number}.{kind}")
        if kind == "parquet":
            pyarrow.parquet.write_table(table, path)
        else:
            pyarrow.feather.write_feather(table, path, compression="uncompressed")
    return str(folder)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pa.array([True]), pa.array([5])),
        (pa.array([5]), pa.array([True])),
        (pa.array([1]), pa.array([1.5])),
        (pa.array([0.5], pa.float32()), pa.array([16777217])),
        (pa.array([DAY]), pa.array([NOON])),
        (pa.array([NOON]), pa.array([DAY])),
        (pa.array([Decimal("1.10")]), pa.array([1.239])),
        (pa.array([0.5]), pa.array([Decimal("12345678901234567.89")])),
        (pa.array([Decimal("1.10")], pa.decimal128(10, 2)), pa.array([Decimal("1.1234")], pa.decimal128(10, 4))),
        (pa.array([1]), pa.array(["007"])),
        (pa.array(["a"]), pa.array([7])),
        (pa.array(["a"]), pa.array([b"\xff"])),
        (pa.array([{"a": 1}]), pa.array([{"a": 1, "b": 2}])),
        (pa.array([{"a": 1, "b": 2}]), pa.array([{"a": 3}])),
        (pa.array([[1]]), pa.array([[1.5]])),
        (pa.array([1]), pa.array([1], pa.duration("s"))),
        (pa.array([0], pa.timestamp("us")), pa.array([0], pa.timestamp("us", "Europe/Berlin"))),
    ],
    ids=lambda column: str(column.type),
)
def test_files_of_types_that_do_not_hold_each_other_are_refused_before_a_row_is_read(
    tmp_path: Path, kind: str, first: pa.Array, second: pa.Array
) -> None:
    folder = files(tmp_path, kind, first, second)
    with pytest.raises(errors.InvalidRequestError) as error:
        open_input(folder)
    text = str(error.value)
    assert re.search(rf"column 'x' is of type .+ in {tmp_path}/1.{kind}, and of type .+ in {tmp_path}/0.{kind}\.", text)
    assert "schema={'x': ...} (--schema x=TYPE)" in text


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        (pa.array([1], pa.int32()), pa.array([2**40])),
        (pa.array([200], pa.uint8()), pa.array([-300], pa.int16())),
        (pa.array([7], pa.int32()), pa.array([0.1])),
        (pa.array([0.5], pa.float32()), pa.array([1e300])),
        (pa.array([Decimal("1.10")], pa.decimal128(10, 2)), pa.array([Decimal("1.1234")], pa.decimal128(12, 4))),
        (pa.array([1], pa.timestamp("s")), pa.array([1500001], pa.timestamp("us"))),
        (pa.array([[1]], pa.list_(pa.int8())), pa.array([[2**40]])),
        (pa.array([{"a": 1}], pa.struct([("a", pa.int8())])), pa.array([{"a": 2**40}])),
        (pa.nulls(1), pa.array([5])),
        (pa.array(["a"]).dictionary_encode(), pa.array(["b"])),
    ],
    ids=lambda column: str(column.type),
)
def test_files_are_read_with_the_type_that_holds_the_values_of_all(
    tmp_path: Path, kind: str, narrow: pa.Array, wide: pa.Array
) -> None:
    for number, columns in enumerate(((narrow, wide), (wide, narrow))):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = read(files(folder, kind, *columns))
        assert found.schema.field("x").type == pa.schema([pa.field("x", wide.type)]).field("x").type
        expected = [value for column in columns for value in column.to_pylist()]
        assert found.column("x").to_pylist() == expected


@pytest.mark.parametrize(
    ("column", "kind", "value"),
    [
        (pa.array([NOON]), pa.date32(), "13, 0"),
        (pa.array([NOON]), pa.time32("s"), "13, 0"),
        (pa.array([1e300]), pa.float32(), r"1e\+300"),
        (pa.array([[0.5, 1e300]]), pa.list_(pa.float32()), r"\[0.5, 1e\+300\]"),
        (pa.array([1.239]), pa.decimal128(10, 2), "1.239"),
        (pa.array([Decimal("12345678901234567.89")]), pa.float64(), "12345678901234567.89"),
        (pa.array([{"a": 1.239}]), pa.struct([("a", pa.decimal128(10, 2))]), "1.239"),
        (pa.array(["1e400"]), pa.float64(), "1e400"),
        (pa.array(["1.239"]), pa.decimal128(10, 2), "1.239"),
        (pa.array([1.5]), pa.int64(), "1.5"),
        (pa.array([2]), pa.bool_(), "2"),
        (pa.array([float("nan")]), pa.bool_(), "nan"),
        (pa.array([1500], pa.timestamp("ms")), pa.timestamp("s"), "500000"),
        (pa.array([2**53 + 1]), pa.float64(), "9007199254740993"),
    ],
    ids=lambda part: None if isinstance(part, pa.Array) else str(part),
)
@pytest.mark.parametrize("in_file", [False, True])
def test_a_cast_that_changes_a_value_is_refused_with_its_column_row_and_value(
    tmp_path: Path, column: pa.Array, kind: pa.DataType, value: str, in_file: bool
) -> None:
    rows = pa.concat_arrays([pa.nulls(70_000, column.type), column, pa.nulls(5, column.type)])
    data = files(tmp_path, "parquet", rows) if in_file else pa.table({"x": rows})
    with pytest.raises(
        errors.UnsupportedTypeError,
        match=rf"column 'x' of type .* cannot be loaded as .*{value}.* in row 70000 \(from 0\)",
    ):
        read(data, {"x": kind})


@pytest.mark.parametrize(
    ("column", "kind", "expected"),
    [
        ([DAY], pa.timestamp("s"), [datetime.datetime(2020, 1, 1)]),
        ([datetime.datetime(2020, 1, 1)], pa.date32(), [DAY]),
        # Rounded to the nearest number of the shorter type.
        ([0.5, None, float("inf"), 1e-300], pa.float32(), [0.5, None, float("inf"), 0.0]),
        ([1.25, -0.0], pa.decimal128(10, 2), [Decimal("1.25"), Decimal("0.00")]),
        ([Decimal("1.10")], pa.float64(), [1.1]),
        (["inf", "1e30"], pa.float64(), [float("inf"), 1e30]),
        ([{"a": 1}, None], pa.struct([("a", pa.int8())]), [{"a": 1}, None]),
        ([[1.0], None, []], pa.list_(pa.int8()), [[1], None, []]),
        ([0, 1], pa.bool_(), [False, True]),
        ([0.1], pa.string(), ["0.1"]),
    ],
)
def test_a_cast_that_changes_no_value_is_made(column: list[Any], kind: pa.DataType, expected: list[Any]) -> None:
    assert read({"x": column}, {"x": kind}).column("x").to_pylist() == expected


def test_a_cast_that_drops_a_field_of_a_struct_is_refused() -> None:
    for column in ([{"a": 1, "b": 2}], [[{"a": 1, "b": 2}]]):
        table = pa.table({"x": column})
        kind = pa.struct([("a", pa.int64())])
        with pytest.raises(
            errors.UnsupportedTypeError, match=r"column 'x' .* the field 'b' of the struct would be lost"
        ):
            read(table, {"x": kind if isinstance(column[0], dict) else pa.list_(kind)})
