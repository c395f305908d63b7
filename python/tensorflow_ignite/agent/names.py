"""Names of tasks: in messages, as directories, as marks; and checks of the keys that they are made of."""

import re
from pathlib import Path

from tensorflow_ignite.agent.rejection import INVALID_ARGUMENT, RequestRejected
from tensorflow_ignite.base.messages import enum_text
from tensorflow_ignite.v1 import job_pb2
from tensorflow_ignite.v1.agent_pb2 import TaskKey

_JOB_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def check(key: TaskKey) -> None:
    """Rejects a key that is invalid, or whose path would be outside the work directory."""
    check_attempt(key.job_id, key.attempt)
    if key.role not in job_pb2.Role.values() or key.role == job_pb2.ROLE_UNSPECIFIED:
        raise RequestRejected(
            INVALID_ARGUMENT, f"role {key.role} is unknown. Roles are the values of Role in job.proto. Send one of them"
        )
    if key.index < 0 or key.incarnation < 0:
        raise RequestRejected(
            INVALID_ARGUMENT, f"task {task_path(key)} has a negative number; they count from 0; mend the key"
        )


def check_attempt(job_id: str, attempt: int) -> None:
    """Rejects an attempt whose job id cannot be the name of a directory."""
    if not _JOB_ID.fullmatch(job_id) or attempt < 1:
        raise RequestRejected(
            INVALID_ARGUMENT,
            f"attempt {attempt} of job {job_id!r} is invalid. A job's id has 1 to 128 letters, digits, '_', '.' and "
            "'-' and begins with neither of the last two; attempts are counted from 1. Send a valid key",
        )


def role(key: TaskKey) -> str:
    """Returns the role in lower case."""
    return enum_text(key, "role")


def task(key: TaskKey) -> str:
    """Returns the task's name for messages: `worker 0`."""
    return f"{role(key)} {key.index}"


def attempt_path(job_id: str, attempt: int) -> str:
    """Returns the attempt's path below the work directory, which is also part of marks."""
    return f"{job_id}/{attempt}"


def task_path(key: TaskKey) -> str:
    """Returns the key as a path: job, attempt, role, index, incarnation."""
    return f"{attempt_path(key.job_id, key.attempt)}/{role(key)}/{key.index}/{key.incarnation}"


def mark(work: Path, path: str) -> str:
    """Returns the value of TENSORFLOW_IGNITE_TASK for a task's path, or the prefix of the values below a path."""
    return f"{work}:{path}"
