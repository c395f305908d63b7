"""Every kind of job loses a node once and goes on from a checkpoint: a part of `make chaos`."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, await_job, read

import tensorflow_ignite as tfi
from tensorflow_ignite.kinds import JobKind
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

CACHE = "points_of_kinds"
KINDS: list[JobKind] = ["multi-worker-mirrored", "parameter-server", "mirrored", "one"]
# `make chaos` has all; Keras 3 has no fit with parameter servers.
ALL: list[tuple[JobKind, str]] = [
    (kind, library)
    for kind in KINDS
    for library in ("keras", "tf_keras", "loop")
    if (kind, library) != ("parameter-server", "keras")
]
# Each kind, library and a loop; the schedule of faults has loops of several workers.
SOME: list[tuple[JobKind, str]] = [
    ("multi-worker-mirrored", "keras"),
    ("parameter-server", "tf_keras"),
    ("mirrored", "loop"),
    ("one", "keras"),
]


def has_saved(job: Job) -> bool:
    tasks = job.attempt.tasks if job.attempt else ()
    return any(task.status.progress and task.status.progress.checkpoint_step for task in tasks)


@pytest.mark.parametrize(("kind", "library"), ALL if os.environ.get("KINDS") == "all" else SOME)
def test_a_job_of_each_kind_goes_on_after_it_has_lost_a_node(
    nodes: LocalCluster, tmp_path: Path, kind: JobKind, library: str
) -> None:
    x = np.random.default_rng(0).random(480, np.float32)
    rows = {"x": x, "y": 2 * x + 1}
    tfi.load(CACHE, rows, partitions=24, backups=2, if_exists="replace", address=nodes.address)
    with tfi.connect(",".join(nodes.addresses)) as client:
        handle = client.submit(
            SCRIPTS / "train_kind.py",
            cache=CACHE,
            strategy=kind,
            timeouts=tfi.Timeouts(stop_grace=1),
            environment=tfi.Environment(variables={"TEST_STEP_SECONDS": "0.1"}),
            args=[str(tmp_path), library],
        )
        running = await_job(handle, lambda job: job.state == "running" and has_saved(job))
        # The last task: the client process of parameter servers, else a worker.
        lost = running.attempt.tasks[-1].node_id
        nodes.kill_node(next(node for node in nodes.nodes if node.node_id == lost))
        nodes.start_node()
        job = handle.wait(LIMIT)
    assert job.state == "succeeded"
    resumed = [task.status.progress.resumed_from_step for task in job.attempt.tasks if task.status.progress]
    assert any(resumed), job.to_dict()
    weights = [read(tmp_path, path.name)[0] for path in tmp_path.glob("*.json")]
    np.testing.assert_allclose(weights, [[2, 1]] * len(weights), atol=0.3)
    # All workers have one model.
    np.testing.assert_array_equal(weights, weights[:1] * len(weights))
    # A last attempt with fewer workers leaves the file of the one before.
    assert len(weights) >= sum(
        task.role == ("client" if kind == "parameter-server" else "worker") for task in job.attempt.tasks
    )
