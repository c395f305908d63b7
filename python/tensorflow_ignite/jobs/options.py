"""The options of a job as `tensorflow_ignite.groups` declares them: names, types, and values from text.

Only types are checked here. The rules of values stand in job.proto, and nodes check them.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import numbers
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from tensorflow_ignite import groups
from tensorflow_ignite.base.messages import Value
from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.jobs import checks

#: The groups of options, by the names of their arguments.
GROUPS: dict[str, type[Value]] = {
    "strategy": groups.Strategy,
    "workers": groups.Workers,
    "restart": groups.Restart,
    "timeouts": groups.Timeouts,
    "environment": groups.Environment,
    "access": groups.Access,
    "evaluator": groups.Evaluator,
    "rounds": groups.Rounds,
}
#: The options of a job outside of groups, but for its code and arguments.
_PLAIN: dict[str, Any] = {
    "cache": str,
    "script": str,
    "name": str,
    "priority": int,
    "checkpoint_directory": str,
    "read_rate": str,
}
_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_MAX_INT = 2**31 - 1
# Ten years in seconds.
_MAX_FLOAT = 315_360_000
_G = TypeVar("_G", bound=Value)


def group(name: str, given: Any, kind: type[_G]) -> _G:
    """Checks the types of a group's options.

    Args:
        name: Name of the group, for errors.
        given: A value of the group's class; None: all defaults.
        kind: The class.

    Returns:
        The group, with tuples for sequences and texts for paths.

    Raises:
        InvalidRequestError: It is of another class, or an option of another type.
    """
    if given is None:
        return kind()
    if not isinstance(given, kind):
        example = ", ".join(f"{field.name}=…" for field in dataclasses.fields(kind)[:2])  # type: ignore[arg-type]
        raise InvalidRequestError(
            f"{name} is {given!r}, a {type(given).__name__}. It is a tfi.{kind.__name__}. Pass "
            f"{name}=tfi.{kind.__name__}({example})."
        )
    return kind(**{option: value(f"{name}.{option}", getattr(given, option), hint) for option, hint in _types(kind)})


def strategy(given: groups.Strategy | str | None) -> groups.Strategy:
    """Checks the types of a strategy's options; a text is the kind of a strategy without further options."""
    return group("strategy", groups.Strategy(kind=given) if isinstance(given, str) else given, groups.Strategy)  # type: ignore[arg-type]


def packages(given: groups.Environment) -> dict[str, Any]:
    """The packages of a job, as `tensorflow_ignite.jobs.archive.pack` takes them."""
    return {"requirements": given.requirements or None, "wheels": given.wheels}


def value(name: str, given: Any, hint: Any) -> Any:
    """Checks the type of one option.

    Args:
        name: Its name, for errors: ``workers.per_node``.
        given: Its value.
        hint: The type in its declaration.

    Raises:
        InvalidRequestError: It is of another type.
    """
    if given is None and type(None) in get_args(hint):
        return None
    hint = _required(hint)
    origin = get_origin(hint)
    if origin is Literal:
        return checks.choice(name, given, get_args(hint))
    if is_list(hint):
        if isinstance(given, str | bytes | os.PathLike) or not isinstance(given, Sequence):
            raise _wrong(name, given, "a list of texts, also of one", '["…"]')
        return tuple(value(name, each, str) for each in given)
    if origin is not None:
        if not isinstance(given, Mapping):
            raise _wrong(name, given, "a mapping by names", '{"NAME": …}')
        of_values = get_args(hint)[1]
        return {checks.text(name, key): _entry(f"{name}.{key}", each, of_values) for key, each in given.items()}
    if hint is str:
        return checks.text(name, os.fspath(given) if isinstance(given, os.PathLike) else given)
    if hint is bool:
        if not isinstance(given, bool):
            raise _wrong(name, given, "True or False", "True")
        return given
    if hint is int:
        if isinstance(given, bool) or not isinstance(given, numbers.Integral) or abs(int(given)) > _MAX_INT:
            raise _wrong(name, given, f"a whole number, at most {_MAX_INT:,}", "2")
        return int(given)
    if isinstance(given, bool) or not isinstance(given, numbers.Real) or not abs(float(given)) <= _MAX_FLOAT:
        raise _wrong(name, given, f"a number, at most {_MAX_FLOAT:,}", "0.5")
    return float(given)


def _required(hint: Any) -> Any:
    """The type of an option that is given: ``int`` for ``int | None``."""
    return next(one for one in get_args(hint) if one is not type(None)) if type(None) in get_args(hint) else hint


def _entry(name: str, given: Any, hint: Any) -> Any:
    """A value of a mapping. It may be a secret, which no error shows."""
    if not isinstance(given, hint) or isinstance(given, bool):
        raise InvalidRequestError(
            f"{name} is a value of type {type(given).__name__}. It is of type {hint.__name__}. Pass another value."
        )
    return value(name, given, hint)


def _wrong(name: str, given: Any, rule: str, example: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"{name} is {given!r}, a {type(given).__name__}. It is {rule}. Pass, for example, {example}."
    )


def _types(kind: type[Value]) -> list[tuple[str, Any]]:
    types = get_type_hints(kind)
    return [(field.name, types[field.name]) for field in dataclasses.fields(kind)]  # type: ignore[arg-type]


@functools.cache
def names() -> dict[str, Any]:
    """The type of each option, by its name: ``{"cache": str, "workers.per_node": int, …}``."""
    return _PLAIN | {f"{name}.{option}": hint for name, kind in GROUPS.items() for option, hint in _types(kind)}


def of_name(name: str) -> tuple[str, str, Any]:
    """Finds an option by its name, or by the name of an entry of a mapping: ``environment.variables.SEED``.

    Returns:
        Name of the option, key of the entry or an empty text, and the type of the option.

    Raises:
        InvalidRequestError: There is no such option; the error has the nearest names.
    """
    options = names()
    if name in GROUPS:
        raise InvalidRequestError(
            f"{name} is a group of options. An option of a group has its own name. Set one of "
            f"{', '.join(option for option in options if option.startswith(name + '.'))}."
        )
    option, key = name, ""
    if name not in options:
        option = ".".join(name.split(".")[:2])
        key = name[len(option) + 1 :]
        if not key or not is_mapping(options.get(option)):
            near = difflib.get_close_matches(name, [*options, *GROUPS], 3, 0.5)
            hint = f" Perhaps you mean {' or '.join(near)}." if near else ""
            raise InvalidRequestError(
                f"{name} is no option of a job.{hint} Options have the names of tensorflow_ignite.Client.submit: "
                f"{', '.join(_PLAIN)}, and options of the groups {', '.join(GROUPS)}, such as workers.per_node. "
                "Name one of them; docs/jobs.md lists all."
            )
    return option, key, options[option]


def is_mapping(hint: Any) -> bool:
    """Whether an option has values by names."""
    return isinstance(get_origin(hint), type) and issubclass(get_origin(hint), Mapping)


def is_list(hint: Any) -> bool:
    """Whether an option is a list."""
    return get_origin(hint) is Sequence


def read(name: str, text: str, hint: Any) -> Any:
    """Reads the value of an option, or of an entry of a mapping, from text.

    Args:
        name: Name of the option, for errors.
        text: ``"2"``, ``"true"``, ``"10m"`` for a time, or a word.
        hint: The type of the option.

    Raises:
        InvalidRequestError: The text has no value of this type.
    """
    # Times have no default of their own; a share, such as rounds.replay, has one, and no unit.
    is_time, hint = hint == float | None, _required(hint)
    if is_mapping(hint):
        hint = get_args(hint)[1]
    if get_origin(hint) is Literal:
        return checks.choice(name, text, get_args(hint))
    if hint is bool:
        if text.lower() not in ("true", "false"):
            raise _unreadable(name, text, "true or false", "true")
        return text.lower() == "true"
    if hint is int:
        if not re.fullmatch(r"[+-]?\d{1,12}", text):
            raise _unreadable(name, text, "a whole number", "2")
        return int(text)
    if hint is float:
        found = re.fullmatch(r"(\d{1,12}(?:\.\d+)?|\.\d+)([smhd]?)", text)
        if not found or (found[2] and not is_time):
            rule = ("a number of seconds, or with s, m, h or d a time", "90s") if is_time else ("a number", "0.5")
            raise _unreadable(name, text, *rule)
        return float(found[1]) * _UNIT_SECONDS[found[2]]
    return text


def _unreadable(name: str, text: str, rule: str, example: str) -> InvalidRequestError:
    return InvalidRequestError(f"{name} is {text!r}. It is {rule}. For example: {example}.")


def arguments(values: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
    """The arguments of `Client.submit` for options by their names.

    Args:
        values: By name of the option and key of the entry, which is empty but for mappings.
    """
    found: dict[str, Any] = {}
    of_groups: dict[str, dict[str, Any]] = {}
    for (option, key), each in values.items():
        of_group, _, field = option.partition(".")
        if not field:
            found[option] = each
        elif key:
            of_groups.setdefault(of_group, {}).setdefault(field, {})[key] = each
        else:
            of_groups.setdefault(of_group, {})[field] = each
    return found | {name: GROUPS[name](**fields) for name, fields in of_groups.items()}
