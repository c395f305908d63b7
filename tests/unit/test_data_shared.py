"""A stream over shared memory: who holds which segment, and what breaks it.

Promise (memory): Memory that a tensor uses is not written again.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from row_node import numbers, running, serving_nothing
from shared_memory_node import Node

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport import batches
from tensorflow_ignite.data.transport.shared import SharedStream


@pytest.fixture
def node() -> Iterator[Node]:
    with running(Node()) as started:
        yield started


def numbers_in_turns(stream: SharedStream) -> list[int]:
    """The values of batches of which each is released before the next one is read."""
    seen = []
    for batch in stream:
        seen += numbers([batch])
        del batch
    return seen


def test_an_unused_segment_is_offered_again(node: Node) -> None:
    assert numbers_in_turns(SharedStream(node.endpoint, "c")) == list(range(50_000))
    assert len({offer.id for offer in node.offers}) <= 3


def test_memory_in_use_is_never_written_again_and_the_node_never_waits(node: Node) -> None:
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


def test_batches_kept_permanently_have_memory_that_was_never_offered_again(node: Node) -> None:
    kept = list(SharedStream(node.endpoint, "c", keep=lambda _: True))
    assert numbers(kept) == list(range(50_000))
    assert all(offer.once for offer in node.offers)
    assert len({offer.id for offer in node.offers}) == len(node.offers)


def test_when_the_budget_is_used_up_segments_are_used_in_turns_again(node: Node) -> None:
    answers = [True] * 5 + [False]
    stream = SharedStream(node.endpoint, "c", keep=lambda _: answers.pop(0))
    assert numbers_in_turns(stream) == list(range(50_000))
    assert not answers
    assert len({offer.id for offer in node.offers if not offer.once}) <= 3


def test_nodes_with_and_without_the_service_are_distinguished() -> None:
    with serving_nothing() as endpoint, pytest.raises(errors.SharingUnavailableError, match="serves no SharedMemory"):
        list(SharedStream(endpoint, "c"))
