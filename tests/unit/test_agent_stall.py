"""A task without progress is ended, and says where its threads were."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_harness import Agent, archive, request
from tensorflow_ignite.agent.stall import StallMonitor
from tensorflow_ignite.v1 import agent_pb2, job_pb2

HANGS = """
import threading, time
import tensorflow_ignite as tfi

def waits_for_a_peer():
    time.sleep(600)

def also_waits():
    time.sleep(600)

threading.Thread(target=also_waits, daemon=True).start()
"""


# Of silence, in which a busy machine starts Python; each test waits for it once.
LIMIT = 5


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    started = Agent(tmp_path)
    yield started
    started.close()


def start(agent: Agent, source: str, *, first_step: float = 0, stall: float = 0) -> agent_pb2.TaskKey:
    task = agent.key()
    message = request(task, archive(agent.directory / "code.zip", {"main.py": source}))
    message.first_step_timeout.FromMilliseconds(int(first_step * 1000))
    message.stall_timeout.FromMilliseconds(int(stall * 1000))
    agent.reserve(task)
    agent.call("StartTask", message)
    return task


@pytest.mark.full
def test_a_task_that_is_silent_before_its_first_step_is_ended_with_the_stacks_of_its_threads(agent: Agent) -> None:
    status = agent.ended(start(agent, HANGS + "waits_for_a_peer()", first_step=LIMIT))
    assert (status.state, status.stalled, status.node_failed) == (job_pb2.TASK_STATE_FAILED, True, False)
    assert "worker 0 stalled: no first step, no output and no work for " in status.error
    assert f"(first-step timeout {LIMIT} s); its process was sleeping" in status.error
    assert "in waits_for_a_peer" in agent.output
    assert "in also_waits" in agent.output
    assert "in waits_for_a_peer" in status.traceback


def test_an_error_of_a_task_has_the_name_that_the_job_gave_its_role(agent: Agent) -> None:
    task = agent.key()
    task.role, task.index = job_pb2.ROLE_NAMED, 3
    message = request(task, archive(agent.directory / "code.zip", {"main.py": "raise SystemExit(3)"}))
    message.context.role_name, message.context.role_index = "actor", 1
    agent.reserve(task)
    agent.call("StartTask", message)
    assert agent.ended(task).error.startswith("actor 1 exited with code 3")


def test_a_task_that_makes_no_further_step_is_ended_although_it_prints(agent: Agent) -> None:
    source = HANGS + "tfi.train.report(7, force=True)\nwhile True:\n    print('waiting')\n    time.sleep(0.1)\n"
    status = agent.ended(start(agent, source, first_step=60, stall=1))
    assert status.stalled
    assert "no step after step 7 for " in status.error
    assert "(stall timeout 1 s)" in status.error


@pytest.mark.full
def test_a_stopped_process_has_stalled_and_its_state_is_said(agent: Agent) -> None:
    source = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"
    status = agent.ended(start(agent, source, first_step=LIMIT))
    assert status.stalled
    assert "its process was stopped" in status.error


@pytest.mark.full
def test_output_before_the_first_step_steps_and_announced_work_are_progress(agent: Agent) -> None:
    source = f"""
        import time
        import tensorflow_ignite as tfi

        for _ in range({LIMIT + 1}):
            print("loading")
            time.sleep(1)
        for step in range(1, {LIMIT + 2}):
            tfi.train.report(step, force=True)
            time.sleep(1)
        tfi.train.busy(60)
        time.sleep({LIMIT + 2})
        tfi.train.report(100, force=True)
    """
    lines = "\n".join(line[8:] for line in source.splitlines())
    assert agent.ended(start(agent, lines, first_step=LIMIT, stall=LIMIT)).state == job_pb2.TASK_STATE_SUCCEEDED


@pytest.mark.full
def test_a_silent_task_that_computes_makes_progress(agent: Agent) -> None:
    source = f"import time\nend = time.monotonic() + {LIMIT + 4}\nwhile time.monotonic() < end:\n    pass\n"
    assert agent.ended(start(agent, source, first_step=LIMIT)).state == job_pb2.TASK_STATE_SUCCEEDED


def test_a_stop_after_a_stall_writes_the_stacks_of_the_others(agent: Agent) -> None:
    task = start(agent, HANGS + "print('up')\nwaits_for_a_peer()")
    agent.printed("up")
    stop = agent_pb2.StopAttemptRequest(job_id=agent.job, attempt=1, dump_stacks=True)
    agent.call("StopAttempt", stop)
    assert agent.ended(task).state == job_pb2.TASK_STATE_STOPPED
    assert "in waits_for_a_peer" in agent.output


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> int:
        return int(self.seconds * 1e9)


def monitor(
    clock: Clock, *, is_server: bool = False, role: job_pb2.Role.ValueType = job_pb2.ROLE_WORKER
) -> StallMonitor:
    message = agent_pb2.StartTaskRequest(key=agent_pb2.TaskKey(role=role), is_server=is_server)
    message.first_step_timeout.FromSeconds(300)
    message.stall_timeout.FromSeconds(600)
    return StallMonitor("worker 0", message, clock)


def test_only_tasks_that_run_the_script_are_watched() -> None:
    clock = Clock()
    server, script = monitor(clock, is_server=True), monitor(clock)
    clock.seconds += 301
    assert server.stall(os.getpid()) is None
    assert script.stall(os.getpid())


def test_a_process_that_waits_uses_some_processor_time_and_makes_no_progress() -> None:
    clock = Clock()
    watched = monitor(clock)
    for second in range(1, 301):
        clock.seconds += 1
        watched.observe_processor_time(second * 0.05)
        assert (watched.stall(os.getpid()) is None) == (second < 300)
    watched.observe_processor_time(15)
    clock.seconds += 10
    watched.observe_processor_time(16)
    assert watched.stall(os.getpid()) is None


def test_a_restored_checkpoint_is_not_the_first_step_and_the_same_step_is_no_progress() -> None:
    clock = Clock()
    watched = monitor(clock)
    clock.seconds += 200
    watched.observe_progress(job_pb2.Progress(step=40, resumed_from_step=40))
    clock.seconds += 299
    assert watched.stall(os.getpid()) is None
    clock.seconds += 1
    assert "no first step" in str(watched.stall(os.getpid()))
    watched.observe_progress(job_pb2.Progress(step=41, resumed_from_step=40))
    clock.seconds += 599
    watched.observe_progress(job_pb2.Progress(step=41, resumed_from_step=40))
    watched.observe_output()
    clock.seconds += 1
    assert "no step after step 41 for 600.0 s" in str(watched.stall(os.getpid()))
    watched.observe_progress(job_pb2.Progress(step=41, resumed_from_step=40, checkpoint_step=41))
    assert watched.stall(os.getpid()) is None


def test_an_evaluator_makes_progress_while_it_computes_prints_or_waits_for_a_checkpoint() -> None:
    clock = Clock()
    watched = monitor(clock, role=job_pb2.ROLE_EVALUATOR)
    watched.observe_progress(job_pb2.Progress(step=10))
    clock.seconds += 599
    watched.observe_output()
    clock.seconds += 599
    watched.observe_processor_time(60)
    clock.seconds += 599
    waits = job_pb2.Progress(step=10, busy_until_nanos=clock() + int(300e9))
    watched.observe_progress(waits)
    clock.seconds += 899
    assert watched.stall(os.getpid()) is None
    clock.seconds += 1
    assert "no step, no output and no work for 600.0 s (stall timeout 600 s)" in str(watched.stall(os.getpid()))
