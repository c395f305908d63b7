"""Promises about processes: nothing of a job outlives what it depends on, and no frozen node's tasks go on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, PARTITIONS, SCRIPTS, alive, await_files, await_gone, await_job, cli
from pyignite.datatypes import ByteArrayObject
from thin_client import thin_client

import tensorflow_ignite as tfi
from local_nodes import LEASE_SECONDS, agent_of
from tensorflow_ignite import errors
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.testing import LocalCluster, LocalNode
from tensorflow_ignite.testing.leaks import files_below, marked_processes
from tensorflow_ignite.v1 import job_pb2

pytestmark = pytest.mark.full

# For an agent to look, to kill, and to be sure; on a busy machine.
MARGIN = 4.0
# TerminationProof.MARGIN: the other nodes rely on it.
PROOF_MARGIN = 1.5
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
                SCRIPTS / "stay.py", cache="stay", args=[str(tmp_path), "1", str(CHILDREN)], max_crashes=0, stop_grace=1
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
        # A short pause of a JVM must not cost the tasks. On a busy machine, heartbeats come late.
        assert await_gone(tasks, LEASE_SECONDS + MARGIN) > LEASE_SECONDS / 6
        assert agent.is_running()
    finally:
        nodes.resume_node(victim)
    # Its script did not crash: the job, which may not crash once, goes on with attempt 2 on all nodes.
    job = await_job(handle, lambda job: len(job.attempts) == 2 and job.state == "running")
    assert job.attempts[0].cause_kind == "node-failed"
    # The lease of the attempt, or that of the agent: the last heartbeat is the older one if the tasks have just begun.
    cause = job.attempts[0].cause
    silent = f"silent for {LEASE_SECONDS:.1f} s (lease {LEASE_SECONDS} s)"
    assert "the lease of its attempt ended" in cause or silent in cause
    assert agent.is_running()
    assert handle.stop(timeout=LIMIT).state == "stopped"


def test_agent_and_all_processes_of_a_killed_node_end_within_seconds(
    nodes: LocalCluster, stay_on: Callable[[], JobHandle]
) -> None:
    handle = stay_on()
    victim = nodes.nodes[2]
    tasks, agent = tasks_of(victim), agent_of(victim)
    nodes.kill_node(victim)
    # Earlier than the lease would end them.
    await_gone(tasks, LEASE_SECONDS - 0.5)
    # It tells the other nodes about that, and calls those that do not answer again.
    await_gone({agent.pid}, LIMIT)
    assert files_below(victim.task_directory) == []
    # The others go on without it.
    job = await_job(handle, lambda job: len(job.attempts) == 2 and job.state == "running")
    assert job.attempts[0].cause_kind == "node-left"
    assert handle.stop(timeout=LIMIT).state == "stopped"


def test_a_job_is_stopped_although_the_agent_of_one_of_its_nodes_is_stopped(
    nodes: LocalCluster, stay_on: Callable[[], JobHandle]
) -> None:
    handle = stay_on()
    victim = nodes.nodes[1]
    tasks, agent = tasks_of(victim), agent_of(victim)
    agent.suspend()
    # The keepers end the tasks and the agent; the next agent proves it.
    stopped = handle.stop(timeout=LIMIT)
    assert (stopped.state, stopped.cause) == ("stopped", "stopped on request")
    assert not [pid for pid in (*tasks, agent.pid) if alive(pid)]


def test_no_process_outlives_the_lease_of_a_stopped_agent_whose_node_was_killed(
    nodes: LocalCluster, stay_on: Callable[[], JobHandle]
) -> None:
    handle = stay_on()
    victim = nodes.nodes[1]
    agent = agent_of(victim)
    left = tasks_of(victim) | {agent.pid}
    agent.suspend()
    nodes.kill_node(victim)
    # Not at once: on a busy machine, the last heartbeat came some time ago.
    assert await_gone(left, LEASE_SECONDS + PROOF_MARGIN) > LEASE_SECONDS / 6
    # The files of a killed agent stay until the node's next agent removes them; this node gets none.
    shutil.rmtree(victim.task_directory)
    job = await_job(handle, lambda job: len(job.attempts) == 2 and job.state == "running")
    assert job.attempts[0].cause_kind == "node-left"
    assert handle.stop(timeout=LIMIT).state == "stopped"


def test_hidden_processes_end_at_once_with_their_killed_agent_and_node(
    nodes: LocalCluster, stay_on: Callable[[], JobHandle]
) -> None:
    handle = stay_on()
    victim = nodes.nodes[2]
    agent = agent_of(victim)
    left = tasks_of(victim) | {agent.pid}
    survivors = tasks_of(nodes.nodes[0]) | tasks_of(nodes.nodes[1])
    agent.kill()
    nodes.kill_node(victim)
    # Earlier than the lease, which nobody renews any more, would end them.
    await_gone(left, LEASE_SECONDS - 0.5)
    shutil.rmtree(victim.task_directory)
    assert handle.stop(timeout=LIMIT).state == "stopped"
    assert not [pid for pid in survivors if alive(pid)]


def test_an_unreadable_row_ends_the_tasks_of_its_job_and_a_row_of_a_later_version_leaves_them(
    cluster: LocalCluster, client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    def start(name: str) -> tuple[JobHandle, set[int]]:
        (folder := tmp_path / name).mkdir()
        handle = client.submit(SCRIPTS / "stay.py", cache=numbered, args=[str(folder), "0"], max_crashes=0)
        pids = await_files(handle, *(folder / f"worker-{index}.pid" for index in range(3)))
        await_job(handle, lambda job: job.state == "running")
        return handle, {int(pid) for pid in pids}

    (broken, broken_tasks), (later, later_tasks) = start("broken"), start("later")
    with thin_client(cluster.nodes[0].pid) as thin:
        table = thin.get_cache("tensorflow-ignite-jobs")
        before = bytes(table.get(later.id))
        row = job_pb2.Job.FromString(before)
        row.state = 1000  # type: ignore[assignment]
        table.put(later.id, row.SerializeToString(), value_hint=ByteArrayObject)
        table.put(broken.id, b"\1\2\3\4", value_hint=ByteArrayObject)
        listed = cli("ps", address=cluster.address)
        assert listed.returncode == 0, listed.stderr
        assert f"job {broken.id}: the row of the job cannot be read: its 4 bytes are no job" in listed.stdout
        assert "unknown-1000" in listed.stdout
        await_gone(broken_tasks, LIMIT)
        with pytest.raises(errors.JobUnreadableError, match=f"rm --force {broken.id}"):
            broken.wait(LIMIT)
        removed = cli("rm", "--force", broken.id, address=cluster.address)
        assert removed.returncode == 0, removed.stderr
        with pytest.raises(errors.JobNotFoundError):
            broken.refresh()
        assert all(alive(pid) for pid in later_tasks)
        table.put(later.id, before, value_hint=ByteArrayObject)
    (tmp_path / "later" / "go").touch()
    assert later.wait(LIMIT).state == "succeeded"
