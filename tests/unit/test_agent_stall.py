"""A task without progress is ended, and says where its threads were."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent_harness import Agent, Clock
from tensorflow_ignite.agent.stall import StallMonitor, processor_time
from tensorflow_ignite.v1 import agent_pb2, job_pb2

HANGS = """
import threading, time
import tensorflow_ignite as tfi

def waits_for_a_peer():
    while True:
        print("waiting")
        time.sleep(0.1)

def also_waits():
    time.sleep(600)

threading.Thread(target=also_waits, daemon=True).start()
"""


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    with closing(Agent(tmp_path)) as started:
        yield started


def start(agent: Agent, source: str, *, first_step: int = 0, stall: int = 0) -> agent_pb2.TaskKey:
    return agent.start(source, firstStepTimeout=f"{first_step}s", stallTimeout=f"{stall}s")


def test_an_error_of_a_task_has_the_name_that_the_job_gave_its_role(agent: Agent) -> None:
    actor = agent.key(3, role=job_pb2.ROLE_NAMED)
    task = agent.start("raise SystemExit(3)", task=actor, context={"roleName": "actor", "roleIndex": 1})
    assert agent.ended(task).error.startswith("actor 1 exited with code 3")


def test_a_task_that_makes_no_further_step_is_ended_with_the_stacks_of_its_threads_although_it_prints(
    agent: Agent,
) -> None:
    source = HANGS + "tfi.train.report(7, force=True)\nwaits_for_a_peer()"
    status = agent.ended(start(agent, source, first_step=600, stall=1))
    assert (status.state, status.stalled, status.node_failed) == (job_pb2.TASK_STATE_FAILED, True, False)
    assert "worker 0 stalled: no step after step 7 for " in status.error
    # It sleeps between lines that it prints.
    assert re.search(r"\(stall timeout 1 s\); its process was (sleeping|running)", status.error)
    assert "in waits_for_a_peer" in agent.output
    assert "in also_waits" in agent.output
    assert "in waits_for_a_peer" in status.traceback


def test_a_stopped_process_has_stalled_and_its_state_is_said() -> None:
    clock = Clock()
    watched = monitor(clock)
    clock.seconds += 301
    with subprocess.Popen(["sleep", "600"]) as process:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        assert (
            "no first step, no output and no work for 301.0 s (first-step timeout 300 s); its process was stopped"
            in (watched.stall(process.pid) or "")
        )
        process.kill()


@pytest.mark.full
def test_a_task_that_is_silent_before_its_first_step_is_ended(agent: Agent) -> None:
    status = agent.ended(start(agent, "import time\ntime.sleep(600)", first_step=2))
    assert status.stalled
    assert "no first step, no output and no work for " in status.error


def test_a_stop_after_a_stall_writes_the_stacks_of_the_others(agent: Agent) -> None:
    task = start(agent, HANGS + "waits_for_a_peer()")
    agent.printed("waiting")
    agent.stop(dumpStacks=True)
    assert agent.ended(task).state == job_pb2.TASK_STATE_STOPPED
    assert "in waits_for_a_peer" in agent.output


def monitor(
    clock: Clock, *, is_server: bool = False, role: job_pb2.Role.ValueType = job_pb2.ROLE_WORKER
) -> StallMonitor:
    message = agent_pb2.StartTaskRequest(key=agent_pb2.TaskKey(role=role), is_server=is_server)
    message.first_step_timeout.FromSeconds(300)
    message.stall_timeout.FromSeconds(600)
    return StallMonitor("worker 0", message, clock.nanos)


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
    used = processor_time(os.getpid())
    while processor_time(os.getpid()) == used:
        sum(range(10_000))


def test_output_before_the_first_step_and_announced_work_are_progress() -> None:
    clock = Clock()
    watched = monitor(clock)
    for _ in range(3):
        clock.seconds += 299
        watched.observe_output()
    clock.seconds += 299
    assert watched.stall(os.getpid()) is None
    watched.observe_progress(job_pb2.Progress(step=1))
    # 900 s of work are announced.
    watched.observe_progress(job_pb2.Progress(step=1, busy_until_nanos=clock.nanos() + int(900e9)))
    clock.seconds += 1499
    assert watched.stall(os.getpid()) is None
    clock.seconds += 1
    assert "no step after step 1 for 600.0 s" in (watched.stall(os.getpid()) or "")


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
    waits = job_pb2.Progress(step=10, busy_until_nanos=clock.nanos() + int(300e9))
    watched.observe_progress(waits)
    clock.seconds += 899
    assert watched.stall(os.getpid()) is None
    clock.seconds += 1
    assert "no step, no output and no work for 600.0 s (stall timeout 600 s)" in str(watched.stall(os.getpid()))
