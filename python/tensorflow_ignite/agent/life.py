"""From the first line of input to the proof that nothing is left."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading

from google.protobuf import json_format

from tensorflow_ignite.agent import process
from tensorflow_ignite.agent.info import agent_info
from tensorflow_ignite.agent.lease import Lease
from tensorflow_ignite.agent.server import Edge
from tensorflow_ignite.agent.tasks import Tasks
from tensorflow_ignite.agent.work import WorkDirectory, WorkDirectoryError
from tensorflow_ignite.v1.agent_pb2 import AgentReady, AgentStart

# Between SIGTERM and SIGKILL when the service is gone.
END_GRACE_SECONDS = 1.0
# A process that the kernel does not end keeps the agent no longer than this.
END_LIMIT_SECONDS = 10.0
DEFAULT_LOG_LIMIT_BYTES = 64 * 1024 * 1024
_MAX_START_BYTES = 1024 * 1024

_log = logging.getLogger("tensorflow_ignite.agent")


class BadStartError(Exception):
    """The first line of input cannot be followed; the text says why."""


def run() -> int:
    """Lives until the service is gone; gives the exit code."""
    logging.basicConfig(format="%(asctime)s agent %(levelname)s %(message)s", stream=sys.stderr, level=logging.WARNING)
    try:
        # Where the end of the input is not seen, since another process keeps the pipe.
        process.die_with_parent(signal.SIGTERM)
        return asyncio.run(_live(_read_start()))
    except (BadStartError, WorkDirectoryError, OSError) as error:
        print(f"tensorflow_ignite.agent could not begin: {error}", file=sys.stderr)
        return 2


async def _live(start: AgentStart) -> int:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, over.set)
    threading.Thread(target=_await_end_of_input, args=(loop, over), daemon=True, name="input").start()
    work = WorkDirectory(start.work_directory)
    await work.take()
    tasks = Tasks(
        work.path,
        host=start.host,
        lease=Lease(start.lease_timeout.ToTimedelta().total_seconds()),
        log_limit=start.log_limit_bytes or DEFAULT_LOG_LIMIT_BYTES,
    )
    try:
        edge = Edge(tasks, start.secret)
        _say(AgentReady(port=await edge.open(), info=agent_info()))
        lease = asyncio.create_task(tasks.keep_lease())
        await asyncio.wait([lease, asyncio.create_task(over.wait())], return_when=asyncio.FIRST_COMPLETED)
        if lease.done():
            # Without a lease tasks could outlive their service: better none.
            _log.error("the lease cannot be kept, the agent ends: %r", lease.exception())
        code = await _end(tasks, edge)
    finally:
        try:
            await asyncio.to_thread(work.remove)
        except OSError as error:
            _log.error("work directory %s could not be removed, the next agent will: %s", work.path, error)
            code = 1
    return code


async def _end(tasks: Tasks, edge: Edge) -> int:
    try:
        await asyncio.wait_for(tasks.end(END_GRACE_SECONDS), END_LIMIT_SECONDS)
    except asyncio.TimeoutError:
        _log.error("tasks could not be ended within %g s; they are left to the next agent", END_LIMIT_SECONDS)
        return 1
    finally:
        await edge.close()
    return 0


def _read_start() -> AgentStart:
    line = b""
    while not line.endswith(b"\n"):
        # Byte by byte is fast enough for a line, and leaves the rest where the other thread looks for it.
        read = os.read(sys.stdin.fileno(), 1)
        if not read or len(line) > _MAX_START_BYTES:
            raise BadStartError(
                f"its input ended or went on after {len(line)} bytes; it begins with one AgentStart as a line of JSON, "
                f"at most {_MAX_START_BYTES} bytes; let a node's service start it, see `tensorflow-ignite node --help`"
            )
        line += read
    try:
        start = json_format.Parse(line, AgentStart(), ignore_unknown_fields=True)
    except (json_format.ParseError, UnicodeDecodeError) as error:
        # Not the line itself: it holds the secret.
        raise BadStartError("its first line of input is no AgentStart in JSON; see agent.proto") from error
    missing = [name for name in ("secret", "work_directory", "host") if not getattr(start, name)]
    if start.lease_timeout.ToNanoseconds() <= 0:
        missing.append("lease_timeout")
    if missing:
        raise BadStartError(f"AgentStart lacks {', '.join(missing)}; an agent needs them; see agent.proto")
    return start


def _say(ready: AgentReady) -> None:
    os.write(sys.stdout.fileno(), json_format.MessageToJson(ready, indent=None).encode() + b"\n")
    # One line is all that the service reads; whatever else is printed here must not fill its pipe.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())


def _await_end_of_input(loop: asyncio.AbstractEventLoop, over: asyncio.Event) -> None:
    try:
        while os.read(sys.stdin.fileno(), 4096):
            pass
    except OSError as error:
        _log.warning("input cannot be read, which ends the agent: %s", error)
    with contextlib.suppress(RuntimeError):  # The loop is closed: it is over already.
        loop.call_soon_threadsafe(over.set)
