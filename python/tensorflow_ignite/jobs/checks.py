"""Checks of arguments before any call; each function returns the valid value.

Each raises an InvalidRequestError or another error of a request, which names the argument, its value and the rule.
"""

from __future__ import annotations

import math
import numbers
import posixpath
import re
from collections.abc import Sequence
from typing import TypeVar

from tensorflow_ignite.errors import CodeNotFoundError, InvalidRequestError

_Choice = TypeVar("_Choice", bound=str)
MAX_JOBS = 100_000
_MAX_COUNT = 2**31 - 1
_MAX_PROFILE_SECONDS = 60.0
_MAX_SECONDS = 10 * 365 * 24 * 3600.0


def text(what: str, value: str) -> str:
    """Checks a text: UTF-8 without NUL."""
    fault = None
    if not isinstance(value, str):
        fault = f"is a {type(value).__name__}"
    elif "\0" in value:
        fault = "contains a NUL character"
    else:
        try:
            value.encode()
        except UnicodeEncodeError:
            fault = "is not valid UTF-8"
    if fault:
        raise InvalidRequestError(
            f"{what} {value!r} {fault}. Names, arguments and values are text in UTF-8 without NUL. Pass another text."
        )
    return value


def directory(path: str) -> str:
    """Checks a directory that is the same for every task; empty: none."""
    text("checkpoint_directory", path)
    if path and not posixpath.isabs(path) and not re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", path):
        raise InvalidRequestError(
            f"checkpoint_directory {path!r} is a relative path. It would be relative to a folder of each task, which "
            "is removed when the task ends; checkpoints must be on storage that every node shares. Name an absolute "
            "path, or a URL such as gs://bucket/folder."
        )
    return path


def evaluator_script(script: str, files: Sequence[str]) -> None:
    """Checks that the evaluator's own script, if it has one, is among the files of the code."""
    if script and posixpath.normpath(script) not in files:
        some = ", ".join(files[:10]) + (", …" if len(files) > 10 else "")
        raise CodeNotFoundError(
            f"the code has no script {script!r} for the evaluator. It is a path inside the folder or archive, as of: "
            f"{some}. Submit the folder that has both scripts, and name one of its files."
        )


def choice(what: str, value: _Choice, choices: tuple[_Choice, ...]) -> _Choice:
    """Checks that a value is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidRequestError(
            f"{what} {value!r} does not exist. It is one of {', '.join(choices)}. Name one of these."
        )
    return value


def limit(number: int) -> int:
    """Checks the largest number of jobs in a list."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MAX_JOBS:
        raise InvalidRequestError(
            f"limit {number!r} is not a possible number. A list has from 1 to {MAX_JOBS:,} jobs. Pass a number in this "
            "range, or filter by state and time."
        )
    return number


def count(what: str, number: int, least: int, most: int = _MAX_COUNT) -> int:
    """Checks a whole number from `least` to `most`."""
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise InvalidRequestError(
            f"{what} {number!r} is not a possible number. It is a whole number from {least} to {most:,}. Pass a number "
            "in this range."
        )
    return number


def profile_seconds(length: float) -> float:
    """Checks the length of a profile, in seconds."""
    if not isinstance(length, numbers.Real) or not 0.1 <= length <= _MAX_PROFILE_SECONDS:
        raise InvalidRequestError(
            f"seconds={length!r} is no length of a profile. A profile has 0.1 to {_MAX_PROFILE_SECONDS:g} seconds. "
            "Pass a number in this range."
        )
    return float(length)


def seconds(what: str, duration: float) -> float:
    """Checks a duration in seconds."""
    is_number = isinstance(duration, numbers.Real) and not isinstance(duration, bool)
    if not (is_number and math.isfinite(duration) and 0 < duration <= _MAX_SECONDS):
        raise InvalidRequestError(
            f"{what} {duration!r} is not a valid duration. It is more than 0 seconds, at most ten years. Pass a number "
            "in this range."
        )
    return float(duration)
