"""Jobs that run on one node at the same time share its processors: TensorFlow has fewer threads in the later one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import await_files

import tensorflow_ignite as tfi
from tensorflow_ignite.agent.threads import processors
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

pytest.importorskip("tensorflow")

# The number of threads that TensorFlow starts with its first operation has those that compute one operation in it.
SCRIPT = """
import json, os, sys, time
import tensorflow as tf

def threads():
    return len(os.listdir("/proc/self/task"))

before = threads()
tf.zeros(1) + 1
found = {"variable": os.environ.get("TF_NUM_INTRAOP_THREADS"), "threads": threads() - before}
with open(sys.argv[1] + ".new", "w") as file:
    json.dump(found, file)
os.replace(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""


@pytest.fixture(scope="module", params=["0", "1"], ids=["without spares", "with spares"])
def client(request: pytest.FixtureRequest) -> Iterator[tfi.Client]:
    environment = {"TENSORFLOW_IGNITE_TASKS_WARM_PROCESSES": request.param}
    with LocalCluster(1, environment=environment) as cluster, tfi.connect(cluster.address) as connected:
        tfi.load("rows", {"id": np.arange(99)}, address=cluster.address)
        yield connected


def test_a_task_that_shares_its_node_computes_with_its_share_of_threads(client: tfi.Client, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    default = len(os.sched_getaffinity(0))
    share = max(1, processors() // 2)
    jobs = []

    def begin(name: str, **env: str) -> dict[str, Any]:
        jobs.append(
            client.submit(script, cache="rows", args=[str(tmp_path / name)], environment=tfi.Environment(variables=env))
        )
        found: dict[str, Any] = json.loads(await_files(jobs[-1], tmp_path / name)[0])
        return found

    try:
        alone, second = begin("alone"), begin("second")
        assert (alone["variable"], second["variable"]) == (None, str(share))
        assert alone["threads"] - second["threads"] == default - share
        # A user's own number holds.
        third = begin("third", TF_NUM_INTRAOP_THREADS=str(default + 3))
        assert third["threads"] - alone["threads"] == 3
    finally:
        for job in jobs:
            job.stop(timeout=60)
            job.remove()
