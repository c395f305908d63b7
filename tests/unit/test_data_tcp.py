"""A stream over a TCP connection of its own: whose memory it fills, and what breaks it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pyarrow as pa
import pytest
from row_node import numbers, running
from tcp_node import Node

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport import batches, choice, segments, tcp
from tensorflow_ignite.data.transport.tcp import TcpStream, TcpUnavailableError


@pytest.fixture
def node() -> Iterator[Node]:
    with running(Node()) as started:
        yield started


def address(batch: pa.RecordBatch) -> int:
    return int(batch["x"].buffers()[1].address)


def test_unused_memory_is_filled_again(node: Node) -> None:
    seen, places = [], set()
    for batch in TcpStream(node.endpoint, "c"):
        seen += numbers([batch])
        places.add(address(batch))
        del batch
    assert seen == list(range(50_000))
    assert len(places) <= 2
    assert all(place % 64 == 0 for place in places)


def test_memory_in_use_is_never_written_again(node: Node) -> None:
    kept = list(TcpStream(node.endpoint, "c"))
    assert numbers(kept) == list(range(50_000))
    assert len({address(batch) for batch in kept}) == 50
    kept.clear()
    gc.collect()
    # What was lent comes back, and no more of it than that.
    assert 0 < segments.pool().idle_bytes() <= batches.SEGMENTS * batches.segment_bytes(8000)


def test_batches_kept_permanently_take_no_memory_that_is_used_in_turns(node: Node) -> None:
    answers = [True] * 5 + [False]
    kept = list(TcpStream(node.endpoint, "c", keep=lambda _: answers.pop(0)))
    assert numbers(kept) == list(range(50_000))
    assert not answers
    own = {address(batch) for batch in kept[:5]}
    del kept[:5]
    gc.collect()
    assert segments.pool().idle_bytes() == 0
    assert own.isdisjoint(address(batch) for batch in kept)


def test_where_no_memory_can_be_shared_rows_get_memory_of_their_own(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_: int) -> None:
        raise errors.SharingUnavailableError("no memfd")

    monkeypatch.setattr(segments.pool(), "take", none)
    assert numbers(list(TcpStream(node.endpoint, "c"))) == list(range(50_000))


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (("batches", 0), "without the number"),
        (("cut", True), "49000 rows arrived of 50000"),
        (("behind", 8), "a batch ends at byte 8008 of memory of 8000"),
    ],
    ids=["silent node", "connection that ends within a batch", "layout that leads out of the batch"],
)
def test_a_broken_stream_is_an_error(node: Node, fault: tuple[str, object], text: str) -> None:
    setattr(node, *fault)
    with pytest.raises(errors.InternalError, match=text):
        list(TcpStream(node.endpoint, "c"))


def test_a_connection_that_breaks_alone_ends_the_call(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "SECONDS_TO_EXPLAIN", 0.1)
    node.reset = True
    with pytest.raises(errors.ConnectionFailedError, match=r"broke after \d+ rows .*reset"):
        list(TcpStream(node.endpoint, "c"))
    assert node.ended.wait(10)


def test_lengths_that_no_node_sends_are_not_believed(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "_MOST_BYTES", 7999)
    with pytest.raises(errors.InternalError, match="a batch of 8000 bytes"):
        list(TcpStream(node.endpoint, "c"))


def test_a_port_that_cannot_be_reached_is_named(node: Node) -> None:
    node.close_port()
    with pytest.raises(TcpUnavailableError, match=r"no connection to port \d+ .*rows\.port"):
        list(choice.open_stream(node.endpoint, "c", "tcp"))
