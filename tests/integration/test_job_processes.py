"""Promises about processes: nothing of a job outlives what it depends on, and no frozen node's tasks go on.

Promise (processes): No process of an agent that has ended runs beside the next attempt.
"""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, PARTITIONS, SCRIPTS, await_files, await_gone, await_job

import tensorflow_ignite as tfi
from agent_harness import is_alive
from local_nodes import LEASE_SECONDS, agent_of
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.testing import LocalCluster, LocalNode
from tensorflow_ignite.testing.leaks import marked_processes

pytestmark = pytest.mark.full

CHILDREN = 5


@pytest.fixture
def stay_on(nodes: LocalCluster, tmp_path: Path) -> Iterator[Callable[[], JobHandle]]:
    """Starts a job with tasks, and children of theirs that ignore SIGTERM, on every node."""
    with tfi.connect(",".join(nodes.addresses)) as client:

        def start() -> JobHandle:
            tfi.load(
                "stay",
                {"id": np.arange(100)},
                backups=1,
                partitions=PARTITIONS,
                if_exists="replace",
                address=client.address,
            )
            handle = client.submit(
                SCRIPTS / "stay.py",
                cache="stay",
                args=[str(tmp_path), "1", str(CHILDREN)],
                restart=tfi.Restart(max_crashes=0),
                timeouts=tfi.Timeouts(stop_grace=1),
            )
            await_files(handle, *(tmp_path / f"worker-{index}.pid" for index in range(3)))
            await_job(handle, lambda job: job.state == "running")
            return handle

        yield start


def tasks_of(node: LocalNode) -> set[int]:
    """Every process that a node's tasks consist of, their children included."""
    below = {process.pid for process in agent_of(node).children(recursive=True)}
    marks = ((process.pid, process.task) for process in marked_processes(node.directory.parent))
    found = below | {pid for pid, task in marks if task and task.startswith(f"{node.task_directory}/")}
    assert len(found) >= 1 + 2 * CHILDREN
    return found


@pytest.mark.usefixtures("patient")
def test_a_frozen_nodes_tasks_are_killed_when_its_lease_ends_and_the_node_goes_on_afterwards(
    nodes: LocalCluster, stay_on: Callable[[], JobHandle]
) -> None:
    handle = stay_on()
    victim = nodes.nodes[1]
    tasks, agent = tasks_of(victim), agent_of(victim)
    nodes.suspend_node(victim)
    try:
        # Its peers would give it up after a minute; the cause of the end shows that they have not.
        await_gone(tasks, LIMIT)
        assert agent.is_running()
    finally:
        nodes.resume_node(victim)
    # Its script did not crash: the job, which may not crash once, goes on with attempt 2 on all nodes.
    job = await_job(handle, lambda job: len(job.attempts) == 2 and job.state == "running")
    assert job.attempts[0].cause_kind == "node-failed"
    # The lease of the attempt, or that of the agent: the last heartbeat is the older one if the tasks have just begun.
    cause = job.attempts[0].cause
    assert re.search(rf"the lease of its attempt ended|silent for [\d.]+ s \(lease {LEASE_SECONDS} s\)", cause), cause
    assert agent.is_running()
    assert handle.stop(timeout=LIMIT).state == "stopped"


@pytest.mark.parametrize("fate", [signal.SIGSTOP, signal.SIGKILL])
def test_no_process_of_an_agent_that_was_stopped_or_killed_with_its_node_runs_beside_the_next_attempt(
    nodes: LocalCluster, stay_on: Callable[[], JobHandle], fate: signal.Signals
) -> None:
    handle = stay_on()
    victim = nodes.nodes[1]
    agent = agent_of(victim)
    left = tasks_of(victim) | {agent.pid}
    survivors = tasks_of(nodes.nodes[0]) | tasks_of(nodes.nodes[2])
    agent.send_signal(fate)
    nodes.kill_node(victim)
    job = await_job(handle, lambda job: len(job.attempts) == 2)
    assert not [pid for pid in (*left, *survivors) if is_alive(pid)]
    assert job.attempts[0].cause_kind == "node-left"
    # The files of a killed agent stay until the node's next agent removes them; this node gets none.
    shutil.rmtree(victim.task_directory)
    await_job(handle, lambda job: job.state == "running")
    assert handle.stop(timeout=LIMIT).state == "stopped"
