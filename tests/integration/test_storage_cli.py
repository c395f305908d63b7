"""The commands of `fs` on real nodes: bytes go there and come back, and a check finds what is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs import LIMIT, cli, environment
from pyignite.datatypes import ByteArrayObject
from thin_client import thin_client

from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster

BLOCK = 2 << 20
BLOCKS = "tensorflow-ignite-blocks"
# Three blocks, the last one short, and no two alike.
DATA = b"".join(number.to_bytes(4, "big") for number in range(BLOCK * 5 // 8))


@pytest.fixture
def files(cluster: LocalCluster) -> Iterator[Files]:
    files = Files.at((cluster.address,))
    yield files
    if files.exists("/cli"):
        files.remove("/cli", recursive=True)


def fs(cluster: LocalCluster, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end."""
    return cli("fs", *map(str, arguments), address=cluster.address)


def test_a_folder_goes_into_the_cluster_and_comes_back_as_it_was(
    cluster: LocalCluster, files: Files, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    (model / "deep" / "none").mkdir(parents=True)
    contents = {"empty": b"", "100% ünï [1] #?": b"odd", "deep/large": DATA}
    for name, data in contents.items():
        (model / name).write_bytes(data)
    done = fs(cluster, "cp", "-r", model, "ignite:///cli/models/")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("copied 3 files and 4 directories: 5.24 MB in ")
    assert fs(cluster, "mv", "ignite:///cli/models/model", "ignite:///cli/digits").returncode == 0
    listed = json.loads(fs(cluster, "ls", "-r", "--json", "ignite:///cli").stdout)
    assert [(entry["path"].removeprefix("ignite:///cli/"), entry["bytes"]) for entry in listed] == [
        ("digits", 0),
        ("digits/100% ünï [1] #?", 3),
        ("digits/deep", 0),
        ("digits/deep/large", len(DATA)),
        ("digits/deep/none", 0),
        ("digits/empty", 0),
        ("models", 0),
    ]
    assert fs(cluster, "du", "-b", "ignite:///cli").stdout == "5242883  3 files  4 directories  ignite:///cli\n"
    assert fs(cluster, "cp", "-r", "ignite:///cli/digits", tmp_path / "back").returncode == 0
    back = tmp_path / "back"
    assert {str(p.relative_to(back)): p.read_bytes() for p in back.rglob("*") if p.is_file()} == contents
    removed = fs(cluster, "rm", "-r", "ignite:///cli/*")
    assert "removed ignite:///cli/digits (3 files, 3 directories, 5.24 MB)\n" in removed.stdout
    assert files.list("/cli") == []


@pytest.mark.full
def test_ctrl_c_in_the_middle_of_a_copy_leaves_nothing_visible(
    cluster: LocalCluster, files: Files, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "endless")
    before = files.usage("/")
    command = ["-m", "tensorflow_ignite.cli", "fs", "cp", tmp_path / "endless", "ignite:///cli-interrupted"]
    copying = subprocess.Popen([sys.executable, *command], env=environment(cluster.address), stderr=subprocess.PIPE)
    try:
        with (tmp_path / "endless").open("wb", buffering=0) as endless:
            # It has taken the first ones, and waits for more; blocks are on their way.
            for _ in range(8):
                endless.write(bytes(BLOCK))
            copying.send_signal(signal.SIGINT)
            copying.wait(LIMIT)
        _, err = copying.communicate(timeout=LIMIT)
    finally:
        copying.kill()
        copying.wait()
    assert (copying.returncode, err) == (130, b"error: interrupted\n")
    assert not files.exists("/cli-interrupted")
    assert files.usage("/") == before


@pytest.fixture
def blocks(cluster: LocalCluster) -> Iterator[object]:
    """The cache of blocks, as any client of Ignite reaches it; what a test changes is put back."""
    with thin_client(cluster.nodes[0].pid) as client:
        yield client.get_cache(BLOCKS)


@pytest.mark.full
def test_check_lists_corrupt_lost_and_orphaned_blocks_with_their_files(
    cluster: LocalCluster, files: Files, blocks
) -> None:
    for name in ("good", "corrupt", "lost"):
        with files.open_writer(f"/cli/{name}", parents=True) as writer:
            writer.write(DATA)
    fine = fs(cluster, "check")
    assert (fine.returncode, fine.stderr) == (0, "")
    (corrupt,) = files.extents("/cli/corrupt")
    (lost,) = files.extents("/cli/lost")
    orphan = "f" * 32
    value = bytearray(blocks.get(f"{corrupt.id}/1"))
    value[1_000] ^= 1
    blocks.put(f"{corrupt.id}/1", bytes(value), value_hint=ByteArrayObject)
    blocks.remove_key(f"{lost.id}/0")
    blocks.put(f"{orphan}/0", zlib.crc32(b"x").to_bytes(4, "big") + b"x", value_hint=ByteArrayObject)
    try:
        done = fs(cluster, "check")
        checked = json.loads(fs(cluster, "check", "--json").stdout)
    finally:
        blocks.remove_key(f"{orphan}/0")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"corrupt  ignite:///cli/corrupt: block 1 of extent {corrupt.id} on 127.0.0.1:")
    assert lines[1:3] == [
        f"lost     ignite:///cli/lost: block 0 of extent {lost.id}",
        f"orphan   extent {orphan}: 1 block, 1 B, of no file",
    ]
    assert "on 3 nodes" in lines[3]
    assert done.stderr.startswith("error: 2 files of ")
    assert [(fault["kind"], fault["path"], fault["blocks"]) for fault in checked["faults"]] == [
        ("corrupt", "ignite:///cli/corrupt", [1]),
        ("lost", "ignite:///cli/lost", [0]),
        ("orphan", None, [0]),
    ]
    for name, fault in (("corrupt", "is corrupt"), ("lost", "lost")):
        done = fs(cluster, "cat", f"ignite:///cli/{name}")
        assert done.returncode == 1
        assert fault in done.stderr
    assert fs(cluster, "rm", "ignite:///cli/corrupt", "ignite:///cli/lost").returncode == 0
    fine = fs(cluster, "check")
    assert (fine.returncode, fine.stderr) == (0, "")
