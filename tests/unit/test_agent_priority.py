"""The priority of tasks: that of the setting, for every process and thread of a task, also in a spare."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from test_agent_spares import await_spares, module

from agent_harness import Agent, archive, request
from tensorflow_ignite.v1 import agent_pb2, job_pb2

NICE_FIELD = 16
# Prints the nice values of its threads, of a process that it starts, and of one that has left its session.
SOURCE = """
import os, subprocess, sys, threading
import tensorflow
threading.Thread(target=threading.Event().wait, daemon=True).start()
def nice(pid):
    return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[16])
threads = {nice(f"self/task/{thread}") for thread in os.listdir("/proc/self/task")}
child = [sys.executable, "-c", "import os; print(os.nice(0))"]
started = subprocess.run(child, capture_output=True, text=True).stdout.strip()
left = subprocess.run(child, capture_output=True, text=True, start_new_session=True).stdout.strip()
print("nice", sorted(threads), started, left, flush=True)
"""
# Code that names a variable which TensorFlow reads at its import is started by Python, and not in a spare.
NO_SPARE = "import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '0'"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    # Threads that exist when the task begins, as those of TensorFlow.
    more = "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()"
    with closing(Agent(tmp_path, env=module(tmp_path, more), warm=1)) as running:
        await_spares(running)
        yield running


def run(agent: Agent, job: str, nice: int, beside: str) -> tuple[job_pb2.TaskStatus, str, int]:
    """Runs the script; returns its status, its line, and the nice value of its keeper."""
    agent.job = job
    task = agent.key()
    agent.reserve(task)
    files = {"main.py": f"{SOURCE}\nthreading.Event().wait()", "beside.py": beside}
    message: agent_pb2.StartTaskRequest = request(task, archive(agent.directory / f"{job}.zip", files))
    message.nice = nice
    agent.call("StartTask", message)
    agent.printed("nice ")
    keeper = agent.keeper(task).pid
    stat = Path(f"/proc/{keeper}/stat").read_text()
    line = next(line for line in agent.output.splitlines() if line.startswith("nice "))
    status = next(event.status for event in reversed(agent.events) if event.HasField("status"))
    agent.stop(grace="0s")
    return status, line, int(stat.rpartition(")")[2].split()[NICE_FIELD])


@pytest.mark.parametrize(("beside", "warm"), [("", True), (NO_SPARE, False)], ids=["spare", "start"])
def test_a_task_and_all_that_it_starts_have_the_priority_of_the_setting(agent: Agent, beside: str, warm: bool) -> None:
    own = os.nice(0)
    status, line, keeper = run(agent, "low", 7, beside)
    low = min(19, own + 7)
    assert status.warm == warm
    assert line == f"nice [{low}] {low} {low}"
    # It must be able to kill in time.
    assert keeper == own


def test_a_task_has_the_priority_of_its_node_if_the_setting_is_zero(agent: Agent) -> None:
    own = os.nice(0)
    for job, beside in (("warm", ""), ("cold", NO_SPARE)):
        _, line, _ = run(agent, job, 0, beside)
        assert line == f"nice [{own}] {own} {own}"
