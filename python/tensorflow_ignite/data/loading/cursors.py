"""Results of SQL databases: cursors of ADBC, which give Arrow, and of the Python DB-API, which give rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tensorflow_ignite import errors

_ROWS = 4096
# The most of a decimal number of Arrow with 128 bits.
_DIGITS = 38


def arrow_reader(data: Any) -> pa.RecordBatchReader | None:
    """The result of a cursor that gives Arrow; None: it gives rows."""
    fetch = getattr(data, "fetch_record_batch", None)
    return fetch() if callable(fetch) else None


def batches(cursor: Any, given: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """The rows of the last query, as columns.

    Decimal numbers have room for 38 digits. The number of digits after the point is what the first rows need.

    Args:
        cursor: The cursor.
        given: Columns whose type the caller gives.

    Raises:
        InvalidRequestError: The cursor has no result, or later rows need more digits after the point.
    """
    if cursor.description is None:
        raise errors.InvalidRequestError(
            "the cursor has no rows: its last statement was no query. A load takes the rows of a query. Call "
            "cursor.execute('SELECT ...') first"
        )
    names = [str(column[0]) for column in cursor.description]
    if len(set(names)) < len(names):
        raise errors.InvalidRequestError(
            f"the query has two columns of one name: {', '.join(names)}. Each column has its own name. Give them names "
            "with AS"
        )
    decimals: dict[str, pa.DataType] = {}
    while rows := cursor.fetchmany(_ROWS):
        if isinstance(rows[0], Mapping):
            rows = [[row[name] for name in names] for row in rows]
        columns: dict[str, Any] = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        for name, values in columns.items():
            if name not in given and (name in decimals or any(isinstance(value, Decimal) for value in values)):
                columns[name] = _decimals(name, values, decimals)
        yield columns


def _decimals(name: str, values: list[Any], known: dict[str, pa.DataType]) -> Any:
    """A column of decimal numbers, of the type of the first ones; other values are returned as they are."""
    try:
        column = pa.array(values)
    except pa.ArrowException:
        return values
    if not pa.types.is_decimal128(column.type) and not pa.types.is_null(column.type):
        return values
    if pa.types.is_decimal128(column.type):
        known.setdefault(name, pa.decimal128(_DIGITS, column.type.scale))
    try:
        return column.cast(known[name])
    except pa.ArrowException as error:
        scale, first = column.type.scale, known[name].scale
        raise errors.InvalidRequestError(
            f"column {name!r} of the query has numbers with {scale} digits after the point, or too large for "
            f"{known[name]}; the first {_ROWS} rows have {first}. A column has one type, which the first rows "
            f"determine. Give it: schema={{{name!r}: pyarrow.decimal128({_DIGITS}, {max(scale, first)})}}, or "
            "pyarrow.float64()"
        ) from error
