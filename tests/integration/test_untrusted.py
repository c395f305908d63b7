"""What no client of ours sends: the node answers with a reason, and goes on.

Promise (security): A request is validated before it uses resources.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import grpc
import psutil
import pyarrow.flight as flight
import pytest
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.v1 import data_pb2, shared_pb2, shared_pb2_grpc, storage_pb2, storage_pb2_grpc

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))
import conditions
import fuzzing
import messages

SECONDS = patiently(120.0)
CONNECTIONS = 1_000


@pytest.fixture
def channel(cluster: LocalCluster) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(cluster.address) as opened:
        yield opened


@pytest.fixture(scope="session")
def fuzzed(cluster: LocalCluster) -> str:
    """The cache that messages for fuzzing speak of."""
    messages.prepare(cluster.address)
    return messages.CACHE


def answers(cluster: LocalCluster) -> bool:
    with tfi.connect(cluster.address) as client:
        return len(client.nodes()) == len(cluster.nodes)


def refused(call: object) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as caught:
        list(call) if isinstance(call, Iterator) else call()  # type: ignore[operator]
    return caught.value


def test_malformed_messages_are_answered_with_a_reason(cluster: LocalCluster, fuzzed: str) -> None:
    summary = fuzzing.fuzz(cluster.address, cluster.nodes[0].process.pid, 1_500, 7)
    assert not summary.unclear, summary
    assert len(summary.answers) > 100
    assert answers(cluster)


@pytest.mark.full
def test_a_message_of_any_length_gets_a_reason_that_fits(cluster: LocalCluster, channel: grpc.Channel) -> None:
    files = storage_pb2_grpc.FileServiceStub(channel)
    long = refused(lambda: files.GetFile(storage_pb2.GetFileRequest(path="é%\n" * 300_000), timeout=SECONDS))
    assert long.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "[code=INVALID_REQUEST]" in long.details()
    too_long = refused(lambda: files.GetFile(storage_pb2.GetFileRequest(path="/" + "x" * (5 << 20)), timeout=SECONDS))
    assert too_long.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "larger than 1,310,720 bytes" in too_long.details()
    raw = channel.unary_unary("/tensorflow_ignite.v1.NodeApiService/GetJob", None, None)
    malformed = refused(lambda: raw(b"\x0a\xff\xff\xff\xff\x07x", timeout=SECONDS))
    assert malformed.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "cannot be read" in malformed.details()


@pytest.mark.full
def test_impossible_numbers_of_blocks_are_not_reserved(channel: grpc.Channel) -> None:
    files = storage_pb2_grpc.FileServiceStub(channel)
    begun = files.BeginWrite(
        storage_pb2.BeginWriteRequest(path="/untrusted", mode=storage_pb2.WRITE_MODE_CREATE), timeout=SECONDS
    )
    error = refused(
        lambda: files.ReserveBlocks(
            storage_pb2.ReserveBlocksRequest(extent_id=begun.extent_id, blocks=2**31 - 1), timeout=SECONDS
        )
    )
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    large = storage_pb2.PutBlocksRequest(extent_id=begun.extent_id, data=b"x" * (5 << 20), checksum=zlib.crc32(b""))
    assert refused(lambda: files.PutBlocks(iter([large]), timeout=SECONDS)).code() is (
        grpc.StatusCode.RESOURCE_EXHAUSTED
    )
    files.AbandonWrite(storage_pb2.AbandonWriteRequest(extent_id=begun.extent_id), timeout=SECONDS)


@pytest.mark.parametrize(
    "where", ["(" * 12 + "id = 1" + ")" * 12, "(" * 16_000, "CASE WHEN " * 50, "f(" * 20 + "id" + ")" * 20]
)
def test_a_condition_that_would_be_read_for_years_is_refused_at_once(
    cluster: LocalCluster, fuzzed: str, where: str
) -> None:
    with pytest.raises(tfi.errors.SqlInvalidError, match="nested"):
        tfi.read_table(fuzzed, where=where, options=tfi.ReadOptions(address=cluster.address))


@pytest.mark.full
def test_conditions_that_make_large_values_are_refused_and_the_node_lives(cluster: LocalCluster, fuzzed: str) -> None:
    with pytest.raises(tfi.errors.SqlInvalidError, match=r"SPACE\(2000000000\) is refused: .* is not allowed"):
        tfi.read_table(fuzzed, where="LENGTH(SPACE(2000000000)) > 0", options=tfi.ReadOptions(address=cluster.address))
    conditions.prepare(cluster.address)
    answered = conditions.fuzz(cluster.address, 200, 7)
    assert not answered.unclear, answered
    assert answers(cluster)


class _Memory:
    """A memfd as readers make them, but without its seal; a node gets its number and nonce."""

    def __init__(self, size: int, *, seal: bool) -> None:
        self.size = size
        self.nonce = os.urandom(32)
        self.fd = os.memfd_create("tensorflow-ignite", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.truncate(self.fd, size)
        os.pwrite(self.fd, self.nonce, 0)
        if seal:
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)

    def requests(self, *sizes: int) -> list[shared_pb2.ReadIntoMemoryRequest]:
        command = data_pb2.ReadCommand(cache=messages.CACHE, partitions=[0])
        opening = shared_pb2.ReadIntoMemoryStart(command=command, pid=os.getpid(), nonce=self.nonce)
        offers = [shared_pb2.Segment(id=1, fd=self.fd, bytes=size) for size in sizes]
        return [
            shared_pb2.ReadIntoMemoryRequest(start=opening),
            *(shared_pb2.ReadIntoMemoryRequest(offer=offer) for offer in offers),
        ]


@pytest.mark.full
def test_a_node_writes_only_into_memory_that_cannot_be_cut_off(cluster: LocalCluster, fuzzed: str) -> None:
    owner = _owner(cluster, fuzzed)
    with grpc.insecure_channel(owner) as channel:
        stub = shared_pb2_grpc.SharedMemoryServiceStub(channel)
        for seal in (True, False):
            memory = _Memory(1 << 20, seal=seal)
            try:
                call = stub.ReadIntoMemory(iter(memory.requests(1 << 20)), timeout=SECONDS)
                if seal:
                    assert sum(answer.batch.rows for answer in call) > 0
                else:
                    error = refused(iter(call))
                    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
                    assert "not sealed against shrinking" in error.details()
            finally:
                os.close(memory.fd)


@pytest.mark.full
def test_a_segment_offered_as_larger_than_it_is_is_refused(cluster: LocalCluster, fuzzed: str) -> None:
    with grpc.insecure_channel(_owner(cluster, fuzzed)) as channel:
        stub = shared_pb2_grpc.SharedMemoryServiceStub(channel)
        memory = _Memory(64, seal=True)
        try:
            # The rows need more than 64 bytes; the same memory comes again, and is said to have them.
            error = refused(iter(stub.ReadIntoMemory(iter(memory.requests(64, 1 << 20)), timeout=SECONDS)))
        finally:
            os.close(memory.fd)
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "has offered it with 64 bytes before" in error.details()
    assert answers(cluster)


@pytest.mark.full
def test_blocks_are_taken_from_and_laid_into_memory_that_is_shared_and_nowhere_else(cluster: LocalCluster) -> None:
    address = cluster.address

    def sharing(memory: _Memory) -> storage_pb2.ShareMemoryRequest:
        return storage_pb2.ShareMemoryRequest(pid=os.getpid(), fd=memory.fd, bytes=memory.size, nonce=memory.nonce)

    own_connection = (("grpc.use_local_subchannel_pool", 1),)
    with grpc.insecure_channel(address) as channel, grpc.insecure_channel(address, own_connection) as other:
        files, memories = storage_pb2_grpc.FileServiceStub(channel), storage_pb2_grpc.BlockMemoryServiceStub(channel)
        shared, unsealed = _Memory(1 << 20, seal=True), _Memory(1 << 20, seal=False)
        try:
            error = refused(lambda: memories.ShareMemory(sharing(unsealed), timeout=SECONDS))
            assert "not sealed against shrinking" in error.details()
            short = sharing(shared)
            short.nonce = b"short"
            assert "has 5 bytes" in refused(lambda: memories.ShareMemory(short, timeout=SECONDS)).details()
            name = memories.ShareMemory(sharing(shared), timeout=SECONDS).memory
        finally:
            os.close(unsealed.fd)
        begun = files.BeginWrite(
            storage_pb2.BeginWriteRequest(path="/shared", mode=storage_pb2.WRITE_MODE_REPLACE), timeout=SECONDS
        )
        files.ReserveBlocks(storage_pb2.ReserveBlocksRequest(extent_id=begun.extent_id, blocks=1), timeout=SECONDS)

        def put(memory: bytes, offset: int, count: int) -> None:
            place = storage_pb2.MemoryRange(memory=memory, offset=offset, bytes=count)
            request = storage_pb2.PutBlocksRequest(extent_id=begun.extent_id, number=0, range=place)
            files.PutBlocks(iter([request]), timeout=SECONDS)

        def read(memory: bytes, offset: int, count: int) -> int:
            place = storage_pb2.MemoryRange(memory=memory, offset=offset, bytes=count)
            request = storage_pb2.ReadBlocksRequest(extent_id=begun.extent_id, numbers=[0], range=place)
            return next(files.ReadBlocks(request, timeout=SECONDS)).written_bytes

        os.pwrite(shared.fd, b"block" * 100, 4096)
        put(name, 4096, 500)
        assert read(name, (1 << 20) - 500, 500) == 500
        assert os.pread(shared.fd, 500, (1 << 20) - 500) == b"block" * 100
        for use in (put, read):
            for offset, count in ((1 << 20, 500), (-1, 500), ((1 << 20) - 499, 500), (2**62, 500)):
                error = refused(lambda use=use, offset=offset, count=count: use(name, offset, count))
                assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
                assert "not inside the shared memory" in error.details()
            assert "is not shared with this node" in refused(lambda use=use: use(b"x" * 16, 0, 500)).details()
        assert "do not fit into the 499 bytes" in refused(lambda: read(name, 0, 499)).details()
        # What one connection shares, another one neither ends nor keeps.
        storage_pb2_grpc.BlockMemoryServiceStub(other).UnshareMemory(
            storage_pb2.UnshareMemoryRequest(memory=name), timeout=SECONDS
        )
        assert read(name, 0, 500) == 500
        memories.UnshareMemory(storage_pb2.UnshareMemoryRequest(memory=name), timeout=SECONDS)
        assert "is not shared with this node" in refused(lambda: read(name, 0, 500)).details()
        os.close(shared.fd)
        files.AbandonWrite(storage_pb2.AbandonWriteRequest(extent_id=begun.extent_id), timeout=SECONDS)
    assert answers(cluster)


def _owner(cluster: LocalCluster, cache: str) -> str:
    """The node that partition 0 is primary on."""
    command = data_pb2.ReadCommand(cache=cache, partitions=[0])
    with flight.FlightClient(f"grpc://{cluster.address}") as client:
        info = client.get_flight_info(flight.FlightDescriptor.for_command(command.SerializeToString()))
    return str(info.endpoints[0].locations[0].uri.decode().partition("://")[2])


@pytest.mark.full
def test_a_thousand_connections_to_ignites_thin_port_leave_the_node_running(cluster: LocalCluster) -> None:
    node = psutil.Process(cluster.nodes[-1].process.pid)
    listening = [each.laddr for each in node.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
    (port,) = [address.port for address in listening if 10800 <= address.port < 10900]
    before = node.num_fds()
    opened = [socket.create_connection(("127.0.0.1", port), timeout=SECONDS) for _ in range(CONNECTIONS)]
    try:
        for connection in opened:
            connection.sendall(b"\1")
        # Ignite ends connections whose handshake does not come, after 10 s; by then it has served all of them.
        for connection in opened:
            connection.settimeout(SECONDS)
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""
    finally:
        for connection in opened:
            connection.close()
    await_true(lambda: node.num_fds() <= before + 20, "the node still holds connections", SECONDS)
    assert answers(cluster)


@pytest.mark.full
def test_a_silent_connection_is_closed(cluster: LocalCluster) -> None:
    host, port = cluster.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
        received = b""
        while data := connection.recv(4_096):
            received += data
        # The node's settings, and a farewell; not nothing forever.
        assert len(received) < 1_000
