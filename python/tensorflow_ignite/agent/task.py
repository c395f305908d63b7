"""One task: its code, its process, its output and progress, and its end with all processes that it started."""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tensorflow_ignite.agent import environment, failure, keeper, left_files, limits, names, own_models, packages
from tensorflow_ignite.agent.command import CommandFile
from tensorflow_ignite.agent.environment import BadScriptError
from tensorflow_ignite.agent.gpus import Gpus
from tensorflow_ignite.agent.keeper import Keeper
from tensorflow_ignite.agent.lease import AttemptLease
from tensorflow_ignite.agent.limits import LimitMonitor
from tensorflow_ignite.agent.notifier import Notifier
from tensorflow_ignite.agent.output import Output
from tensorflow_ignite.agent.packages import Packages, PackagesError
from tensorflow_ignite.agent.progress import ProgressFile
from tensorflow_ignite.agent.spare import SpareTask
from tensorflow_ignite.agent.spare_key import SpareKey, late_variables, sets_early_variables
from tensorflow_ignite.agent.spares import Spares, TaskStart
from tensorflow_ignite.agent.stall import DUMP_SECONDS, StallMonitor, processor_time
from tensorflow_ignite.agent.unpack import BadArchiveError
from tensorflow_ignite.agent.usage import Usage, UsageMonitor
from tensorflow_ignite.base import failures
from tensorflow_ignite.base.messages import to_json
from tensorflow_ignite.v1 import job_pb2
from tensorflow_ignite.v1.agent_pb2 import StartTaskRequest

TICK_SECONDS = 0.05
# Between reads of progress; the node sends no more reports.
PROGRESS_SECONDS = 0.9
# Between reads of the output of a script that runs; its end is noticed at once. Output is read together with progress
# when there was none for some seconds.
_OUTPUT_SECONDS = 0.2
_SILENT_SECONDS = 2.0
# If more bytes of output wait, they are read at once: only then the disk space of dropped output is freed.
_WAITING_BYTES = 1 << 20
_START_POLL_SECONDS = 0.005

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ending:
    """The final state of a task that its agent ends, and the reason."""

    state: job_pb2.TaskState
    error: str = ""
    #: The node or its agent failed, and not the script.
    node_failed: bool = False
    #: The task made no progress for too long.
    stalled: bool = False
    #: The reason of a failure of the task itself.
    kind: job_pb2.FailureKind = job_pb2.FAILURE_KIND_UNSPECIFIED


@dataclass(frozen=True)
class NodeParts:
    """What the tasks of this node have in common.

    Attributes:
        work: The agent's work directory.
        host: Host of the reserved ports.
        log_limit: Largest size of the output that is sent for a task, in bytes.
        spares: The processes in which a task starts faster.
        gpus: The GPUs of this node.
        threads: Returns the number of TensorFlow's threads in a task that starts now; None: its own default.
        notifier: Notified of each change.
    """

    work: Path
    host: str
    log_limit: int
    spares: Spares
    gpus: Gpus
    threads: Callable[[], int | None]
    notifier: Notifier


class Task:
    """One TensorFlow process. All methods run on the agent's event loop.

    The thread of the loop starts its keeper, since the kernel sends the death signal when that thread ends.
    """

    def __init__(
        self,
        request: StartTaskRequest,
        node: NodeParts,
        *,
        address: str,
        lease: AttemptLease,
        code: Callable[[], Awaitable[Path]],
        gpus: Sequence[str],
    ) -> None:
        """Makes the task's directory; `live` starts the task.

        Args:
            request: The task's key, specification and limits.
            node: What it shares with other tasks.
            address: host:port that is reserved for the task.
            lease: The lease of its attempt.
            code: Returns the directory of the unpacked code.
            gpus: Ids of the GPUs that are assigned to it.
        """
        self.key = request.key
        self.status = job_pb2.TaskStatus(address=address, gpus=gpus)
        self.version = 0
        self.is_final = False
        self.end_reported = False
        self.is_listed = True
        context = request.context
        named = f"{context.role_name} {context.role_index}"
        self._name = named if context.role_name else names.task(self.key)
        path = names.task_path(self.key)
        self.mark = names.mark(node.work, path)
        self.request = request
        self._directory = node.work / path
        self._code = code
        self._node = node
        self._directory.mkdir(parents=True, mode=0o700, exist_ok=True)
        self.output = Output(self._directory / "log", node.log_limit)
        self._progress = ProgressFile(self._directory / "progress.json")
        self.command = CommandFile(self._directory / "command.json")
        self._context = self._directory / "context.json"
        self._working = self._directory / "working"
        self._temporary = self._directory / "tmp"
        # Beside the agent's own directory, which the next agent empties.
        self._environments = node.work.parent / "packages"
        self._packages: Packages | None = None
        # Whether the keeper keeps an installation, or a spare that does not run the script yet.
        self._is_prepared = False
        self._start_of_spares: TaskStart | None = None
        #: The process that ends all others of the task; None until the task's start.
        self.keeper: Keeper | None = None
        self._lease = lease
        self._ending: Ending | None = None
        self._killer: Awaitable[None] | None = None

    def extend_lease(self) -> None:
        """Sends the lease of the attempt to the keeper."""
        if self.keeper is not None and self._lease.until_nanos is not None:
            self.keeper.extend_lease(self._lease.until_nanos)

    def request_end(self, ending: Ending, killer: Awaitable[None]) -> None:
        """Sets the final state of a task that `killer` ends; a task that has already ended keeps its result."""
        if self.keeper is not None and self._is_prepared and _exit_code(self.keeper) is not None:
            return
        self._killer = killer
        self._ending = self._ending or ending
        # Before the first signal, so that the task knows that its agent sends it.
        self.command.stop()

    async def live(self) -> None:
        """Runs the task from its start to its end, which is recorded in `status`; never raises."""
        try:
            code = await self._code()
            await asyncio.to_thread(self._prepare_directories, code)
            self._packages = await asyncio.to_thread(Packages, self.request.spec, self._working, self._environments)
            if self._packages.is_needed and self._ending is None:
                await self._install(self._packages)
            python = await asyncio.to_thread(self._packages.use) if self._ending is None else ""
            if self._ending is None:
                await self._start(python)
        except (BadArchiveError, BadScriptError, PackagesError) as error:
            # The next attempt gets the same code.
            self.status.failed_permanently = True
            packages_failed = isinstance(error, PackagesError)
            self.status.failure.kind = job_pb2.FAILURE_KIND_PACKAGES if packages_failed else job_pb2.FAILURE_KIND_SCRIPT
            self._finish(job_pb2.TASK_STATE_FAILED, 1, f"{self._name} could not be started: {error}", "")
            return
        except Exception as error:
            reason = str(error) if isinstance(error, OSError) else repr(error)
            if not isinstance(error, OSError):
                _log.exception("task %s could not be started", names.task_path(self.key))
            self.status.node_failed = True
            self._finish(job_pb2.TASK_STATE_FAILED, 1, f"{self._name} could not be started: {reason}", "")
            return
        if self.keeper is None:
            assert self._ending is not None
            self._finish_by(self._ending, 0)
            return
        try:
            exit_code = await self._supervise(self.keeper)
        except Exception as error:
            _log.exception("task %s could not be attended to", names.task_path(self.key))
            self._ending = Ending(
                job_pb2.TASK_STATE_FAILED,
                f"{self._name} was killed, its agent failed: {error!r}",
                node_failed=True,
            )
            exit_code = await self._end_tree(self.keeper)
        self._record_end(self.keeper, exit_code)

    def discard(self) -> None:
        """Closes the output; its chunks cannot be read afterwards."""
        if self.is_listed:
            self.is_listed = False
            self.output.close()

    def _prepare_directories(self, code: Path) -> None:
        """Makes the context file, a temporary directory, and a working directory with links to the code."""
        self._temporary.mkdir(mode=0o700)
        # Hard links: Python would search modules in the directory of a symbolic link's target.
        shutil.copytree(code, self._working, copy_function=os.link)
        self._working.chmod(0o700)
        if text := own_models.warning(self.request.context, code):
            os.write(self.output.fd, text.encode())
            self.output.advance()
        # The file contains the task's token.
        fd = os.open(self._context, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="utf-8") as opened:
            opened.write(to_json(self.request.context))

    async def _install(self, needed: Packages) -> None:
        """Makes the environment of the job's packages, in a process of this task, unless the node has it."""
        command = await asyncio.to_thread(needed.command, environment.launcher(self.request))
        if self._ending is not None:
            return
        self.keeper = running = self._keep(command, self._variables())
        while _exit_code(running) is None:
            await asyncio.sleep(TICK_SECONDS)
            if self.output.advance():
                self._node.notifier.notify()
        if self._killer is not None:
            await self._killer
        exit_code = await self._end_tree(running)
        self.keeper = None
        if exit_code:
            self.output.complete()
        if running.lease_ended and self._ending is None:
            self._ending = Ending(
                job_pb2.TASK_STATE_FAILED, "the lease of its attempt ended during the installation", node_failed=True
            )
        if exit_code and self._ending is None:
            raise PackagesError(packages.explain(exit_code, self.output.tail(failure.TAIL_BYTES)))

    def _variables(self) -> dict[str, str]:
        return environment.environment(
            self.request,
            self._working,
            self.mark,
            self._context,
            self._progress.path,
            self.command.path,
            self._temporary,
            os.environ,
            self._node.threads(),
            self.status.gpus,
        )

    def _keep(self, command: list[str], variables: dict[str, str]) -> Keeper:
        if environment.is_quiet(variables):
            self.output.skip_chatter()
        return Keeper(
            command,
            lease_until_nanos=self._lease.until_nanos,
            directory=self._working,
            environment=variables,
            output=self.output.fd,
        )

    async def _start(self, python: str) -> None:
        variables = self._variables()
        if self._node.spares.are_kept:
            await self._start_in_spare(python, variables)
        if self.keeper is None:
            if self._ending is not None:
                return
            self._is_prepared = True
            self.keeper = self._keep(environment.command(self.request, self._working, python), variables)
        started = self.keeper
        while started.script is None and _exit_code(started) is None:
            await asyncio.sleep(_START_POLL_SECONDS)
        self.status.pid = started.script or 0
        self.status.state = job_pb2.TASK_STATE_RUNNING
        self.status.started_at.GetCurrentTime()
        self._changed()

    async def _start_in_spare(self, python: str, variables: dict[str, str]) -> None:
        """Starts the script in a spare, if one fits; else there is no keeper afterwards."""
        module = environment.module(self.request)
        arguments = [""] if module else environment.script_arguments(self.request, self._working)
        key = SpareKey.of(python, variables, self._working)
        self._start_of_spares = self._node.spares.begin_start(key, self.request.nice)
        if not module:
            early = await asyncio.to_thread(sets_early_variables, self._working)
            if early or not arguments[0].endswith(".py"):
                return
        spare = self._node.spares.take(key) if self._ending is None else None
        if spare is None:
            return
        task = SpareTask(
            arguments=arguments,
            module=module,
            variables=late_variables(variables),
            code=self._working,
            limits=limits.numbered(self.request.limits),
            nice=self.request.nice,
            output=self.output.fd,
        )
        self.keeper = running = spare.keeper
        self.extend_lease()
        if environment.is_quiet(variables):
            self.output.skip_chatter()
        reason = await spare.become(task)
        if not reason:
            self._is_prepared = True
            self.status.warm = True
            self._node.spares.use(spare)
            return
        if self._killer is not None:
            await self._killer
        await keeper.end(lambda: [running], grace=0)
        self.keeper = None
        self._node.spares.discard(spare, "" if self._ending is not None else reason)

    async def _supervise(self, running: Keeper) -> int:
        next_progress = 0.0
        output_at = time.monotonic()
        monitor = LimitMonitor(self._name, self.request.limits, lambda: keeper.below([running]))
        stalls = StallMonitor(self._name, self.request)
        usage = UsageMonitor(lambda: keeper.below([running]), self.status.gpus)
        while True:
            # Read before the output, so that the output is read once more after the end.
            ended = _exit_code(running) is not None
            if self.output.advance():
                self._node.notifier.notify()
                stalls.observe_output()
                output_at = time.monotonic()
            if time.monotonic() >= next_progress:
                # An agreement on a planned end takes several reports.
                next_progress = time.monotonic() + (0 if self.command.has_plan else PROGRESS_SECONDS)
                self._update_progress()
                stalls.observe_progress(self.status.progress)
                stalls.observe_processor_time(processor_time(self.status.pid))
                self._end_stalled(stalls, running)
            if ended:
                break
            await self._enforce_limits(monitor, running)
            self._update_usage(await usage.sample())
            now = time.monotonic()
            is_frequent = monitor.observes_processes or now - output_at < _SILENT_SECONDS
            pause = _OUTPUT_SECONDS if is_frequent else next_progress - now
            await self._pause(
                running,
                TICK_SECONDS if self.command.has_plan else pause,
                TICK_SECONDS if is_frequent else _OUTPUT_SECONDS,
            )
        if self._killer is not None:
            await self._killer
        exit_code = await self._end_tree(running)
        if exit_code == 0 and self._ending is None:
            await asyncio.to_thread(self._name_left_files)
        self.output.complete()
        self._update_progress()
        return exit_code

    def _name_left_files(self) -> None:
        """Prints what is lost with the working directory; nothing if the disk is full, or files are unreadable."""
        with contextlib.suppress(OSError):
            if text := left_files.describe(self._working):
                tail = self.output.tail(1)
                os.write(self.output.fd, ("\n" * (tail not in ("", "\n")) + text).encode("utf-8", "replace"))

    async def _pause(self, running: Keeper, seconds: float, interval: float) -> None:
        """Waits for the next pass; while the script prints fast, not for long.

        Args:
            running: The keeper, whose messages end the wait too.
            seconds: The longest wait.
            interval: Seconds between observations of the size of the output.
        """
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle | None = None

        def observe_output() -> None:
            nonlocal timer
            if self.output.waiting_bytes >= _WAITING_BYTES:
                running.wake()
            else:
                timer = loop.call_later(interval, observe_output)

        timer = loop.call_later(interval, observe_output)
        try:
            await running.wait(seconds)
        finally:
            timer.cancel()

    async def _enforce_limits(self, monitor: LimitMonitor, running: Keeper) -> None:
        breach = None if self._ending is not None else await monitor.breach()
        if breach is not None and _exit_code(running) is None:
            ending = Ending(job_pb2.TASK_STATE_FAILED, breach.text, kind=job_pb2.FAILURE_KIND_LIMIT)
            self._kill(running, ending, breach.grace)
            # A new attempt would exceed the same limit again.
            self.status.failed_permanently = self._ending is not None and breach.permanent

    def _end_stalled(self, stalls: StallMonitor, running: Keeper) -> None:
        stall = None if self._ending is not None else stalls.stall(self.status.pid)
        if stall is not None and _exit_code(running) is None:
            ending = Ending(job_pb2.TASK_STATE_FAILED, stall, stalled=True)
            self._kill(running, ending, DUMP_SECONDS, signal.SIGABRT)

    def _kill(
        self,
        running: Keeper,
        ending: Ending,
        grace: float,
        first: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.request_end(ending, asyncio.create_task(keeper.end(lambda: [running], grace, first)))

    async def _end_tree(self, running: Keeper) -> int:
        # Processes that the task started may outlive it. After their end its output is complete.
        await keeper.end(lambda: [running], grace=0)
        exit_code = _exit_code(running)
        assert exit_code is not None
        return exit_code

    def _record_end(self, ended: Keeper, exit_code: int) -> None:
        if self._ending is not None:
            self._finish_by(self._ending, exit_code)
        elif ended.lease_ended:
            error = (
                "the lease of its attempt ended and its agent did not kill the task in time, so its keeper killed it; "
                "see the log of the node for what held the agent up"
            )
            self._finish_by(Ending(job_pb2.TASK_STATE_FAILED, error, node_failed=True), exit_code)
        elif ended.was_killed:
            error = (
                f"{self._name} was killed, since its keeper (process {ended.pid}) was killed: no process of "
                "a task runs without its keeper; the script, another program or the kernel killed it"
            )
            self._finish_by(Ending(job_pb2.TASK_STATE_FAILED, error, kind=job_pb2.FAILURE_KIND_SIGNAL), exit_code)
        elif exit_code == 0:
            self._finish(job_pb2.TASK_STATE_SUCCEEDED, 0, "", "")
        else:
            tail = self.output.tail(failure.TAIL_BYTES)
            error, traceback = failure.describe(self._name, exit_code, tail)
            limit = limits.explanation(self.request.limits, exit_code, f"{error}\n{traceback}")
            record = failures.record_path(self._context, self.status.pid)
            self.status.failure.CopyFrom(failure.find(exit_code, tail, record))
            if limit and limits.is_cpu_time(exit_code):
                self.status.failed_permanently = True
                self.status.failure.kind = job_pb2.FAILURE_KIND_LIMIT
            self._finish(job_pb2.TASK_STATE_FAILED, exit_code, f"{error}; {limit}" if limit else error, traceback)

    def _finish_by(self, ending: Ending, exit_code: int) -> None:
        self.status.node_failed = ending.node_failed
        self.status.stalled = ending.stalled
        if ending.kind:
            self.status.failure.kind = ending.kind
        stacks = failure.find_stacks(self.output.tail(failure.TAIL_BYTES)) if ending.stalled else ""
        self._finish(ending.state, exit_code, ending.error, stacks)

    def _finish(self, state: job_pb2.TaskState, exit_code: int, error: str, traceback: str) -> None:
        self.status.state = state
        self.status.exit_code = exit_code
        self.status.error = " ".join(error.split())
        self.status.traceback = traceback
        self.status.finished_at.GetCurrentTime()
        self.status.log_complete = True
        self.status.log_bytes = self.output.bytes
        self.status.log_dropped_bytes = self.output.dropped_bytes
        self.is_final = True
        if self._packages is not None:
            self._packages.release()
        self._end_start()
        self._changed()

    def _end_start(self) -> None:
        if self._start_of_spares is not None:
            self._start_of_spares.end()
            self._start_of_spares = None

    def _update_progress(self) -> None:
        progress = self._progress.read_new()
        dropped = self.output.dropped_bytes
        if progress is not None:
            self.status.progress.CopyFrom(progress)
            if progress.step > progress.resumed_from_step:
                self._end_start()
        if progress is not None or dropped != self.status.log_dropped_bytes:
            self.status.log_dropped_bytes = dropped
            self._changed()

    def _update_usage(self, sample: Usage | None) -> None:
        known = Usage(self.status.memory_bytes, self.status.device_memory_bytes)
        if sample is not None and sample.differs(known):
            self.status.memory_bytes, self.status.device_memory_bytes = sample
            self._changed()

    def _changed(self) -> None:
        self.version += 1
        self._node.notifier.notify()


def _exit_code(running: Keeper) -> int | None:
    """Returns the exit code of the script; negative: the number of a signal."""
    running.poll()
    return running.exit_code
