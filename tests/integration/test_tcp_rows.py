"""Rows over TCP connections of their own: who gets them, and what becomes of them when somebody dies or freezes."""

from __future__ import annotations

import gc
import subprocess
import sys

import grpc
import numpy as np
import psutil
import pytest
from node_streams import endpoints
from waiting import SECONDS, await_true

tf = pytest.importorskip("tensorflow")

import tensorflow_ignite as tfi  # noqa: E402
from local_nodes import read_at  # noqa: E402
from tensorflow_ignite import errors  # noqa: E402
from tensorflow_ignite.data.transport import choice, flight  # noqa: E402
from tensorflow_ignite.testing import LocalCluster  # noqa: E402
from tensorflow_ignite.v1 import tcp_pb2, tcp_pb2_grpc  # noqa: E402

pytestmark = pytest.mark.full

ROWS, WIDTH = 8_000, 4_096
# Much more than the system keeps for a reader who does not read.
WIDE = 65_536


def pixels(ids: np.ndarray, width: int = WIDTH) -> np.ndarray:
    """What the row of an id holds."""
    return ((ids[:, None] * 31 + np.arange(width)) % 251).astype(np.uint8)


@pytest.fixture(scope="session")
def wide(cluster: LocalCluster) -> str:
    """A cache whose rows are computed from their ids."""
    ids = np.arange(ROWS)
    tfi.load("tcp-rows", {"id": ids, "pixels": pixels(ids)}, partitions=16, address=cluster.address)
    return "tcp-rows"


def rows_port(endpoint: flight.Endpoint) -> int:
    """Where a node's readers collect rows."""
    with grpc.insecure_channel(endpoint.address) as channel:
        call = tcp_pb2_grpc.TcpRowsServiceStub(channel).ReadOverTcp(
            tcp_pb2.ReadOverTcpRequest(command=endpoint.command)
        )
        port = next(call).connection.port
        call.cancel()
    return int(port)


def readers(pid: int, port: int) -> int:
    """Connections of readers that a node has."""
    connections = psutil.Process(pid).net_connections("tcp")
    return sum(each.laddr.port == port and each.status != psutil.CONN_LISTEN for each in connections)


def test_a_dataset_and_a_table_over_tcp_have_each_row_once_as_it_is(cluster: LocalCluster, wide: str) -> None:
    dataset = tfi.dataset(wide, options=read_at(cluster, transport="tcp", batch_bytes=1 << 20)).batch(500)
    for _ in range(2):
        kept = list(dataset)
        ids = np.concatenate([batch["id"].numpy() for batch in kept])
        assert sorted(ids) == list(range(ROWS))
        np.testing.assert_array_equal(np.concatenate([batch["pixels"].numpy() for batch in kept]), pixels(ids))
    table = tfi.read_table(wide, options=read_at(cluster, transport="tcp"))
    ids = table["id"].to_numpy()
    assert sorted(ids) == list(range(ROWS))
    values = table["pixels"].combine_chunks().flatten().to_numpy()
    np.testing.assert_array_equal(values.reshape(-1, WIDTH), pixels(ids))


def test_rows_of_other_hosts_come_over_tcp(cluster: LocalCluster, wide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "on_this_host", lambda _: False)
    monkeypatch.setattr(flight.BatchStream, "__iter__", lambda _: pytest.fail("Flight was used"))
    rows = [batch.num_rows for endpoint in endpoints(cluster, wide) for batch in choice.open_stream(endpoint, wide)]
    assert sum(rows) == ROWS


def test_an_iterator_that_is_dropped_in_the_middle_ends_its_connections(cluster: LocalCluster, wide: str) -> None:
    ports = [(node.process.pid, rows_port(owner)) for node, owner in _owners(cluster, wide)]
    for _ in tfi.dataset(wide, options=read_at(cluster, transport="tcp", batch_bytes=1 << 20)).take(3):
        pass
    gc.collect()
    await_true(lambda: not any(readers(*each) for each in ports), "a node still sends")


def _owners(cluster: LocalCluster, cache: str) -> list[tuple]:
    owners = endpoints(cluster, cache)
    return [(node, owner) for node in cluster.nodes for owner in owners if owner.address == node.address]


READER = """
import sys
from tensorflow_ignite.data.transport import choice, flight
from tensorflow_ignite.v1.data_pb2 import ReadCommand
endpoint = flight.Endpoint(sys.argv[1], ReadCommand.FromString(bytes.fromhex(sys.argv[2])))
stream = iter(choice.open_stream(endpoint, "wide", "tcp"))
first = next(stream)
print("reading", flush=True)
sys.stdin.read()
"""


def test_a_node_releases_a_stream_whose_reader_is_killed(cluster: LocalCluster) -> None:
    ids = np.arange(1_000)
    # One stream of 64 MB: more than the system keeps for a reader who does not read.
    tfi.load("tcp-left", {"x": pixels(ids, WIDE)}, partitions=1, address=cluster.address)
    ((node, owner),) = _owners(cluster, "tcp-left")
    port = rows_port(owner)
    command = [sys.executable, "-c", READER, owner.address, owner.command.SerializeToString().hex()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        try:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "reading\n"
            assert readers(node.process.pid, port) == 1
        finally:
            reader.kill()
    await_true(lambda: not readers(node.process.pid, port), "the node still holds the connection")


@pytest.mark.parametrize("fate", ["killed", "frozen"])
def test_the_reader_raises_when_its_node_has_terminated(nodes: LocalCluster, fate: str) -> None:
    ids = np.arange(1_000)
    # One stream, which is not at its end when the node is gone.
    tfi.load(f"tcp-{fate}", {"x": pixels(ids, WIDE)}, partitions=1, address=nodes.address)
    ((victim, endpoint),) = _owners(nodes, f"tcp-{fate}")
    stream = iter(choice.open_stream(endpoint, "wide rows", "tcp"))
    next(stream)
    if fate == "killed":
        nodes.kill_node(victim)
    else:
        nodes.suspend_node(victim)
    with pytest.raises(errors.ConnectionFailedError, match="wide rows was not read"):
        for _ in stream:
            pass
    if fate == "frozen":
        nodes.kill_node(victim)


def test_a_call_whose_reader_does_not_connect_ends(cluster: LocalCluster, wide: str) -> None:
    owner = endpoints(cluster, wide)[0]
    with grpc.insecure_channel(owner.address) as channel:
        call = tcp_pb2_grpc.TcpRowsServiceStub(channel).ReadOverTcp(
            tcp_pb2.ReadOverTcpRequest(command=owner.command), timeout=SECONDS
        )
        assert len(next(call).connection.token) == 32
        with pytest.raises(grpc.RpcError) as refused:
            next(call)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "the reader did not connect to port" in refused.value.details()


def test_where_a_node_has_no_such_port_rows_come_over_flight(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process remembers the addresses of such nodes; that of this node may have been one of an earlier test.
    monkeypatch.setattr(choice, "_logged", set())
    monkeypatch.setattr(choice, "_without_tcp", set())
    with LocalCluster(1, environment={"TENSORFLOW_IGNITE_ROWS_PORT": "none"}) as one:
        tfi.load("small", {"x": np.arange(10)}, address=one.address)
        for _ in range(2):
            assert sorted(tfi.read_table("small", options=read_at(one))["x"].to_pylist()) == list(range(10))
        with pytest.raises(errors.ConnectionFailedError, match="sends no rows over separate connections"):
            tfi.read_table("small", options=read_at(one, transport="tcp"))
    assert len([line for line in caplog.messages if "Rows come over Arrow Flight" in line]) == 1
