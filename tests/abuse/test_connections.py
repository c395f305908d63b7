"""Connections and calls that nobody should make."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator

import grpc
import pytest
from arena import CACHE, MIB, SECONDS, Arena
from half_sent import HalfSentRequests
from streams import OWN_CONNECTION, endpoints, unread
from usage import ports
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing.leaks import marked_processes
from tensorflow_ignite.v1 import job_pb2, job_pb2_grpc, tcp_pb2, tcp_pb2_grpc

CONNECTIONS = 1_000
# More than a node takes of one method.
CALLS = 2_000
# For that long a request may stand still without losing its memory to others.
STANDSTILL_SECONDS = 5.0


def rows_ports(arena: Arena) -> dict[str, int]:
    """Of each node, by its address: the port over which it sends rows."""
    found = {}
    for address, command in endpoints(arena.address, CACHE):
        with grpc.insecure_channel(address, OWN_CONNECTION) as channel:
            call = tcp_pb2_grpc.TcpRowsServiceStub(channel).ReadOverTcp(tcp_pb2.ReadOverTcpRequest(command=command))
            found[address] = next(call).connection.port
            call.cancel()
    return found


def others_are_served(arena: Arena) -> None:
    assert tfi.read_table(CACHE, options=tfi.ReadOptions(address=arena.address)).num_rows > 0
    with tfi.connect(arena.address) as client:
        assert len(client.nodes()) == len(arena.addresses)


@contextlib.contextmanager
def silent_connections(port: int) -> Iterator[None]:
    """A thousand connections that say one byte; those that are refused or closed do not matter."""
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS):
            with contextlib.suppress(ConnectionError):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=SECONDS))
                connection.sendall(b"\0")
        yield


@pytest.mark.parametrize("whose", ["node", "agent"])
def test_a_thousand_connections_of_one_byte_block_nobody_else(arena: Arena, whose: str) -> None:
    agents = [process.pid for process in marked_processes(arena.cluster.directory) if ".agent" in process.command]
    listening = {
        "node": [int(arena.address.rpartition(":")[2])],
        "agent": [port for agent in agents[:1] for port in ports(agent)],
    }
    for port in listening[whose]:
        with silent_connections(port):
            others_are_served(arena)


def test_readers_over_tcp_are_served_beside_silent_connections(arena: Arena) -> None:
    with silent_connections(rows_ports(arena)[arena.address]):
        assert tfi.read_table(CACHE, options=tfi.ReadOptions(transport="tcp", address=arena.address)).num_rows > 0
        arena.victim.check()


@pytest.fixture
def channel(arena: Arena) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(arena.address, OWN_CONNECTION) as opened:
        yield opened


def test_unknown_methods_and_giant_headers_are_refused(arena: Arena, channel: grpc.Channel) -> None:
    for method in ("/x/y", "/tensorflow_ignite.v1.NodeApiService/Shutdown", "/" + "x" * 4_000 + "/y"):
        with pytest.raises(grpc.RpcError) as unknown:
            channel.unary_unary(method, None, None)(b"", timeout=SECONDS)
        assert unknown.value.code() is grpc.StatusCode.UNIMPLEMENTED
    stub = job_pb2_grpc.NodeApiServiceStub(channel)
    # The node closes the connection of the second; the client may notice that before it has read why.
    for size, reason in (
        (8_000, "431"),
        (1_000_000, "Header size exceeded max allowed size|Stream removed|Connection reset|Broken pipe|Socket closed"),
    ):
        with pytest.raises(grpc.RpcError, match=reason):
            stub.ListNodes(job_pb2.ListNodesRequest(), metadata=[("x-large", "x" * size)], timeout=SECONDS)
    assert stub.ListNodes(job_pb2.ListNodesRequest(), timeout=SECONDS, wait_for_ready=True).nodes


@pytest.mark.parametrize("method", ["WatchJob", "StreamLogs"])
def test_thousands_of_watchers_leave_room_for_others(arena: Arena, method: str) -> None:
    requests = {
        "WatchJob": job_pb2.WatchJobRequest(job_id=arena.victim.job_id),
        "StreamLogs": job_pb2.StreamLogsRequest(job_id=arena.victim.job_id, follow=True),
    }

    def watch(channel: grpc.Channel) -> grpc.Call:
        return getattr(job_pb2_grpc.NodeApiServiceStub(channel), method)(requests[method])

    with unread(arena.address, watch, CALLS) as calls:
        await_true(lambda: any(not call.is_active() for call in calls), "no call is refused", SECONDS)
        refused = [call.details() for call in calls if not call.is_active()]
        assert all(f"running calls of tensorflow_ignite.v1.NodeApiService/{method}" in reason for reason in refused)
        assert all("Try again later, or call another node. [code=LIMIT_EXCEEDED]" in reason for reason in refused)
        others_are_served(arena)
        arena.victim.check()


def test_a_batch_that_is_too_large_ends_no_other_call_of_its_connection(arena: Arena) -> None:
    options = (*OWN_CONNECTION, ("grpc.max_send_message_length", -1))
    for _ in range(8):
        with grpc.insecure_channel(arena.address, options) as channel:
            stub = job_pb2_grpc.NodeApiServiceStub(channel)
            watch = stub.WatchJob(job_pb2.WatchJobRequest(job_id=arena.victim.job_id), timeout=SECONDS)
            next(watch)
            put = channel.stream_stream("/arrow.flight.protocol.FlightService/DoPut")(iter([bytes(140 * MIB)]))
            with pytest.raises(grpc.RpcError) as refused:
                list(put)
            assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            # The next answer over this connection.
            assert stub.ListNodes(job_pb2.ListNodesRequest(), timeout=SECONDS).nodes
            assert watch.is_active(), watch.details()
            watch.cancel()


def test_hundreds_of_blocks_of_which_the_end_is_missing(arena: Arena) -> None:
    """Together 400 MiB, for nodes with a heap of 512 MiB."""
    content = os.urandom(8 * MIB)
    files = Files.at(arena.addresses)
    with HalfSentRequests(arena.address, "/tensorflow_ignite.v1.FileService/PutBlocks", 100, 4 * MIB) as requests:
        requests.send()
        # Before, a request that needs their memory is refused.
        time.sleep(STANDSTILL_SECONDS)
        with files.open_writer("/beside") as writer:
            writer.write(content)
        with files.open_reader("/beside") as reader:
            assert bytes(reader.read(0, len(content))) == content
        with arena.cache("beside"):
            assert tfi.load("beside", {"value": [content]}, address=arena.address) == 1
        with tfi.connect(arena.address) as client:
            assert len(client.nodes()) == len(arena.addresses)
        arena.victim.check()
        requests.receive(0)
        assert requests.reset > 0
    files.remove("/beside")
