"""Jobs with one process: which node runs it, while others run too, and while all nodes are restarted; who gets GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


@pytest.fixture(scope="module")
def shared(tolerant: Path) -> Iterator[LocalCluster]:
    """Two nodes, each with the numbers of two GPUs: nothing of this needs the GPUs themselves."""
    with LocalCluster(nodes=2, config=tolerant, environment={"TENSORFLOW_IGNITE_GPUS": "0,1"}) as started:
        tfi.load("rows", {"id": np.arange(100)}, partitions=64, backups=1, address=started.address)
        yield started


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(_SCRIPT)
    return path


def submit(client: tfi.Client, script: Path, name: str, **options: int) -> JobHandle:
    """Submits a job with one process that runs until the file of its name exists."""
    end = script.parent / name
    return client.submit(
        script, cache="rows", strategy="one", restart=tfi.Restart(max_crashes=0), name=name, args=[str(end)], **options
    )  # type: ignore[arg-type]


def node_of(job: Job) -> str:
    assert job.attempt is not None
    (task,) = job.attempt.tasks
    return task.node_id


def runs_on(nodes: set[str]) -> Callable[[Job], bool]:
    """The job runs on one of these nodes."""
    return lambda job: job.state == "running" and node_of(job) in nodes


def test_jobs_that_need_all_gpus_of_a_node_run_on_two_nodes_and_one_that_restarts_waits_for_those_of_another_job(
    script: Path, shared: LocalCluster
) -> None:
    with tfi.connect(shared.address) as client:
        first, second, third = (submit(client, script, name, workers=tfi.Workers(gpus=2)) for name in ("a", "b", "c"))
        ids = {node.node_id for node in shared.nodes}
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

        workers = client.submit(
            script,
            cache="rows",
            strategy="custom",
            workers=tfi.Workers(gpus=2),
            restart=tfi.Restart(on_join="ignore", max_crashes=1),
            args=[str(script.parent / "workers")],
        )
        await_job(workers, lambda job: job.state == "running")
        process = submit(client, script, "process", workers=tfi.Workers(gpus=2))
        await_job(process, lambda job: job.queue_position == 1)
        joined = shared.start_node().node_id
        await_job(process, runs_on({joined}))
        # Its next attempt has a worker beside the partitions of the third node, whose GPUs are taken.
        (script.parent / "workers.fail").touch()
        waiting = await_job(workers, lambda job: "GPUs of node" in job.waiting_for)
        assert (waiting.state, waiting.node_failures) == ("restarting", 0)
        assert f"GPUs of node {joined[:8]} (2 of 2 taken, 2 needed), which job {process.id[:8]}" in waiting.waiting_for
        (script.parent / "process").touch()
        assert process.wait(LIMIT).state == "succeeded"
        moved = await_job(workers, lambda job: job.state == "running")
        assert moved.attempt is not None
        assert {task.node_id for task in moved.attempt.tasks} == {node.node_id for node in shared.nodes}
        assert (moved.attempt.number, moved.node_failures) == (2, 0)
        (script.parent / "workers").touch()
        assert workers.wait(LIMIT).state == "succeeded"


def test_a_job_moves_at_most_twice_when_all_nodes_restart_and_jobs_of_a_killed_node_get_gpus_of_others(
    script: Path, shared: LocalCluster
) -> None:
    while len(shared.nodes) < 3:
        shared.start_node()
    with tfi.connect(shared.address) as client:
        handle = submit(client, script, "end")
        node = node_of(await_job(handle, lambda job: job.state == "running"))
        assert node == max(client.nodes(), key=lambda each: each.order).id
    # The node of the job first: then every other node is to be restarted yet when it moves.
    for each in sorted(shared.nodes, key=lambda each: each.node_id != node):
        shared.stop_node(each)
        shared.restart_nodes(each)
        with tfi.connect(shared.address) as client:
            await_job(client.job(handle.id), runs_on({here.node_id for here in shared.nodes}))
    (script.parent / "end").touch()
    with tfi.connect(",".join(shared.addresses)) as client:
        job = client.job(handle.id).wait(LIMIT)
        assert job.state == "succeeded"
        assert len(job.attempts) <= 3, [(each.cause, [task.node_id for task in each.tasks]) for each in job.attempts]

        handles = {name: submit(client, script, name, workers=tfi.Workers(gpus=1)) for name in ("a", "b", "c", "d")}
        ids = {each.node_id for each in shared.nodes}
        placed = [node_of(await_job(handle, runs_on(ids))) for handle in handles.values()]
        assert set(placed) == ids
        # The fourth job is on the node of one of the others.
        victim = next(each for each in shared.nodes if placed.count(each.node_id) == 2)
        shared.kill_node(victim)
        left = ids - {victim.node_id}
        after = [node_of(await_job(handle, runs_on(left))) for handle in handles.values()]
        assert sorted(after) == sorted([*left, *left])
        assert [handle.refresh().node_failures for handle in handles.values()] == [0] * 4
        for name, handle in handles.items():
            (script.parent / name).touch()
            assert handle.wait(LIMIT).state == "succeeded"
