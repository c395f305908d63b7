"""Promises of LocalCluster: real processes, and nothing left of them however they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from waiting import await_true

from tensorflow_ignite.testing import LeakError, LocalCluster
from tensorflow_ignite.testing.leaks import CLUSTER_MARKER, marked_processes

OWNER = """
import sys, time
from tensorflow_ignite.testing import LocalCluster

with LocalCluster(nodes=2) as cluster:
    if "suspend" in sys.argv:
        cluster.suspend_node(cluster.nodes[0])
    print(cluster.directory, flush=True)
    # A signal that comes just before a sleep, or to another thread, does not end the sleep.
    while True:
        time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[LocalCluster]:
    """Two nodes that the tests of this file may add to, stop and kill."""
    with LocalCluster(nodes=2) as cluster:
        yield cluster


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives agents of killed nodes less time to end; there are none in these tests."""
    monkeypatch.setattr("tensorflow_ignite.testing.cluster.ORPHAN_TIMEOUT", 2.0)


def test_all_nodes_answer_and_see_each_other(own_cluster: LocalCluster) -> None:
    assert len(set(own_cluster.addresses)) == len(own_cluster.nodes) == 2
    ids = {node.node_id for node in own_cluster.nodes}
    assert all(node.known_nodes == ids for node in own_cluster.nodes)
    assert own_cluster.address == own_cluster.nodes[0].address


@pytest.mark.full
def test_a_started_node_joins_and_a_stopped_one_leaves(own_cluster: LocalCluster) -> None:
    before = own_cluster.nodes
    node = own_cluster.start_node()
    assert all(node.node_id in other.known_nodes for other in before)
    own_cluster.stop_node(node)
    assert node.process.returncode == 0
    assert own_cluster.nodes == before
    assert all(node.node_id not in other.known_nodes for other in before)


def test_a_killed_node_ends_and_the_others_notice(own_cluster: LocalCluster) -> None:
    before = own_cluster.nodes
    node = own_cluster.start_node()
    own_cluster.kill_node(node)
    assert node.process.returncode == -signal.SIGKILL
    own_cluster.await_settled(timeout=120)
    assert own_cluster.nodes == before
    assert all(node.node_id not in other.known_nodes for other in before)


@pytest.mark.full
def test_a_suspended_node_goes_on_when_it_is_resumed(own_cluster: LocalCluster) -> None:
    node = own_cluster.nodes[1]
    own_cluster.suspend_node(node)
    await_true(lambda: psutil.Process(node.pid).status() == psutil.STATUS_STOPPED, "the node still runs")
    assert node.address not in own_cluster.addresses
    own_cluster.resume_node(node)
    own_cluster.await_settled(timeout=120)
    assert node.address in own_cluster.addresses


@pytest.mark.full
def test_two_clusters_do_not_become_one(own_cluster: LocalCluster) -> None:
    with LocalCluster(nodes=1) as other:
        assert other.nodes[0].known_nodes == {other.nodes[0].node_id}
        directory = other.directory
    assert len(own_cluster.nodes[0].known_nodes) == 2
    assert not directory.exists()


@pytest.mark.full
def test_a_folder_given_for_its_files_stays(tmp_path: Path) -> None:
    with LocalCluster(nodes=1, directory=tmp_path) as cluster:
        log = cluster.nodes[0].log
    assert "stopped OK" in log.read_text()


@pytest.mark.full
def test_a_process_left_behind_fails_the_owner_and_is_ended(impatient: None) -> None:
    cluster = LocalCluster(nodes=1)
    cluster.start()
    environment = {**os.environ, CLUSTER_MARKER: str(cluster.directory)}
    with subprocess.Popen(["sleep", "1000"], env=environment) as left:
        with pytest.raises(LeakError, match=f"process {left.pid}: sleep 1000"):
            cluster.close()
        assert left.wait(timeout=10) == -signal.SIGKILL


@pytest.mark.full
def test_a_file_left_behind_fails_the_owner() -> None:
    cluster = LocalCluster(nodes=1)
    cluster.start()
    forgotten = cluster.nodes[0].directory / "tmp" / "forgotten"
    forgotten.write_text("")
    directory = cluster.directory
    with pytest.raises(LeakError, match=f"file {forgotten}"):
        cluster.close()
    assert not directory.exists()


@pytest.mark.full
def test_shared_memory_left_behind_fails_the_owner(impatient: None) -> None:
    cluster = LocalCluster(nodes=1)
    cluster.start()
    segment = Path(f"/dev/shm/tensorflow-ignite-test-{os.getpid()}")
    hold = f"import time; held = open({str(segment)!r}, 'w'); print(flush=True); time.sleep(1000)"
    environment = {**os.environ, CLUSTER_MARKER: str(cluster.directory)}
    with subprocess.Popen([sys.executable, "-c", hold], env=environment, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(LeakError, match=f"shared memory {segment}"):
            cluster.close()
    segment.unlink()


@pytest.mark.full
def test_a_node_that_ends_by_itself_fails_the_owner() -> None:
    cluster = LocalCluster(nodes=1)
    cluster.start()
    node = cluster.nodes[0]
    os.kill(node.pid, signal.SIGKILL)
    await_true(lambda: node.ended, "the node still runs")
    with pytest.raises(LeakError, match="node-0 ended by itself with exit code -9"):
        cluster.close()


@pytest.mark.full
@pytest.mark.parametrize("how", ["running", "suspend"])
def test_an_owner_that_is_killed_leaves_nothing(how: str) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER, how], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        directory = Path(owner.stdout.readline().strip())
        nodes = [psutil.Process(process.pid) for process in marked_processes(directory)]
        assert len(nodes) >= 2
        owner.kill()

    def gone() -> bool:
        return not directory.exists() and not any(node.is_running() for node in nodes)

    await_true(gone, "nodes or their files are still there", 300)
    assert marked_processes(directory) == []


@pytest.mark.full
def test_an_owner_that_is_interrupted_leaves_nothing() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        directory = Path(owner.stdout.readline().strip())
        owner.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in owner.communicate(timeout=60)[1]
    assert not directory.exists()
    assert marked_processes(directory) == []
