"""Rules for what a caller gives, before anybody is asked; each function returns what meets its rule.

Every one raises InvalidRequestError, which names what was given and the rule.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from typing import TypeVar

from tensorflow_ignite.errors import InvalidRequestError

_Choice = TypeVar("_Choice", bound=str)
_MAX_SECONDS = 10 * 365 * 24 * 3600.0


def text(what: str, value: str) -> str:
    """Text that can travel."""
    fault = None
    if not isinstance(value, str):
        fault = f"is a {type(value).__name__}"
    elif "\0" in value:
        fault = "holds a NUL character"
    else:
        try:
            value.encode()
        except UnicodeEncodeError:
            fault = "is not valid UTF-8"
    if fault:
        raise InvalidRequestError(
            f"{what} {value!r} {fault}. Names, arguments and values are text in UTF-8 without NUL. Change it."
        )
    return value


def names(what: str, given: Sequence[str]) -> tuple[str, ...]:
    """Names of caches."""
    if isinstance(given, str) or not all(isinstance(name, str) and name for name in given):
        raise InvalidRequestError(f"{what} {given!r} is not a list of names of caches. For example: ['validation']")
    return tuple(text(what, name) for name in given)


def directory(path: str) -> str:
    """A directory that means the same to every task; empty: none."""
    text("checkpoint_directory", path)
    if path and not os.path.isabs(path) and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", path):
        raise InvalidRequestError(
            f"checkpoint_directory {path!r} is a relative path. Each task would take it relative to a folder of "
            "its own, which is removed when the task ends; checkpoints belong on storage that every node sees. Name an "
            "absolute path, or a URL such as gs://bucket/folder."
        )
    return path


def variable(name: str) -> str:
    """The name of a variable of an environment."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise InvalidRequestError(
            f"env {name!r} is not the name of a variable. A name has letters, digits and '_', and begins with no "
            "digit. Change it."
        )
    return name


def parameter_servers(ps: int | None, kind: str) -> int:
    """How many parameter servers a job of a kind has."""
    if ps is None:
        return 1 if kind == "parameter-server" else 0
    if kind != "parameter-server":
        raise InvalidRequestError(
            f"ps={ps} has no meaning for a {kind} job. Only a parameter-server job has parameter servers. "
            "Leave it out, or submit with kind parameter-server."
        )
    return count("ps", ps, 1)


def choice(what: str, value: _Choice, choices: tuple[_Choice, ...]) -> _Choice:
    """One of some."""
    if value not in choices:
        raise InvalidRequestError(
            f"{what} {value!r} does not exist. It is one of {', '.join(choices)}. Name one of these."
        )
    return value


def count(what: str, number: int, least: int) -> int:
    """A number, and not too small a one."""
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number < 2**31:
        raise InvalidRequestError(f"{what} {number!r} is not a possible number. It is at least {least}. Change it.")
    return number


def seconds(what: str, duration: float, *, zero: bool = False) -> float:
    """A time."""
    if not (math.isfinite(duration) and (duration > 0 or (zero and duration == 0)) and duration <= _MAX_SECONDS):
        least = "0 or more" if zero else "more than 0"
        raise InvalidRequestError(f"{what} {duration!r} is not a time. It is {least} seconds. Change it.")
    return float(duration)
