"""One model process: started, observed, ended, and started again with growing pauses until it is stopped."""

import asyncio
import logging
import math
import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from google.protobuf import json_format

from tensorflow_ignite.agent import environment, failure, keeper, limits, names
from tensorflow_ignite.agent.gpus import VISIBLE_VARIABLE
from tensorflow_ignite.agent.inherited import inherited
from tensorflow_ignite.agent.keeper import Keeper
from tensorflow_ignite.agent.limits import LimitMonitor
from tensorflow_ignite.agent.notifier import Notifier
from tensorflow_ignite.agent.output import Output
from tensorflow_ignite.agent.process import MARK_VARIABLE
from tensorflow_ignite.v1 import predict_pb2
from tensorflow_ignite.v1.agent_pb2 import StartModelRequest

# Pauses between an end of the process and its next start: the first, and the longest.
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
# A process that has served for this time has no pauses of earlier ends.
HEALTHY_SECONDS = 300.0
# The longest path of a Unix socket to which Java connects, in bytes; Linux takes one more.
MAX_SOCKET_PATH = 106
_POLL_SECONDS = 0.1
_LOG_BYTES = 1 << 20
_MAX_READY_BYTES = 16 << 20
_MAX_ERROR_CHARACTERS = 4000
_MODULE = "tensorflow_ignite.serving.process"
# As `tensorflow_ignite.serving.process` exits if the model cannot be used, or has kept too much memory.
_UNUSABLE = 3
_FULL = 4

_log = logging.getLogger(__name__)


class Model:
    """The process of one version of a model. All methods run on the agent's event loop.

    The thread of the loop starts its keeper, since the kernel sends the death signal when that thread ends.
    """

    def __init__(self, request: StartModelRequest, *, work: Path, directory: Path, notifier: Notifier) -> None:
        """Sets the request; `live` starts the process.

        Args:
            request: The version, its files and its limits.
            work: The agent's work directory.
            directory: A directory for files of the process, which is made.
            notifier: Notified of each change.
        """
        self.key = request.key
        self.status = predict_pb2.ModelStatus(key=request.key, state=predict_pb2.MODEL_STATE_LOADING)
        self.version = 1
        self._request = request
        self._name = f"the process of model {request.key.name}:{request.key.number}"
        self._mark = names.mark(work, f"models/{directory.name}")
        self._directory = directory
        self._notifier = notifier
        self._keeper: Keeper | None = None
        self._pause = FIRST_PAUSE_SECONDS
        self._stopped = asyncio.Event()
        # Why the node requests another process.
        self._fault = ""
        self._life: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Starts the process, and again after each end."""
        self._life = asyncio.create_task(self._live())

    def restart(self, reason: str) -> None:
        """Ends a process that serves; it is started again after a pause."""
        if self.status.state == predict_pb2.MODEL_STATE_SERVING and self._keeper is not None:
            self._fault = reason
            self._keeper.wake()

    async def stop(self) -> None:
        """Returns when nothing of the process is left."""
        self._stopped.set()
        if self._keeper is not None:
            self._keeper.wake()
        if self._life is not None:
            await asyncio.shield(self._life)

    async def _live(self) -> None:
        while not self._stopped.is_set():
            self.status.state = predict_pb2.MODEL_STATE_LOADING
            self.status.ClearField("retry_at")
            self.status.started_at.GetCurrentTime()
            self._changed()
            begin = time.monotonic()
            try:
                error, unusable = await self._run()
            except Exception as raised:
                _log.exception("%s could not be attended to", self._name)
                await self._end_keeper()
                error, unusable = f"{self._name} could not be started: {raised}", False
            if self._stopped.is_set():
                break
            if time.monotonic() - begin >= HEALTHY_SECONDS:
                self._pause = FIRST_PAUSE_SECONDS
            self._fail(error, unusable)
            with_pause = asyncio.wait_for(self._stopped.wait(), self._pause)
            self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)
            try:
                await with_pause
            except asyncio.TimeoutError:
                self.status.restarts += 1
        await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)

    def _fail(self, error: str, unusable: bool) -> None:
        _log.warning("%s", error)
        self.status.state = predict_pb2.MODEL_STATE_FAILED
        self.status.error = " ".join(error.split())[:_MAX_ERROR_CHARACTERS]
        self.status.unusable = unusable
        self.status.pid = 0
        self.status.socket = ""
        self.status.retry_at.FromNanoseconds(time.time_ns() + int(self._pause * 1e9))
        self._changed()

    async def _run(self) -> tuple[str, bool]:
        """Runs the process until its end; returns why it has ended, and whether the model cannot be used."""
        self._fault = ""
        await asyncio.to_thread(self._clear)
        output = Output(self._directory / "log", _LOG_BYTES)
        try:
            return await self._supervise(output)
        finally:
            await self._end_keeper()
            output.close()

    async def _supervise(self, output: Output) -> tuple[str, bool]:
        self._keeper = running = Keeper(
            self._command(),
            lease_until_nanos=None,
            directory=self._directory,
            environment=self._environment(os.environ),
            output=output.fd,
        )
        load_seconds = self._request.load_timeout.ToMilliseconds() / 1e3 or math.inf
        deadline = time.monotonic() + load_seconds
        monitor = LimitMonitor(self._name, self._request.limits, lambda: keeper.below([running]))
        while True:
            running.poll()
            if running.exit_code is not None:
                return await asyncio.to_thread(self._reason, running, output)
            if self._stopped.is_set():
                return "", False
            if self._fault:
                return f"{self._name} was ended: {self._fault}", False
            if self.status.state == predict_pb2.MODEL_STATE_LOADING:
                ready = await asyncio.to_thread(self._read_ready)
                if ready is not None:
                    self._serves(ready, running)
                elif time.monotonic() >= deadline:
                    return f"{self._name} was ended: it was not loaded and called after {load_seconds:g} s", False
            breach = await monitor.breach()
            if breach is not None:
                return breach.text, False
            await running.wait(_POLL_SECONDS if self._is_observed() else LONGEST_PAUSE_SECONDS)

    def _is_observed(self) -> bool:
        """Whether the process is to be observed, besides its end."""
        has_limit = bool(self._request.limits.memory_bytes or self._request.limits.processes)
        return self.status.state == predict_pb2.MODEL_STATE_LOADING or has_limit

    def _read_ready(self) -> predict_pb2.ModelStatus | None:
        """The file that the process writes when it serves; None: there is none yet."""
        try:
            with (self._directory / "ready.json").open("rb") as file:
                return json_format.Parse(
                    file.read(_MAX_READY_BYTES), predict_pb2.ModelStatus(), ignore_unknown_fields=True
                )
        except FileNotFoundError:
            return None

    def _serves(self, ready: predict_pb2.ModelStatus, running: Keeper) -> None:
        """Reports that the process serves; on the thread of the event loop, as all reports."""
        del self.status.signatures[:]
        self.status.signatures.extend(ready.signatures)
        self.status.pid = running.script or 0
        self.status.socket = self._socket()
        self.status.state = predict_pb2.MODEL_STATE_SERVING
        self._changed()

    def _socket(self) -> str:
        """The path of the socket, which the process makes in its working directory."""
        path = str(self._directory / "socket")
        # Only programs of the same user can follow the short path.
        return path if len(os.fsencode(path)) <= MAX_SOCKET_PATH else f"/proc/{self.status.pid}/cwd/socket"

    def _reason(self, ended: Keeper, output: Output) -> tuple[str, bool]:
        exit_code = ended.exit_code or 0
        if exit_code in (_UNUSABLE, _FULL):
            try:
                reason = (self._directory / "error").read_text(encoding="utf-8", errors="replace")
                return f"{reason}{self._rule() if exit_code == _FULL else ''}", exit_code == _UNUSABLE
            except OSError:
                pass
        tail = output.tail(failure.TAIL_BYTES)
        error, traceback = failure.describe(self._name, exit_code, tail)
        limit = limits.explanation(self._request.limits, exit_code, f"{error}\n{traceback}")
        return f"{error}{self._rule() if limit else ''}", False

    def _rule(self) -> str:
        """Of memory, which is the only limit of a model process."""
        limit = limits.size_text(self._request.limits.memory_bytes)
        return f"; the deployment gives it {limit} (--memory); make the model use less, or deploy it with more"

    async def _end_keeper(self) -> None:
        if self._keeper is not None:
            running, self._keeper = self._keeper, None
            await keeper.end(lambda: [running], grace=0)

    def _clear(self) -> None:
        if self._directory.exists():
            shutil.rmtree(self._directory)
        (self._directory / "tmp").mkdir(mode=0o700, parents=True)

    def _command(self) -> list[str]:
        options = limits.launch_argument(self._request.limits)
        options += f",NICE={self._request.nice}" if self._request.nice else ""
        arguments = [self.key.name, str(self.key.number), self._request.directory, str(self._directory)]
        arguments.append(str(self._request.max_answer_bytes))
        return [*environment.keeper_command(options), sys.executable, "-u", "-m", _MODULE, *arguments]

    def _environment(self, agents: Mapping[str, str]) -> dict[str, str]:
        variables = inherited(agents, self._request.inherited_env)
        # GPUs are for the tasks to which they were assigned, unless the administrator names the variable.
        if VISIBLE_VARIABLE not in self._request.inherited_env:
            variables[VISIBLE_VARIABLE] = ""
        variables.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        variables.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
        if self._request.limits.memory_bytes:
            # TensorFlow's own allocator returns nothing to the system. After a request that was too large, its next
            # block takes all that is left to the limit; then gRPC, without memory for the answer, aborts the process.
            variables.setdefault("TF_ONEDNN_USE_SYSTEM_ALLOCATOR", "1")
        variables["PYTHONUNBUFFERED"] = "1"
        variables["PYTHONPATH"] = environment.python_path(variables.get("PYTHONPATH", ""))
        variables["TMPDIR"] = str(self._directory / "tmp")
        variables[MARK_VARIABLE] = self._mark
        return variables

    def _changed(self) -> None:
        self.version += 1
        self._notifier.notify()
