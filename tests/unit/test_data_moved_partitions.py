"""Streams that go on where their partitions have moved."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import pyarrow as pa
import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport import moved_partitions
from tensorflow_ignite.data.transport.flight import Endpoint
from tensorflow_ignite.data.transport.moved_partitions import MovedPartitionStream
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.v1 import data_pb2

LIMIT = patiently(10.0)


class Cluster:
    """Nodes with partitions, of one row each: the number of the partition."""

    def __init__(self, **owned: list[int]) -> None:
        self.owned = {node: list(partitions) for node, partitions in owned.items()}
        self.planned = self.owned
        self.opened: list[tuple[str, list[int]]] = []
        self.asked: list[data_pb2.ReadCommand] = []
        # Run before a node comes to a partition.
        self.before: dict[int, list[tuple[int, str]]] = {}

    def move(self, partition: int, node: str) -> None:
        for partitions in self.owned.values():
            if partition in partitions:
                partitions.remove(partition)
        self.owned[node].append(partition)

    def owners(self, command: data_pb2.ReadCommand) -> Sequence[Endpoint]:
        self.asked.append(command)
        return [
            endpoint_of(node, found)
            for node, partitions in self.planned.items()
            if (found := [partition for partition in partitions if partition in command.partitions])
        ]

    def stream(self, endpoint: Endpoint) -> _Stream:
        return _Stream(self, endpoint)

    def following(self, endpoint: Endpoint) -> MovedPartitionStream:
        return MovedPartitionStream(endpoint, "cache 'c'", self.stream, self.owners)


class _Stream:
    def __init__(self, cluster: Cluster, endpoint: Endpoint) -> None:
        self._cluster = cluster
        self._node = endpoint.address
        self._command = endpoint.command
        self._cancelled = threading.Event()
        self.result: data_pb2.ReadResult | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        assert self._command.follow
        result = data_pb2.ReadResult()
        self._cluster.opened.append((self._node, list(self._command.partitions)))
        for partition in self._command.partitions:
            for moved, node in self._cluster.before.pop(partition, ()):
                self._cluster.move(moved, node)
            if partition in self._cluster.owned[self._node]:
                yield pa.RecordBatch.from_pydict({"p": [partition]})
            else:
                result.moved.append(partition)
            if self._cancelled.is_set():
                return
        self.result = result

    def cancel(self) -> None:
        self._cancelled.set()


def endpoint_of(node: str, partitions: Sequence[int]) -> Endpoint:
    return Endpoint(node, data_pb2.ReadCommand(cache="c", columns=["p"], partitions=partitions))


def rows(stream: MovedPartitionStream) -> list[int]:
    return [number for batch in stream for number in batch["p"].to_pylist()]


def test_what_stays_is_read_by_one_stream() -> None:
    cluster = Cluster(a=[0, 1, 2], b=[])
    assert rows(cluster.following(endpoint_of("a", [0, 1, 2]))) == [0, 1, 2]
    assert cluster.opened == [("a", [0, 1, 2])]
    assert not cluster.asked


def test_partitions_that_move_before_their_turn_are_read_from_their_new_owners_after_the_rest() -> None:
    cluster = Cluster(a=[0, 1, 2, 3], b=[4], c=[])
    cluster.before[1] = [(1, "b"), (3, "c")]
    assert rows(cluster.following(endpoint_of("a", [0, 1, 2, 3]))) == [0, 2, 1, 3]
    assert cluster.opened == [("a", [0, 1, 2, 3]), ("b", [1]), ("c", [3])]
    (asked,) = cluster.asked
    assert (asked.cache, list(asked.columns), list(asked.partitions), asked.uncounted) == ("c", ["p"], [1, 3], True)


def test_partitions_are_followed_as_often_as_they_move() -> None:
    cluster = Cluster(a=[0, 1, 2], b=[3], c=[])
    cluster.before[0] = [(1, "b"), (2, "b")]
    stream = iter(cluster.following(endpoint_of("a", [0, 1, 2])))
    assert next(stream)["p"].to_pylist() == [0]
    assert next(stream)["p"].to_pylist() == [1]
    # While b reads the first of the two, the other one moves on.
    cluster.move(2, "c")
    assert [batch["p"].to_pylist() for batch in stream] == [[2]]
    assert cluster.opened == [("a", [0, 1, 2]), ("b", [1, 2]), ("c", [2])]


def test_partitions_without_an_owner_are_an_error_that_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(moved_partitions, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(moved_partitions, "SECONDS_BETWEEN_QUESTIONS", pause := 0.01)
    cluster = Cluster(a=[0], b=[], c=[7])
    cluster.planned = {"b": [7]}
    stream = cluster.following(endpoint_of("a", [0, 7]))
    pauses: list[float] = []
    monkeypatch.setattr(stream._cancelled, "wait", pauses.append)
    with pytest.raises(errors.PartitionNotLocalError, match=r"the node at b as the owner of 1 partitions, such as 7"):
        rows(stream)
    # Requested for ten seconds, with a pause before each time.
    assert pauses == [pause] * 10


def test_a_move_that_the_nodes_learn_of_one_after_the_other_is_waited_for() -> None:
    cluster = Cluster(a=[0], b=[], c=[])
    cluster.planned = {"b": [7]}
    timer = threading.Timer(0.3, lambda: cluster.owned["b"].append(7))
    timer.start()
    assert rows(cluster.following(endpoint_of("a", [0, 7]))) == [0, 7]
    timer.join(LIMIT)


def test_a_stream_that_is_cancelled_follows_nothing() -> None:
    cluster = Cluster(a=[0, 1], b=[2], c=[])
    cluster.before[0] = [(1, "b")]
    stream = cluster.following(endpoint_of("a", [0, 1]))
    batches = iter(stream)
    next(batches)
    stream.cancel()
    assert list(batches) == []
    assert not cluster.asked
    assert rows(stream) == []
