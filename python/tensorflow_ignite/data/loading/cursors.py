"""Results of SQL databases: cursors of ADBC, which give Arrow, and of the Python DB-API, which give rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from tensorflow_ignite import errors

_ROWS = 4096


def is_cursor(data: Any) -> bool:
    """Whether it is a cursor of the DB-API."""
    return hasattr(data, "fetchmany") and hasattr(data, "description")


def arrow_reader(data: Any) -> pa.RecordBatchReader | None:
    """The result of a cursor that gives Arrow; None: it gives rows."""
    fetch = getattr(data, "fetch_record_batch", None)
    return fetch() if callable(fetch) else None


def batches(cursor: Any) -> Iterator[dict[str, list[Any]]]:
    """The rows of the last query, as columns.

    Raises:
        InvalidRequestError: The cursor has no result.
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
    while rows := cursor.fetchmany(_ROWS):
        if isinstance(rows[0], Mapping):
            rows = [[row[name] for name in names] for row in rows]
        yield dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
