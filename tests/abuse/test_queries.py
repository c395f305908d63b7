"""Conditions that take minutes."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from arena import SECONDS, Arena
from google.protobuf.wrappers_pb2 import BytesValue
from streams import OWN_CONNECTION
from thin_client import thin_client
from waiting import await_true

import tensorflow_ignite as tfi
from local_nodes import read_at
from tensorflow_ignite import errors
from tensorflow_ignite.v1 import data_pb2

CALLERS = 8
LEAVING = 200
ROWS = 10_000
TEXT = "a" * 300
# Four million steps for each row. H2 looks whether a query is cancelled at every 128th row.
WHERE = "value LIKE '%a%a%b'"
_CALLERS = {
    "read": """
import sys, tensorflow_ignite as tfi

address, cache, where = sys.argv[1:]
tfi.read_table(cache, where=where, options=tfi.ReadOptions(address=address))
""",
    "dataset": """
import sys, tensorflow_ignite as tfi

address, cache, where = sys.argv[1:]
tfi.dataset(cache, where=where, options=tfi.ReadOptions(address=address))
""",
    "count": """
import sys, pyarrow.flight as flight
from tensorflow_ignite.v1 import data_pb2

address, cache, where = sys.argv[1:]
command = data_pb2.ReadCommand(cache=cache, where=where).SerializeToString()
flight.FlightClient(f"grpc://{address}").get_flight_info(flight.FlightDescriptor.for_command(command))
""",
}


def running_queries(arena: Arena) -> int:
    """Queries that the nodes run, without the ones that ask."""
    found = 0
    for node in arena.cluster.nodes:
        with thin_client(node.pid) as client:
            query = "SELECT COUNT(*) FROM SYS.SQL_QUERIES WHERE SQL NOT LIKE '%SQL_QUERIES%'"
            found += sum(int(row[0]) for row in client.sql(query, schema="SYS"))
    return found


@pytest.fixture
def slow(arena: Arena) -> Iterator[str]:
    with arena.cache("slow"):
        tfi.load("slow", {"value": [TEXT] * ROWS}, address=arena.address)
        yield "slow"


@contextlib.contextmanager
def slow_callers(arena: Arena, slow: str, purpose: str) -> Iterator[None]:
    """Callers whose conditions take minutes, until the end of the context."""
    command = [sys.executable, "-c", _CALLERS[purpose], arena.address, slow, WHERE]
    callers = [subprocess.Popen(command) for _ in range(CALLERS)]
    try:
        await_true(lambda: running_queries(arena) >= 1, "no query runs", SECONDS)
        yield
        assert all(caller.poll() is None for caller in callers)
    finally:
        for caller in callers:
            caller.kill()
            caller.wait()
    await_true(lambda: running_queries(arena) == 0, "queries run without their callers", SECONDS)
    # Those that waited for their turns have left too.
    assert tfi.read_table(slow, where="value = 'b'", options=read_at(arena)).num_rows == 0


@pytest.mark.parametrize("purpose", ["read", "count"])
def test_conditions_that_take_minutes_block_nobody_and_end_with_their_callers(
    arena: Arena, slow: str, purpose: str
) -> None:
    with slow_callers(arena, slow, purpose):
        time.sleep(3)
        if purpose == "count":
            # Its rows are not counted.
            assert tfi.read_table(slow, where="value = 'b'", options=read_at(arena)).num_rows == 0
        assert tfi.read_table(slow, options=read_at(arena)).num_rows == ROWS
        with tfi.connect(arena.address) as client:
            assert len(client.nodes()) == len(arena.addresses)
        arena.victim.check()


def test_readers_of_a_cache_that_is_removed_get_its_name(arena: Arena, slow: str) -> None:
    with ThreadPoolExecutor(CALLERS) as threads:
        options = read_at(arena)
        readers = [threads.submit(tfi.read_table, slow, where=WHERE, options=options) for _ in range(CALLERS)]
        await_true(lambda: running_queries(arena) >= 1, "no query runs", SECONDS)
        with thin_client(arena.cluster.nodes[0].pid) as client:
            client.get_cache(slow).destroy()
        for reader in readers:
            with pytest.raises(errors.CacheNotFoundError, match=slow):
                reader.result(SECONDS)


def test_ctrl_c_ends_a_dataset_that_counts_its_rows(arena: Arena, slow: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _CALLERS["dataset"], arena.address, slow, WHERE], stderr=subprocess.PIPE
    )
    with process:
        await_true(lambda: running_queries(arena) >= 1, "no query runs", SECONDS)
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=SECONDS)
    assert b"KeyboardInterrupt" in printed
    await_true(lambda: running_queries(arena) == 0, "queries run without their caller", SECONDS)


def test_readers_that_leave_before_their_turn_keep_no_thread(arena: Arena, slow: str) -> None:
    with slow_callers(arena, slow, "read"):
        before = arena.usage()[0].threads
        command = data_pb2.ReadCommand(cache=slow, where=WHERE, partitions=range(8))
        ticket = BytesValue(value=command.SerializeToString())
        with grpc.insecure_channel(arena.address, OWN_CONNECTION) as channel:
            read = channel.unary_stream(
                "/arrow.flight.protocol.FlightService/DoGet", request_serializer=BytesValue.SerializeToString
            )
            # They wait for their turns, and leave. Either side may notice it first.
            for stream in [read(ticket, timeout=3) for _ in range(LEAVING)]:
                assert stream.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
        await_true(lambda: arena.usage()[0].threads < before + LEAVING // 4, "threads wait for nobody", SECONDS)
        assert tfi.read_table(slow, options=read_at(arena)).num_rows == ROWS
