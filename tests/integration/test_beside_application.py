"""A job beside an application: its processes have a lower priority than the nodes, and its reads keep their rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import psutil
import pytest
from jobs import LIMIT, ROWS, SCRIPTS, await_files

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

NICE = 10


def test_tasks_and_what_they_start_have_a_lower_priority_than_their_node(tmp_path: Path) -> None:
    # As without the setting of all tests.
    by_default = {"TENSORFLOW_IGNITE_TASKS_NICE": ""}
    with LocalCluster(nodes=1, environment=by_default) as cluster, tfi.connect(cluster.address) as client:
        tfi.load("one", {"id": np.arange(10)}, partitions=1, address=cluster.address)
        job = client.submit(SCRIPTS / "stay.py", cache="one", args=[str(tmp_path), "0"])
        pids = await_files(job, *(tmp_path / f"worker-0{part}.pid" for part in ("", "-child-0")))
        node = psutil.Process(cluster.nodes[0].pid).nice()
        assert {psutil.Process(int(pid)).nice() for pid in pids} == {min(19, node + NICE)}
        job.stop(timeout=LIMIT)


def test_the_tasks_of_a_job_read_at_its_rate_together(client: tfi.Client, numbered: str, tmp_path: Path) -> None:
    rate = 300
    arguments = [numbered, "2", str(tmp_path)]
    job = client.submit(SCRIPTS / "read_epochs.py", cache=numbered, args=arguments, read_rate=f"{rate}rows")
    job.wait(LIMIT)
    lines = [line.text.split() for line in job.logs() if line.text.startswith("read ")]
    # A cache that is read whole has as many rows for each worker.
    assert [list(map(int, line[2:])) for line in lines] == [[ROWS, ROWS]] * 3
    # Each of three nodes has sent a third of 6 * ROWS rows; the rows of the last batch have not taken their time.
    longest = max(float(line[1]) for line in lines)
    assert longest >= 0.5 * (6 * ROWS / 3) / rate
