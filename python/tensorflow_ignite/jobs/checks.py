"""Checks of arguments before any call; each function returns the valid value.

Each raises an InvalidRequestError or another error of a request, which names the argument, its value and the rule.
"""

from __future__ import annotations

import math
import numbers
import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from tensorflow_ignite.base import rates
from tensorflow_ignite.errors import CodeNotFoundError, InvalidRequestError
from tensorflow_ignite.kinds import KINDS, JobKind
from tensorflow_ignite.spec import Continuous, Evaluator, Prediction, RoleCount

_Choice = TypeVar("_Choice", bound=str)
MAX_JOBS = 100_000
MAX_PRIORITY = 100
# The limits of the nodes (JobTaskRules).
MAX_PS = 100
MAX_WORKERS_PER_NODE = 64
MAX_GPUS = 64
MAX_NAMED_TASKS = 100
_MAX_COUNT = 2**31 - 1
#: Variables by which a task finds its cluster and its job: the service and the agent set them (JobTaskRules).
TASK_VARIABLES = frozenset(
    {
        *("TF_CONFIG", "TF_CLUSTER", "TF_WORKERS", "TF_CHIEF_SERVER", "TF_GRPC_REUSE_PORT"),
        *(f"IGNITE_DATASET_{name}" for name in ("CACHE_NAME", "HOST", "PORT", "LOCAL", "PART")),
        *(f"TENSORFLOW_IGNITE_{name}" for name in ("ADDRESS", "CONTEXT", "PROGRESS", "COMMAND", "TASK")),
    }
)
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
            f"{what} {value!r} {fault}. Names, arguments and values are text in UTF-8 without NUL. Pass such a text."
        )
    return value


def names(what: str, given: Sequence[str], example: str) -> tuple[str, ...]:
    """Checks a list of names."""
    if isinstance(given, str) or not all(isinstance(name, str) and name for name in given):
        raise InvalidRequestError(
            f"{what} {given!r} is not a list of names. A name is text that is not empty. For example: {[example]}"
        )
    return tuple(text(what, name) for name in given)


def directories(given: Sequence[str]) -> tuple[str, ...]:
    """Checks further directories of the cluster's files."""
    for url in names("more_directories", given, "ignite:///models/trips"):
        scheme, separator, path = url.partition("://")
        if scheme.lower() != "ignite" or not separator:
            raise InvalidRequestError(
                f"more_directories {url!r} (--with-directory) is not one of the cluster's files. Its address begins "
                "with ignite:///. Name it so, or leave it out: the cluster does not guard other storage."
            )
        if ".." in path.split("/"):
            raise InvalidRequestError(
                f"more_directories {url!r} (--with-directory) has a part '..'. The tasks get the permission for "
                "one directory, which its address names without '..'. Name that directory, such as ignite:///models/trips."
            )
    return tuple(given)


def directory(path: str) -> str:
    """Checks a directory that is the same for every task; empty: none."""
    text("checkpoint_directory", path)
    if path and not os.path.isabs(path) and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", path):
        raise InvalidRequestError(
            f"checkpoint_directory {path!r} is a relative path. It would be relative to a folder of each task, which "
            "is removed when the task ends; checkpoints must be on storage that every node shares. Name an absolute "
            "path, or a URL such as gs://bucket/folder."
        )
    return path


def interpreter(path: str) -> str:
    """Checks the path of an interpreter on the nodes; empty: none is given."""
    if path and (not path.startswith("/") or not path.isprintable()):
        raise InvalidRequestError(
            f"python {path!r} is not an absolute path. It names the interpreter of the tasks, the same on every node. "
            "Pass a path such as /opt/train/bin/python."
        )
    return path


def variable(name: str) -> str:
    """Checks the name of an environment variable."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise InvalidRequestError(
            f"env {name!r} is not the name of a variable. A name has letters, digits and '_', and begins with no "
            "digit. Rename the variable."
        )
    if name in TASK_VARIABLES:
        raise InvalidRequestError(
            f"env {name!r} is a variable that each task gets from its node: by {name} it finds its cluster, its rows "
            f"or its job. A submission sets none of {', '.join(sorted(TASK_VARIABLES))}. Leave {name} out, or give the "
            "script your value by a variable of another name."
        )
    return name


def parameter_servers(ps: int | None, kind: JobKind) -> int:
    """Returns the number of parameter servers of a job."""
    has_servers = KINDS[kind].parameter_servers
    if ps is None:
        return 1 if has_servers else 0
    if not has_servers:
        raise InvalidRequestError(
            f"ps={ps} has no meaning for a {kind} job. Only a parameter-server job has parameter servers. "
            "Leave ps out, or submit with kind parameter-server."
        )
    return count("ps", ps, 1, MAX_PS)


def workers_per_node(number: int | None) -> int:
    """Returns the number of workers of each node; 0: it is not given."""
    return 0 if number is None else count("workers_per_node", number, 1, MAX_WORKERS_PER_NODE)


def roles(given: Mapping[str, int] | None, kind: JobKind) -> tuple[RoleCount, ...]:
    """Checks the roles that a custom job names, with their numbers of tasks."""
    if given and not KINDS[kind].named_roles:
        raise InvalidRequestError(
            f"roles={dict(given)} has no meaning for a {kind} job. Only a custom job has roles of its own. Leave roles "
            "out, or submit with kind custom."
        )
    counts = tuple(
        RoleCount(text("role", name), count(f"role {name}", number, 1, MAX_NAMED_TASKS))
        for name, number in (given or {}).items()
    )
    tasks = sum(role.count for role in counts)
    if tasks > MAX_NAMED_TASKS:
        raise InvalidRequestError(
            f"roles={dict(given or {})} are {tasks} tasks. All roles of a custom job together have at most "
            f"{MAX_NAMED_TASKS}. Set roles to smaller numbers."
        )
    return counts


def evaluator(given: bool | str, cache: str) -> Evaluator | None:
    """Checks the evaluator of a job, which is True, or its script."""
    if not given:
        if cache:
            raise InvalidRequestError(
                f"evaluation_cache={cache!r} was given without an evaluator. Only an evaluator uses it. Pass "
                "evaluator=True too."
            )
        return None
    script = "" if given is True else text("evaluator", given)
    return Evaluator(script, text("evaluation_cache", cache))


def prediction(given: Prediction | None, kind: JobKind) -> Prediction | None:
    """Checks that a job says what it predicts if its kind does."""
    if (given is not None) != KINDS[kind].predicts:
        raise InvalidRequestError(
            f"prediction={given!r} was given for a job of kind {kind}. A job of kind predict has one, and no other. "
            "Submit predictions by Client.predict (tensorflow-ignite predict)."
        )
    return given


def evaluator_script(script: str, files: Sequence[str]) -> None:
    """Checks that the files of the code have the script of the evaluator, if it is one of its own."""
    if script and posixpath.normpath(script) not in files:
        some = ", ".join(files[:10]) + (", …" if len(files) > 10 else "")
        raise CodeNotFoundError(
            f"the code has no script {script!r} for the evaluator. It is a path inside the folder or archive, as of: "
            f"{some}. Submit the folder that has both scripts, and name one of its files."
        )


def attributes(what: str, given: Mapping[str, str] | None) -> dict[str, str]:
    """Checks attributes of nodes, with their values as texts."""
    if given is not None and not isinstance(given, Mapping):
        raise InvalidRequestError(
            f"{what}={given!r} is no mapping. It names attributes of nodes with their values. Pass {what}="
            '{"ATTRIBUTE": "VALUE"}.'
        )
    for name, value in (given or {}).items():
        if not name or value == "":
            raise InvalidRequestError(
                f"{what} {name!r} has the value {value!r}. An attribute of nodes has a name and a value, and neither "
                f'is empty. Pass both, such as {what}={{"rack": "a"}}, or leave the attribute out.'
            )
    return {text(f"{what} attribute", name): text(f"{what} {name}", value) for name, value in (given or {}).items()}


def variables(env: Mapping[str, str] | None) -> dict[str, str]:
    """Checks environment variables."""
    if env is not None and not isinstance(env, Mapping):
        raise InvalidRequestError(
            f"env={env!r} is no mapping. It has the values of variables by their names. Pass a dict such as "
            '{"SEED": "7"}.'
        )
    return {variable(key): text(f"env {key}", value) for key, value in (env or {}).items()}


def choice(what: str, value: _Choice, choices: tuple[_Choice, ...]) -> _Choice:
    """Checks that a value is one of the choices."""
    if value not in choices:
        raise InvalidRequestError(
            f"{what} {value!r} does not exist. It is one of {', '.join(choices)}. Name one of these."
        )
    return value


def limit(number: int) -> int:
    """Checks the largest number of jobs in a list."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MAX_JOBS:
        raise InvalidRequestError(
            f"limit {number!r} is not a possible number. A list has from 1 to {MAX_JOBS:,} jobs. Pass such a number, "
            "or filter by state and time."
        )
    return number


def count(what: str, number: int, least: int, most: int = _MAX_COUNT) -> int:
    """Checks a whole number from `least` to `most`."""
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise InvalidRequestError(
            f"{what} {number!r} is not a possible number. It is a whole number from {least} to {most:,}. Pass such a "
            "number."
        )
    return number


def priority(number: int) -> int:
    """Checks a priority in the queue of jobs."""
    if isinstance(number, bool) or not isinstance(number, int) or abs(number) > MAX_PRIORITY:
        raise InvalidRequestError(
            f"priority {number!r} is not a priority. It is a whole number from -{MAX_PRIORITY} to {MAX_PRIORITY}. Pass "
            "such a number."
        )
    return number


def read_rate(rate: str) -> str:
    """Checks a rate of reading; empty: none."""
    if rate and rates.parse(rate) is None:
        raise InvalidRequestError(f"read_rate {rate!r} is no rate. A rate is {rates.RULE}. For example: 200MB.")
    return rate


def continuous(is_continuous: bool, every: float | None, when_rows: int | None, replay: float) -> Continuous | None:
    """Checks how a job trains in rounds; None: it does not."""
    if not is_continuous:
        given = {"every": every, "when_rows": when_rows, "replay": replay or None}
        for name, value in given.items():
            if value is not None:
                raise InvalidRequestError(
                    f"{name} {value!r} has no meaning for a job that is not continuous. A continuous job trains in "
                    f"rounds. Submit it with continuous=True (--continuous), or leave {name} out."
                )
        return None
    if every is not None and when_rows is not None:
        raise InvalidRequestError(
            f"every {every!r} and when_rows {when_rows!r} exclude each other. A round begins by time, or by the number "
            "of changes. Leave one of them out."
        )
    if every is not None and seconds("every", every) < 1:
        raise InvalidRequestError(
            f"every {every!r} is too short. A round begins 1 s after the last one at least. Pass 1."
        )
    if isinstance(replay, bool) or not isinstance(replay, (int, float)) or not 0 <= replay < 1:
        raise InvalidRequestError(
            f"replay {replay!r} is no part of a round's rows. It is from 0 to below 1: with 0.5, half of the rows were "
            "there before. Pass such a number."
        )
    return Continuous(every, 0 if when_rows is None else count("when_rows", when_rows, 1), float(replay))


def optional_seconds(what: str, duration: float | None, *, zero: bool = False) -> float | None:
    """Checks a duration in seconds, unless it is None."""
    return None if duration is None else seconds(what, duration, zero=zero)


def profile_seconds(length: float) -> float:
    """Checks the length of a profile, in seconds."""
    if not isinstance(length, numbers.Real) or not 0.1 <= length <= _MAX_PROFILE_SECONDS:
        raise InvalidRequestError(
            f"seconds={length!r} is no length of a profile. A profile has 0.1 to {_MAX_PROFILE_SECONDS:g} seconds. "
            "Pass such a number."
        )
    return float(length)


def seconds(what: str, duration: float, *, zero: bool = False) -> float:
    """Checks a duration in seconds."""
    is_number = isinstance(duration, numbers.Real) and not isinstance(duration, bool)
    if not (
        is_number
        and math.isfinite(duration)
        and (duration > 0 or (zero and duration == 0))
        and duration <= _MAX_SECONDS
    ):
        least = "0 or more" if zero else "more than 0"
        raise InvalidRequestError(
            f"{what} {duration!r} is not a valid duration. It is {least} seconds, at most ten years. Pass such a "
            "number."
        )
    return float(duration)
