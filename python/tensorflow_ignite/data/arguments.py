"""Validation of the arguments of a dataset, before any node is called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Integral
from typing import Any, TypeVar

from tensorflow_ignite.base import rates
from tensorflow_ignite.errors import InvalidRequestError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}

# Nodes make a hash of each key, below this number.
KEY_HASHES = 2**32

_T = TypeVar("_T")


def one_of(name: str, value: Any, choices: Sequence[_T]) -> _T:
    """The value, which must be one of the choices."""
    for choice in choices:
        if value == choice:
            return choice
    raise InvalidRequestError(f"{name}={value!r} is unknown; it is {' or '.join(repr(choice) for choice in choices)}")


def flag(name: str, value: Any) -> bool | None:
    """The value, which must be True, False or None."""
    if value is None or isinstance(value, bool):
        return value
    raise InvalidRequestError(f"{name}={value!r} is neither True nor False; None leaves the choice to the dataset")


def not_negative(name: str, value: Any) -> int:
    """The value, which must be a number of bytes; 0: the node chooses."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidRequestError(f"{name}={value!r} is not a size in bytes; it is a whole number, 0 for the default")
    return value


def columns(given: Sequence[str] | None, argument: str = "columns") -> tuple[str, ...]:
    """Names of columns, each once; empty: all columns. Errors name the argument."""
    if given is None:
        return ()
    if isinstance(given, str) or not given:
        raise InvalidRequestError(f'{argument}={given!r} is not a list of names, such as ["pixels", "label"]')
    if len(set(given)) < len(given):
        raise InvalidRequestError(f"{argument}={list(given)!r} names a column twice")
    return tuple(given)


def partitions(given: Sequence[int] | str | None, all_of_them: str) -> str | tuple[int, ...] | None:
    """Numbers of partitions, each once, or the text ``all_of_them``; None stays None."""
    if given is None or given == all_of_them:
        return given
    if isinstance(given, str) or not given or any(number < 0 for number in given):
        raise InvalidRequestError(
            f'partitions={given!r} is neither "{all_of_them}" nor a list of partition numbers, such as [0, 1]'
        )
    if len(set(given)) < len(given):
        raise InvalidRequestError(f"partitions={list(given)!r} names a partition twice")
    return tuple(int(number) for number in given)


def window(shuffle: Any) -> int | None:
    """Number of rows that are shuffled together; 0: determined by their size; None: nothing is shuffled."""
    if shuffle is None or shuffle is False:
        return None
    if shuffle is True:
        return 0
    if not isinstance(shuffle, int) or shuffle < 1:
        raise InvalidRequestError(
            f"shuffle={shuffle!r} is not a number of rows to shuffle together; it is True, or at least 1"
        )
    return shuffle


def batch_size(value: Any) -> int:
    """Number of rows of a batch."""
    return _at_least_one("batch_size", value, "A batch has at least one row. Use a whole number of rows, such as 32")


def epochs(value: Any) -> int | None:
    """Number of epochs of one iteration; None: without an end."""
    rule = "An iteration has at least one epoch. Use a whole number, or None for epochs without an end"
    return None if value is None else _at_least_one("epochs", value, rule)


def _at_least_one(name: str, value: Any, rule: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InvalidRequestError(f"{name}={value!r} is not a whole number from 1 on. {rule}")
    return int(value)


def seed(value: Any) -> int | None:
    """The seed, which must be None or from 0 to 2^63 - 1."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63):
        return value
    raise InvalidRequestError(f"seed={value!r} is not a whole number from 0 to 2^63 - 1; None draws a random seed")


def snapshot(value: Any) -> str | None:
    """What later epochs have: ``"refresh"``, ``"frozen"``, ``"kept"`` for either, or ``""`` for rows read again."""
    if value is None or value in ("refresh", "frozen"):
        return None if value is None else str(value)
    if isinstance(value, bool):
        return "kept" if value else ""
    raise InvalidRequestError(
        f'snapshot={value!r} is unknown. "refresh" keeps the rows in memory and reads what has changed, "frozen" keeps '
        "those of the first epoch, and False reads all rows in each epoch. Use one of these"
    )


def memory(value: Any) -> int:
    """Number of bytes, from a number or a text such as ``"2GB"``; -1 for None."""
    if value is None:
        return -1
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(|[KMGT]I?)B?\s*", value.upper())
        if match:
            return int(float(match[1]) * _UNITS[match[2]])
    elif isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise InvalidRequestError(f'memory={value!r} is not a size; it is a number of bytes, or a text such as "2GB"')


def read_rate(value: Any) -> str:
    """A rate of reading, such as ``"200MB"``; empty for None."""
    if value is None:
        return ""
    if rates.parse(value) is None:
        raise InvalidRequestError(f"read_rate={value!r} is no rate; it is {rates.RULE}; for example read_rate='200MB'")
    return str(value)


def key_range(validation_split: Any, subset: Any) -> tuple[int, int]:
    """The range of hashes of the keys that are read."""
    if subset not in ("training", "validation"):
        raise InvalidRequestError(
            f'subset={subset!r} is unknown. It is "training" or "validation": on which side of validation_split= the '
            "rows are. Use one of them"
        )
    if not isinstance(validation_split, float) or not 0 < validation_split < 1:
        raise InvalidRequestError(
            f"validation_split={validation_split!r} is no part of the rows. It is a number between 0 and 1, such as "
            "0.1. Use such a number"
        )
    cut = min(max(1, round(validation_split * KEY_HASHES)), KEY_HASHES - 1)
    return (0, cut) if subset == "validation" else (cut, KEY_HASHES)


def check_selection(
    cache: str, *, replay: float, split: bool, since: bool, query: bool, refusal: str, exact: bool
) -> None:
    """Checks whether rows can be chosen by hashes of their keys: for a split, or for a sample of old rows."""
    if replay and not since:
        raise InvalidRequestError(
            f"replay={replay!r} of cache {cache!r} has no position. Rows that have not changed are those before "
            "since=, in a dataset with an end. Add since=tfi.position(cache) to tfi.Changes(...), or leave replay= out"
        )
    name = "validation_split=" if split else "replay="
    problem = ""
    if not split and not replay:
        return
    if query:
        problem = "where= or sql=. Nodes choose rows by their keys, which a query does not return. Use Dataset.filter"
    elif refusal:
        problem = refusal
    elif exact:
        problem = "exact=True. The number of rows is not known before they are read. Remove exact="
    if problem:
        raise InvalidRequestError(f"cache {cache!r} cannot be read with {name} and {problem}")


def replay(value: Any) -> float:
    """The part of the rows that were there before, from 0 to below 1."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1:
        return float(value)
    raise InvalidRequestError(
        f"replay={value!r} is no part of the rows. It is a number from 0 to below 1: with 0.5, half of the rows have "
        "not changed since the position. Use such a number"
    )


def labels(label: Any, columns: Sequence[str] | None, key: bool) -> str | tuple[str, ...] | None:
    """The column, or the columns, that are labels; their names are checked if ``columns`` is given."""
    if label is None or isinstance(label, str):
        found: str | tuple[str, ...] | None = label
    elif isinstance(label, Sequence) and label and all(isinstance(name, str) for name in label):
        found = tuple(label)
    else:
        raise InvalidRequestError(
            f'label={label!r} is neither the name of a column, such as "label", nor a list of them'
        )
    if columns is not None and not isinstance(columns, str):
        check_labels(found, [*(["_key"] * key), *columns], "")
    return found


def check_labels(labels: str | tuple[str, ...] | None, columns: Sequence[str], cache: str) -> None:
    """Checks that labels are columns, and that at least one column is no label."""
    names = () if labels is None else (labels,) if isinstance(labels, str) else labels
    source = f"cache {cache!r} has" if cache else "columns= names"
    missing = [name for name in names if name not in columns]
    if missing or len(set(names)) < len(names):
        raise InvalidRequestError(
            f"label={labels!r} is not among the columns, each once: {source} {list(columns)}. A label is one of the "
            f"columns that are read. Name one of these columns with label=, or add the label to columns=[...]"
        )
    if names and len(names) == len(columns):
        raise InvalidRequestError(
            f"label={labels!r} leaves no feature: {source} {list(columns)}. Columns that are no label are the "
            "features. Add a feature to columns=[...], or remove a label from label="
        )
