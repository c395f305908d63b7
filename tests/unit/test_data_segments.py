"""Shared memory of a reading process: what it is, who keeps it, and what is left of it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import mmap
import os
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport import segments
from tensorflow_ignite.data.transport.batches import record_batch
from tensorflow_ignite.data.transport.segments import Lease, SegmentPool, copy
from tensorflow_ignite.memory import NAME, Segment
from tensorflow_ignite.v1 import data_pb2

SIZE = 16 * mmap.PAGESIZE


def mappings() -> int:
    return Path("/proc/self/maps").read_text().count(f"/memfd:{NAME}")


def descriptors() -> int:
    links = []
    for entry in os.scandir("/proc/self/fd"):
        # The descriptor of the scan itself is not there any more.
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(entry.path))
    return sum(link.startswith(f"/memfd:{NAME}") for link in links)


@pytest.fixture(autouse=True)
def _leaves_no_memory() -> Iterator[None]:
    before = mappings(), descriptors()
    yield
    gc.collect()
    assert (mappings(), descriptors()) == before


@pytest.fixture
def pool() -> Iterator[SegmentPool]:
    made = SegmentPool(warm_bytes=3 * SIZE, warm_seconds=60)
    yield made
    made.clear()


def test_a_segment_is_found_by_its_descriptor_and_cannot_be_cut_off() -> None:
    segment = Segment(SIZE)
    assert os.readlink(f"/proc/self/fd/{segment.fd}") == f"/memfd:{NAME} (deleted)"
    assert fcntl.fcntl(segment.fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK
    with pytest.raises(PermissionError):
        os.ftruncate(segment.fd, 0)
    # Its memory is allocated when it is made.
    assert os.fstat(segment.fd).st_blocks * 512 == SIZE
    assert segment.address % mmap.PAGESIZE == 0
    segment.write(b"here")
    with open(f"/proc/self/fd/{segment.fd}", "rb") as seen:
        assert seen.read(4) == b"here"


@pytest.mark.parametrize("full", [True, False], ids=["full machine", "platform without memfd"])
def test_a_segment_that_cannot_be_made_is_an_error(monkeypatch: pytest.MonkeyPatch, full: bool) -> None:
    def allocate(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if full:
        monkeypatch.setattr(os, "posix_fallocate", allocate)
    else:
        monkeypatch.delattr(os, "memfd_create")
    text = f"the machine has no {SIZE} bytes left" if full else "no memfd"
    with pytest.raises(errors.SharingUnavailableError, match=text):
        Segment(SIZE)


def test_a_segment_without_descriptor_lives_as_long_as_its_users() -> None:
    segment = Segment(SIZE)
    segment.write(b"kept")
    memory = Lease(segment, lambda _: None).buffer()
    segment.close_fd()
    del segment
    assert (mappings(), descriptors()) == (1, 0)
    assert memory.slice(0, 4).to_pybytes() == b"kept"


def test_trimmed_segments_are_freed_and_the_rest_stays() -> None:
    segment = Segment(SIZE)
    segment.write(b"x" * (mmap.PAGESIZE + 1))
    segment.trim(mmap.PAGESIZE + 1)
    assert os.fstat(segment.fd).st_blocks * 512 == 2 * mmap.PAGESIZE
    assert Lease(segment, lambda _: None).buffer().slice(mmap.PAGESIZE, 1).to_pybytes() == b"x"


def test_a_lease_ends_with_the_last_view_of_an_array_over_it() -> None:
    ended: list[Segment] = []
    segment = Segment(SIZE)
    batch = record_batch(
        data_pb2.BatchLayout(
            rows=4,
            nodes=[data_pb2.BatchNode(length=4)],
            buffers=[data_pb2.BatchBuffer(), data_pb2.BatchBuffer(offset=64, bytes=32)],
        ),
        pa.schema([pa.field("x", pa.int64(), nullable=False)]),
        Lease(segment, ended.append).buffer(),
    )
    values = batch.column(0).to_numpy(zero_copy_only=True)
    del batch
    part = values.reshape(2, 2)[1:, :1]
    assert values.ctypes.data == segment.address + 64
    del values
    gc.collect()
    assert not ended
    del part
    gc.collect()
    assert ended == [segment]


def test_batches_of_nested_columns_are_at_the_positions_of_the_answer() -> None:
    table = pa.table(
        {
            "list": pa.array([[1, 2], [], [3]], pa.list_(pa.int32())),
            "struct": pa.array([{"a": 1.5, "b": "x"}, {"a": 2.5, "b": "yy"}, None]),
            "map": pa.array([[("k", 1)], [], [("l", 2), ("m", 3)]], pa.map_(pa.string(), pa.int64())),
            "fixed": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.uint8(), 2)),
            "flag": pa.array([True, None, False]),
            # Their values have no byte.
            "void": pa.array(["", "", ""]),
            "voids": pa.array([[], [], []], pa.list_(pa.binary())),
        }
    )
    (batch,) = table.to_batches()
    segment = Segment(SIZE)
    answer = data_pb2.BatchLayout(rows=3)
    end = 0

    def lay(array: pa.Array) -> None:
        nonlocal end
        answer.nodes.add(length=len(array), nulls=array.null_count)
        for buffer in array.buffers()[: array.type.num_buffers]:
            if buffer is None:
                answer.buffers.add()
            else:
                os.pwrite(segment.fd, buffer.to_pybytes(), end)
                answer.buffers.add(offset=end, bytes=buffer.size)
                end += -(-buffer.size // 64) * 64
        kind = array.type
        if pa.types.is_struct(kind):
            for index in range(kind.num_fields):
                lay(array.field(index))
        elif pa.types.is_map(kind):
            lay(pa.StructArray.from_arrays([array.keys, array.items], fields=list(kind.field(0).type)))
        elif kind.num_fields:
            lay(array.values)

    for column in batch.columns:
        lay(column)
    read = record_batch(answer, batch.schema, Lease(segment, lambda _: None).buffer())
    read.validate(full=True)
    assert read.equals(batch)


def test_a_copy_is_aligned_and_keeps_no_lease() -> None:
    ended: list[Segment] = []
    segment = Segment(SIZE)
    segment.write(b"abc")
    taken = copy(Lease(segment, ended.append).buffer(), 3)
    assert ended == [segment]
    assert taken.address % 64 == 0
    segment.write(b"xyz")
    assert taken.to_pybytes() == b"abc"


def test_between_streams_a_bounded_number_of_segments_stays_warm(pool: SegmentPool) -> None:
    pool.keep_warm()
    given = [Segment(SIZE) for _ in range(4)]
    addresses = [segment.address for segment in given]
    while given:
        pool.put_back(given.pop(0))
    assert pool.idle_bytes() == 3 * SIZE
    # The first made room.
    assert pool.take(SIZE).address == addresses[1]
    assert pool.take(2 * SIZE).size == 2 * SIZE


def test_streams_of_different_segments_share_the_warm_memory(pool: SegmentPool) -> None:
    small, large = Segment(SIZE), Segment(2 * SIZE)
    addresses = {small.address: "small", large.address: "large"}
    pool.keep_warm()
    pool.put_back(large)
    pool.put_back(small)
    del small, large
    # The smallest that is large enough; a larger one serves as well.
    taken = [pool.take(SIZE // 2), pool.take(SIZE)]
    assert [addresses[taken[index].address] for index in range(2)] == ["small", "large"]
    pool.put_back(taken.pop(0))
    # The last segment is used next, so the first one makes room.
    pool.put_back(Segment(3 * SIZE))
    assert pool.idle_bytes() == 3 * SIZE
    assert pool.take(SIZE).size == 3 * SIZE


def test_a_segment_returned_long_after_its_stream_is_freed(pool: SegmentPool) -> None:
    segment = Segment(SIZE)
    gone = weakref.ref(segment)
    pool.put_back(segment)
    del segment
    assert gone() is None
    assert pool.idle_bytes() == 0


def test_warm_segments_are_freed_when_no_stream_reads() -> None:
    pool = SegmentPool(warm_seconds=0.05)
    pool.keep_warm()
    segment = Segment(SIZE)
    gone = threading.Event()
    weakref.finalize(segment, gone.set)
    pool.put_back(segment)
    del segment
    assert gone.wait(10)


def test_a_forked_child_uses_none_of_its_parents_segments() -> None:
    pool = segments.pool()
    pool.keep_warm()
    pool.put_back(Segment(SIZE))
    try:
        child = os.fork()
        if child == 0:
            # No assert may escape into the parent's test run.
            os._exit(0 if segments.pool().idle_bytes() == 0 and (mappings(), descriptors()) == (0, 0) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert pool.idle_bytes() == SIZE
    finally:
        pool.clear()
