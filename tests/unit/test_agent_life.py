"""The agent as a process: whatever ends, nothing that it started goes on.

Promise (processes): An agent ends with its node, and all that it started ends with it.
"""

import os
import queue
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import grpc
import pytest
from google.protobuf import json_format

from agent_harness import DEADLINE_SECONDS, SECRET, Agent, archive, eventually, is_alive, request
from tensorflow_ignite.v1 import agent_pb2, agent_pb2_grpc, job_pb2, job_pb2_grpc

# A task that ignores SIGTERM, with a child in a session of its own that does too.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('child'); time.sleep(600)"
subprocess.Popen([sys.executable, "-uc", child], start_new_session=True)
print("parent", flush=True)
time.sleep(600)
"""

StartAgent = Callable[..., Agent]


@pytest.fixture
def start_agent(tmp_path: Path) -> Iterator[StartAgent]:
    agents: list[Agent] = []

    def start(**options: object) -> Agent:
        agents.append(Agent(tmp_path, **options))
        return agents[-1]

    yield start
    # The last one first: it may still have to sweep what the one before it left.
    for agent in reversed(agents):
        agent.close()


@pytest.fixture
def agent(start_agent: StartAgent) -> Agent:
    return start_agent()


def start_line(directory: Path) -> bytes:
    start = agent_pb2.AgentStart(secret=SECRET, work_directory=str(directory), host="127.0.0.1")
    start.lease_timeout.FromSeconds(60)
    return json_format.MessageToJson(start, indent=None).encode() + b"\n"


@contextmanager
def agent_below(directory: Path) -> Iterator[tuple["subprocess.Popen[bytes]", agent_pb2.AgentReady]]:
    """A process that only waits for its agent, and what that agent says; this test writes into the agent's input."""
    program = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'tensorflow_ignite.agent'])"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(start_line(directory))
        parent.stdin.flush()
        yield parent, json_format.Parse(parent.stdout.readline(), agent_pb2.AgentReady())


def run_agent(first_line: bytes) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "tensorflow_ignite.agent"]
    return subprocess.run(command, input=first_line, capture_output=True, check=False)


def start_stubborn(agent: Agent) -> agent_pb2.TaskKey:
    task = agent.start(STUBBORN)
    agent.printed("child")
    agent.printed("parent")
    return task


def test_reports_its_interpreter_and_its_versions(agent: Agent) -> None:
    info = agent.ready.info
    assert (info.pid, info.python) == (agent.process.pid, sys.executable)
    assert info.python_version == ".".join(map(str, sys.version_info[:3]))
    assert not info.error


def test_starts_without_tensorflow_and_knows_grpc_at_its_edge_only() -> None:
    program = """
        import pkgutil, sys
        import tensorflow_ignite.agent as package
        others = ("launch", "server", "lifecycle")
        names = [m.name for m in pkgutil.iter_modules(package.__path__) if m.name not in others]
        for name in names:
            __import__(f"tensorflow_ignite.agent.{name}")
        print("grpc" in sys.modules)
        import tensorflow_ignite.agent.lifecycle
        print("tensorflow" in sys.modules)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]


def test_end_of_input_ends_everything_and_removes_every_file(agent: Agent) -> None:
    start_stubborn(agent)
    agent.process.stdin.close()
    assert agent.process.wait(20) == 0
    assert not agent.living()
    assert not agent.work.exists()


def test_signals_end_nothing_while_the_service_lives(agent: Agent) -> None:
    assert os.getsid(agent.process.pid) == agent.process.pid
    start_stubborn(agent)
    assert len(agent.living()) == 2
    for index, number in enumerate((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)):
        agent.process.send_signal(number)
        agent.reserve(agent.key(7 + index))
        assert len(agent.living()) == 2


def test_the_end_of_an_agent_is_no_failure_of_its_tasks(agent: Agent) -> None:
    task = agent.start("import time\nprint('up')\ntime.sleep(600)")
    agent.watch()
    agent.printed("up")
    agent.process.stdin.close()
    status = agent.ended(task)
    assert (status.state, status.exit_code) == (job_pb2.TASK_STATE_STOPPED, -signal.SIGTERM)
    assert status.node_failed
    assert f"its agent (pid {agent.process.pid}) ended" in status.error


def test_ends_with_its_parent_though_its_input_stays_open(tmp_path: Path) -> None:
    # The input's writer is this test, not the parent: only the death signal can end the agent.
    with agent_below(tmp_path / "work") as (parent, ready):
        parent.kill()
        parent.wait()
        eventually(lambda: not is_alive(ready.info.pid))
    assert not (tmp_path / "work").exists()


class _Node(job_pb2_grpc.NodeApiServiceServicer):
    """Another node, which takes proofs."""

    def __init__(self) -> None:
        self.tokens: queue.Queue[str] = queue.Queue()

    def ReportTermination(
        self, request: job_pb2.ReportTerminationRequest, context: grpc.ServicerContext
    ) -> job_pb2.ReportTerminationResponse:
        self.tokens.put(request.token)
        return job_pb2.ReportTerminationResponse()


def test_an_agent_whose_node_is_killed_before_the_first_heartbeat_knows_the_nodes_of_the_start(tmp_path: Path) -> None:
    node, server = _Node(), grpc.server(ThreadPoolExecutor(1))
    job_pb2_grpc.add_NodeApiServiceServicer_to_server(node, server)
    peer = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    key = agent_pb2.TaskKey(job_id="job", attempt=1, role=job_pb2.ROLE_WORKER)
    message = request(key, archive(tmp_path / "code.zip", {"main.py": "import time\ntime.sleep(600)"}))
    message.context.token = "task.job.1.worker.0.0.secret"
    message.peers.append(peer)
    with agent_below(tmp_path / "work") as (parent, ready):
        with grpc.insecure_channel(f"127.0.0.1:{ready.port}") as channel:
            calls, metadata = agent_pb2_grpc.AgentServiceStub(channel), (("authorization", f"Bearer {SECRET}"),)
            calls.ReservePorts(agent_pb2.ReservePortsRequest(tasks=[key]), metadata=metadata)
            calls.StartTask(message, metadata=metadata)
        parent.kill()
        parent.wait()
        assert node.tokens.get(timeout=DEADLINE_SECONDS) == message.context.token
        eventually(lambda: not is_alive(ready.info.pid))
    server.stop(None).wait()


def test_directory_with_foreign_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    run = run_agent(start_line(tmp_path))
    assert run.returncode == 2
    assert b"contains files that no agent made" in run.stderr
    assert precious.read_text() == "mine"


@pytest.mark.parametrize("line", [b"", b'{"secret": "hidden"}\n'])
def test_bad_start_is_reported_without_its_secret(line: bytes) -> None:
    run = run_agent(line)
    assert run.returncode == 2
    assert b"could not start" in run.stderr
    assert b"hidden" not in run.stderr
    assert not run.stdout


@pytest.mark.parametrize("authorization", [None, "Bearer ", f"Bearer {SECRET}x"])
def test_call_without_the_secret_is_unauthenticated(agent: Agent, authorization: str | None) -> None:
    messages = {
        "Heartbeat": agent_pb2.HeartbeatRequest(),
        "ReservePorts": agent_pb2.ReservePortsRequest(tasks=[agent.key()]),
        "StartTask": agent_pb2.StartTaskRequest(key=agent.key()),
        "StopAttempt": agent_pb2.StopAttemptRequest(job_id="job", attempt=1),
    }
    calls = [partial(agent.call, method, message, authorization) for method, message in messages.items()]
    calls.append(lambda: next(agent.call("Watch", agent_pb2.WatchRequest(), authorization)))
    for call in calls:
        with pytest.raises(grpc.RpcError) as refused:
            call()
        assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_stop_answers_when_all_processes_are_proven_gone_and_reported(agent: Agent) -> None:
    task = start_stubborn(agent)
    (port,) = agent.reserve(task)
    agent.stop()
    assert not agent.living()
    status = agent.ended(task)
    assert (status.state, status.exit_code) == (job_pb2.TASK_STATE_STOPPED, -signal.SIGKILL)
    assert status.log_complete
    assert not (agent.work / "job").exists()
    assert can_bind(port)
    agent.stop()
    with pytest.raises(grpc.RpcError) as refused:
        agent.reserve(task)
    assert refused.value.code() == grpc.StatusCode.ABORTED
    assert refused.value.details().endswith("[code=INVALID_REQUEST]")


def can_bind(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def test_stop_gives_its_grace_to_a_task_and_to_its_children(agent: Agent) -> None:
    child = "import signal, time\ndef end(*_):\n    time.sleep(0.3); print('child saved'); raise SystemExit\n"
    rest = "signal.signal(signal.SIGTERM, end)\nprint('up')\ntime.sleep(600)"
    parent = "def end(*_):\n    print('parent saved'); sys.exit(3)\n"
    start = f"import signal, subprocess, sys, time\nsubprocess.Popen([sys.executable, '-uc', {child + rest!r}])\n"
    task = agent.start(start + parent + rest)
    agent.await_events(lambda _: agent.output.count("up") == 2)
    agent.stop(grace="200s")
    status = agent.ended(task)
    assert (status.state, status.exit_code) == (job_pb2.TASK_STATE_STOPPED, 3)
    assert agent.output == "up\nup\nparent saved\nchild saved\n"


def test_the_end_of_an_attempts_lease_kills_its_tasks_alone_and_without_grace(agent: Agent) -> None:
    other = agent.start("import time\nprint('other')\ntime.sleep(600)", task=agent.key(attempt=2))
    agent.printed("other")
    ignore = "import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: print('ignored'))\nprint('up')\n"
    task = agent.start(ignore + "time.sleep(600)")
    agent.printed("up")
    # A stop with a grace that nobody lives to see the end of is under way when the lease ends.
    stop = threading.Thread(target=agent.stop, kwargs={"grace": "3600s"})
    stop.start()
    agent.printed("ignored")
    agent.extend_lease(600, attempt=2)
    end = agent.extend_lease(0.5)
    # An earlier end than the one that was granted changes nothing.
    agent.extend_lease(0.01)
    status = agent.ended(task)
    assert time.monotonic() > end
    stop.join(DEADLINE_SECONDS)
    assert not stop.is_alive()
    assert (status.state, status.exit_code) == (job_pb2.TASK_STATE_STOPPED, -signal.SIGKILL)
    assert [process.pid for process in agent.living()] == [agent.script(other)]


def test_a_task_without_a_lease_is_killed_or_does_not_start(agent: Agent) -> None:
    task = start_stubborn(agent)
    agent.extend_lease(0.2)
    status = agent.ended(task)
    assert (status.state, status.node_failed) == (job_pb2.TASK_STATE_FAILED, True)
    assert "the lease of its attempt ended, so the task was killed" in status.error
    late = agent.key(3)
    with pytest.raises(grpc.RpcError, match="the lease of its attempt ended") as refused:
        agent.start("", task=late)
    assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    agent.start("", task=late, leaseUntilNanos=str(time.monotonic_ns() + 60_000_000_000))
    agent.script(late)


@pytest.mark.full
def test_tasks_live_as_long_as_heartbeats_come_and_their_ports_longer(start_agent: StartAgent) -> None:
    agent = start_agent(lease="6s")
    with agent.heartbeats():
        longer = agent.start("import time\ntime.sleep(8)\nprint('longer')\ntime.sleep(600)", task=agent.key(attempt=2))
        task = start_stubborn(agent)
        agent.printed("longer")
    for silenced in (task, longer):
        status = agent.ended(silenced)
        assert status.state == job_pb2.TASK_STATE_FAILED
        assert "silent for" in status.error
        assert "(lease 6 s)" in status.error
    assert not agent.living()
    (port,) = agent.reserve(task)
    assert not can_bind(port)
    with pytest.raises(grpc.RpcError) as refused:
        agent.start("", task=agent.key(2))
    assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION
