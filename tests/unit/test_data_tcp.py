"""A stream over a TCP connection of its own: whose memory it fills, and what breaks it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from concurrent import futures

import grpc
import pyarrow as pa
import pytest
from tcp_node import Node

from tensorflow_ignite import errors
from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.data.transport import batches, segments, streams, tcp
from tensorflow_ignite.data.transport.flight import BatchStream, Endpoint
from tensorflow_ignite.data.transport.tcp import TcpStream, TcpUnavailableError
from tensorflow_ignite.v1 import data_pb2


@pytest.fixture
def node() -> Iterator[Node]:
    started = Node()
    yield started
    started.stop()
    gc.collect()
    segments.pool().clear()


def numbers(read: list[pa.RecordBatch]) -> list[int]:
    """The values of batches."""
    return [number for batch in read for number in batch["x"].to_pylist()]


def address(batch: pa.RecordBatch) -> int:
    """Where its values lie."""
    return int(batch["x"].buffers()[1].address)


def test_memory_that_nobody_uses_any_more_is_filled_again(node: Node) -> None:
    seen, places = [], set()
    for batch in TcpStream(node.endpoint, "c"):
        seen += numbers([batch])
        places.add(address(batch))
        del batch
    assert seen == list(range(50_000))
    assert len(places) <= 2
    assert all(place % 64 == 0 for place in places)


def test_what_a_user_keeps_is_never_written_again(node: Node) -> None:
    kept = list(TcpStream(node.endpoint, "c"))
    assert numbers(kept) == list(range(50_000))
    assert len({address(batch) for batch in kept}) == 50
    kept.clear()
    gc.collect()
    # What was lent comes back, and no more of it than that.
    assert 0 < segments.pool().idle_bytes() <= batches.SEGMENTS * batches.segment_bytes(8000)


def test_batches_kept_for_good_take_no_memory_that_is_used_in_turns(node: Node) -> None:
    answers = [True] * 5 + [False]
    kept = list(TcpStream(node.endpoint, "c", keep=lambda _: answers.pop(0)))
    assert numbers(kept) == list(range(50_000))
    assert not answers
    own = {address(batch) for batch in kept[:5]}
    del kept[:5]
    gc.collect()
    assert segments.pool().idle_bytes() == 0
    assert own.isdisjoint(address(batch) for batch in kept)


def test_batches_larger_than_they_were_meant_to_be_arrive(node: Node) -> None:
    node.rows, node.batches, node.result = 100_000, 4, data_pb2.ReadResult(rows=400_000)
    assert numbers(list(TcpStream(node.endpoint, "c"))) == list(range(400_000))


def test_where_no_memory_can_be_shared_rows_get_memory_of_their_own(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_: int) -> None:
        raise errors.SharingUnavailableError("no memfd")

    monkeypatch.setattr(segments.pool(), "take", none)
    assert numbers(list(TcpStream(node.endpoint, "c"))) == list(range(50_000))


@pytest.mark.parametrize(
    ("result", "text"),
    [(None, "without the number"), (data_pb2.ReadResult(rows=50_001), "50000 rows arrived of 50001")],
)
def test_a_stream_that_lost_rows_is_an_error(node: Node, result: data_pb2.ReadResult | None, text: str) -> None:
    node.result = result
    with pytest.raises(errors.InternalError, match=text):
        list(TcpStream(node.endpoint, "c"))


def test_a_node_that_says_nothing_is_an_error(node: Node) -> None:
    node.batches = 0
    with pytest.raises(errors.InternalError, match="without the number"):
        list(TcpStream(node.endpoint, "c"))


def test_a_connection_that_ends_within_a_batch_is_an_error(node: Node) -> None:
    node.cut = True
    with pytest.raises(errors.InternalError, match="49000 rows arrived of 50000"):
        list(TcpStream(node.endpoint, "c"))


def test_a_connection_that_breaks_alone_ends_the_call(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "SECONDS_TO_EXPLAIN", 0.1)
    node.reset = True
    with pytest.raises(errors.ConnectionFailedError, match=r"broke after \d+ rows .*reset"):
        list(TcpStream(node.endpoint, "c"))
    assert node.ended.wait(10)


def test_a_nodes_own_error_ends_a_stream(node: Node) -> None:
    node.error = "partition 3 has moved [code=PARTITION_NOT_LOCAL]"
    with pytest.raises(errors.PartitionNotLocalError, match="partition 3 has moved"):
        list(streams.open_stream(node.endpoint, "c", "tcp"))


def test_a_layout_that_leads_out_of_the_batch_is_an_error(node: Node) -> None:
    node.behind = 8
    with pytest.raises(errors.InternalError, match="a batch ends at byte 8008 of memory of 8000"):
        list(TcpStream(node.endpoint, "c"))


def test_lengths_that_no_node_sends_are_not_believed(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "_MOST_BYTES", 7999)
    with pytest.raises(errors.InternalError, match="a batch of 8000 bytes"):
        list(TcpStream(node.endpoint, "c"))


def test_cancelling_ends_a_stream_whose_node_is_silent(node: Node) -> None:
    node.silent = True
    stream = TcpStream(node.endpoint, "c")
    read = iter(stream)
    assert next(read).num_rows > 0
    other = threading.Thread(target=stream.cancel, daemon=True)
    other.start()
    assert list(read) == []
    other.join(10)
    assert node.ended.wait(10)


def test_a_stream_that_nobody_iterates_any_more_ends_its_call(node: Node) -> None:
    iterator = iter(TcpStream(node.endpoint, "c"))
    next(iterator)
    del iterator
    gc.collect()
    assert node.ended.wait(10)


def test_a_stream_that_was_cancelled_before_it_began_has_no_rows(node: Node) -> None:
    stream = TcpStream(node.endpoint, "c")
    stream.cancel()
    assert list(stream) == []


def test_a_port_that_cannot_be_reached_is_named(node: Node) -> None:
    node.close_port()
    with pytest.raises(TcpUnavailableError, match=r"no connection to port \d+ .*rows\.port"):
        list(streams.open_stream(node.endpoint, "c", "tcp"))


def test_a_node_that_is_not_there_is_named() -> None:
    nobody = Endpoint("127.0.0.1:1", data_pb2.ReadCommand(cache="c").SerializeToString())
    with pytest.raises(errors.ConnectionFailedError, match=r"c was not read to its end: the node at 127\.0\.0\.1:1"):
        list(TcpStream(nobody, "c"))


def test_flight_takes_over_where_a_node_does_not_serve_it_and_the_log_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    taken_over = []
    monkeypatch.setattr(streams, "_said", set())
    monkeypatch.setattr(streams, "_without_tcp", set())
    monkeypatch.setattr(BatchStream, "__iter__", lambda stream: taken_over.append(stream) or iter([]))
    with futures.ThreadPoolExecutor(1) as threads:
        server = grpc.server(threads)
        place = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        try:
            for _ in range(3):
                assert list(streams.over_network(Endpoint(place, b""), "c", None, None)) == []
        finally:
            server.stop(0).wait()
    assert len(taken_over) == 3
    (said,) = caplog.messages
    assert "Rows come over Arrow Flight" in said
    assert "sends no rows over connections of their own" in said


def test_nodes_that_encrypt_are_not_asked_for_connections_that_do_not() -> None:
    encrypted = Credentials(tls=True)
    assert isinstance(streams.over_network(Endpoint("198.51.100.1:1", b""), "c", None, encrypted), BatchStream)
    assert not isinstance(streams.over_network(Endpoint("198.51.100.1:1", b""), "c", None, None), BatchStream)


def test_flight_does_not_take_over_when_rows_have_been_given(node: Node) -> None:
    node.error = "it is gone [code=INTERNAL_ERROR]"
    with pytest.raises(errors.InternalError, match="it is gone"):
        list(streams.over_network(node.endpoint, "c", None, None))
