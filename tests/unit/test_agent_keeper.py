"""The keeper of a task: nothing that comes from a task outlives its stop, its agent or its lease, however it hides.

Promise (processes): Nothing of a task outlives its stop, its agent or its lease, however it hides.
"""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from agent_harness import DEADLINE_SECONDS, LAUNCHER, Agent, eventually, is_alive
from tensorflow_ignite.agent import process, work_directory
from tensorflow_ignite.agent.keeper import Keeper
from tensorflow_ignite.v1 import agent_pb2, job_pb2

TERMINATION_PROOF = "java/src/main/java/io/tensorflowignite/job/decide/TerminationProof.java"

# Ignores SIGTERM, and has a grandchild that does too: it has cleared its environment, is in a session of its own, and
# has lost its parent.
HIDE = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
hidden = '''
import os, signal, time
signal.signal(15, signal.SIG_IGN)
while os.getppid() == int(os.sys.argv[1]): time.sleep(0.001)
print("hidden", os.getpid(), flush=True)
time.sleep(600)
'''
if os.fork() == 0:
    os.setsid()
    parent = os.getpid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", hidden, str(parent)], {})
    os._exit(0)
os.wait()
"""
IGNORE_IN_HIDDEN = "signal.signal(15, signal.SIG_IGN)"
SLEEP = "\ntime.sleep(600)"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    with closing(Agent(tmp_path)) as running:
        yield running


def hide(agent: Agent, after: str = SLEEP) -> tuple[agent_pb2.TaskKey, int]:
    """Starts a task with a hidden process; returns the task and the pid of that process."""
    task = agent.start(HIDE + after)
    agent.printed("hidden")
    pid = int(
        agent.await_events(lambda _: [line for line in agent.output.splitlines() if "hidden" in line])[0].split()[1]
    )
    assert "TENSORFLOW_IGNITE_TASK" not in psutil.Process(pid).environ()
    return task, pid


def test_stop_ends_a_process_that_left_its_session_and_cleared_its_environment(agent: Agent) -> None:
    task, hidden = hide(agent)
    keeper = agent.keeper(task)
    assert psutil.Process(hidden).ppid() == keeper.pid
    agent.stop()
    assert not is_alive(hidden)
    assert not keeper.is_running()
    assert agent.ended(task).state == job_pb2.TASK_STATE_STOPPED


def test_a_hidden_process_gets_the_grace_of_a_stop_after_the_end_of_its_script(agent: Agent) -> None:
    save = 'signal.signal(15, lambda *_: (time.sleep(0.4), print("saved", flush=True), os._exit(0)))'
    script_ends = "\nsignal.signal(signal.SIGTERM, signal.SIG_DFL)\nprint('ready', flush=True)"
    task = agent.start(HIDE.replace(IGNORE_IN_HIDDEN, save) + script_ends + SLEEP)
    agent.await_events(lambda _: "hidden" in agent.output and "ready" in agent.output)
    agent.stop(grace="200s")
    assert agent.ended(task).exit_code == -signal.SIGTERM
    assert agent.output.endswith("saved\n")


def test_a_hidden_process_ends_with_its_script(agent: Agent) -> None:
    task, hidden = hide(agent, after="\nsignal.signal(signal.SIGUSR1, lambda *_: sys.exit(3))" + SLEEP)
    os.kill(agent.script(task), signal.SIGUSR1)
    assert agent.ended(task).exit_code == 3
    assert not is_alive(hidden)


def test_everything_of_a_task_ends_with_its_killed_agent_and_the_next_one_removes_its_files(
    agent: Agent, tmp_path: Path
) -> None:
    task, hidden = hide(agent)
    pids = [hidden, agent.script(task), agent.keeper(task).pid]
    agent.process.kill()
    eventually(lambda: not any(map(is_alive, pids)))
    with closing(Agent(tmp_path)) as second:
        assert [entry.name for entry in second.work.iterdir()] == [".tensorflow-ignite-agent"]


@pytest.mark.full
def test_a_stopped_agents_tasks_end_with_their_lease_and_the_agent_too(agent: Agent) -> None:
    task, hidden = hide(agent)
    pids = [hidden, agent.script(task), agent.keeper(task).pid]
    end = agent.extend_lease(6)
    agent.process.send_signal(signal.SIGSTOP)
    eventually(lambda: not all(map(is_alive, pids)))
    assert time.monotonic() > end
    eventually(lambda: not any(map(is_alive, pids)))
    # It could not end by itself, and would keep its directory from the next agent.
    assert agent.process.wait(DEADLINE_SECONDS) == -signal.SIGKILL


def test_a_keeper_kills_within_the_time_that_other_nodes_assume() -> None:
    proof = (Path(__file__).parents[2] / TERMINATION_PROOF).read_text()
    (millis,) = re.findall(r"Duration MARGIN = Duration\.ofMillis\((\d+)\);", proof)
    (nanos,) = re.findall(r"(?m)^LEASE_DELAY_NANOS = (\d+)$", Path(LAUNCHER).read_text().replace("_000", "000"))
    assert 0 < int(nanos) / 1e6 <= int(millis) / 3


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("end", ["stop", "lease"])
def test_a_script_that_ends_or_stops_its_keeper_leaves_nothing(agent: Agent, number: signal.Signals, end: str) -> None:
    # At SIGUSR1 the script takes back what ties it to its keeper.
    attack = (
        "\nimport ctypes\ndef attack(*_):\n    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)\n"
        f"    os.kill(os.getppid(), {number:d})\n    print('attacked', flush=True)\n"
        "signal.signal(signal.SIGUSR1, attack)\nprint('ready', flush=True)\nsignal.pause()"
    )
    task, hidden = hide(agent, after=attack + SLEEP)
    agent.printed("ready")
    script, keeper = agent.script(task), agent.keeper(task)
    os.kill(script, signal.SIGUSR1)
    agent.await_events(lambda _: "attacked" in agent.output or not is_alive(script))
    if end == "stop":
        agent.stop()
    else:
        agent.extend_lease(0.2)
    eventually(lambda: not any(map(is_alive, (script, hidden, keeper.pid))))
    assert agent.ended(task).exit_code == -signal.SIGKILL


def test_a_killed_keeper_fails_its_task_alone(agent: Agent) -> None:
    other = agent.start("import time\nprint('other')\ntime.sleep(600)", task=agent.key(attempt=2))
    agent.printed("other")
    task, hidden = hide(agent)
    agent.keeper(task).kill()
    status = agent.ended(task)
    assert (status.state, status.node_failed) == (job_pb2.TASK_STATE_FAILED, False)
    assert "worker 0 was killed, since its keeper (process " in status.error
    assert not is_alive(hidden)
    assert [process.pid for process in agent.living()] == [agent.script(other)]


def test_a_stopped_keeper_goes_on(agent: Agent) -> None:
    task = agent.start("import time" + SLEEP)
    keeper = agent.keeper(task)
    keeper.suspend()
    eventually(lambda: keeper.status() == psutil.STATUS_SLEEPING)
    assert is_alive(agent.script(task))


def test_signals_to_the_group_of_the_script_do_not_reach_its_keeper(agent: Agent) -> None:
    task = agent.start("import os, signal\nos.killpg(0, signal.SIGSTOP)")
    keeper = agent.keeper(task)
    eventually(lambda: psutil.Process(agent.script(task)).status() == psutil.STATUS_STOPPED)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        keeper.send_signal(number)
    agent.stop()
    assert agent.ended(task).exit_code == -signal.SIGKILL


def test_the_next_agent_ends_a_keeper_that_is_stopped_and_the_task_below_it(tmp_path: Path) -> None:
    first = Agent(tmp_path)
    task, hidden = hide(first)
    script = first.script(task)
    first.process.send_signal(signal.SIGSTOP)
    first.keeper(task).suspend()
    first.process.kill()
    first.process.wait()
    assert is_alive(script)
    with closing(Agent(tmp_path)) as second:
        assert not second.living(keepers=True)
        assert not is_alive(hidden)
    first.close()


def test_the_next_agent_makes_a_stopped_one_end_whose_node_has_ended(tmp_path: Path) -> None:
    first = Agent(tmp_path)
    first.process.send_signal(signal.SIGSTOP)
    first.process.stdin.close()
    with closing(Agent(tmp_path)):
        assert first.process.wait(DEADLINE_SECONDS) == 0
    first.close()


def test_an_agent_that_cannot_end_what_is_left_does_not_start_and_names_the_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = {**os.environ, process.MARK_VARIABLE: f"{tmp_path}:job/1/worker/0/0"}
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=mark) as left:
        # As if the kernel could not end it.
        monkeypatch.setattr(process, "_signal", lambda processes, number: None)
        monkeypatch.setattr(work_directory, "KEEPERS_SECONDS", 0.05)
        monkeypatch.setattr(work_directory, "KILL_SECONDS", 0.2)
        with pytest.raises(work_directory.WorkDirectoryError, match=rf"after SIGKILL \(pids {left.pid}\)"):
            asyncio.run(work_directory.WorkDirectory(str(tmp_path)).take())
        left.kill()


@pytest.fixture
def start_keeper(tmp_path: Path) -> Iterator[Callable[..., Keeper]]:
    keepers: list[Keeper] = []

    def start(source: str) -> Keeper:
        command = [sys.executable, "-IS", LAUNCHER, str(os.getpid()), sys.executable, "-c", source]
        with (tmp_path / "log").open("wb") as output:
            keepers.append(
                Keeper(command, lease_until_nanos=None, directory=tmp_path, environment={}, output=output.fileno())
            )
        return keepers[-1]

    yield start
    for keeper in keepers:
        keeper.request_end()
        eventually(keeper.has_ended)


def polled(keeper: Keeper, look: Callable[[], object]) -> bool:
    keeper.poll()
    return bool(look())


def test_a_keeper_reports_the_script_its_exit_code_and_the_end_of_the_lease(
    start_keeper: Callable[..., Keeper],
) -> None:
    failed, expired = start_keeper("raise SystemExit(7)"), start_keeper("import time; time.sleep(600)")
    eventually(lambda: polled(failed, lambda: failed.exit_code is not None))
    assert (failed.exit_code, failed.lease_ended, failed.was_killed) == (7, False, False)
    # It stays until it is requested to end: a stop may be in its grace.
    assert not failed.has_ended()
    eventually(lambda: polled(expired, lambda: expired.script))
    expired.extend_lease(time.monotonic_ns() + 200_000_000)
    expired.extend_lease(1)
    eventually(lambda: polled(expired, lambda: expired.exit_code is not None))
    assert (expired.exit_code, expired.lease_ended, expired.was_killed) == (-signal.SIGKILL, True, False)
    eventually(expired.has_ended)


def test_a_keeper_has_no_other_modules_waits_without_work_and_holds_no_output(
    start_keeper: Callable[..., Keeper],
) -> None:
    keeper = start_keeper("import time; time.sleep(600)")
    eventually(lambda: polled(keeper, lambda: keeper.script))
    found = psutil.Process(keeper.pid)
    eventually(lambda: found.status() == psutil.STATUS_SLEEPING)
    modules = Path(f"/proc/{keeper.pid}/maps").read_text()
    assert "grpc" not in modules
    assert "tensorflow" not in modules
    with contextlib.suppress(psutil.AccessDenied):
        assert not found.open_files()
    before = found.num_ctx_switches().voluntary
    keeper.extend_lease(time.monotonic_ns() + 60 * 10**9)
    eventually(lambda: found.num_ctx_switches().voluntary > before)
    assert found.num_ctx_switches().voluntary <= before + 2
