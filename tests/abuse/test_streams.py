"""Readers that do not read."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import grpc
import numpy as np
import pytest
from arena import MIB, SECONDS, Arena
from google.protobuf.wrappers_pb2 import BytesValue
from streams import OWN_CONNECTION, endpoints, unread

import tensorflow_ignite as tfi
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.v1 import shared_pb2, shared_pb2_grpc, storage_pb2, storage_pb2_grpc, tcp_pb2, tcp_pb2_grpc

BYTES = 16 * MIB
BLOCK = 2 * MIB
# Python accepts 4 MiB otherwise.
LARGE = (*OWN_CONNECTION, ("grpc.max_receive_message_length", -1))


@pytest.fixture(scope="module")
def rows(arena: Arena) -> Iterator[str]:
    """A cache of 16 MiB, much more than a connection holds."""
    with arena.cache("unread"):
        tfi.load("unread", {"value": np.zeros((BYTES >> 13, 1 << 10))}, partitions=4, address=arena.address)
        yield "unread"


def others_are_served(arena: Arena, cache: str) -> None:
    """The victim, and who comes now, over each way."""
    arena.victim.check()
    for transport in ("tcp", "flight"):
        assert (
            tfi.read_table(cache, options=tfi.ReadOptions(transport=transport, address=arena.address)).num_rows
            == BYTES >> 13
        )


def test_a_thousand_flight_streams_that_nobody_reads(arena: Arena, rows: str) -> None:
    address, command = endpoints(arena.address, rows)[0]
    # Encoded as Flight's Ticket is: one field of bytes, with the number 1.
    message = BytesValue(value=command.SerializeToString()).SerializeToString()

    def read(channel: grpc.Channel) -> grpc.Call:
        return channel.unary_stream("/arrow.flight.protocol.FlightService/DoGet", None, None)(message)

    with unread(address, read, 1_000):
        others_are_served(arena, rows)


def test_a_thousand_tcp_streams_that_nobody_reads(arena: Arena, rows: str) -> None:
    address, command = endpoints(arena.address, rows)[0]
    with contextlib.ExitStack() as stack:

        def read(channel: grpc.Channel) -> grpc.Call:
            call = tcp_pb2_grpc.TcpRowsServiceStub(channel).ReadOverTcp(tcp_pb2.ReadOverTcpRequest(command=command))
            connection = next(call).connection
            stream = stack.enter_context(
                socket.create_connection((address.partition(":")[0], connection.port), timeout=SECONDS)
            )
            stream.sendall(connection.token)
            return call

        with unread(address, read, 1_000):
            others_are_served(arena, rows)


def test_hundreds_of_streams_into_memory_that_nobody_offers(arena: Arena, rows: str) -> None:
    address, command = endpoints(arena.address, rows)[0]
    start = shared_pb2.ReadIntoMemoryStart(command=command, pid=os.getpid(), nonce=os.urandom(32))
    end = threading.Event()

    def requests() -> Iterator[shared_pb2.ReadIntoMemoryRequest]:
        yield shared_pb2.ReadIntoMemoryRequest(start=start)
        end.wait()

    def read(channel: grpc.Channel) -> grpc.Call:
        return shared_pb2_grpc.SharedMemoryServiceStub(channel).ReadIntoMemory(requests())

    with unread(address, read, 500):
        try:
            others_are_served(arena, rows)
        finally:
            end.set()


def test_a_thousand_streams_of_blocks_that_nobody_reads(arena: Arena) -> None:
    files = Files.at(arena.addresses)
    content = os.urandom(4 * BLOCK)
    with files.open_writer("/unread") as writer:
        writer.write(content)
    with grpc.insecure_channel(arena.address, LARGE) as channel:
        stub = storage_pb2_grpc.FileServiceStub(channel)
        extent = stub.GetFile(storage_pb2.GetFileRequest(path="/unread")).file.extents[0]
        request = storage_pb2.ReadBlocksRequest(extent_id=extent.id, numbers=range(4))
        with unread(arena.address, lambda opened: storage_pb2_grpc.FileServiceStub(opened).ReadBlocks(request), 1_000):
            arena.victim.check()
            for address in arena.addresses:
                with files.open_reader("/unread") as reader, tfi.connect(address) as client:
                    assert bytes(reader.read(0, len(content))) == content
                    assert len(client.nodes()) == len(arena.addresses)
            # Over the connection, and not in memory that is shared with the node.
            assert b"".join(block.data for block in stub.ReadBlocks(request, timeout=SECONDS)) == content
    files.remove("/unread")


_READER = """
import sys
from tensorflow_ignite.data.plan import make_plan
from tensorflow_ignite.data.options import ReadOptions, RowArguments
from tensorflow_ignite.data.request import make_request
from tensorflow_ignite.data.transport.choice import open_stream

options = ReadOptions(address=sys.argv[1], batch_bytes=1 << 20)
request = make_request(RowArguments(sys.argv[2], options=options))
plan = make_plan(request)
streams = [iter(open_stream(endpoint, plan.subject, transport=sys.argv[3])) for endpoint in plan.endpoints]
for stream in streams:
    next(stream)
print("reading", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("transport", ["shared", "tcp", "flight"])
def test_a_reader_that_freezes_amid_its_streams(arena: Arena, rows: str, transport: str) -> None:
    reader = subprocess.Popen(
        [sys.executable, "-c", _READER, arena.address, rows, transport],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        reader.send_signal(signal.SIGSTOP)
        try:
            others_are_served(arena, rows)
        finally:
            reader.kill()
