"""Files, Reader and Writer against a file service on a real socket."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Literal

import grpc
import pytest
from file_server import FileServer, Refusal, Store

import tensorflow_ignite.train  # noqa: F401 a test changes its context
from tensorflow_ignite import errors
from tensorflow_ignite.net import rpc
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.info import FileInfo
from tensorflow_ignite.storage.verification import find_fault
from tensorflow_ignite.storage.wire import decode_block, encode_block
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.v1 import job_pb2, storage_pb2

BLOCK = 4096
LIMIT = patiently(20.0)  # seconds; what takes longer hangs


@pytest.fixture
def node() -> Iterator[FileServer]:
    with FileServer(Store(block_bytes=BLOCK)) as server:
        yield server


@pytest.fixture
def other(node: FileServer) -> Iterator[FileServer]:
    """A second node of the same cluster, which holds every other block."""
    with FileServer(node.store) as server:
        yield server


@pytest.fixture
def files(node: FileServer) -> Files:
    return Files.at((node.address,), timeout=5.0)


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that accepts connections and never says a word, as a frozen process does."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        yield f"127.0.0.1:{held.getsockname()[1]}"


def _write(files: Files, path: str, data: bytes) -> None:
    with files.open_writer(path, parents=True) as writer:
        writer.write(data)


def _read(files: Files, path: str) -> bytes:
    with files.open_reader(path) as reader:
        return reader.read(0, reader.bytes + 1)


@pytest.mark.parametrize(
    "sizes",
    [
        *([size] for size in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 7 * BLOCK, 300_000)),
        *([1] * 9000, [BLOCK] * 3, [1, 3 * BLOCK, 5], [BLOCK - 1, 2, BLOCK], [0, 0]),
    ],
)
def test_written_bytes_are_read_back_however_they_were_cut(files: Files, node: FileServer, sizes: list[int]) -> None:
    data = random.Random(1).randbytes(sum(sizes))
    with files.open_writer("/a/b", parents=True) as writer:
        position = 0
        for size in sizes:
            part = bytearray(data[position : position + size])
            writer.write(part)
            part[:] = b"\0" * size  # it was taken when write() returned
            position += size
            assert writer.position == position
    assert _read(files, "/a/b") == data
    assert files.stat("/a/b").bytes == len(data)
    assert not node.store.writers


def test_any_range_is_read_in_any_order_by_several_threads(files: Files, other: FileServer) -> None:
    data = random.Random(2).randbytes(50 * BLOCK + 77)
    _write(files, "/f", data)
    wrong: list[tuple[int, int]] = []

    def read(seed: int) -> None:
        dice = random.Random(seed)
        position = 0
        for _ in range(60):
            position = dice.choice([position, dice.randrange(len(data) + 100)])
            count = dice.choice([1, 100, BLOCK, 3 * BLOCK + 5, 20 * BLOCK])
            buffer = bytearray(count)
            got = reader.read_into(position, memoryview(buffer))
            if buffer[:got] != data[position : position + count] or got != len(data[position : position + count]):
                wrong.append((position, count))
            position += got

    with files.open_reader("/f") as reader:
        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT)
        assert wrong == []
        assert {"PutBlocks", "ReadBlocks"} <= set(other.calls)
        assert reader.read_into(len(data), memoryview(bytearray(5))) == 0
        assert reader.read(len(data) + 5, 5) == b""
        with pytest.raises(ValueError, match="negative"):
            reader.read(-1, 5)
    with pytest.raises(ValueError, match="closed"):
        reader.read(0, 5)


def test_reads_that_follow_each_other_find_their_blocks_of_which_few_are_kept(files: Files, node: FileServer) -> None:
    _write(files, "/f", bytes(40 * BLOCK))
    requested: list[int] = []
    node.on_read = lambda extent, number: requested.append(number)
    with files.open_reader("/f") as reader:
        for number in range(40):
            assert len(reader.read(number * BLOCK, BLOCK)) == BLOCK
            assert len(reader._cached) <= 6
    assert sorted(requested) == list(range(40)), "each block once"


def test_a_small_read_somewhere_brings_only_its_bytes(files: Files, node: FileServer) -> None:
    _write(files, "/f", random.Random(3).randbytes(20 * BLOCK))
    before = node.sent
    with files.open_reader("/f") as reader:
        reader.read(10 * BLOCK - 5, 10)
        reader.read(3 * BLOCK + 100, 10)
    assert node.sent - before == 20


def test_at_most_four_blocks_are_on_their_way(files: Files, node: FileServer) -> None:
    gates, seen = [threading.Event() for _ in range(20)], threading.Semaphore(0)
    held: list[int] = []
    most: list[int] = []

    def hold(extent: str, number: int) -> None:
        held.append(number)
        most.append(len(held))
        seen.release()
        assert gates[number].wait(LIMIT)
        held.remove(number)

    node.on_put = hold

    def write() -> None:
        with files.open_writer("/f") as writer:
            for _ in gates:
                writer.write(bytes(BLOCK))

    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(4):
        assert seen.acquire(timeout=LIMIT)
    # The next one goes on its way when the oldest has arrived.
    for gate in gates[:16]:
        gate.set()
        assert seen.acquire(timeout=LIMIT)
    for gate in gates[16:]:
        gate.set()
    thread.join(LIMIT)
    assert max(most) == 4
    assert files.stat("/f").bytes == len(gates) * BLOCK


def test_a_file_appears_whole_or_not_at_all(files: Files, node: FileServer) -> None:
    _write(files, "/f", b"old")
    with files.open_writer("/f") as writer:
        writer.write(bytes(3 * BLOCK))
        assert _read(files, "/f") == b"old"
    assert files.stat("/f").bytes == 3 * BLOCK
    with pytest.raises(KeyError), files.open_writer("/f") as writer:  # noqa: PT012 what the block leaves is meant
        writer.write(bytes(2 * BLOCK))
        raise KeyError
    assert files.stat("/f").bytes == 3 * BLOCK
    assert len(node.store.blocks) == 3
    writer.abandon()
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.write(b"x")


def test_a_file_without_the_bytes_of_a_failed_write_is_not_published(
    files: Files, node: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(blocks: int) -> None:
        raise Refusal("STORAGE_FULL", "no memory is left")

    def interrupted(data: Any) -> None:
        raise KeyboardInterrupt

    writer, other = files.open_writer("/f"), files.open_writer("/f")
    writer.write(b"1")
    with monkeypatch.context() as patch:
        patch.setattr(node.store, "holders", full)
        with pytest.raises(errors.StorageFullError):
            writer.write(bytes(2 * BLOCK))
    with pytest.raises(TypeError):
        other.write(memoryview(b"no part of it")[::2])
    other.write(b"2")
    with monkeypatch.context() as patch:
        patch.setattr(other, "_put", interrupted)
        with pytest.raises(KeyboardInterrupt):
            other.write(bytes(2 * BLOCK))
    for broken, error in ((writer, errors.StorageFullError), (other, ValueError)):
        for use in (lambda broken=broken: broken.write(b"3"), broken.publish, broken.close):
            with pytest.raises(error):
                use()
    assert not files.exists("/f")
    assert not node.store.writers


def test_publishing_makes_written_bytes_visible_and_the_writer_continues(files: Files) -> None:
    data = random.Random(4).randbytes(3 * BLOCK)
    with files.open_writer("/f") as writer:
        for number in range(0, len(data), 500):
            writer.write(data[number : number + 500])
            assert writer.publish().bytes == min(number + 500, len(data))
            assert _read(files, "/f") == data[: number + 500]
    assert _read(files, "/f") == data


@pytest.mark.parametrize(("mode", "winner"), [("w", b"1" * 3 * BLOCK), ("x", b"2" * BLOCK)])
def test_of_two_writers_one_wins_whole(files: Files, node: FileServer, mode: Literal["w", "x"], winner: bytes) -> None:
    first, second = files.open_writer("/f", mode), files.open_writer("/f", mode)
    first.write(b"1" * 3 * BLOCK)
    second.write(b"2" * BLOCK)
    second.close()
    if mode == "x":
        with pytest.raises(FileExistsError):
            first.close()
    first.close()
    assert _read(files, "/f") == winner
    assert not node.store.writers
    assert len(node.store.blocks) == len(winner) // BLOCK


def test_a_superseded_writer_gets_an_error_at_its_next_publication(files: Files) -> None:
    with pytest.raises(errors.FileChangedError), files.open_writer("/f") as writer:  # noqa: PT012
        writer.write(b"1")
        writer.publish()
        _write(files, "/f", b"2")
        writer.write(b"1")
    assert _read(files, "/f") == b"2"


def test_appends_go_on_where_the_file_ends(files: Files, node: FileServer) -> None:
    whole = b""
    for number, size in enumerate([10, 0, BLOCK - 20, 5, 3 * BLOCK, 1, BLOCK]):
        part = random.Random(number).randbytes(size)
        with files.open_writer("/f", "a") as writer:
            assert writer.position == len(whole)
            writer.write(part)
        whole += part
        assert _read(files, "/f") == whole
    assert len(node.store.entries["/f"].extents) <= 4


def test_a_reader_can_refresh_to_read_appended_bytes(files: Files) -> None:
    with files.open_writer("/f") as writer:
        writer.write(b"one")
        writer.publish()
        with files.open_reader("/f") as reader:
            assert reader.read(0, 10) == b"one"
            writer.write(b"two" * BLOCK)
            writer.publish()
            assert reader.read(3, 10) == b""
            assert reader.refresh().bytes == reader.bytes == 3 + 3 * BLOCK
            assert reader.read(0, 9) == b"onetwotwo"
            _write(files, "/f", b"other")
            with pytest.raises(errors.FileChangedError):
                reader.refresh()
            writer.abandon()


def test_a_read_beside_a_refresh_ends_where_the_file_ended(files: Files, node: FileServer) -> None:
    _write(files, "/f", b"x" * 3 * BLOCK)
    with files.open_reader("/f") as reader:

        def append(extent: str, number: int) -> None:
            node.on_read = lambda extent, number: None
            with files.open_writer("/f", "a") as writer:
                writer.write(b"y")
            reader.refresh()

        node.on_read = append
        assert reader.read(0, 9 * BLOCK) == b"x" * 3 * BLOCK
        assert reader.bytes == 3 * BLOCK + 1


def test_a_block_that_grows_during_a_read_is_read_again(files: Files, node: FileServer) -> None:
    with files.open_writer("/f") as writer:
        writer.write(b"x" * (6 * BLOCK + 10))
        writer.publish()
        with files.open_reader("/f") as reader:

            def grow(extent: str, number: int) -> None:
                node.on_read = lambda extent, number: None
                writer.write(b"y" * 10)
                writer.publish()
                reader.refresh()

            node.on_read = grow
            assert reader.read(0, 9 * BLOCK) == b"x" * (6 * BLOCK + 10)
            assert reader.read(6 * BLOCK, BLOCK) == b"x" * 10 + b"y" * 10


def test_a_reader_of_a_replaced_or_removed_file_gets_an_error(files: Files) -> None:
    for change in (lambda: _write(files, "/f", b"new"), lambda: files.remove("/f")):
        _write(files, "/f", bytes(9 * BLOCK))
        with files.open_reader("/f") as reader:
            change()
            with pytest.raises(errors.FileChangedError, match="/f was re"):
                reader.read(8 * BLOCK, 10)


def test_a_small_file_is_read_whole_however_often_it_is_replaced(files: Files, node: FileServer) -> None:
    _write(files, "/f", b"1")
    contents = iter((b"2", b"3"))

    def replace(extent: str, number: int) -> None:
        content = next(contents, None)
        if content:
            _write(files, "/f", content)

    node.on_read = replace
    with files.open_reader("/f") as reader:
        assert reader.bytes == 1
        files.remove("/f")
        assert reader.read(0, 10) == reader.read(0, 10) == b"3", "the first that was not replaced before it came"
    _write(files, "/f", b"4")
    node.on_read = lambda extent, number: files.remove("/f")
    with pytest.raises(errors.StoredFileNotFoundError):
        files.open_reader("/f")


def test_a_lost_block_of_a_file_that_is_still_there_is_damage(files: Files, node: FileServer) -> None:
    _write(files, "/f", bytes(3 * BLOCK))
    extent = node.store.entries["/f"].extents[0].id
    node.store.blocks[extent, 1] = bytes(BLOCK - 1)
    with files.open_reader("/f") as reader:
        with pytest.raises(errors.FileCorruptError, match=r"block 1 .* ends after 4095 of 4096 bytes"):
            reader.read(0, 3 * BLOCK)
        del node.store.blocks[extent, 1]
        with pytest.raises(errors.DataLossError, match=r"/f cannot be read: block 1 .* is lost") as caught:
            reader.read(BLOCK, 1)
        assert isinstance(caught.value, errors.StorageError)
        assert reader.read(2 * BLOCK, BLOCK) == bytes(BLOCK)


def test_a_file_is_whole_only_if_every_block_can_be_read(files: Files, node: FileServer) -> None:
    for bytes_, extents in ((0, 1), (1, 1), (3 * BLOCK - 1, 1), (3 * BLOCK, 2)):
        _write(files, "/f", bytes(bytes_))
        if extents == 2:
            with files.open_writer("/f", "a") as writer:
                writer.write(bytes(BLOCK + 1))
        assert find_fault(files, "/f") == ""
    blocks = [
        (extent.id, number)
        for extent in node.store.entries["/f"].extents
        for number in range(-(-extent.bytes // extent.block_bytes))
    ]
    assert len(blocks) == 5
    for key in blocks:
        content = node.store.blocks.pop(key)
        assert "is lost" in find_fault(files, "/f")
        node.store.blocks[key] = content
        node.store.corrupt.add(key)
        assert "is not what was written" in find_fault(files, "/f")
        node.store.corrupt.clear()
    assert find_fault(files, "/f") == ""


def test_every_block_is_verified_where_it_arrives(files: Files, node: FileServer) -> None:
    _write(files, "/f", b"x" * BLOCK)
    node.spoil = 1
    assert _read(files, "/f") == b"x" * BLOCK
    node.spoil = 9
    with pytest.raises(errors.FileCorruptError, match="CRC-32"):
        _read(files, "/f")


def test_the_tree_keeps_its_promises(files: Files, node: FileServer) -> None:
    files.make_directory("/d/e/f", parents=True)
    files.make_directory("/d", exist_ok=True)
    for name in ("b", "a", "ü", "c d"):
        _write(files, f"/d/e/{name}", b"12")
    assert [info.path for info in files.list("/d/e")] == ["/d/e/a", "/d/e/b", "/d/e/c d", "/d/e/f", "/d/e/ü"]
    assert [info.path for info in files.list("//d/./e/a/")] == ["/d/e/a"]
    assert (files.usage("/d").files, files.usage("/d").directories, files.usage("/d").bytes) == (4, 2, 8)
    for error, change in (
        (FileExistsError, lambda: files.make_directory("/d")),
        (FileNotFoundError, lambda: files.make_directory("/x/y")),
        (IsADirectoryError, lambda: files.remove("/d/e", kind="file")),
        (IsADirectoryError, lambda: files.open_reader("/d/e")),
        (NotADirectoryError, lambda: files.remove("/d/e/a", kind="directory")),
        (errors.DirectoryNotEmptyError, lambda: files.remove("/d")),
        (FileExistsError, lambda: files.rename("/d/e/a", "/d/e/b", overwrite=False)),
        (errors.InvalidRequestError, lambda: files.rename("/d", "/d/z")),
        (errors.InvalidRequestError, lambda: files.stat("/a\0b")),
    ):
        with pytest.raises(error):
            change()
    files.rename("/d/e/a", "/d/e/b")
    files.rename("/d/e", "/z")
    assert not files.exists("/d/e")
    assert not files.exists("/z/b/under a file")
    files.remove("/z", recursive=True)
    assert not node.store.blocks
    assert files.stat("/") == FileInfo("/", "directory", 0, files.stat("/").modified, files.stat("/").created, 0)


def test_a_listing_of_many_entries_comes_in_pages(files: Files, node: FileServer) -> None:
    node.store.make_directory("/d", False, False)
    for number in range(2500):
        node.store.make_directory(f"/d/{number:05d}", False, False)
    node.fail_next("ListDirectory", grpc.StatusCode.UNAVAILABLE, "gone")
    assert [info.name for info in files.list("/d")] == [f"{number:05d}" for number in range(2500)]


CHANGES = {
    "MakeDirectory": lambda files: files.make_directory("/d/new", exist_ok=True),
    "RemoveFile": lambda files: files.remove("/d/f"),
    "RenameFile": lambda files: files.rename("/d/f", "/d/g"),
    "BeginWrite": lambda files: _write(files, "/d/new", b"1"),
    "ReserveBlocks": lambda files: _write(files, "/d/new", b"1"),
    "PutBlocks": lambda files: _write(files, "/d/new", bytes(9 * BLOCK)),
    "PublishWrite": lambda files: _write(files, "/d/new", b"1"),
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("method", CHANGES)
def test_a_call_whose_answer_is_lost_happens_once(files: Files, node: FileServer, method: str, after: bool) -> None:
    _write(files, "/d/f", b"f")
    node.fail_next(method, grpc.StatusCode.UNAVAILABLE, "Connection reset", after=after)
    CHANGES[method](files)
    names = {"RemoveFile": [], "RenameFile": ["g"]}
    assert [info.name for info in files.list("/d")] == names.get(method, ["f", "new"])


def test_a_refusal_that_no_lost_answer_explains_is_one(files: Files, node: FileServer) -> None:
    for method, change, error in (
        ("RemoveFile", lambda: files.remove("/d"), errors.DirectoryNotEmptyError),
        ("RenameFile", lambda: files.rename("/none", "/d/g"), errors.StoredFileNotFoundError),
        ("MakeDirectory", lambda: files.make_directory("/d"), errors.StoredFileExistsError),
    ):
        _write(files, "/d/f", b"f")
        node.fail_next(method, grpc.StatusCode.UNAVAILABLE, "Connection reset")
        with pytest.raises(error):
            change()


def test_a_publication_whose_answer_is_lost_is_recognised_as_its_own(files: Files, node: FileServer) -> None:
    writer = files.open_writer("/f")
    writer.write(b"mine")
    _write(files, "/f", b"them")
    node.fail_next("PublishWrite", grpc.StatusCode.UNAVAILABLE, "Connection reset")
    node.fail_next("PublishWrite", grpc.StatusCode.ABORTED, "the writer is held for dead [code=FILE_CHANGED]")
    with pytest.raises(errors.FileChangedError):
        writer.close()


def test_blocks_are_sent_to_other_nodes_when_their_owner_has_terminated(files: Files, node: FileServer) -> None:
    data = random.Random(5).randbytes(40 * BLOCK)
    with FileServer(node.store) as holder:
        with files.open_writer("/f") as writer:
            writer.write(data[: 20 * BLOCK])
            assert holder.calls.count("PutBlocks") > 5
            holder.stop()
            writer.write(data[20 * BLOCK :])
        assert _read(files, "/f") == data
        assert node.calls.count("PutBlocks") + holder.calls.count("PutBlocks") >= 40


def test_a_frozen_holder_costs_its_time_out_once(
    node: FileServer, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc, "_SKIPPED_SECONDS", 600.0)
    files = Files.at((node.address,), timeout=1.0)
    node.store.addresses.append(silent)
    call_once = files._connection._call_once
    called: list[str] = []

    def counted(address: str, *arguments: Any) -> Any:
        called.append(address)
        return call_once(address, *arguments)

    monkeypatch.setattr(files._connection, "_call_once", counted)
    data = random.Random(6).randbytes(30 * BLOCK)
    _write(files, "/f", data)
    # Of its 15 blocks, those that were on their way together.
    assert 1 <= called.count(silent) <= 4
    del called[:]
    assert _read(files, "/f") == data
    assert silent not in called


def test_a_terminated_cluster_is_a_typed_error(silent: str) -> None:
    with FileServer(Store(block_bytes=BLOCK)) as node:
        files = Files.at((node.address,), timeout=2.0)
        _write(files, "/f", bytes(30 * BLOCK))
        reader, writer = files.open_reader("/f"), files.open_writer("/g")
        writer.write(bytes(BLOCK))
        node.stop()
        for call in (
            lambda: reader.read(0, 30 * BLOCK),
            lambda: writer.write(bytes(30 * BLOCK)),
            writer.close,
            lambda: files.stat("/"),
        ):
            with pytest.raises(ConnectionError, match="no node answers"):
                call()
        reader.close()
    with pytest.raises(TimeoutError):
        Files.at((silent,), timeout=0.3).stat("/")


def test_an_idle_writer_is_kept_alive_and_a_lost_one_is_not(files: Files, node: FileServer) -> None:
    node.store.writer_timeout = 0.2
    writer = files.open_writer("/f")
    assert _comes_true(lambda: node.calls.count("ReserveBlocks") >= 3)
    del node.store.writers[writer._extent]
    assert _comes_true(lambda: writer._failure is not None)
    with pytest.raises(errors.FileChangedError, match="held for dead"):
        writer.write(b"x")
    with pytest.raises(errors.FileChangedError):
        writer.close()
    lost = files.open_writer("/g")
    extent = lost._extent
    del lost
    assert _comes_true(lambda: not files._keep_alive._running), f"the thread goes on for {extent}"


def test_files_are_written_without_new_threads_too(
    files: Files, node: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def refused(thread: threading.Thread) -> None:
        if thread.name.startswith("tensorflow-ignite"):
            raise RuntimeError("can't start new thread")
        start(thread)

    node.store.writer_timeout = 0.2
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        early = files.open_writer("/early")
        with files.open_writer("/large", block_bytes=2 << 20) as writer:
            writer.write(bytes(3 << 20))
    assert files.stat("/large").bytes == 3 << 20
    with files.open_writer("/later"):
        assert _comes_true(lambda: node.calls.count("ReserveBlocks") >= 6), "both are kept alive"
    early.close()


def test_a_forked_child_makes_connections_of_its_own(files: Files, node: FileServer) -> None:
    """In a process of its own: what is forked here would have the threads of all tests."""
    script = """
import os, sys, threading
from tensorflow_ignite.storage.files import Files

files = Files.at((sys.argv[1],), timeout=5.0)
with files.open_writer("/parent") as writer:
    writer.write(b"x" * 50_000)
reader, half = files.open_reader("/parent"), files.open_writer("/half")
half.write(b"1" * 10_000)
assert reader.read(0, 20_000) == b"x" * 20_000
ended = threading.Event()
busy = threading.Thread(target=lambda: [files.stat("/parent") for _ in iter(ended.is_set, True)], daemon=True)
busy.start()
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        assert Files.at((sys.argv[1],), timeout=5.0) is files
        assert reader.read(0, 50_000) == b"x" * 50_000
        with files.open_writer(f"/child{number}") as writer:
            writer.write(b"y" * 50_000)
        try:
            half.write(b"2")
        except ValueError as error:
            assert "after the fork" in str(error)
        half.close()
        sys.exit(0)
    children.append(child)
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
ended.set()
busy.join()
assert [info.name for info in files.list("/")] == ["child0", "child1", "child2", "parent"]
half.close()
assert files.stat("/half").bytes == 10_000
"""
    done = subprocess.run(
        [sys.executable, "-c", script, node.address], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(node.store.entries["/child1"].extents) == 1


def test_a_process_that_ends_or_is_killed_with_an_open_writer_does_not_hang(node: FileServer) -> None:
    script = """
import os, signal, sys
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.filesystem import IgniteFileSystem

writer = Files.at((sys.argv[1],)).open_writer("/f")
writer.write(b"x" * 50_000)
file = IgniteFileSystem(sys.argv[1]).open("/g", "wb")
file.write(b"x" * 50_000)
if sys.argv[2] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""
    for how, code in (("end", 0), ("kill", -signal.SIGKILL)):
        done = subprocess.run([sys.executable, "-c", script, node.address, how], timeout=LIMIT, check=False)
        assert done.returncode == code
    assert list(node.store.entries) == ["/"]


def test_a_task_sends_its_token_to_its_own_cluster_only(node: FileServer, monkeypatch) -> None:
    task = SimpleNamespace(
        in_job=True, job_id="7f3a", attempt=2, key=("worker", 1), incarnation=3, node_address=node.address
    )
    monkeypatch.setattr("tensorflow_ignite.task.current", lambda: task)
    own, named = Files.at(None, timeout=4.0), Files.at((node.address,), timeout=4.0)
    assert own.addresses == (node.address,)
    with FileServer() as stranger:
        _write(own, "/own", b"1")
        _write(named, "/named", b"1")
        named.make_directory("/d")
        named.rename("/d", "/e")
        named.remove("/e")
        _write(Files.at((stranger.address,)), "/other", b"1")
        assert {(key.job_id, key.attempt, key.role, key.index, key.incarnation) for key in node.store.tasks} == {
            ("7f3a", 2, job_pb2.ROLE_WORKER, 1, 3)
        }
        assert set(stranger.store.tasks) == {None}


def test_blocks_are_written_and_read_as_protobuf_does() -> None:
    for number in (0, 1, 127, 128, 70_000):
        for data in (b"", b"x" * 127, b"x" * 70_000):
            message = storage_pb2.PutBlocksRequest()
            view = memoryview(data)
            message.ParseFromString(encode_block("ab" * 16, number, (view[:5], view[5:]), len(data), 0xFFFFFFFE))
            assert message == storage_pb2.PutBlocksRequest(
                extent_id="ab" * 16, number=number, data=data, checksum=0xFFFFFFFE
            )
            answer = storage_pb2.ReadBlocksResponse(number=number, data=data, checksum=0xFFFFFFFE).SerializeToString()
            assert decode_block(answer) == (data, 0xFFFFFFFE, 0)
    with_more = answer + b"\x31" + bytes(8) + b"\x3a\x01x"  # fields of a later version
    assert decode_block(with_more) == (data, 0xFFFFFFFE, 0)
    laid = storage_pb2.ReadBlocksResponse(number=3, written_bytes=70_000).SerializeToString()
    assert decode_block(laid) == (b"", 0, 70_000)
    for broken in (answer[:-1], answer[:1000], b"\x12\x05x", b"\x13", b"\xff" * 12):
        with pytest.raises(ValueError, match=r"field|end"):
            decode_block(broken)


def _comes_true(condition) -> bool:
    deadline = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
