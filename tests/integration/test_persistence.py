"""Clusters with data on disk: rows that come back with their nodes, and a cluster that is not active."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.errors import ClusterNotActiveError, DataLossError
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

ROWS = 3000
LIMIT = 120.0
SCRIPT = """
import os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
"""


def cli(address: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tensorflow_ignite.cli", *arguments],
        env={**os.environ, "TENSORFLOW_IGNITE_ADDRESS": address},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def test_rows_come_back_with_their_nodes_and_an_inactive_cluster_says_whom_it_misses(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    end = tmp_path / "end"
    with LocalCluster(3, persistent=True) as cluster:
        tfi.load("rows", {"id": np.arange(ROWS)}, backups=0, partitions=24, address=cluster.address)
        *_, last = cluster.nodes
        with tfi.connect(cluster.address) as client:
            name = next(node.consistent_id for node in client.nodes() if node.id == last.node_id)
            job = client.submit(script, cache="rows", args=[str(end)], stop_grace=1)
            await_true(lambda: job.refresh().state == "running", "the job runs", seconds=LIMIT)
            cluster.kill_node(last)
            remedy = f"Start these nodes, whose disks have the rows, and they are read again: {name} at "
            await_true(lambda: remedy in job.refresh().waiting_for, "the job waits for the node", seconds=LIMIT)
            with pytest.raises(DataLossError) as lost:
                tfi.read_table("rows", address=cluster.address)
            assert remedy in str(lost.value)
            assert f"node {name} at " in cli(cluster.address, "nodes").stdout

            [last] = cluster.restart_nodes(last)
            await_true(lambda: job.refresh().state == "running", "the job goes on by itself", seconds=LIMIT)
            assert len(job.status.attempts) == 2
            end.touch()
            assert job.wait(timeout=LIMIT).state == "succeeded"
        for address in cluster.addresses:
            assert tfi.read_table("rows", address=address).num_rows == ROWS

        whole = cluster.nodes
        for node in whole:
            cluster.kill_node(node)
        *here, away = whole
        here = cluster.spawn_again(*here)
        address = cluster.await_inactive(*here)[0]
        for command in (["ps"], ["nodes"], ["submit", "--cache", "rows", str(script)], ["fs", "ls"]):
            ran = cli(address, *command)
            assert ran.returncode == 1
            error = " ".join(ran.stderr.split())
            assert "The cluster is not active since 20" in error
            assert f"2 of the 3 nodes of its baseline are here, without {name} at " in error
            assert "control.sh --set-state ACTIVE" in error
        with pytest.raises(ClusterNotActiveError):
            tfi.read_table("rows", address=address)
        assert f"without {name} at " in " ".join(cli(address, "doctor", "--only", "cluster").stdout.split())

        cluster.restart_nodes(away)
        for address in cluster.addresses:
            assert tfi.read_table("rows", address=address).num_rows == ROWS
