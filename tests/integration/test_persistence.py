"""Clusters with data on disk: rows and jobs that come back, a cluster that is not active, and one that grows."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, await_job, cli
from node_metrics import HTTP_PORT, metric
from waiting import await_true

import tensorflow_ignite as tfi
from local_nodes import GIVES_UP_AFTER_A_MINUTE
from tensorflow_ignite.errors import ClusterNotActiveError, DataLossError, InvalidRequestError
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster, node_configuration

pytestmark = pytest.mark.full

ROWS = 300


def has_saved(job: Job) -> bool:
    tasks = job.attempt.tasks if job.attempt else ()
    return any(task.index == 0 and task.status.progress and task.status.progress.step >= 10 for task in tasks)


def test_rows_checkpoints_and_jobs_come_back_with_their_nodes_and_an_inactive_cluster_says_whom_it_misses(
    tmp_path: Path,
) -> None:
    hold, config = tmp_path / "hold", tmp_path / "node.xml"
    hold.touch()
    # The attempt after the end of all nodes waits for the lease.
    config.write_text(node_configuration(node=GIVES_UP_AFTER_A_MINUTE, timeouts={"leaseSeconds": 20}))
    with LocalCluster(3, config=config, persistent=True, environment=HTTP_PORT) as cluster:
        tfi.load("rows", {"id": np.arange(ROWS)}, backups=0, partitions=24, address=cluster.address)
        *_, last = cluster.nodes
        with tfi.connect(cluster.address) as client:
            name = next(node.consistent_id for node in client.nodes() if node.id == last.node_id)
            arguments = [str(tmp_path), "20", "0.1"]
            job = client.submit(
                SCRIPTS / "steps.py",
                cache="rows",
                args=arguments,
                restart=tfi.Restart(max_crashes=0),
                timeouts=tfi.Timeouts(stop_grace=1),
            )
            # Worker 0 saves, and on disk that takes longer than the steps of the others.
            await_job(job, has_saved)
            cluster.kill_node(last)
            remedy = f"Start these nodes, whose disks have the rows, and they are read again: {name} at "
            await_job(job, lambda job: remedy in job.waiting_for)
            with pytest.raises(DataLossError) as lost:
                tfi.read_table("rows", options=tfi.ReadOptions(address=cluster.address))
            assert remedy in str(lost.value)
            for node in client.nodes():
                assert metric(node.http_address, 'tensorflow_ignite_lost_partitions{cache="rows"}') > 0
                assert metric(node.http_address, 'tensorflow_ignite_baseline_nodes{state="offline"}') == 1
            shown = cli("nodes", address=cluster.address).stdout
            assert f"node {name} at " in shown
            assert "cache rows has lost " in shown
            # Its old rows are on the disk of that node, and would come back with it.
            with pytest.raises(InvalidRequestError, match=f"cache rows is not replaced.*{name} at "):
                tfi.load("rows", {"id": np.arange(5)}, if_exists="replace", address=cluster.address)

            [last] = cluster.restart_nodes(last)
            await_job(job, lambda job: job.state == "running" and len(job.attempts) == 2)
            # Else its output ends with the nodes, on a busy machine.
            lines = functools.partial(job.logs, attempt=2, role="worker", index=0)
            await_true(lambda: any("begins at" in line.text for line in lines()), "attempt 2 does not begin", LIMIT)
        for address in cluster.addresses:
            assert tfi.read_table("rows", options=tfi.ReadOptions(address=address)).num_rows == ROWS

        whole = cluster.nodes
        for node in whole:
            cluster.kill_node(node)
        *here, away = whole
        here = cluster.spawn_again(*here)
        address = cluster.await_inactive(*here)[0]
        submission = ["submit", "--cache", "rows", str(SCRIPTS / "steps.py")]
        for command in (["ps"], ["nodes"], submission, ["fs", "ls"]):
            ran = cli(*command, address=address)
            assert ran.returncode == 1
            error = " ".join(ran.stderr.split())
            assert "The cluster is not active since 20" in error
            assert f"2 of the 3 nodes of its baseline are here, without {name} at " in error
            assert "control.sh --set-state ACTIVE" in error
            assert "tensorflow-ignite node --activate-at NODES" in error
        with pytest.raises(ClusterNotActiveError):
            tfi.read_table("rows", options=tfi.ReadOptions(address=address))
        found = cli("doctor", "--only", "cluster", address=address).stdout
        assert f"without {name} at " in " ".join(found.split())

        cluster.restart_nodes(away)
        for address in cluster.addresses:
            assert tfi.read_table("rows", options=tfi.ReadOptions(address=address)).num_rows == ROWS
        hold.unlink()
        with tfi.connect(cluster.address) as client:
            done = client.job(job.id).wait(LIMIT)
            assert (done.state, len(done.attempts)) == ("succeeded", 3)
            for attempt in (2, 3):
                printed = [line.text for line in client.job(job.id).logs(attempt=attempt, role="worker", index=0)]
                resumed = next(line for line in printed if "begins at step" in line)
                assert int(resumed.rpartition(" ")[2]) >= 10


def test_a_node_that_joins_is_added_to_the_baseline_by_a_command() -> None:
    with LocalCluster(1, persistent=True, environment=HTTP_PORT) as cluster:
        tfi.load("rows", {"id": np.arange(ROWS)}, backups=0, partitions=24, address=cluster.address)
        joined = cluster.start_node()
        with tfi.connect(cluster.address) as client:
            (name,) = (node.consistent_id for node in client.nodes() if node.id == joined.node_id)
            states = {node.address: node.state for node in client.baseline().nodes}
            assert states == {cluster.address: "online", joined.address: "outside"}
            for node in client.nodes():
                assert metric(node.http_address, 'tensorflow_ignite_baseline_nodes{state="online"}') == 1
                assert metric(node.http_address, 'tensorflow_ignite_baseline_nodes{state="outside"}') == 1
            assert [node.address for node in client.nodes() if node.is_outside_baseline] == [joined.address]

            shown = cli("baseline", "--add", name, address=joined.address)
            assert shown.returncode == 0, shown.stderr
            assert "outside" not in shown.stdout
            assert [node.state for node in client.baseline().nodes] == ["online", "online"]
            refused = cli("baseline", "--remove", name, address=cluster.address)
            assert refused.returncode == 1
            assert f"Node {name} stays in the baseline: it is online" in " ".join(refused.stderr.split())
        assert tfi.read_table("rows", options=tfi.ReadOptions(address=cluster.address)).num_rows == ROWS
