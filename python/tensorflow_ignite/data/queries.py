"""The condition or SELECT of a dataset, and its parameters.

This module validates the arguments without the cluster; the node validates the SQL.
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
    """Validates the arguments, and converts the parameters for the request.

    Args:
        where: Condition over the cache's columns; None: every row.
        sql: SELECT over the cache's table; None: the cache's own columns.
        parameters: Values for the question marks of the condition or SELECT, in their order.
        columns: The argument ``columns`` of the dataset.
        key: The argument ``key`` of the dataset.

    Returns:
        The condition, the SELECT (at least one of them is empty), and the parameters. Numbers of numpy become numbers
        of Python. A Decimal, a UUID and times become text, which SQL converts where it compares them with a column of
        their type.

    Raises:
        InvalidRequestError: If arguments contradict each other, or SQL has no type for a parameter.
    """
    condition, select = _text("where", where), _text("sql", sql)
    if condition and select:
        raise errors.InvalidRequestError(
            f"where={where!r} and sql={sql!r} are both given. A SELECT has its own condition. Move the condition into "
            "the WHERE clause of sql="
        )
    if select and (columns is not None or key):
        raise errors.InvalidRequestError(
            f"sql={sql!r} is given with columns={columns!r}, key={key!r}. A SELECT names its columns itself, the key "
            f"as _key. Move the columns into the SELECT of sql="
        )
    if isinstance(parameters, (str, bytes)) or not isinstance(parameters, Iterable):
        raise errors.InvalidRequestError(
            f"parameters={parameters!r} is no list. Each question mark takes one value, in their order. Write "
            f"parameters=[{parameters!r}]"
        )
    values = tuple(_parameter(index, value) for index, value in enumerate(parameters))
    if values and not condition and not select:
        raise errors.InvalidRequestError(
            f"parameters={list(values)!r} are given without where= or sql=. They are the values of question marks "
            "there. Remove parameters=, or give where= or sql="
        )
    return condition, select, values


def _text(name: str, given: str | None) -> str:
    if given is None:
        return ""
    if not isinstance(given, str) or not given.strip():
        raise errors.InvalidRequestError(
            f"{name}={given!r} is no SQL. It is a text, or None to read every row. Give a text, such as where='label < "
            "3'"
        )
    return given


def _parameter(index: int, given: Any) -> Parameter:
    value = given.item() if isinstance(given, np.generic) and not isinstance(given, np.datetime64) else given
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        if not -_INT64 <= value < _INT64:
            raise errors.InvalidRequestError(
                f"parameters[{index}]={value} does not fit 64 bits, the size of SQL's longest integers. Give a Decimal"
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
        f"float, a str, a finite Decimal, a UUID, a date, a time, a datetime, or a number or text of numpy. Convert "
        f"the value to one of these; write bytes into the SQL, as X'00ff'"
    )
