"""The packages of a job: an environment over the interpreter of the tasks, made once on each node and kept by use.

The virtual environment also shows the packages of the interpreter below it: pip installs only packages that are missing
or have another version. A digest of the request is the name of its folder. `install_packages` makes the environment in
a process of the task, so that the limits, the lease and the end of a task hold for pip too.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from tensorflow_ignite.agent.environment import BadScriptError
from tensorflow_ignite.v1 import job_pb2

_INSTALLER = Path(__file__).with_name("install_packages.py")
_BLOCK = 1024 * 1024


class PackagesError(Exception):
    """The packages of a job cannot be installed; the text has the reason. A further attempt would fail too."""


class Packages:
    """The packages that a job needs in addition to its interpreter, and the environment with them."""

    def __init__(self, spec: job_pb2.JobSpec, code: Path, directory: Path) -> None:
        """Reads the request.

        Args:
            spec: The specification of the job.
            code: Its unpacked code, in which the requirements and wheels are.
            directory: Where this node keeps the environments.

        Raises:
            BadScriptError: The interpreter does not exist, or a file is not in the code.
        """
        self.interpreter = interpreter(spec)
        self._requirements = [_inside(code, spec.environment.requirements)] if spec.environment.requirements else []
        self._wheels = [_inside(code, wheel) for wheel in spec.environment.wheels]
        self._directory = directory
        self._lock = -1

    @property
    def is_needed(self) -> bool:
        """Whether the job needs more than its interpreter."""
        return bool(self._requirements or self._wheels)

    @property
    def environment(self) -> Path:
        """The folder of the environment."""
        digest = hashlib.sha256(f"{self.interpreter}\0{sys.version}".encode())
        for path in [*self._requirements, *self._wheels]:
            digest.update(f"\0{path.name}\0".encode())
            with path.open("rb") as opened:
                while block := opened.read(_BLOCK):
                    digest.update(block)
        return self._directory / digest.hexdigest()[:32]

    def command(self, launcher: Sequence[str]) -> list[str]:
        """The command that makes the environment, or finds it made."""
        arguments = [f"--requirement={path}" for path in self._requirements] + [
            f"--wheel={path}" for path in self._wheels
        ]
        return [*launcher, self.interpreter, "-u", str(_INSTALLER), str(self.environment), *arguments]

    def use(self) -> str:
        """Keeps the environment from being removed until `release`; returns its interpreter."""
        if not self.is_needed:
            return self.interpreter
        environment = self.environment
        self._lock = os.open(f"{environment}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        return str(environment / "bin" / "python")

    def release(self) -> None:
        """Lets the environment be removed when it is old. May be repeated."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def interpreter(spec: job_pb2.JobSpec) -> str:
    """Returns the interpreter of a job's tasks.

    Raises:
        BadScriptError: It does not exist on this node.
    """
    python = spec.environment.python
    if not python:
        return sys.executable
    if os.path.isabs(python) and os.access(python, os.X_OK) and os.path.isfile(python):
        return python
    raise BadScriptError(
        f"the interpreter {python} is not a program on this node. The path of environment.python is the same on every "
        "node. Install it there, with TensorFlow and tensorflow-ignite, or submit with another one"
    )


def explain(exit_code: int, tail: str) -> str:
    """Returns the error for an installation that has failed, with the last lines of pip."""
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-3:]
    return (
        f"its packages were not installed (pip: exit code {exit_code}): {' '.join(errors[-3:]) or 'no output'}. A job "
        "runs with all packages of its environment or not at all. Read pip's lines: tensorflow-ignite logs "
        "JOB; correct the requirements, or add the missing wheels"
    )


def _inside(code: Path, name: str) -> Path:
    path = PurePosixPath(name)
    if path.parts and not path.is_absolute() and ".." not in path.parts and (code / path).is_file():
        return code / path
    raise BadScriptError(
        f"{name!r} is not in the job's code. Requirements and wheels are files inside the code archive. Submit the job "
        "again with environment.requirements and environment.wheels"
    )
