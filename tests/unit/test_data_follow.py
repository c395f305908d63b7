"""Promises to who follows a cache: every put row comes, from whichever node owns it, with bounded memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data.cache_position import CachePosition
from tensorflow_ignite.data.epochs.changes import NO_POSITION, Changes, Position, as_array, as_positions
from tensorflow_ignite.data.epochs.prefetch import ReaderClosedError
from tensorflow_ignite.data.epochs.tensor_schema import Column
from tensorflow_ignite.data.epochs.tensors import Array
from tensorflow_ignite.data.follow import follower as module
from tensorflow_ignite.data.follow.follower import WAITING_BATCHES, FollowedBatch, Follower

LAYOUT = (Column("c", "int64"),)
BEGIN = as_array([NO_POSITION, NO_POSITION])


class Cluster:
    """Two partitions: their owners, and the rows that were put, in order; a source of polls of them."""

    subject = "cache 'c'"

    def __init__(self) -> None:
        self.lock = threading.Condition()
        self.owner = {0: "a", 1: "b"}
        self.dead: set[str] = set()
        self.rows: dict[int, list[int]] = {0: [], 1: []}
        self.batch_rows = 100
        self.polls: list[tuple[str, dict[int, Position], int]] = []
        self.sent = 0
        self.knows_positions = True
        #: Number of the next requests for owners that fail.
        self.inactive_calls = 0

    def put(self, partition: int, *rows: int) -> None:
        with self.lock:
            self.rows[partition] += rows
            self.lock.notify_all()

    def feed(self, address: str) -> int:
        return 1 + ord(address)

    def owners(self, partitions: Sequence[int]) -> Mapping[str, Sequence[int]]:
        with self.lock:
            if self.inactive_calls:
                self.inactive_calls -= 1
                raise errors.ClusterNotActiveError("the cluster is not active")
            named: dict[str, list[int]] = {}
            for number in partitions or self.owner:
                named.setdefault(self.owner[number], []).append(number)
            return named

    def poll(self, address: str, positions: Mapping[int, Position], wait_millis: int) -> FakePoll:
        self.polls.append((address, dict(positions), wait_millis))
        return FakePoll(self, address, positions, wait_millis / 1000)


class FakePoll:
    def __init__(self, cluster: Cluster, address: str, positions: Mapping[int, Position], wait: float) -> None:
        self.cluster, self.address, self.positions, self.wait = cluster, address, positions, wait
        self.cancelled = False
        self.result = Changes()

    def after(self, number: int) -> int:
        position = self.positions[number]
        return position.sequence if position.feed == self.cluster.feed(self.address) else 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        cluster = self.cluster
        with cluster.lock:
            if self.address in cluster.dead:
                raise errors.ConnectionFailedError(f"{self.address} is dead")
            own = [number for number in self.positions if cluster.owner[number] == self.address]
            known = all(self.positions[number].feed for number in own)
            if known:
                cluster.lock.wait_for(
                    lambda: self.cancelled or any(len(cluster.rows[number]) > self.after(number) for number in own),
                    self.wait,
                )
            rows = [row for number in own for row in cluster.rows[number][self.after(number) :]]
            feed = cluster.feed(self.address) if cluster.knows_positions else 0
            self.result = Changes(
                whole=frozenset(n for n in own if self.positions[n].feed != cluster.feed(self.address)),
                positions={number: Position(feed, len(cluster.rows[number])) for number in own},
            )
        for begin in range(0, len(rows), cluster.batch_rows):
            cluster.sent += 1
            yield pa.RecordBatch.from_pydict({"c": pa.array(rows[begin : begin + cluster.batch_rows], pa.int64())})

    def cancel(self) -> None:
        with self.cluster.lock:
            self.cancelled = True
            self.cluster.lock.notify_all()

    def outcome(self) -> Changes:
        return self.result


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_POLLS", 0.0)
    monkeypatch.setattr(module, "SECONDS_BETWEEN_TRIES", 0.02)
    return Cluster()


@pytest.fixture
def follower(cluster: Cluster) -> Iterator[Follower]:
    opened = Follower(cluster, LAYOUT)
    yield opened
    opened.close()
    opened.join(20)
    # A test may have closed other followers.
    await_true(lambda: all(thread.name != "tensorflow-ignite-follower" for thread in threading.enumerate()))


def await_true(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def batch_of(follower: Follower, positions: Array) -> FollowedBatch:
    """The next batch with rows; a test that waits forever is ended."""
    while not (batch := follower.take(positions)).rows:
        positions = batch.positions
    return batch


def taken(follower: Follower, positions: Array, rows: int) -> tuple[list[int], Array]:
    found: list[int] = []
    while len(found) < rows:
        batch = batch_of(follower, positions)
        found += batch.arrays[0].tolist()
        positions = batch.positions
    return found, positions


def until_seen(follower: Follower, positions: Array, row: int) -> tuple[list[int], Array]:
    found: list[int] = []
    while row not in found:
        more, positions = taken(follower, positions, 1)
        found += more
    return found, positions


def test_rows_that_exist_come_first_and_then_those_that_are_put(cluster: Cluster, follower: Follower) -> None:
    cluster.put(0, 1, 2)
    cluster.put(1, 3)
    found, positions = taken(follower, BEGIN, 3)
    assert sorted(found) == [1, 2, 3]
    cluster.put(1, 4)
    found, positions = taken(follower, positions, 1)
    assert found == [4]
    cluster.put(0, 5)
    assert taken(follower, positions, 1)[0] == [5]


def test_a_position_counts_with_the_last_batch_of_a_poll(cluster: Cluster, follower: Follower) -> None:
    cluster.batch_rows = 2
    cluster.put(0, *range(6))
    first = batch_of(follower, BEGIN)
    second = batch_of(follower, first.positions)
    assert not first.positions[0].any()
    assert not second.positions[0].any()
    third = batch_of(follower, second.positions)
    assert third.positions[0].all()
    cluster.put(0, 6)
    # Another reader that begins before the last batch gets all rows of the poll, one that begins there none of them.
    for positions, expected in ((second.positions, list(range(7))), (third.positions, [6])):
        other = Follower(cluster, LAYOUT)
        assert taken(other, positions, len(expected))[0] == expected
        other.close()


def test_a_reader_that_is_given_other_positions_begins_there(cluster: Cluster, follower: Follower) -> None:
    cluster.put(0, 1, 2)
    _, positions = taken(follower, BEGIN, 2)
    cluster.put(0, 3)
    _, later = taken(follower, positions, 1)
    assert taken(follower, positions, 1)[0] == [3]
    assert taken(follower, BEGIN, 3)[0] == [1, 2, 3]
    cluster.put(1, 4)
    assert taken(follower, later, 1)[0] == [4]


def test_a_moved_partition_is_read_whole_from_its_new_owner_and_that_is_said(
    cluster: Cluster, follower: Follower, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.put(0, 1)
    cluster.put(1, 2)
    _, positions = taken(follower, BEGIN, 2)
    with cluster.lock:
        cluster.owner[0] = "b"
    cluster.put(0, 3)
    found, positions = until_seen(follower, positions, 1)
    assert 3 in found[found.index(1) :]
    assert "1 partitions are read whole" in caplog.text
    cluster.put(0, 4)
    assert taken(follower, positions, 1)[0] == [4]


def test_the_partitions_of_a_node_that_dies_are_followed_elsewhere(cluster: Cluster, follower: Follower) -> None:
    cluster.put(0, 1)
    _, positions = taken(follower, BEGIN, 1)
    with cluster.lock:
        cluster.dead.add("a")
        before = len(cluster.polls)
    # It is asked again, and does not answer.
    await_true(lambda: [address for address, _, _ in cluster.polls[before:]].count("a") >= 2)
    with cluster.lock:
        cluster.owner[0] = "b"
    cluster.put(0, 2)
    found, _ = until_seen(follower, positions, 1)
    assert 2 in found[found.index(1) :]


def test_rows_are_followed_on_when_a_cluster_that_was_restarted_is_active_again(
    cluster: Cluster, follower: Follower
) -> None:
    cluster.put(0, 1)
    cluster.put(1, 2)
    _, positions = taken(follower, BEGIN, 2)
    with cluster.lock:
        cluster.dead |= {"a", "b"}
        cluster.owner = {0: "c", 1: "c"}
        cluster.inactive_calls = 4
        cluster.lock.notify_all()
    while cluster.inactive_calls:
        positions = follower.take(positions).positions
    cluster.put(1, 3)
    assert 3 in until_seen(follower, positions, 3)[0]


def test_a_cache_that_has_more_partitions_than_before_is_an_error(
    cluster: Cluster, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.put(0, 1)
    _, positions = taken(follower, BEGIN, 1)
    # As when it was removed and created again: its nodes number their changes anew.
    with cluster.lock:
        monkeypatch.setattr(cluster, "feed", lambda address: 100 + ord(address))
        cluster.owner[2], cluster.rows[2] = "a", [5]
        cluster.lock.notify_all()
    with pytest.raises(errors.AssignmentChangedError, match="has 3 partitions now, and had 2"):
        until_seen(follower, positions, 5)


def test_partitions_without_an_owner_are_an_error_after_a_time(
    cluster: Cluster, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS_WITHOUT_OWNER", 0.2)
    cluster.dead.add("a")
    with pytest.raises(errors.PartitionNotLocalError, match=r"partitions, such as 0, had no owner.*a is dead"):
        batch_of(follower, BEGIN)
    # The next call tries again.
    cluster.dead.clear()
    cluster.put(0, 1)
    assert taken(follower, BEGIN, 1)[0] == [1]


def test_rows_of_other_columns_are_an_error(cluster: Cluster) -> None:
    cluster.put(0, 1)
    follower = Follower(cluster, (Column("d", "int64"),))
    with pytest.raises(errors.RowMismatchError, match="dataset was made for"):
        batch_of(follower, BEGIN)
    follower.close()


def test_few_batches_wait_for_a_reader(cluster: Cluster, follower: Follower) -> None:
    cluster.batch_rows = 1
    cluster.put(0, *range(100))
    positions = BEGIN
    for number in range(1, 101):
        positions = batch_of(follower, positions).positions
        # One is held back until it is known whether it is the last one, one waits to be queued.
        assert cluster.sent <= number + WAITING_BATCHES + 2


def test_a_node_without_positions_is_not_read_again_and_again(
    cluster: Cluster, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    pause = module._Polls._pause
    monkeypatch.setattr(module, "SECONDS_WITHOUT_POSITIONS", 3600.0)
    monkeypatch.setattr(module._Polls, "_pause", lambda polls, seconds: (pauses.append(seconds), pause(polls, seconds)))
    cluster.knows_positions = False
    cluster.put(0, 1)
    taken(follower, BEGIN, 1)
    await_true(lambda: len([seconds for seconds in pauses if seconds > 3000]) == 2)
    assert sorted(address for address, _, _ in cluster.polls) == ["a", "b"]


def test_whole_partitions_are_read_some_at_a_time(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WHOLE_PARTITIONS", 1)
    cluster.owner = dict.fromkeys(range(2), "a")
    follower = Follower(cluster, LAYOUT)
    cluster.put(0, 1)
    cluster.put(1, 2)
    found, positions = taken(follower, BEGIN, 2)
    assert found == [1, 2]
    assert [len(asked) for _, asked, _ in cluster.polls[:2]] == [1, 1]
    cluster.put(1, 3)
    assert taken(follower, positions, 1)[0] == [3]
    assert len(cluster.polls[-1][1]) == 2
    follower.close()


def test_closing_ends_a_wait(cluster: Cluster, follower: Follower) -> None:
    threading.Timer(0.1, follower.close).start()
    with pytest.raises(ReaderClosedError):
        batch_of(follower, BEGIN)


def test_a_long_wait_is_said(
    cluster: Cluster, follower: Follower, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "SECONDS_OF_SILENCE", 0.1)
    positions = BEGIN
    while "has not changed for" not in caplog.text:
        batch = follower.take(positions)
        assert not batch.rows
        positions = batch.positions


# A mutex stands for TensorFlow: a thread that waits for it runs no handler of Python meanwhile.
WAITS_INSIDE = """
import ctypes, threading, time
from tensorflow_ignite.data.follow.interrupts import interrupts
libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
libc.pthread_mutex_lock(mutex)
interrupts.notice()
def wait():
    while not interrupts.came():
        time.sleep(0.05)
    libc.pthread_mutex_unlock(mutex)
threading.Thread(target=wait).start()
try:
    print("waiting", flush=True)
    libc.pthread_mutex_lock(mutex)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_a_wait_inside_tensorflow() -> None:
    with subprocess.Popen([sys.executable, "-c", WAITS_INSIDE], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        os.kill(process.pid, signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "interrupted\n"


CELLS_AND_A_CHILD = """
import os, signal, time
from tensorflow_ignite.data.follow.interrupts import interrupts

def interrupt():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
    except KeyboardInterrupt:
        pass

interrupts.notice()
child = os.fork()
if not child:
    interrupt()
    print(interrupts.came(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(interrupts.came())
signal.signal(signal.SIGINT, signal.default_int_handler)
interrupt()
print(interrupts.came())
"""


def test_ctrl_c_is_noticed_in_each_cell_of_a_notebook_and_not_that_of_a_forked_process() -> None:
    command = [sys.executable, "-c", CELLS_AND_A_CHILD]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    assert result.stdout.split() == ["False", "False", "True"]


def test_a_position_survives_as_text() -> None:
    position = CachePosition("c", (Position(2**64 - 1, 5), NO_POSITION))
    assert CachePosition.from_json(position.to_json()) == position
    assert as_positions(as_array(position.partitions)) == position.partitions
    assert as_array(position.partitions).dtype == np.int64
    for text in (
        "{",
        "{}",
        '{"cache": "c", "partitions": "!"}',
        '{"cache": "c", "partitions": "AAA="}',
        "[]",
        "[" * 100_000,
    ):
        with pytest.raises(errors.InvalidRequestError, match="is no position"):
            CachePosition.from_json(text)
    with pytest.raises(errors.InvalidRequestError, match="numbers from 0 on"):
        CachePosition.from_json(CachePosition("c", (Position(1, 2**64 - 1),)).to_json())


def test_changes_between_two_positions_are_counted_if_they_are_known() -> None:
    earlier = CachePosition("c", (Position(1, 5), Position(2, 7)))
    assert CachePosition("c", (Position(1, 9), Position(2, 8))).changes_since(earlier) == 5
    assert CachePosition("c", (Position(1, 9), Position(3, 8))).changes_since(earlier) is None
    assert CachePosition("c", (Position(1, 9),)).changes_since(earlier) is None
    with pytest.raises(errors.InvalidRequestError, match=r"'c'.*'d'"):
        CachePosition("d", ()).changes_since(earlier)
