"""What a script may give to choose rows."""

from __future__ import annotations

import datetime
import decimal
import json
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data import queries

UTC = datetime.timezone.utc


def test_a_condition_combines_with_columns_and_a_select_names_its_own() -> None:
    assert queries.checked(None, None, (), ["a"], True) == ("", "", ())
    assert queries.checked("a < ?", None, [1], ["a"], True) == ("a < ?", "", (1,))
    assert queries.checked(None, "SELECT a FROM t", (), None, False) == ("", "SELECT a FROM t", ())


@pytest.mark.parametrize(
    ("where", "sql", "parameters", "columns", "key", "text"),
    [
        ("a = 1", "SELECT a FROM t", (), None, False, "both given"),
        (None, "SELECT a FROM t", (), ["a"], False, "names its columns itself"),
        (None, "SELECT a FROM t", (), [], False, "names its columns itself"),
        (None, "SELECT a FROM t", (), None, True, "names its columns itself"),
        (None, None, (1,), None, False, "without where= or sql="),
        ("", None, (), None, False, "where='' is no SQL"),
        (" \n", None, (), None, False, "is no SQL"),
        (None, 3, (), None, False, "sql=3 is no SQL"),
        ("a = ?", None, "x", None, False, r"parameters=\['x'\]"),
        ("a = ?", None, b"x", None, False, "is no list"),
        ("a = ?", None, 3, None, False, r"parameters=\[3\]"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(
    where: Any, sql: Any, parameters: Any, columns: Sequence[str] | None, key: bool, text: str
) -> None:
    with pytest.raises(errors.InvalidRequestError, match=text):
        queries.checked(where, sql, parameters, columns, key)


@pytest.mark.parametrize(
    ("given", "travels"),
    [
        (None, None),
        (True, True),
        (np.bool_(False), False),
        (-(2**63), -(2**63)),
        (np.int8(-3), -3),
        (np.uint64(2**63 - 1), 2**63 - 1),
        (0.1, 0.1),
        (np.float32(0.5), 0.5),
        ("' OR 1=1 --", "' OR 1=1 --"),
        (np.str_("ä"), "ä"),
        (decimal.Decimal("-1E+3"), "-1000"),
        (decimal.Decimal("0.10"), "0.10"),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (datetime.date(2020, 2, 29), "2020-02-29"),
        (datetime.time(1, 2, 3, 4000), "01:02:03.004000"),
        (datetime.datetime(2020, 2, 29, 1, 2, 3, 4), "2020-02-29 01:02:03.000004"),
        (datetime.datetime(2020, 2, 29, 1, tzinfo=UTC), "2020-02-29 01:00:00+00:00"),
    ],
)
def test_a_parameter_keeps_its_type(given: Any, travels: Any) -> None:
    (value,) = queries.checked("a = ?", None, [given], None, False)[2]
    assert value == travels
    assert type(value) is type(travels)
    assert json.loads(json.dumps(value)) == travels


@pytest.mark.parametrize(
    "given",
    [
        2**63,
        np.uint64(2**63),
        b"x",
        [1],
        1j,
        np.array([1]),
        np.datetime64("2020-01-01"),
        decimal.Decimal("NaN"),
        object(),
    ],
)
def test_a_parameter_that_sql_does_not_know_is_refused_with_its_place(given: Any) -> None:
    with pytest.raises(errors.InvalidRequestError, match=r"parameters\[1\]="):
        queries.checked("a = ? AND b = ?", None, [1, given], None, False)
