"""The life of one task: its code, its process, its output and progress, its end with all that it started."""

import asyncio
import logging
import os
import shutil
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from google.protobuf import json_format

from tensorflow_ignite.agent import environment, failure, limits, names, process
from tensorflow_ignite.agent.changes import Changes
from tensorflow_ignite.agent.environment import BadScriptError
from tensorflow_ignite.agent.limits import Guard
from tensorflow_ignite.agent.output import Output
from tensorflow_ignite.agent.progress import ProgressFile
from tensorflow_ignite.agent.unpack import BadArchiveError
from tensorflow_ignite.v1 import job_pb2
from tensorflow_ignite.v1.agent_pb2 import StartTaskRequest

TICK_SECONDS = 0.05
PROGRESS_SECONDS = 0.5

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ending:
    """What a task becomes that its agent ends, and why."""

    state: job_pb2.TaskState
    error: str = ""


class Task:
    """One TensorFlow process. Everything here happens on the agent's one event loop.

    The loop's thread is the one that starts processes, since a death signal follows the end of that thread.
    """

    def __init__(
        self,
        request: StartTaskRequest,
        *,
        work: Path,
        address: str,
        code: Callable[[], Awaitable[Path]],
        log_limit: int,
        changes: Changes,
    ) -> None:
        """Describes the task; `live` starts it.

        Args:
            request: What to run.
            work: The agent's work directory.
            address: host:port held for it.
            code: Gives the directory of the unpacked code.
            log_limit: Bytes of output that are told of it.
            changes: Rung for each change.
        """
        self.key = request.key
        self.status = job_pb2.TaskStatus(address=address)
        self.version = 0
        self.over = False
        self.told_end = False
        self.known = True
        path = names.task_path(self.key)
        self.mark = names.mark(work, path)
        self._request = request
        self._directory = work / path
        self._code = code
        self._changes = changes
        self._directory.mkdir(parents=True, mode=0o700, exist_ok=True)
        self.output = Output(self._directory / "log", log_limit)
        self._progress = ProgressFile(self._directory / "progress.json")
        self._context = self._directory / "context.json"
        self._working = self._directory / "working"
        self._temporary = self._directory / "tmp"
        self._process: subprocess.Popen[bytes] | None = None
        self._ending: Ending | None = None
        self._killer: Awaitable[None] | None = None

    @property
    def leader(self) -> int | None:
        """Pid of its process until that is reaped."""
        return self._process.pid if self._process is not None and not self.over else None

    def end_as(self, ending: Ending, killer: Awaitable[None]) -> None:
        """Tells the task what it becomes, and who kills it; one that has already ended by itself keeps its result."""
        if self._process is not None and self._exit_code() is not None:
            return
        self._killer = killer
        self._ending = self._ending or ending

    async def live(self) -> None:
        """From its start to its end, which is told in `status`; never raises."""
        try:
            code = await self._code()
            await asyncio.to_thread(self._furnish, code)
            if self._ending is None:
                self._start()
        except (BadArchiveError, BadScriptError) as error:
            # The next attempt gets the same code.
            self.status.hopeless = True
            self._finish(job_pb2.TASK_FAILED, 1, f"{names.task(self.key)} could not be started: {error}", "")
            return
        except OSError as error:
            self._finish(job_pb2.TASK_FAILED, 1, f"{names.task(self.key)} could not be started: {error}", "")
            return
        except Exception as error:
            _log.exception("task %s could not be started", names.task_path(self.key))
            self._finish(job_pb2.TASK_FAILED, 1, f"{names.task(self.key)} could not be started: {error!r}", "")
            return
        if self._process is None:
            assert self._ending is not None
            self._finish(self._ending.state, 0, self._ending.error, "")
            return
        try:
            exit_code = await self._attend(self._process)
        except Exception as error:
            _log.exception("task %s could not be attended to", names.task_path(self.key))
            self._ending = Ending(
                job_pb2.TASK_FAILED, f"{names.task(self.key)} was killed, its agent failed: {error!r}"
            )
            exit_code = await self._end_tree(self._process)
        self._conclude(exit_code)

    def forget(self) -> None:
        """Closes its output; nobody may ask for a chunk any more."""
        if self.known:
            self.known = False
            self.output.close()

    def _furnish(self, code: Path) -> None:
        """Makes what the task finds: its context, and directories of its own, one of them with links to the code."""
        self._temporary.mkdir(mode=0o700)
        # Hard ones: Python would look for modules where a symbolic link leads to.
        shutil.copytree(code, self._working, copy_function=os.link)
        self._working.chmod(0o700)
        # It holds the task's token.
        fd = os.open(self._context, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="utf-8") as opened:
            opened.write(json_format.MessageToJson(self._request.context))

    def _start(self) -> None:
        self._process = subprocess.Popen(
            environment.command(self._request, self._working),
            cwd=self._working,
            env=environment.environment(
                self._request,
                self._working,
                self.mark,
                self._context,
                self._progress.path,
                self._temporary,
                os.environ,
            ),
            stdin=subprocess.DEVNULL,
            stdout=self.output.fd,
            stderr=self.output.fd,
            start_new_session=True,
        )
        self.status.pid = self._process.pid
        self.status.state = job_pb2.TASK_RUNNING
        self.status.started_at.GetCurrentTime()
        self._changed()

    async def _attend(self, running: "subprocess.Popen[bytes]") -> int:
        next_progress = 0.0
        guard = Guard(names.task(self.key), self._request.limits, lambda: self._tree(running))
        while True:
            # Asked before the output is looked at, so that the last look comes after the end.
            ended = self._exit_code() is not None
            if self.output.advance():
                self._changes.tell()
            if time.monotonic() >= next_progress:
                next_progress = time.monotonic() + PROGRESS_SECONDS
                self._take_progress()
            if ended:
                break
            await self._keep_limits(guard, running)
            await asyncio.sleep(TICK_SECONDS)
        if self._killer is not None:
            await self._killer
        exit_code = await self._end_tree(running)
        self.output.complete()
        self._take_progress()
        return exit_code

    async def _keep_limits(self, guard: Guard, running: "subprocess.Popen[bytes]") -> None:
        breach = None if self._ending is not None else await guard.breach()
        if breach is not None and self._exit_code() is None:
            killer = asyncio.create_task(process.end(lambda: self._tree(running), breach.grace))
            self.end_as(Ending(job_pb2.TASK_FAILED, breach.text), killer)
            # A further attempt would only begin the time anew.
            self.status.hopeless = self._ending is not None and breach.for_good

    def _tree(self, running: "subprocess.Popen[bytes]") -> set[process.ProcessId]:
        return process.find(self.mark + "\0", [running.pid])

    async def _end_tree(self, running: "subprocess.Popen[bytes]") -> int:
        # What it started may outlive it; only after that is its output complete, and may the leader be reaped.
        await process.end(lambda: self._tree(running), grace=0)
        return running.wait()

    def _conclude(self, exit_code: int) -> None:
        if self._ending is not None:
            self._finish(self._ending.state, exit_code, self._ending.error, "")
        elif exit_code == 0:
            self._finish(job_pb2.TASK_SUCCEEDED, 0, "", "")
        else:
            tail = self.output.tail(failure.TAIL_BYTES)
            error, traceback = failure.describe(names.task(self.key), exit_code, tail)
            limit = limits.explanation(self._request.limits, exit_code, f"{error}\n{traceback}")
            self.status.hopeless = bool(limit) and limits.is_cpu_time(exit_code)
            self._finish(job_pb2.TASK_FAILED, exit_code, f"{error}; {limit}" if limit else error, traceback)

    def _finish(self, state: job_pb2.TaskState, exit_code: int, error: str, traceback: str) -> None:
        self.status.state = state
        self.status.exit_code = exit_code
        self.status.error = " ".join(error.split())
        self.status.traceback = traceback
        self.status.finished_at.GetCurrentTime()
        self.status.log_complete = True
        self.status.log_dropped_bytes = self.output.dropped_bytes
        self.over = True
        self._changed()

    def _take_progress(self) -> None:
        told = self._progress.read_new()
        dropped = self.output.dropped_bytes
        if told is not None:
            self.status.progress.CopyFrom(told)
        if told is not None or dropped != self.status.log_dropped_bytes:
            self.status.log_dropped_bytes = dropped
            self._changed()

    def _changed(self) -> None:
        self.version += 1
        self._changes.tell()

    def _exit_code(self) -> int | None:
        """Its exit status without reaping it; negative: the number of a signal."""
        assert self._process is not None
        if self._process.returncode is not None:
            return self._process.returncode
        ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
