"""Jobs with one process: which node runs it, while others run too, and while all nodes are restarted; who gets GPUs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, await_job

import tensorflow_ignite as tfi
from tensorflow_ignite.jobs.client import JobHandle
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

pytest.importorskip("tensorflow")

# Runs until a file of its name exists; a file of its name with ".fail" makes it fail once.
_SCRIPT = """
import sys, time
from pathlib import Path
fail = Path(sys.argv[1] + ".fail")
while not Path(sys.argv[1]).exists():
    if fail.exists():
        fail.unlink()
        sys.exit(3)
    time.sleep(0.05)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(_SCRIPT)
    return path


def submit(client: tfi.Client, script: Path, name: str, **options: int) -> JobHandle:
    """Submits a job with one process that runs until the file of its name exists."""
    end = script.parent / name
    return client.submit(script, cache="rows", kind="one", name=name, args=[str(end)], max_crashes=0, **options)  # type: ignore[arg-type]


def node_of(job: Job) -> str:
    assert job.attempt is not None
    (task,) = job.attempt.tasks
    return task.node_id


def runs_on(nodes: set[str]) -> Callable[[Job], bool]:
    """The job runs on one of these nodes."""
    return lambda job: job.state == "running" and node_of(job) in nodes


def test_jobs_that_need_all_gpus_of_a_node_run_on_two_nodes_at_the_same_time(script: Path, tolerant: Path) -> None:
    # Numbers that limit a node: nothing of this needs the GPUs themselves.
    gpus = {"TENSORFLOW_IGNITE_GPUS": "0,1"}
    with LocalCluster(nodes=2, config=tolerant, environment=gpus) as nodes, tfi.connect(nodes.address) as client:
        tfi.load("rows", {"id": np.arange(100)}, partitions=64, address=nodes.address)
        first, second, third = (submit(client, script, name, gpus_per_worker=2) for name in ("a", "b", "c"))
        ids = {node.node_id for node in nodes.nodes}
        running = [await_job(handle, runs_on(ids)) for handle in (first, second)]
        assert {node_of(job) for job in running} == ids
        waiting = await_job(third, lambda job: job.queue_position == 1)
        assert "room on one of 2 nodes, first on node" in waiting.waiting_for
        assert "(2 of 2 GPUs, 2 more needed)" in waiting.waiting_for
        (script.parent / "b").touch()
        assert second.wait(LIMIT).state == "succeeded"
        await_job(third, runs_on({node_of(running[1])}))
        for name in ("a", "c"):
            (script.parent / name).touch()
        for handle in (first, second, third):
            job = handle.wait(LIMIT)
            assert (job.state, len(job.attempts)) == ("succeeded", 1)
            assert [task.status.gpus for task in job.attempts[0].tasks] == [("0", "1")]


def test_a_restart_of_all_nodes_one_after_the_other_moves_a_job_at_most_twice(script: Path, tolerant: Path) -> None:
    with LocalCluster(nodes=3, config=tolerant) as nodes:
        tfi.load("rows", {"id": np.arange(100)}, partitions=64, backups=1, address=nodes.address)
        with tfi.connect(nodes.address) as client:
            handle = submit(client, script, "end")
            node = node_of(await_job(handle, lambda job: job.state == "running"))
            assert node == max(client.nodes(), key=lambda each: each.order).id
        # The node of the job first: then every other node is to be restarted yet when it moves.
        for each in sorted(nodes.nodes, key=lambda each: each.node_id != node):
            nodes.stop_node(each)
            nodes.restart_nodes(each)
            with tfi.connect(nodes.address) as client:
                await_job(client.job(handle.id), runs_on({here.node_id for here in nodes.nodes}))
        (script.parent / "end").touch()
        with tfi.connect(nodes.address) as client:
            job = client.job(handle.id).wait(LIMIT)
        assert job.state == "succeeded"
        assert len(job.attempts) <= 3, [(each.cause, [task.node_id for task in each.tasks]) for each in job.attempts]


def test_jobs_of_a_node_that_is_killed_get_the_gpus_of_others_and_none_twice(script: Path, tolerant: Path) -> None:
    gpus = {"TENSORFLOW_IGNITE_GPUS": "0,1"}
    with (
        LocalCluster(nodes=3, config=tolerant, environment=gpus) as nodes,
        tfi.connect(",".join(nodes.addresses)) as client,
    ):
        tfi.load("rows", {"id": np.arange(100)}, partitions=64, backups=1, address=nodes.address)
        handles = [submit(client, script, name, gpus_per_worker=1) for name in ("a", "b", "c", "d")]
        ids = {node.node_id for node in nodes.nodes}
        placed = [node_of(await_job(handle, runs_on(ids))) for handle in handles]
        assert set(placed) == ids
        # The fourth job is on the node of one of the others.
        victim = next(node for node in nodes.nodes if placed.count(node.node_id) == 2)
        nodes.kill_node(victim)
        left = ids - {victim.node_id}
        after = [node_of(await_job(handle, runs_on(left))) for handle in handles]
        assert sorted(after) == sorted([*left, *left])
        assert [job.node_failures for job in (handle.refresh() for handle in handles)] == [0] * 4
        for name, handle in zip(("a", "b", "c", "d"), handles, strict=True):
            (script.parent / name).touch()
            assert handle.wait(LIMIT).state == "succeeded"


def test_a_job_that_restarts_waits_for_the_gpus_of_a_node_that_another_job_has(script: Path, tolerant: Path) -> None:
    gpus = {"TENSORFLOW_IGNITE_GPUS": "0"}
    with LocalCluster(nodes=2, config=tolerant, environment=gpus) as nodes, tfi.connect(nodes.address) as client:
        tfi.load("rows", {"id": np.arange(100)}, partitions=64, backups=1, address=nodes.address)
        workers = client.submit(
            script,
            cache="rows",
            kind="custom",
            gpus_per_worker=1,
            on_join="ignore",
            max_crashes=1,
            args=[str(script.parent / "workers")],
        )
        await_job(workers, lambda job: job.state == "running")
        process = submit(client, script, "process", gpus_per_worker=1)
        await_job(process, lambda job: job.queue_position == 1)
        third = nodes.start_node().node_id
        await_job(process, runs_on({third}))
        # Its next attempt has a worker beside the partitions of the third node, whose GPU is taken.
        (script.parent / "workers.fail").touch()
        waiting = await_job(workers, lambda job: "GPUs of node" in job.waiting_for)
        assert (waiting.state, waiting.node_failures) == ("restarting", 0)
        assert f"GPUs of node {third[:8]} (1 of 1 taken, 1 needed), which job {process.id[:8]}" in waiting.waiting_for
        (script.parent / "process").touch()
        assert process.wait(LIMIT).state == "succeeded"
        moved = await_job(workers, lambda job: job.state == "running")
        assert moved.attempt is not None
        assert {task.node_id for task in moved.attempt.tasks} == {node.node_id for node in nodes.nodes}
        assert (moved.attempt.number, moved.node_failures) == (2, 0)
        (script.parent / "workers").touch()
        assert workers.wait(LIMIT).state == "succeeded"
