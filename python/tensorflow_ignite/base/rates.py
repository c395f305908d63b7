"""Rates of reading, as texts: ``"200MB"`` or ``"50000rows"`` in a second; a node reads them by the same rule."""

from __future__ import annotations

import re
from typing import NamedTuple

#: The rule, for messages.
RULE = (
    "bytes in a second such as 200MB (units kB, MB, GB, TB, KiB, MiB, GiB, TiB), or rows in a second such as "
    "50000rows, above 0"
)
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*(|[kmgt]i?)b", re.ASCII)
_ROWS = re.compile(r"(\d+)\s*rows", re.ASCII)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_MAX = 2**63 - 1
_MAX_TEXT = 40


class Rate(NamedTuple):
    """A rate of reading; one of the two is 0: no limit."""

    bytes_per_second: int
    rows_per_second: int


def parse(text: str) -> Rate | None:
    """Reads a rate; None: the text is none."""
    if not isinstance(text, str) or len(text) > _MAX_TEXT:
        return None
    lower = text.strip().lower()
    if rows := _ROWS.fullmatch(lower):
        value, is_rows = int(rows[1]), True
    elif amount := _BYTES.fullmatch(lower):
        value, is_rows = int(float(amount[1]) * _UNITS[amount[2]]), False
    else:
        return None
    value = min(value, _MAX)
    if value < 1:
        return None
    return Rate(0, value) if is_rows else Rate(value, 0)
