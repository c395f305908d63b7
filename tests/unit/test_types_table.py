"""The table in docs/types.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from tensorflow_ignite.data.epochs.tensor_schema import TYPE_KEY, Column, columns_of

DOCS = Path(__file__).parents[2] / "docs" / "types.md"

# Any types stand in the table for those of which lists, maps and objects are made.
STANDINS = {"T": pa.int32(), "U": pa.float64(), "K": pa.string(), "V": pa.bool_()}
PLAIN = {
    "bool": pa.bool_(),
    "utf8": pa.utf8(),
    "binary": pa.binary(),
    "date32": pa.date32(),
    "time32[ms]": pa.time32("ms"),
    "timestamp[ms, UTC]": pa.timestamp("ms", "UTC"),
    "timestamp[ns, UTC]": pa.timestamp("ns", "UTC"),
    "decimal128(p, s)": pa.decimal128(10, 2),
    **{name: getattr(pa, name)() for name in ("int8", "int16", "int32", "int64", "uint16", "float32", "float64")},
    **STANDINS,
}


def table() -> list[list[str]]:
    """The rows of the table: Ignite, SQL, Arrow, tensor, as key, in arrays, notes."""
    lines = [line for line in DOCS.read_text().splitlines() if line.startswith("| `")]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [row for row in rows if len(row) == 7]


def arrow(text: str) -> pa.DataType:
    """The Arrow type of its name in the table."""
    if text in PLAIN:
        return PLAIN[text]
    fixed = re.fullmatch(r"fixed_size_list<(.*)>\[(\d+)\]", text)
    if fixed:
        return pa.list_(arrow(fixed[1]), int(fixed[2]))
    kind, inside = re.fullmatch(r"(list|map|struct)<(.*)>", text).groups()  # type: ignore[union-attr]
    if kind == "list":
        return pa.list_(arrow(inside))
    parts = inside.split(", ")
    if kind == "map":
        return pa.map_(*(arrow(part) for part in parts))
    return pa.struct([(name, arrow(inner)) for name, inner in (part.split(": ") for part in parts)])


def tensor(column: Column) -> str:
    """What the table would say of a tensor."""
    if column.children:
        return "{" + ", ".join(f'"{child.name}": {tensor(child)}' for child in column.children) + "}"
    return f"{column.dtype} {[None] * column.ragged + list(column.shape)}".removesuffix(" []")


def said(text: str) -> str:
    """What the table says of a tensor, with the types that stand for others."""
    found = re.sub(r"`, `", " ", text).strip("`")
    names = {name: columns_of(pa.schema([("c", kind)]))[0].dtype for name, kind in STANDINS.items()}
    return re.sub(r"(?<![\w\"])[TUKV](?![\w\"])", lambda match: names[match[0]], found)


@pytest.mark.parametrize("row", table(), ids=lambda row: row[0])
def test_the_tensor_in_the_table_is_that_which_the_code_makes(row: list[str]) -> None:
    types = re.findall(r"`([^`]*)`", row[2])
    metadata = {TYPE_KEY: types[1].encode()} if "marked" in row[2] else None
    (column,) = columns_of(pa.schema([pa.field("c", arrow(types[0]), metadata=metadata)]))
    assert said(row[3]) == tensor(column)
