"""Names of tasks: in text, as directories, as marks; and the keys that may not become names."""

import re
from pathlib import Path

from tensorflow_ignite.agent.refusal import INVALID_ARGUMENT, Refusal
from tensorflow_ignite.v1 import job_pb2
from tensorflow_ignite.v1.agent_pb2 import TaskKey

_JOB_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def check(key: TaskKey) -> None:
    """Refuses a key that names no task, or a path outside the work directory."""
    check_attempt(key.job_id, key.attempt)
    if key.role not in job_pb2.Role.values() or key.role == job_pb2.ROLE_UNSPECIFIED:
        raise Refusal(INVALID_ARGUMENT, f"role {key.role} is unknown; a task has a role of job.proto; name one")
    if key.index < 0 or key.incarnation < 0:
        raise Refusal(INVALID_ARGUMENT, f"task {task_path(key)} has a negative number; they count from 0; mend the key")


def check_attempt(job_id: str, attempt: int) -> None:
    """Refuses an attempt whose job cannot be a directory's name."""
    if not _JOB_ID.fullmatch(job_id) or attempt < 1:
        raise Refusal(
            INVALID_ARGUMENT,
            f"attempt {attempt} of job {job_id!r} cannot be; a job's id is 1 to 128 letters, digits, '_', '.' and '-' "
            "and begins with neither of the last two, attempts count from 1; mend the key",
        )


def role(key: TaskKey) -> str:
    """Its role in lower case."""
    return job_pb2.Role.Name(key.role).lower()


def task(key: TaskKey) -> str:
    """As people say it: `worker 0`."""
    return f"{role(key)} {key.index}"


def attempt_path(job_id: str, attempt: int) -> str:
    """Below the work directory, and in marks."""
    return f"{job_id}/{attempt}"


def task_path(key: TaskKey) -> str:
    """The whole key as text: job, attempt, role, index, incarnation."""
    return f"{attempt_path(key.job_id, key.attempt)}/{role(key)}/{key.index}/{key.incarnation}"


def mark(work: Path, path: str) -> str:
    """The value of TENSORFLOW_IGNITE_TASK for a task's path, or what the values of a part of them begin with."""
    return f"{work}:{path}"
