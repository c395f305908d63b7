"""Every kind of job loses a node once and goes on from a checkpoint: a part of `make chaos`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tensorflow_ignite as tfi
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

from jobs import SCRIPTS, await_job

CACHE = "points"
# Both libraries under several workers, each kind, and a loop; the schedule of faults has loops of several workers.
CELLS = [
    ("multi-worker-mirrored", "keras"),
    ("multi-worker-mirrored", "tf_keras"),
    ("parameter-server", "tf_keras"),
    ("parameter-server", "loop"),
    ("mirrored", "loop"),
    ("one", "keras"),
]


@pytest.fixture(scope="module")
def nodes() -> Iterator[LocalCluster]:
    with LocalCluster(nodes=3) as started:
        x = np.random.default_rng(0).random(480, np.float32)
        tfi.load(CACHE, {"x": x, "y": 2 * x + 1}, partitions=24, backups=2, address=started.addresses[0])
        yield started


def has_saved(job: Job) -> bool:
    tasks = job.attempt.tasks if job.attempt else ()
    return any(task.status.progress and task.status.progress.checkpoint_step for task in tasks)


@pytest.mark.parametrize(("kind", "library"), CELLS)
def test_a_job_of_each_kind_goes_on_after_it_has_lost_a_node(
    nodes: LocalCluster, tmp_path: Path, kind: str, library: str
) -> None:
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
        job = handle.wait(timeout=300)
        assert job.state == "succeeded"
        resumed = [task.status.progress.resumed_from_step for task in job.attempt.tasks if task.status.progress]
        assert any(resumed), job.to_dict()
        for path in tmp_path.glob("*.json"):
            weights, _ = json.loads(path.read_text())
            np.testing.assert_allclose(weights, [2, 1], atol=0.3)
