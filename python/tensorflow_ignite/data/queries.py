"""The condition or SELECT that chooses a dataset's rows, and its parameters, as a script gives them.

Only what does not need the cluster is checked here; what SQL may say is the node's to judge.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tensorflow_ignite import errors

Parameter = bool | int | float | str | None

_INT64 = 2**63


def checked(
    where: str | None, sql: str | None, parameters: Iterable[Any], columns: Sequence[str] | None, key: bool
) -> tuple[str, str, tuple[Parameter, ...]]:
    """Checks that the arguments agree, and brings the parameters into a form that travels.

    Args:
        where: Condition over the cache's columns; None: every row.
        sql: SELECT over the cache's table; None: the cache's own columns.
        parameters: Values for the question marks of either, in their order.
        columns: The columns asked for besides.
        key: Whether the key is asked for besides.

    Returns:
        The condition, the SELECT (one of them empty at least), and the parameters. Numbers of numpy become those of
        Python; a Decimal, a UUID and times become text, which SQL turns back where they meet a column of their type.

    Raises:
        InvalidRequestError: If they do not agree, or a parameter is none that SQL takes.
    """
    condition, select = _text("where", where), _text("sql", sql)
    if condition and select:
        raise errors.InvalidRequestError(
            f"where={where!r} and sql={sql!r} are both given. A SELECT has its own condition. Write it there"
        )
    if select and (columns is not None or key):
        raise errors.InvalidRequestError(
            f"sql={sql!r} is given with columns={columns!r}, key={key!r}. A SELECT names its columns itself, the key "
            f"as _key. Name them there"
        )
    if isinstance(parameters, (str, bytes)) or not isinstance(parameters, Iterable):
        raise errors.InvalidRequestError(
            f"parameters={parameters!r} is no list. Each question mark takes one value, in their order. Write "
            f"parameters=[{parameters!r}]"
        )
    values = tuple(_parameter(index, value) for index, value in enumerate(parameters))
    if values and not condition and not select:
        raise errors.InvalidRequestError(
            f"parameters={list(values)!r} are given without where= or sql=. They fill the question marks of these"
        )
    return condition, select, values


def _text(name: str, given: str | None) -> str:
    if given is None:
        return ""
    if not isinstance(given, str) or not given.strip():
        raise errors.InvalidRequestError(
            f"{name}={given!r} is no SQL. It is a text, or None to read every row. Give one, such as where='label < 3'"
        )
    return given


def _parameter(index: int, given: Any) -> Parameter:
    value = given.item() if isinstance(given, np.generic) and not isinstance(given, np.datetime64) else given
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        if not -_INT64 <= value < _INT64:
            raise errors.InvalidRequestError(
                f"parameters[{index}]={value} does not fit 64 bits. SQL's longest integers have 64. Give a Decimal"
            )
        return int(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, uuid.UUID):
        return str(value)
    raise errors.InvalidRequestError(
        f"parameters[{index}]={given!r} is of type {type(given).__name__}. A parameter is None, a bool, an int, a "
        f"float, a str, a finite Decimal, a UUID, a date, a time or a datetime, or one of numpy's numbers and texts. "
        f"Convert it; bytes are written in the text, as X'00ff'"
    )
