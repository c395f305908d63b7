"""Promises of LocalCluster: real processes, and nothing left of them however they end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from waiting import SECONDS, await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LeakError, LocalCluster, node_configuration
from tensorflow_ignite.testing.leaks import CLUSTER_MARKER, marked_processes

OWNER = """
import time
from tensorflow_ignite.testing import LocalCluster

with LocalCluster(nodes=2) as cluster:
    # One of its nodes stands still.
    cluster.suspend_node(cluster.nodes[0])
    print(cluster.directory, flush=True)
    time.sleep(1000)
"""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives agents of killed nodes less time to end; there are none in these tests."""
    monkeypatch.setattr("tensorflow_ignite.testing.cluster.ORPHAN_TIMEOUT", 2.0)


@pytest.mark.full
def test_whatever_is_left_behind_fails_the_owner_and_is_ended(impatient: None) -> None:
    cluster = LocalCluster(nodes=1)
    cluster.start()
    node, directory = cluster.nodes[0], cluster.directory
    forgotten = node.directory / "tmp" / "forgotten"
    forgotten.write_text("")
    segment = Path(f"/dev/shm/tensorflow-ignite-test-{os.getpid()}")
    hold = f"import time; held = open({str(segment)!r}, 'w'); print(flush=True); time.sleep(1000)"
    environment = {**os.environ, CLUSTER_MARKER: str(directory)}
    with subprocess.Popen([sys.executable, "-c", hold], env=environment, stdout=subprocess.PIPE) as left:
        assert left.stdout is not None
        left.stdout.readline()
        os.kill(node.pid, signal.SIGKILL)
        await_true(lambda: node.ended, "the node still runs")
        with pytest.raises(LeakError) as raised:
            cluster.close()
        assert left.wait(timeout=SECONDS) == -signal.SIGKILL
    segment.unlink()
    assert not directory.exists()
    for leak in (
        "node-0 ended by itself with exit code -9",
        f"process {left.pid}: {sys.executable} -c import time",
        f"file {forgotten}",
        f"shared memory {segment}",
    ):
        assert leak in str(raised.value)


@pytest.mark.full
def test_an_owner_that_is_killed_leaves_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        directory = Path(owner.stdout.readline().strip())
        nodes = [psutil.Process(process.pid) for process in marked_processes(directory)]
        assert len(nodes) >= 2
        owner.kill()
    assert owner.returncode == -signal.SIGKILL

    def gone() -> bool:
        return not directory.exists() and not any(node.is_running() for node in nodes)

    await_true(gone, "nodes or their files are still there", 300)
    assert marked_processes(directory) == []


@pytest.mark.full
def test_a_restarted_node_uses_its_own_properties_but_those_of_the_whole_cluster_which_its_log_names(
    tmp_path: Path,
) -> None:
    file = tmp_path / "node.xml"
    file.write_text(node_configuration(jobs={"maxTasks": 3}, timeouts={"leaseSeconds": 10}))
    with LocalCluster(2, config=file) as cluster:
        first, second = cluster.nodes
        warning = "This node has other values than the cluster in these groups of properties"
        assert warning not in first.log.read_text() + second.log.read_text()
        file.write_text(node_configuration(jobs={"maxTasks": 5}, timeouts={"leaseSeconds": 20}))
        cluster.stop_node(second)
        started = cluster.start_node()
        assert re.search(rf"{warning}.*: timeouts\. ", started.log.read_text())
        with tfi.connect(cluster.address) as client:
            assert {node.id: node.max_tasks for node in client.nodes()} == {first.node_id: 3, started.node_id: 5}
