"""What a task is started with: its command line and its environment."""

import os
import site
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import tensorflow_ignite
from tensorflow_ignite.agent import limits
from tensorflow_ignite.agent.inherited import inherited
from tensorflow_ignite.agent.process import MARK_VARIABLE
from tensorflow_ignite.v1 import job_pb2
from tensorflow_ignite.v1.agent_pb2 import StartTaskRequest

_LAUNCHER = Path(__file__).with_name("launch.py")
_SERVER_MODULE = "tensorflow_ignite.train.server"


class BadScriptError(Exception):
    """The script cannot be run; the text says why."""


def command(request: StartTaskRequest, code: Path) -> list[str]:
    """The task's command line, from the launcher on.

    Raises:
        BadScriptError: The script is not in the code archive.
    """
    agent = f"{os.getpid()}{limits.launch_argument(request.limits)}"
    launcher = [sys.executable, "-IS", str(_LAUNCHER), agent]
    if _serves(request):
        return [*launcher, sys.executable, "-u", "-m", _SERVER_MODULE]
    return [*launcher, sys.executable, "-u", str(_script(request.spec.script, code)), *request.spec.args]


def environment(
    request: StartTaskRequest,
    code: Path,
    mark: str,
    context: Path,
    progress: Path,
    temporary: Path,
    agents: Mapping[str, str],
) -> dict[str, str]:
    """A part of the agent's environment, the service's, the user's, and last what a task cannot do without."""
    env = inherited(agents, request.inherited_env)
    env.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    env["PYTHONUNBUFFERED"] = "1"
    # TensorFlow leaves files there when it is killed; so they go with the attempt.
    env["TMPDIR"] = str(temporary)
    env.update(request.env)
    env.update(request.spec.env)
    env["PYTHONPATH"] = os.pathsep.join([str(code), *_absolute(env.get("PYTHONPATH", "")), *_own_root()])
    # TensorFlow binds the port that the agent holds only with this.
    env["TF_GRPC_REUSE_PORT"] = "true"
    env["TENSORFLOW_IGNITE_CONTEXT"] = str(context)
    env["TENSORFLOW_IGNITE_PROGRESS"] = str(progress)
    env[MARK_VARIABLE] = mark
    return env


def _serves(request: StartTaskRequest) -> bool:
    return request.spec.kind == job_pb2.PARAMETER_SERVER and request.key.role in (job_pb2.WORKER, job_pb2.PS)


def _script(script: str, code: Path) -> Path:
    path = PurePosixPath(script)
    if path.parts and not path.is_absolute() and ".." not in path.parts and (code / path).is_file():
        return code / path
    raise BadScriptError(
        f"script {script!r} is not in the job's code; it is a path inside the code archive, relative to its top; "
        "submit the job again with a script that is there"
    )


def _absolute(python_path: str) -> list[str]:
    # The task's working directory is not the agent's. An empty entry means that directory, which the task has anyway.
    return [os.path.abspath(entry) for entry in python_path.split(os.pathsep) if entry]


def _own_root() -> list[str]:
    """Where this package lies, unless an interpreter finds it there without being told."""
    root = str(Path(tensorflow_ignite.__file__).resolve().parents[1])
    standard = [*site.getsitepackages(), site.getusersitepackages()]
    return [] if root in map(os.path.realpath, standard) else [root]
