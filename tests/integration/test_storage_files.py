"""The cluster's files on real nodes: what a writer, a reader and a tree of files keep, also when something dies."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import await_true

from tensorflow_ignite import errors
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.patience import patiently

LIMIT = patiently(180.0)  # seconds; what takes longer hangs
BLOCK = 64 * 1024
# What is written by pieces of this size has thousands of chances to die in the middle.
PIECE = 20_000
# Those of this size come in memory that is shared with the node, smaller ones in messages.
SHARED_BLOCK = 1024 * 1024
NAMES = ["a b", "ünïcödé-文件", "50%25", "a#b", "a?b", "a*b", "[x]", "a:b,c", "~", "...", "\n", "a\\b", "x" * 255]


@pytest.fixture
def files(cluster: LocalCluster) -> Files:
    """Asks every node of the shared cluster."""
    return Files.at(tuple(cluster.addresses))


@pytest.fixture
def folder(files: Files, request: pytest.FixtureRequest) -> Iterator[str]:
    path = f"/{request.node.originalname}"
    files.make_directory(path)
    yield path
    files.remove(path, recursive=True)


BLOCKS = pytest.mark.parametrize(
    ("block", "count"),
    [
        pytest.param(BLOCK, 200, id="in messages"),
        pytest.param(SHARED_BLOCK, 40, id="in shared memory", marks=pytest.mark.full),
    ],
)


def test_any_content_under_any_name_in_a_deep_tree_is_read_back(files: Files, folder: str) -> None:
    deep = folder + "/deep" * 30
    contents = {
        f"{deep}/{name}": random.Random(name).randbytes(size)
        for name, size in zip(NAMES, [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 3] * 3, strict=False)
    }
    for path, content in contents.items():
        with files.open_writer(path, "x", parents=True, block_bytes=BLOCK) as writer:
            writer.write(content)
    files.rename(f"{folder}/deep", f"{folder}/moved")
    listed = files.list(f"{folder}/moved" + "/deep" * 29)
    assert [info.name for info in listed] == sorted(NAMES)
    for info in listed:
        content = contents[f"{deep}/{info.name}"]
        assert info.bytes == len(content)
        with files.open_reader(info.path) as reader:
            assert reader.read(0, len(content) + 1) == content
            assert reader.read(len(content) // 2, 9) == content[len(content) // 2 :][:9]
    usage = files.usage(folder)
    assert (usage.files, usage.directories) == (len(NAMES), 30)
    assert usage.bytes == sum(len(content) for content in contents.values())


def test_of_writers_at_once_one_wins_whole_and_readers_see_only_whole_files(files: Files, folder: str) -> None:
    path, wrong = f"{folder}/f", []
    sizes = [1, BLOCK, 2 * BLOCK + 1, 3 * BLOCK + 7]

    def write(number: int) -> None:
        for _ in range(5):
            with files.open_writer(path, block_bytes=BLOCK) as writer:
                writer.write(bytes([number]) * sizes[number])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    write(0)
    for thread in threads:
        thread.start()
    seen = set()
    while any(thread.is_alive() for thread in threads):
        try:
            with files.open_reader(path) as reader:
                content = reader.read(0, reader.bytes)
        except errors.FileChangedError:
            continue
        seen.add(content[0])
        if content != content[:1] * sizes[content[0]]:
            wrong.append(content[:1])
    for thread in threads:
        thread.join(LIMIT)
    assert wrong == []
    assert seen


def test_a_rename_replaces_a_file_and_an_append_goes_on_behind_it(files: Files, folder: str) -> None:
    for name in ("old", "new"):
        with files.open_writer(f"{folder}/{name}") as writer:
            writer.write(name.encode())
    with pytest.raises(FileExistsError):
        files.rename(f"{folder}/new", f"{folder}/old", overwrite=False)
    with files.open_reader(f"{folder}/old") as reader:
        files.rename(f"{folder}/new", f"{folder}/old")
        whole = b"new"
        for size in (5, 0, 3 * BLOCK, 7):
            with files.open_writer(f"{folder}/old", "a", block_bytes=BLOCK) as writer:
                writer.write(bytes(size))
                assert writer.publish().bytes == len(whole) + size
                writer.write(b"!")
            whole += bytes(size) + b"!"
        # Of the file that was replaced: what it was, or an error, but nothing else.
        with contextlib.suppress(errors.FileChangedError):
            assert reader.read(0, 9) == b"old"
    assert [info.name for info in files.list(folder)] == ["old"]
    with files.open_reader(f"{folder}/old") as reader:
        assert reader.read(0, 10 * BLOCK) == whole


@pytest.mark.full
@BLOCKS
def test_a_write_goes_on_when_a_node_is_killed_in_the_middle(nodes: LocalCluster, block: int, count: int) -> None:
    files = Files.at(tuple(nodes.addresses))
    content = random.Random(1).randbytes(count * block)
    with files.open_writer("/killed", block_bytes=block) as writer:
        for start in range(0, len(content), PIECE):
            writer.write(content[start : start + PIECE])
            if len(nodes.nodes) == 3 and start > len(content) / 3:
                nodes.kill_node(nodes.nodes[0])
    with files.open_reader("/killed") as reader:
        assert reader.read(0, len(content)) == content


@pytest.mark.full
@BLOCKS
def test_a_read_goes_on_when_a_node_is_killed_in_the_middle(nodes: LocalCluster, block: int, count: int) -> None:
    files = Files.at(tuple(nodes.addresses))
    content = random.Random(2).randbytes(count * block)
    with files.open_writer("/read", block_bytes=block) as writer:
        writer.write(content)
    buffer = memoryview(bytearray(PIECE))
    position = 0
    with files.open_reader("/read") as reader:
        while count := reader.read_into(position, buffer):
            assert buffer[:count] == content[position : position + count]
            position += count
            if len(nodes.nodes) == 3 and position > len(content) / 3:
                nodes.kill_node(nodes.nodes[0])
    assert position == len(content)


@pytest.mark.full
def test_large_blocks_travel_in_memory_that_is_shared_with_the_nodes_of_this_host(
    cluster: LocalCluster, folder: str
) -> None:
    script = """
import random, sys
from tensorflow_ignite.storage.files import Files
files = Files.at(tuple(sys.argv[2:]))
content = random.Random(3).randbytes(30_000_000)
with files.open_writer(sys.argv[1]) as writer:
    writer.write(content)
with files.open_reader(sys.argv[1]) as reader:
    assert reader.read(0, len(content) + 1) == content
    assert reader.read(9_000_000, 5_000_000) == content[9_000_000:14_000_000]
print("read", flush=True)
sys.stdin.read()
"""
    before = _mapped(cluster)
    command = [sys.executable, "-c", script, f"{folder}/f", *cluster.addresses]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "read\n"
        assert _mapped(cluster) > before
        process.kill()
    await_true(lambda: _mapped(cluster) <= before, "nodes still map segments", LIMIT)


def _mapped(cluster: LocalCluster) -> int:
    """Segments of clients that the nodes map."""
    return sum(Path(f"/proc/{node.pid}/maps").read_text().count("/memfd:tensorflow-ignite") for node in cluster.nodes)
