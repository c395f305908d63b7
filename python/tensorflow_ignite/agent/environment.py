"""The command line and the environment of a task."""

import os
import site
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from tensorflow_ignite.agent import limits, names, threads
from tensorflow_ignite.agent.gpus import ORDER_VARIABLE, VISIBLE_VARIABLE
from tensorflow_ignite.agent.inherited import inherited
from tensorflow_ignite.agent.process import MARK_VARIABLE
from tensorflow_ignite.base.package import PACKAGE
from tensorflow_ignite.v1 import job_pb2
from tensorflow_ignite.v1.agent_pb2 import StartTaskRequest

_LAUNCHER = Path(__file__).with_name("launch.py")
_SERVER_MODULE = "tensorflow_ignite.train.server"


class BadScriptError(Exception):
    """The script cannot be run; the text has the reason."""


def keeper_command(options: str) -> list[str]:
    """Returns the begin of a command line: the keeper with its options, see launch.py."""
    return [sys.executable, "-IS", str(_LAUNCHER), f"{os.getpid()}{options}"]


def launcher(request: StartTaskRequest) -> list[str]:
    """Returns the begin of a command line: the keeper, the limits of the task and its priority."""
    return keeper_command(limits.launch_argument(request.limits) + (f",NICE={request.nice}" if request.nice else ""))


def command(request: StartTaskRequest, code: Path, python: str) -> list[str]:
    """Returns the task's command line, which begins with the launcher.

    Args:
        request: The task.
        code: The directory of its code.
        python: The interpreter that runs the script.

    Raises:
        BadScriptError: The script is not in the code archive.
    """
    if module(request):
        return [*launcher(request), python, "-u", "-m", module(request)]
    return [*launcher(request), python, "-u", *script_arguments(request, code)]


def module(request: StartTaskRequest) -> str:
    """Returns the module that a task runs in place of the script; empty: it runs the script."""
    return _SERVER_MODULE if request.is_server else ""


def script_arguments(request: StartTaskRequest, code: Path) -> list[str]:
    """Returns the script and its arguments.

    Args:
        request: The task.
        code: The directory of its code.

    Raises:
        BadScriptError: The script is not in the code archive.
    """
    script = request.spec.script
    if request.key.role == job_pb2.ROLE_EVALUATOR:
        script = request.spec.evaluator.script or script
    return [str(_script(script, code)), *request.spec.args]


def environment(
    request: StartTaskRequest,
    code: Path,
    mark: str,
    context: Path,
    progress: Path,
    command: Path,
    temporary: Path,
    agents: Mapping[str, str],
    thread_count: int | None = None,
    gpus: Sequence[str] = (),
) -> dict[str, str]:
    """Merges variables: inherited from the agent, the service's, the user's, and last the variables of every task.

    Args:
        request: The task.
        code: The directory of its code.
        mark: Its process mark.
        context: The file with its context.
        progress: The file for its reports.
        command: The file with the commands of the agent.
        temporary: Its directory for temporary files.
        agents: The environment of the agent.
        thread_count: Threads of TensorFlow, unless one of these sources sets them; None: TensorFlow's own default.
        gpus: Ids of the GPUs that are assigned to the task; other GPUs are hidden from it.
    """
    env = inherited(agents, request.inherited_env)
    # TensorFlow's C++ prints its lines only on request: what matters becomes an exception, and of every worker that
    # ends before another one it says that the task has crashed.
    env.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # Without them, TensorFlow and JAX take the whole memory of a GPU at once.
    env.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    env.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    env["PYTHONUNBUFFERED"] = "1"
    # A stalled task is ended by SIGABRT: Python then writes the stacks of its threads into the output.
    env["PYTHONFAULTHANDLER"] = "1"
    # A killed TensorFlow leaves files there, which are removed with the attempt.
    env["TMPDIR"] = str(temporary)
    env.update(request.env)
    role = request.context.role_name or names.role(request.key)
    given = request.spec.environment.variables
    env.update({name: value for name, value in given.items() if ":" not in name})
    env.update({name.partition(":")[2]: value for name, value in given.items() if name.startswith(f"{role}:")})
    threads.limit(env, thread_count)
    env["PYTHONPATH"] = os.pathsep.join([str(code), *_absolute(env.get("PYTHONPATH", "")), *_package_root()])
    env[VISIBLE_VARIABLE] = ",".join(gpus)
    # The driver's programs number GPUs by their position on the bus. CUDA by default gives the fastest GPU number 0.
    env.setdefault(ORDER_VARIABLE, "PCI_BUS_ID")
    # Without it, TensorFlow cannot bind the port that the agent has reserved.
    env["TF_GRPC_REUSE_PORT"] = "true"
    env["TENSORFLOW_IGNITE_CONTEXT"] = str(context)
    env["TENSORFLOW_IGNITE_PROGRESS"] = str(progress)
    env["TENSORFLOW_IGNITE_COMMAND"] = str(command)
    env[MARK_VARIABLE] = mark
    return env


def is_quiet(variables: Mapping[str, str]) -> bool:
    """Whether TensorFlow writes none of its own lines to the output."""
    return variables["TF_CPP_MIN_LOG_LEVEL"] != "0"


def _script(script: str, code: Path) -> Path:
    path = PurePosixPath(script)
    if path.parts and not path.is_absolute() and ".." not in path.parts and (code / path).is_file():
        return code / path
    raise BadScriptError(
        f"script {script!r} is not in the job's code. A script is a path inside the code archive, relative to its "
        "root. Submit the job again with a script that exists there"
    )


def _absolute(python_path: str) -> list[str]:
    # The task has another working directory than the agent. An empty entry means the working directory, which Python
    # adds anyway.
    return [os.path.abspath(entry) for entry in python_path.split(os.pathsep) if entry]


def python_path(inherited_path: str) -> str:
    """Returns PYTHONPATH for a process of this package that has another working directory than the agent.

    Args:
        inherited_path: PYTHONPATH of the agent, or empty.
    """
    return os.pathsep.join([*_absolute(inherited_path), *_package_root()])


def _package_root() -> list[str]:
    """Returns the folder that contains this package, unless it is a standard folder of the interpreter."""
    root = str(PACKAGE.parent)
    standard = [*site.getsitepackages(), site.getusersitepackages()]
    return [] if root in map(os.path.realpath, standard) else [root]
