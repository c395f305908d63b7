"""What a store loses: nothing when its memory is full, blocks and no names when all nodes that held them are gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster

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
    assert lost_by_check(address) == damaged
    for number, path in enumerate(paths):
        write(files, path, content(number))
    assert lost_by_check(address) == []


def test_a_full_memory_is_an_error_and_loses_neither_nodes_nor_files(tmp_path: Path) -> None:
    with LocalCluster(nodes=2, data_region_bytes=128 * MIB) as cluster:
        files = Files.at(tuple(cluster.addresses))
        write(files, "/before", content(1))
        with pytest.raises(errors.StorageFullError, match=r"There is no room .* Remove files"):
            write(files, "/large", bytes(200 * MIB))
        assert len(cluster.nodes) == 2
        assert [info.name for info in files.list("/")] == ["before"]
        assert read(files, "/before") == content(1)
        # What was written in vain has been freed.
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


def test_two_nodes_killed_at_once_take_the_blocks_that_only_they_held(nodes: LocalCluster) -> None:
    files = Files.at(tuple(nodes.addresses))
    paths = [f"/lost/{number}" for number in range(4)]
    for number, path in enumerate(paths):
        write(files, path, content(number))
    first, *others = nodes.nodes
    # Frozen first, so that none of them takes over from the other.
    for node in others:
        nodes.suspend_node(node)
    for node in others:
        nodes.kill_node(node)
    nodes.await_settled()
    assert_lost(files, first.address or "", paths)
    files.remove("/lost", recursive=True)
