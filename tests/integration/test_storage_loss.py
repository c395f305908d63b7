"""What a store loses: nothing when its memory is full, blocks and no names when all nodes that held them are gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from waiting import await_true

from tensorflow_ignite import errors
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.node_process import LocalNode

LIMIT = 60  # seconds; what takes longer hangs
ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "java" / "config" / "tensorflow-ignite.xml"
BLOCK = 64 << 10
MIB = 1 << 20


def config(tmp_path: Path, **properties: object) -> Path:
    """The configuration of a node, with properties of the service."""
    bean = '<bean class="io.tensorflowignite.TensorFlowService"'
    given = "".join(f'<property name="{name}" value="{value}"/>' for name, value in properties.items())
    path = tmp_path / "node.xml"
    path.write_text(CONFIG.read_text().replace(f"{bean}/>", f"{bean}>{given}</bean>"))
    return path


def write(files: Files, path: str, data: bytes) -> None:
    with files.open_writer(path, parents=True, block_bytes=BLOCK) as writer:
        writer.write(data)


def read(files: Files, path: str) -> bytes:
    with files.open_reader(path) as reader:
        return reader.read(0, reader.bytes)


def content(number: int) -> bytes:
    return bytes([number]) * (8 * BLOCK)


def lost_by_check(address: str) -> list[str]:
    """The paths of the files that `fs check` finds damaged, each once."""
    done = subprocess.run(
        [sys.executable, "-m", "tensorflow_ignite.cli", "fs", "check", "--json", "--address", address],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )
    told = json.loads(done.stdout)
    assert done.returncode == (1 if told["faults"] else 0)
    assert {fault["kind"] for fault in told["faults"]} <= {"lost"}
    return sorted({fault["path"].removeprefix("ignite://") for fault in told["faults"]})


def assert_lost(files: Files, address: str, paths: list[str]) -> None:
    """Names are all there; a file is whole or is damaged, and a check knows which."""
    assert [info.path for info in files.list("/lost")] == paths
    damaged = []
    for number, path in enumerate(paths):
        try:
            assert read(files, path) == content(number)
        except errors.FileCorruptError:
            damaged.append(path)
    assert damaged
    assert [path for path in lost_by_check(address) if path in paths] == damaged
    for number, path in enumerate(paths):
        write(files, path, content(number))
    assert not set(lost_by_check(address)).intersection(paths)


def test_a_full_memory_is_an_error_and_loses_neither_nodes_nor_files(tmp_path: Path) -> None:
    with LocalCluster(nodes=2, data_region_bytes=128 * MIB) as cluster:
        files = Files.at(tuple(cluster.addresses))
        write(files, "/before", content(1))
        with pytest.raises(errors.StorageFullError, match=r"There is no room .* Remove files"):
            write(files, "/large", bytes(200 * MIB))
        assert len(cluster.nodes) == 2
        assert [info.name for info in files.list("/")] == ["before"]
        assert read(files, "/before") == content(1)
        # What was written in vain is freed.
        await_true(
            lambda: sum(len(held.numbers) for held in files.check()) == 8, "blocks are missing or too many", LIMIT
        )
        write(files, "/after", bytes(20 * MIB))
        assert files.stat("/after").bytes == 20 * MIB


def test_without_backups_a_killed_node_takes_its_blocks_and_no_names(tmp_path: Path) -> None:
    with LocalCluster(nodes=2, config=config(tmp_path, storageBackups=0)) as cluster:
        files = Files.at(tuple(cluster.addresses))
        paths = [f"/lost/{number}" for number in range(4)]
        for number, path in enumerate(paths):
            write(files, path, content(number))
        cluster.kill_node(cluster.nodes[1])
        cluster.await_settled()
        assert_lost(files, cluster.nodes[0].address or "", paths)


def kill_at_once(cluster: LocalCluster, nodes: Sequence[LocalNode]) -> None:
    """They are frozen before they are killed, so that none takes over from the other."""
    for node in nodes:
        cluster.suspend_node(node)
    for node in nodes:
        cluster.kill_node(node)
    cluster.await_settled()


def test_two_nodes_killed_at_once_take_the_blocks_that_only_they_held() -> None:
    with LocalCluster(nodes=3) as cluster:
        files = Files.at(tuple(cluster.addresses))
        paths = [f"/lost/{number}" for number in range(4)]
        for number, path in enumerate(paths):
            write(files, path, content(number))
        # The first one may still hold what now belongs to those that have joined it since.
        *others, last = cluster.nodes
        kill_at_once(cluster, others)
        assert_lost(files, last.address or "", paths)


def test_with_two_backups_two_nodes_killed_at_once_take_nothing(nodes: LocalCluster) -> None:
    files = Files.at(tuple(nodes.addresses))
    write(files, "/kept", content(1))
    kill_at_once(nodes, nodes.nodes[1:])
    assert read(files, "/kept") == content(1)
    files.remove("/kept")
