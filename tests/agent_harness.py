"""Starts real agents for tests, plays their service, and proves that nothing of them is left."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import grpc
import psutil
from google.protobuf import json_format

from tensorflow_ignite.agent import environment, names
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.v1 import agent_pb2, agent_pb2_grpc, job_pb2, predict_pb2

SECRET = "a secret of this test"
# Far more than anything takes, on a busy machine too.
DEADLINE_SECONDS = patiently(90.0)
LAUNCHER = str(environment._LAUNCHER)
AGENT = "import sys; from tensorflow_ignite.agent import __main__; sys.exit(__main__.main())"
ENDED = (job_pb2.TASK_STATE_SUCCEEDED, job_pb2.TASK_STATE_FAILED, job_pb2.TASK_STATE_STOPPED)

T = TypeVar("T")

_numbers = itertools.count()


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def nanos(self) -> int:
        return int(self.seconds * 1e9)


def eventually(look: Callable[[], T]) -> T:
    """What a look at the world gives as soon as it is true."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        seen = look()
        if seen:
            return seen
        assert time.monotonic() < deadline, f"not so after {DEADLINE_SECONDS} s"
        time.sleep(0.01)


def archive(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as opened:
        for name, text in files.items():
            opened.writestr(name, text)
    return path


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def request(task: agent_pb2.TaskKey, code: Path, *args: str, script: str = "main.py") -> agent_pb2.StartTaskRequest:
    """Runs a script of an archive."""
    spec = job_pb2.JobSpec(script=script, args=args)
    return agent_pb2.StartTaskRequest(key=task, spec=spec, code_archive=str(code))


class Agent:
    """A running agent and this test's side of the conversation."""

    def __init__(
        self,
        directory: Path,
        *,
        lease: str = "3600s",
        log_limit: int = 1 << 20,
        env: dict[str, str] | None = None,
        warm: int = 0,
        before: str = "",
    ):
        """Starts an agent."""
        self.directory = directory
        self.work = directory / "work"
        self.job = "job"
        self._all_events: list[agent_pb2.WatchResponse] = []
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"{before}\n{AGENT}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        start = {
            "secret": SECRET,
            "workDirectory": str(self.work),
            "leaseTimeout": lease,
            "host": "127.0.0.1",
            "nodeId": "node",
            "logLimitBytes": str(log_limit),
            "warmProcesses": warm,
        }
        self.process.stdin.write(json.dumps(start).encode() + b"\n")
        self.process.stdin.flush()
        self.ready = json_format.Parse(self.process.stdout.readline(), agent_pb2.AgentReady())
        self._channel = grpc.insecure_channel(f"127.0.0.1:{self.ready.port}")
        self._stub = agent_pb2_grpc.AgentServiceStub(self._channel)
        self.watch()

    def call(self, method: str, message: object, authorization: str | None = f"Bearer {SECRET}") -> object:
        metadata = (("authorization", authorization),) if authorization is not None else ()
        return getattr(self._stub, method)(message, metadata=metadata, timeout=DEADLINE_SECONDS)

    def stream(self) -> Iterator[agent_pb2.WatchResponse]:
        return self._stub.Watch(agent_pb2.WatchRequest(), metadata=(("authorization", f"Bearer {SECRET}"),))

    def watch(self) -> None:
        self._all_events = events = []
        # Begun here, so that gRPC's thread belongs to the maker of the agent, not to the first test that uses it.
        stream = self.stream()

        def collect() -> None:
            try:
                for event in stream:
                    with self._changed:
                        events.append(event)
                        self._changed.notify_all()
            except grpc.RpcError:
                return

        threading.Thread(target=collect, daemon=True).start()

    @property
    def events(self) -> list[agent_pb2.WatchResponse]:
        return [event for event in self._all_events if event.key.job_id == self.job]

    @property
    def output(self) -> str:
        return b"".join(event.log.data for event in self.events if event.HasField("log")).decode()

    def key(
        self, index: int = 0, *, attempt: int = 1, role: int = job_pb2.ROLE_WORKER, incarnation: int = 0
    ) -> agent_pb2.TaskKey:
        return agent_pb2.TaskKey(job_id=self.job, attempt=attempt, role=role, index=index, incarnation=incarnation)

    def reserve(self, *keys: agent_pb2.TaskKey) -> list[int]:
        return list(self.call("ReservePorts", agent_pb2.ReservePortsRequest(tasks=keys)).ports)

    @contextlib.contextmanager
    def new_job(self) -> Iterator["Agent"]:
        """This agent with another job, of which nothing is left afterwards."""
        self.job = f"job-{next(_numbers)}"
        yield self
        self.stop(grace="0s")
        assert not self.living()
        assert not (self.work / self.job).exists()

    def start(
        self,
        source: str | dict[str, str],
        *args: str,
        task: agent_pb2.TaskKey | None = None,
        script: str = "main.py",
        **fields: object,
    ) -> agent_pb2.TaskKey:
        """Starts a task."""
        task = task or self.key()
        files = {"main.py": source} if isinstance(source, str) else source
        code = archive(self.directory / f"{names.task_path(task)}.zip".replace("/", "-"), files)
        self.reserve(task)
        self.call("StartTask", json_format.ParseDict(fields, request(task, code, *args, script=script)))
        return task

    def stop(self, grace: str = "0.3s", attempt: int = 1, **fields: object) -> None:
        """Stops the job, and returns when nothing of the attempt is left."""
        stop = {"jobId": self.job, "attempt": attempt, "grace": grace, **fields}
        self.call("StopAttempt", json_format.ParseDict(stop, agent_pb2.StopAttemptRequest()))

    def extend_lease(self, seconds: float, attempt: int = 1) -> float:
        """Extends the lease of an attempt of the job; returns its end on the monotonic clock."""
        end = time.monotonic() + seconds
        lease = agent_pb2.AttemptLease(job_id=self.job, attempt=attempt, until_nanos=int(end * 1e9))
        self.call("Heartbeat", agent_pb2.HeartbeatRequest(leases=[lease]))
        return end

    @contextlib.contextmanager
    def heartbeats(self) -> Iterator[None]:
        """Renews the lease all the time."""
        enough = threading.Event()

        def beat() -> None:
            while not enough.wait(0.05):
                self.call("Heartbeat", agent_pb2.HeartbeatRequest())

        self.call("Heartbeat", agent_pb2.HeartbeatRequest())
        thread = threading.Thread(target=beat)
        thread.start()
        try:
            yield
        finally:
            enough.set()
            thread.join()

    def await_events(
        self, condition: Callable[[list[agent_pb2.WatchResponse]], T], seconds: float = DEADLINE_SECONDS
    ) -> T:
        """Waits until the condition returns a result for the messages so far, and returns that."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while not (found := condition(self.events)):
                left = deadline - time.monotonic()
                assert self._changed.wait(left), f"did not come; the messages were: {self._all_events}"
            return found

    def await_model(
        self,
        condition: Callable[[predict_pb2.ModelStatus], bool],
        seconds: float = DEADLINE_SECONDS,
        *,
        may_be_over: bool = False,
    ) -> predict_pb2.ModelStatus:
        """The newest status of the only model, as soon as it meets the condition."""

        def find(_: object) -> predict_pb2.ModelStatus | None:
            statuses = [event.model for event in reversed(self._all_events) if event.HasField("model")]
            return next(filter(condition, statuses if may_be_over else statuses[:1]), None)

        return self.await_events(find, seconds)

    def ended(self, task: agent_pb2.TaskKey, seconds: float = DEADLINE_SECONDS) -> job_pb2.TaskStatus:
        """The last status of a task."""
        return self.await_events(
            lambda events: next(
                (event.status for event in events if event.key == task and event.status.state in ENDED), None
            ),
            seconds,
        )

    def printed(self, text: str, seconds: float = DEADLINE_SECONDS) -> None:
        self.await_events(lambda _: text in self.output, seconds)

    def living(self, *, keepers: bool = False) -> list[psutil.Process]:
        """Every process that carries the mark of one of this agent's tasks; found without the agent's own means."""
        marked = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
                is_marked = process.environ().get("TENSORFLOW_IGNITE_TASK", "").startswith(f"{self.work}:")
                if is_marked and (keepers or LAUNCHER not in process.cmdline()):
                    marked.append(process)
        return marked

    def keeper(self, task: agent_pb2.TaskKey) -> psutil.Process:
        """The keeper of a running task."""
        return psutil.Process(self.script(task)).parent()

    def script(self, task: agent_pb2.TaskKey) -> int:
        """The pid of a running task."""
        return self.await_events(
            lambda events: next((e.status.pid for e in events if e.key == task and e.status.pid), 0)
        )

    def close(self) -> None:
        """Ends the agent as the end of its service does, and fails when it has left something."""
        self._channel.close()
        self.process.stdin.close()
        try:
            self.process.wait(DEADLINE_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            leftovers = self.living(keepers=True)
            for leftover in leftovers:
                leftover.kill()
        assert not leftovers, f"the agent left {leftovers}"
