"""What holds for a stream whatever carries it, and who carries it.

Promise (rows): A stream that has lost rows is an error.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest
import shared_memory_node
import tcp_node
from row_node import RowNode, numbers, running, serving_nothing

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport import choice
from tensorflow_ignite.data.transport.flight import BatchStream, Endpoint
from tensorflow_ignite.net import addresses
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.v1 import data_pb2

NODES = {choice.SHARED: shared_memory_node.Node, choice.TCP: tcp_node.Node}
ANYTHING = data_pb2.ReadCommand()


@pytest.fixture(params=list(NODES))
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def node(transport: str) -> Iterator[RowNode]:
    with running(NODES[transport]()) as started:
        yield started


@pytest.mark.parametrize(
    ("result", "text"),
    [(None, "without the number"), (data_pb2.ReadResult(rows=50_001), "50000 rows arrived of 50001")],
)
def test_a_stream_that_lost_rows_is_an_error(
    node: RowNode, transport: str, result: data_pb2.ReadResult | None, text: str
) -> None:
    node.result = result
    with pytest.raises(errors.InternalError, match=text):
        list(choice.open_stream(node.endpoint, "c", transport))


def test_rows_that_the_node_skipped_are_reported(node: RowNode, transport: str) -> None:
    node.result = data_pb2.ReadResult(rows=50_000, skipped=3)
    stream = choice.open_stream(node.endpoint, "c", transport)
    assert stream.result is None
    assert len(list(stream)) == 50
    assert stream.result is not None
    assert stream.result.skipped == 3


def test_batches_larger_than_they_were_meant_to_be_arrive(node: RowNode, transport: str) -> None:
    node.rows, node.batches, node.result = 100_000, 4, data_pb2.ReadResult(rows=400_000)
    assert numbers(list(choice.open_stream(node.endpoint, "c", transport))) == list(range(400_000))


def test_no_other_transport_takes_over_when_rows_have_been_given(node: RowNode, transport: str) -> None:
    node.error = "it is gone [code=SHARING_UNAVAILABLE]"
    shared = transport == choice.SHARED
    stream = choice.open_stream(node.endpoint, "c") if shared else choice.over_network(node.endpoint, "c", None, None)
    with pytest.raises(errors.SharingUnavailableError, match="it is gone"):
        list(stream)


def test_a_nodes_own_error_ends_a_stream(node: RowNode, transport: str) -> None:
    node.error = "partition 3 has moved [code=PARTITION_NOT_LOCAL]"
    with pytest.raises(errors.PartitionNotLocalError, match="partition 3 has moved"):
        list(choice.open_stream(node.endpoint, "c", transport))


def test_cancelling_ends_a_stream_whose_node_is_silent(node: RowNode, transport: str) -> None:
    node.silent = True
    stream = choice.open_stream(node.endpoint, "c", transport)
    read = iter(stream)
    # What has not arrived when a stream is cancelled does not come any more.
    assert next(read).num_rows > 0
    other = threading.Thread(target=stream.cancel, daemon=True)
    other.start()
    assert list(read) == []
    other.join(10)
    assert node.ended.wait(10)


def test_an_abandoned_stream_ends_its_call(node: RowNode, transport: str) -> None:
    iterator = iter(choice.open_stream(node.endpoint, "c", transport))
    next(iterator)
    del iterator
    gc.collect()
    assert node.ended.wait(10)


def test_a_stream_that_was_cancelled_before_it_began_has_no_rows(node: RowNode, transport: str) -> None:
    node.silent = True
    stream = choice.open_stream(node.endpoint, "c", transport)
    stream.cancel()
    assert list(stream) == []


def test_a_node_that_is_not_there_is_named(transport: str) -> None:
    nobody = Endpoint("127.0.0.1:1", data_pb2.ReadCommand(cache="c"))
    with pytest.raises(errors.ConnectionFailedError, match=r"c was not read to its end: the node at 127\.0\.0\.1:1"):
        list(choice.open_stream(nobody, "c", transport))


def test_the_partitions_of_a_node_are_split_among_streams() -> None:
    def parts(count: int, streams_: int = 2) -> list[list[int]]:
        command = data_pb2.ReadCommand(cache="c", partitions=range(count))
        found = choice.parallel(Endpoint("h:1", command), streams_)
        return [list(part.command.partitions) for part in found]

    assert parts(5) == [[0, 2, 4], [1, 3]]
    assert parts(1) == [[0]]
    assert parts(3, 1) == [[0, 1, 2]]


def test_this_host_is_known_by_its_addresses() -> None:
    assert addresses.on_this_host("localhost:1")
    assert addresses.on_this_host("127.0.0.1:1")
    # TEST-NET-1 belongs to nobody.
    assert not addresses.on_this_host("198.51.100.1:1")
    assert not addresses.on_this_host("no.such.host.invalid:1")


def test_rows_of_other_hosts_come_over_the_network_and_one_log_line_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(choice, "_logged", set())
    for host in ("198.51.100.1", "198.51.100.2"):
        choice.open_stream(Endpoint(f"{host}:1", ANYTHING), "x")
    (said,) = caplog.messages
    assert "other hosts, such as 198.51.100.1:1, come over the network" in said
    choice.open_stream(Endpoint("198.51.100.1:1", ANYTHING), "x", "flight")
    choice.open_stream(Endpoint("127.0.0.1:1", ANYTHING), "x")
    assert len(caplog.messages) == 1


def test_flight_replaces_a_silent_tcp_stream_and_one_log_line_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    taken_over = []
    monkeypatch.setattr(choice, "_logged", set())
    monkeypatch.setattr(choice, "_without_tcp", set())
    monkeypatch.setattr(BatchStream, "__iter__", lambda stream: taken_over.append(stream) or iter([]))
    with serving_nothing() as endpoint:
        for _ in range(3):
            assert list(choice.over_network(endpoint, "c", None, None)) == []
    assert len(taken_over) == 3
    (said,) = caplog.messages
    assert "Rows come over Arrow Flight" in said
    assert "sends no rows over separate connections" in said


def test_nodes_with_tls_are_not_called_over_plain_tcp() -> None:
    encrypted = Credentials(tls=True)
    assert isinstance(choice.over_network(Endpoint("198.51.100.1:1", ANYTHING), "c", None, encrypted), BatchStream)
    assert not isinstance(choice.over_network(Endpoint("198.51.100.1:1", ANYTHING), "c", None, None), BatchStream)
