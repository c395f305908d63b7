"""The priority of tasks: that of the setting, for every process and thread of a task, also in a spare.

Promise (processes): A task has a lower priority than its node, in a spare too, and its keeper has not.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from test_agent_spares import await_spares, module

from agent_harness import Agent

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


@pytest.mark.parametrize(("beside", "warm"), [("", True), (NO_SPARE, False)], ids=["spare", "start"])
@pytest.mark.parametrize("nice", [7, 0])
def test_a_task_and_all_that_it_starts_have_the_priority_of_the_setting(
    agent: Agent, beside: str, warm: bool, nice: int
) -> None:
    own = os.nice(0)
    task = agent.start({"main.py": f"{SOURCE}\nthreading.Event().wait()", "beside.py": beside}, nice=nice)
    agent.printed("nice ")
    status = next(event.status for event in reversed(agent.events) if event.HasField("status"))
    assert status.warm == warm
    low = min(19, own + nice)
    assert f"nice [{low}] {low} {low}\n" in agent.output
    # It must be able to kill in time.
    assert agent.keeper(task).nice() == own
