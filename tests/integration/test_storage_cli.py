"""The commands of `fs` on real nodes: bytes go there and come back, and a check finds what is wrong."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs import cli

from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster

BLOCK = 2 << 20
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
    copied = json.loads(fs(cluster, "cp", "--json", "-r", "ignite:///cli/digits", tmp_path / "back").stdout)
    assert (copied["files"], copied["directories"], copied["bytes"]) == (3, 3, 5_242_883)
    assert copied["seconds"] > 0
    back = tmp_path / "back"
    assert {str(p.relative_to(back)): p.read_bytes() for p in back.rglob("*") if p.is_file()} == contents
    assert (back / "deep" / "none").is_dir()
    removed = fs(cluster, "rm", "-r", "ignite:///cli/*")
    assert "removed ignite:///cli/digits (3 files, 3 directories, 5.24 MB)\n" in removed.stdout
    assert files.list("/cli") == []
