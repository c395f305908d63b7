"""The agent from the first line of input to the proof that no process of a task is left."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from pathlib import Path

from google.protobuf import json_format

from tensorflow_ignite.agent import environment, process
from tensorflow_ignite.agent.agent_info import agent_info
from tensorflow_ignite.agent.gpus import Gpus
from tensorflow_ignite.agent.last_report import report_termination
from tensorflow_ignite.agent.lease import Lease
from tensorflow_ignite.agent.models import Models
from tensorflow_ignite.agent.server import AgentServer
from tensorflow_ignite.agent.spare_key import SpareKey
from tensorflow_ignite.agent.spares import Spares
from tensorflow_ignite.agent.tasks import Tasks
from tensorflow_ignite.agent.work_directory import WorkDirectory, WorkDirectoryError
from tensorflow_ignite.v1.agent_pb2 import AgentReady, AgentStart, StartTaskRequest

# Between SIGTERM and SIGKILL when the service is gone.
END_GRACE_SECONDS = 1.0
# Longest wait for processes that the kernel does not end.
END_LIMIT_SECONDS = 10.0
DEFAULT_LOG_LIMIT_BYTES = 64 * 1024 * 1024
_MAX_START_BYTES = 1024 * 1024

_log = logging.getLogger("tensorflow_ignite.agent")


class BadStartError(Exception):
    """The first line of input is malformed; the text has the reason."""


def run() -> int:
    """Runs until the service ends; returns the exit code."""
    logging.basicConfig(format="%(asctime)s agent %(levelname)s %(message)s", stream=sys.stderr, level=logging.WARNING)
    try:
        # For the case that the input does not end, because another process has the pipe open.
        process.die_with_parent(signal.SIGTERM)
        process.adopt_orphans()
        return asyncio.run(_live(_read_start()))
    except (BadStartError, WorkDirectoryError, OSError) as error:
        print(f"tensorflow_ignite.agent could not start: {error}", file=sys.stderr)
        return 2


async def _live(start: AgentStart) -> int:
    end_requested = asyncio.Event()
    loop = asyncio.get_running_loop()
    service = os.getppid()

    def end_with_service() -> None:
        # A service manager sends SIGTERM to all processes of a node at once: the node then ends its tasks as planned,
        # and closes the input of its agent.
        if os.getppid() != service:
            end_requested.set()

    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end_with_service)
    threading.Thread(target=_await_end_of_input, args=(loop, end_requested), daemon=True, name="input").start()
    work = WorkDirectory(start.work_directory)
    await work.take()
    info = agent_info()
    spares = Spares(work.path, start.warm_processes, _first_key(start) if info.tensorflow_version else None)
    tasks = Tasks(
        work.path,
        host=start.host,
        lease=Lease(start.lease_timeout.ToTimedelta().total_seconds()),
        log_limit=start.log_limit_bytes or DEFAULT_LOG_LIMIT_BYTES,
        spares=spares,
        gpus=Gpus(info.gpus),
    )
    models = Models(work.path, tasks.notifier)
    try:
        server = AgentServer(tasks, models, start.secret, spares, info)
        _write_ready(AgentReady(port=await server.open(), info=info))
        spares.refill()
        lease = asyncio.create_task(tasks.keep_lease())
        await asyncio.wait([lease, asyncio.create_task(end_requested.wait())], return_when=asyncio.FIRST_COMPLETED)
        if lease.done():
            # Without a lease, tasks could outlive their service.
            _log.error("the agent ends, because it cannot supervise its lease: %r", lease.exception())
        code = await _end(tasks, models, server, killed=process.is_parent_ending(service))
    finally:
        try:
            await asyncio.to_thread(work.remove)
        except OSError as error:
            _log.error("work directory %s could not be removed; the next agent removes it: %s", work.path, error)
            code = 1
    return code


def _first_key(start: AgentStart) -> SpareKey:
    """The key of a task without variables of its own."""
    nowhere = Path("/nonexistent")
    request = StartTaskRequest(inherited_env=start.inherited_env)
    variables = environment.environment(request, nowhere, "", nowhere, nowhere, nowhere, nowhere, os.environ)
    return SpareKey.of(sys.executable, variables, nowhere)


async def _end(tasks: Tasks, models: Models, server: AgentServer, *, killed: bool) -> int:
    """Ends all tasks and model processes.

    Args:
        tasks: The tasks.
        models: The model processes.
        server: Answers the service until then.
        killed: The process of the service has ended, and has not waited for this: the job waits for the proof.
    """
    running = tasks.running
    try:
        ending = asyncio.gather(tasks.end(0 if killed else END_GRACE_SECONDS), models.end())
        await asyncio.wait_for(ending, END_LIMIT_SECONDS)
        if killed and running:
            await asyncio.to_thread(report_termination, tasks.peers, running)
    except asyncio.TimeoutError:
        _log.error("tasks could not be ended within %g s; the next agent ends them", END_LIMIT_SECONDS)
        return 1
    finally:
        await server.close()
    return 0


def _read_start() -> AgentStart:
    line = b""
    while not line.endswith(b"\n"):
        # Byte by byte, so that the rest of the input stays unread for the other thread.
        read = os.read(sys.stdin.fileno(), 1)
        if not read or len(line) > _MAX_START_BYTES:
            raise BadStartError(
                f"after {len(line)} bytes, its input has no complete first line. The first line is one AgentStart in "
                f"JSON of at most {_MAX_START_BYTES} bytes. Let a node's service start the agent: tensorflow-ignite "
                "node"
            )
        line += read
    try:
        start = json_format.Parse(line, AgentStart(), ignore_unknown_fields=True)
    except (json_format.ParseError, UnicodeDecodeError) as error:
        # Without the line, which contains the secret.
        raise BadStartError(
            "its first line of input is not an AgentStart. It is a message of agent.proto in JSON. Let a node's "
            "service start the agent: tensorflow-ignite node"
        ) from error
    missing = [name for name in ("secret", "work_directory", "host") if not getattr(start, name)]
    if start.lease_timeout.ToNanoseconds() <= 0:
        missing.append("lease_timeout")
    if missing:
        raise BadStartError(
            f"AgentStart lacks {', '.join(missing)}. An agent needs these fields. Set them, see agent.proto"
        )
    return start


def _write_ready(ready: AgentReady) -> None:
    os.write(sys.stdout.fileno(), json_format.MessageToJson(ready, indent=None).encode() + b"\n")
    # The service reads only one line; later output must not fill the pipe.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())


def _await_end_of_input(loop: asyncio.AbstractEventLoop, end_requested: asyncio.Event) -> None:
    try:
        while os.read(sys.stdin.fileno(), 4096):
            pass
    except OSError as error:
        _log.warning("the agent ends, because its input cannot be read: %s", error)
    with contextlib.suppress(RuntimeError):  # the loop is closed: the agent has ended
        loop.call_soon_threadsafe(end_requested.set)
