"""A stream over shared memory: who holds which segment, and what breaks it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from concurrent import futures

import grpc
import pyarrow as pa
import pytest
from shared_memory_node import Node

from tensorflow_ignite import addresses, errors
from tensorflow_ignite.data.transport import batches, segments, streams
from tensorflow_ignite.data.transport.flight import Endpoint
from tensorflow_ignite.data.transport.shared import SharedStream
from tensorflow_ignite.v1 import data_pb2


@pytest.fixture
def node() -> Iterator[Node]:
    started = Node()
    yield started
    started.stop()
    gc.collect()
    segments.pool().clear()


def numbers(batches: list[pa.RecordBatch]) -> list[int]:
    """The values of batches."""
    return [number for batch in batches for number in batch["x"].to_pylist()]


def test_a_segment_that_nobody_uses_any_more_is_offered_again(node: Node) -> None:
    seen = []
    for batch in SharedStream(node.endpoint, "c"):
        seen += numbers([batch])
        del batch
    assert seen == list(range(50_000))
    assert len({offer.id for offer in node.offers}) <= 3


def test_what_a_user_keeps_is_never_written_again_and_the_node_never_waits(node: Node) -> None:
    kept = list(SharedStream(node.endpoint, "c"))
    assert numbers(kept) == list(range(50_000))
    assert len({offer.id for offer in node.offers}) == batches.SEGMENTS


def test_segments_that_come_back_late_are_used_again(node: Node) -> None:
    stream = iter(SharedStream(node.endpoint, "c"))
    kept = [next(stream) for _ in range(10)]
    own = {offer.id for offer in node.offers}
    kept.clear()
    gc.collect()
    rest = list(stream)
    assert numbers(rest) == list(range(10_000, 50_000))
    assert {offer.id for offer in node.offers} == own


def test_a_row_that_needs_more_gets_a_larger_segment(node: Node) -> None:
    node.rows, node.batches, node.result = 100_000, 4, data_pb2.ReadResult(rows=400_000)
    assert numbers(list(SharedStream(node.endpoint, "c"))) == list(range(400_000))
    assert max(offer.bytes for offer in node.offers) >= 800_000


def test_batches_kept_for_good_have_memory_that_was_never_offered_again(node: Node) -> None:
    kept = list(SharedStream(node.endpoint, "c", keep=lambda _: True))
    assert numbers(kept) == list(range(50_000))
    assert all(offer.once for offer in node.offers)
    assert len({offer.id for offer in node.offers}) == len(node.offers)


def test_when_the_budget_is_used_up_segments_are_used_in_turns_again(node: Node) -> None:
    answers = [True] * 5 + [False]
    seen = []
    for batch in SharedStream(node.endpoint, "c", keep=lambda _: answers.pop(0)):
        seen += numbers([batch])
        del batch
    assert seen == list(range(50_000))
    assert not answers
    assert len({offer.id for offer in node.offers if not offer.once}) <= 3


@pytest.mark.parametrize(
    ("result", "text"),
    [(None, "without the number"), (data_pb2.ReadResult(rows=50_001), "50000 rows arrived of 50001")],
)
def test_a_stream_that_lost_rows_is_an_error(node: Node, result: data_pb2.ReadResult | None, text: str) -> None:
    node.result = result
    with pytest.raises(errors.InternalError, match=text):
        list(SharedStream(node.endpoint, "c"))


def test_what_the_node_left_out_is_told(node: Node) -> None:
    node.result = data_pb2.ReadResult(rows=50_000, skipped=3)
    stream = streams.open_stream(node.endpoint, "c", "shared")
    assert stream.result is None
    assert len(list(stream)) == 50
    assert stream.result is not None
    assert stream.result.skipped == 3


def test_cancelling_ends_a_stream_whose_node_is_silent(node: Node) -> None:
    node.silent = True
    stream = SharedStream(node.endpoint, "c")
    batches = iter(stream)
    # What has not arrived when a stream is cancelled does not come any more.
    assert next(batches).num_rows > 0
    other = threading.Thread(target=stream.cancel, daemon=True)
    other.start()
    assert list(batches) == []
    other.join(10)
    assert node.ended.wait(10)


def test_a_stream_that_nobody_iterates_any_more_ends_its_call(node: Node) -> None:
    iterator = iter(SharedStream(node.endpoint, "c"))
    next(iterator)
    del iterator
    gc.collect()
    assert node.ended.wait(10)


def test_a_stream_that_was_cancelled_before_it_began_has_no_rows(node: Node) -> None:
    node.silent = True
    stream = SharedStream(node.endpoint, "c")
    stream.cancel()
    assert list(stream) == []


def test_the_network_does_not_take_over_when_rows_have_been_given(node: Node) -> None:
    node.error = "no more descriptors [code=SHARING_UNAVAILABLE]"
    with pytest.raises(errors.SharingUnavailableError, match="no more descriptors"):
        list(streams.open_stream(node.endpoint, "c"))


def test_a_node_that_is_not_there_is_named() -> None:
    nobody = Endpoint("127.0.0.1:1", data_pb2.ReadCommand(cache="c").SerializeToString())
    with pytest.raises(errors.ConnectionFailedError, match=r"c was not read to its end: the node at 127\.0\.0\.1:1"):
        list(SharedStream(nobody, "c"))


def test_a_node_without_the_service_is_told_from_one_that_has_it() -> None:
    with futures.ThreadPoolExecutor(1) as threads:
        server = grpc.server(threads)
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        try:
            with pytest.raises(errors.SharingUnavailableError, match="serves no SharedMemory"):
                list(SharedStream(Endpoint(address, b""), "c"))
        finally:
            server.stop(0).wait()


def test_the_partitions_of_a_node_are_split_among_streams() -> None:
    def parts(count: int, streams_: int = 2) -> list[list[int]]:
        ticket = data_pb2.ReadCommand(cache="c", partitions=range(count)).SerializeToString()
        found = streams.parallel(Endpoint("h:1", ticket), streams_)
        return [list(data_pb2.ReadCommand.FromString(part.ticket).partitions) for part in found]

    assert parts(5) == [[0, 2, 4], [1, 3]]
    assert parts(1) == [[0]]
    assert parts(3, 1) == [[0, 1, 2]]


def test_this_host_is_known_by_its_addresses() -> None:
    assert addresses.on_this_host("localhost:1")
    assert addresses.on_this_host("127.0.0.1:1")
    # TEST-NET-1 belongs to nobody.
    assert not addresses.on_this_host("198.51.100.1:1")
    assert not addresses.on_this_host("no.such.host.invalid:1")


def test_rows_of_other_hosts_take_the_network_and_the_log_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(streams, "_said", set())
    for host in ("198.51.100.1", "198.51.100.2"):
        streams.open_stream(Endpoint(f"{host}:1", b""), "x")
    (said,) = caplog.messages
    assert "other hosts, such as 198.51.100.1:1, come over the network" in said
    streams.open_stream(Endpoint("198.51.100.1:1", b""), "x", "flight")
    streams.open_stream(Endpoint("127.0.0.1:1", b""), "x")
    assert len(caplog.messages) == 1


def test_an_unknown_transport_is_refused(node: Node) -> None:
    with pytest.raises(errors.InvalidRequestError, match="transport='pigeon'"):
        streams.open_stream(node.endpoint, "c", "pigeon")
