"""Promises of memory that this process shares with nodes of its host for blocks of files."""

from __future__ import annotations

import gc
import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_server import FileServer, Store

from tensorflow_ignite.storage import memory
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.storage.memory import MAX_RANGES, MIN_BYTES

BLOCK = MIN_BYTES


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine loses no memory: it is released by the end of a test, and a node has time to share it."""
    monkeypatch.setattr(memory, "IDLE_SECONDS", 60.0)
    monkeypatch.setattr(memory, "_SECONDS_TO_SHARE", 20.0)


@pytest.fixture
def node() -> Iterator[FileServer]:
    with FileServer(Store(block_bytes=BLOCK)) as server:
        yield server


@pytest.fixture
def files(node: FileServer) -> Iterator[Files]:
    # A node that does not answer within the timeout, on a busy machine, sends blocks in messages.
    made = Files.at((node.address,), timeout=20.0)
    yield made
    made._memory.clear()


def mappings() -> int:
    """Segments of shared memory that this process maps; the node's are in it, too."""
    return Path("/proc/self/maps").read_text().count("/memfd:tensorflow-ignite")


def write(files: Files, data: bytes, path: str = "/f") -> None:
    with files.open_writer(path) as writer:
        writer.write(data)


def read(files: Files, path: str = "/f") -> bytes:
    with files.open_reader(path) as reader:
        return reader.read(0, reader.bytes)


def test_blocks_of_a_node_on_this_host_travel_in_shared_memory(files: Files, node: FileServer) -> None:
    data = random.Random(1).randbytes(9 * BLOCK + 77)
    write(files, data)
    assert read(files) == data
    assert node.sent == 77, "only the end is too short to be worth a place"
    assert len(node.memories) == 1


def test_a_part_of_a_block_comes_in_shared_memory(files: Files, node: FileServer) -> None:
    node.store.block_bytes = 4 * BLOCK
    data = random.Random(2).randbytes(8 * BLOCK)
    write(files, data)
    with files.open_reader("/f") as reader:
        assert reader.read(5 * BLOCK, 2 * BLOCK) == data[5 * BLOCK : 7 * BLOCK]
    assert node.sent == 0


@pytest.mark.parametrize("whose", ["node", "platform"])
def test_blocks_travel_in_messages_where_memory_cannot_be_shared(
    files: Files, node: FileServer, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    if whose == "platform":
        monkeypatch.delattr(os, "memfd_create")
    node.shares = whose != "node"
    data = random.Random(3).randbytes(5 * BLOCK)
    write(files, data)
    assert read(files) == data
    assert node.sent == len(data)
    # A node would refuse again.
    assert node.calls.count("ShareMemory") == (whose == "node")


def test_memory_is_registered_again_with_a_node_that_has_forgotten_it(files: Files, node: FileServer) -> None:
    data = random.Random(4).randbytes(5 * BLOCK)
    write(files, data)
    node.memories.clear()
    assert read(files) == data
    before = node.sent
    assert read(files) == data
    assert node.sent == before, "shared again"


def test_more_blocks_than_there_are_places_travel_in_messages(files: Files, node: FileServer) -> None:
    connection, shared = files._connection, files._memory
    places = [shared.allocate(node.address, BLOCK) for _ in range(MAX_RANGES)]
    assert all(places)
    assert shared.allocate(node.address, BLOCK) is None
    data = random.Random(5).randbytes(3 * BLOCK)
    write(files, data)
    assert read(files) == data
    assert node.sent == len(data)
    assert not connection.skips(node.address)


def test_a_range_is_free_when_its_last_view_is_collected(files: Files, node: FileServer) -> None:
    shared = files._memory
    range_ = shared.allocate(node.address, BLOCK)
    assert range_ is not None
    views = [range_.view[:10], memoryview(range_.view)]
    offset = range_.message.offset
    del range_
    taken = [shared.allocate(node.address, BLOCK) for _ in range(MAX_RANGES)]
    assert sum(other is not None for other in taken) == MAX_RANGES - 1
    del views
    gc.collect()
    again = shared.allocate(node.address, BLOCK)
    assert again is not None
    assert again.message.offset == offset


def test_memory_whose_node_did_not_answer_is_not_written_again(
    files: Files, node: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tensorflow_ignite.net.rpc._SKIPPED_SECONDS", 0.0)
    call_once = files._connection.call_once

    def call_shortly(address: str, method: str, request: object, timeout: float = 1.0) -> object:
        return call_once(address, method, request, timeout)

    # Memory that is retired gives up its timer only when that has run out.
    monkeypatch.setattr(memory, "IDLE_SECONDS", 0.5)
    # Only what names a range; other calls have all the time that a busy machine needs.
    monkeypatch.setattr(files._connection, "call_once", call_shortly)
    let = threading.Event()
    late: list[bytes] = []
    first = True

    def on_put(extent: str, number: int) -> None:
        nonlocal first
        if first:
            first = False
            let.wait(10)

    node.on_put = on_put
    data = random.Random(6).randbytes(BLOCK)
    write(files, data, "/a")  # the first time is not answered within a second, so it goes in a message
    old = dict(node.memories)
    for number in range(2 * MAX_RANGES):
        write(files, random.Random(number).randbytes(BLOCK), "/b")
    late = [bytes(memory[4096 : 4096 + BLOCK]) for memory in old.values()]
    let.set()
    assert data in late, "the node that comes late finds what it was sent for"
    assert read(files, "/a") == data


def test_memory_of_a_call_that_was_interrupted_is_not_used_again(
    files: Files, node: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Memory that is retired gives up its timer only when that has run out.
    monkeypatch.setattr(memory, "IDLE_SECONDS", 0.5)
    write(files, bytes(3 * BLOCK))
    first = set(node.memories)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with files.open_reader("/f") as reader:
        with monkeypatch.context() as patched:
            patched.setattr(files._connection, "call_once", interrupted)
            with pytest.raises(KeyboardInterrupt):
                reader.read(BLOCK, BLOCK)
        assert reader.read(BLOCK, BLOCK) == bytes(BLOCK)
    assert set(node.memories).isdisjoint(first)


def test_memory_that_is_not_used_is_released(files: Files, node: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "IDLE_SECONDS", 0.2)
    before = mappings()
    write(files, bytes(2 * BLOCK))
    # A busy machine may have released it already.
    shared = node.calls.count("ShareMemory")
    assert shared
    deadline = time.monotonic() + 60
    while node.memories or mappings() > before:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert read(files) == bytes(2 * BLOCK)
    assert node.calls.count("ShareMemory") > shared


def test_a_forked_child_has_memory_of_its_own(files: Files, node: FileServer) -> None:
    data = random.Random(8).randbytes(4 * BLOCK)
    write(files, data)
    child = os.fork()
    if child == 0:
        try:
            right = read(files) == data and files._memory._memory is not None
        except BaseException:
            right = False
        os._exit(0 if right else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert read(files) == data
    assert len(node.memories) == 2


def test_several_threads_share_the_memory(files: Files, node: FileServer) -> None:
    data = {f"/{number}": random.Random(number).randbytes(6 * BLOCK + number) for number in range(6)}
    wrong: list[str] = []

    def run(path: str) -> None:
        for _ in range(3):
            write(files, data[path], path)
            if read(files, path) != data[path]:
                wrong.append(path)

    threads = [threading.Thread(target=run, args=(path,)) for path in data]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    assert len(node.memories) == 1
