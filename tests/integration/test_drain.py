"""A node that is drained gets no tasks; its partitions are read all the same. The script needs no TensorFlow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, await_files, await_job, cli, read

import tensorflow_ignite as tfi
from tensorflow_ignite.errors import NodeNotFoundError
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

ROWS = 500


def test_a_drained_node_gets_no_tasks_and_its_partitions_are_read_by_others(
    nodes: LocalCluster, tmp_path: Path
) -> None:
    with tfi.connect(nodes.address) as client:
        tfi.load("drained", {"id": np.arange(ROWS)}, backups=1, partitions=64, address=nodes.address)
        drained = client.nodes()[1]
        handle = client.submit(
            SCRIPTS / "read_ids.py",
            cache="drained",
            args=[str(tmp_path), "drained", "2", "held"],
            restart=tfi.Restart(max_crashes=0),
        )
        await_files(handle, *(tmp_path / f"worker-{index}-0.json" for index in range(3)))
        try:
            printed = cli("drain", drained.consistent_id, address=nodes.address)
            assert printed.returncode == 0, printed.stderr
            assert "is drained" in printed.stdout
            job = await_job(handle, lambda job: len(job.attempts) == 2 and job.state == "running")
            assert job.attempts[0].cause == f"node {drained.id[:8]} with worker 1 is drained"
            assert drained.id not in {task.node_id for task in job.attempts[1].tasks}
            assert "it is drained" in cli("nodes", address=nodes.address).stdout

            (tmp_path / "go").touch()
            assert handle.wait(timeout=LIMIT).state == "succeeded"
            ids = [read(tmp_path, f"worker-{index}-1.json") for index in range(2)]
            assert sorted(ids[0] + ids[1]) == list(range(ROWS))
            counted = [task.status.rows for task in job.attempts[1].tasks]
            assert counted == [len(part) for part in ids]
            with pytest.raises(NodeNotFoundError):
                client.drain("no such node")
        finally:
            assert client.drain(drained.address, undo=True).availability is None
        assert [node.availability for node in client.nodes()] == [None] * 3
