"""Each row once an epoch, over all nodes together, whatever the cache and the cluster are like.

One cluster grows, loses a node, gets another and grows to nine, and has every cache from its start. Rows are read as
Arrow batches, without TensorFlow.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from many_caches import TRANSPORTS, Cache, Reading, await_balanced, configuration, fill, read
from thin_client import thin_client

from tensorflow_ignite.data.transport.choice import FLIGHT, SHARED
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

ROWS = 300
PARTITIONS = (1, 16, 256, 1024, 2048)
KINDS = ("no-backup", "one-backup", "two-backups", "replicated")
MATRIX = {
    kind: [
        Cache(f"{kind}-{count}", count, backups=KINDS.index(kind) % 3, replicated=kind == "replicated")
        for count in PARTITIONS
    ]
    for kind in KINDS
}
GROUPED = [Cache(f"grouped-{letter}", 256, backups=1, group="shared") for letter in "ab"]
FILTERED = Cache("filtered", 16, only_on="node-1")
HOUR = Cache("expires-in-an-hour", 16, backups=1, expires=3600)
ALL = [cache for caches in MATRIX.values() for cache in caches] + [*GROUPED, FILTERED, HOUR]
# Far more than an epoch or a row's life takes.
SECONDS = 240.0
# Nine nodes share two processors and the memory of a laptop.
JVM = ("-Xms64m", "-Xmx384m")
KILLED, JOINED = "one was killed", "another joined"
SIZES = {"1 node": 1, "2 nodes": 2, "4 nodes": 4, "6 nodes": 6, "9 nodes": 9}
# With the last two nodes take minutes to start.
STAGES = ["1 node", "2 nodes", "4 nodes", KILLED, JOINED, "6 nodes", "9 nodes"]
# All caches are read through shared memory at each stage, and one in so many over the network too, others each time.
FLIGHT_TURNS = 5


class Growth:
    """The cluster at one of its stages, and which rows its caches hold."""

    def __init__(self, cluster: LocalCluster) -> None:
        """Fills the caches that the first node may hold."""
        self.cluster = cluster
        self.rows: dict[str, set[int]] = {}
        self._at = 0
        self._fill([cache for cache in ALL if not cache.only_on])

    def reach(self, stage: str) -> None:
        """Takes the cluster through the stages up to this one; each ends when no partition moves any more."""
        while STAGES[self._at] != stage:
            self._at += 1
            if STAGES[self._at] == KILLED:
                self._kill()
            else:
                wanted = SIZES.get(STAGES[self._at], len(self.cluster.nodes) + 1)
                while len(self.cluster.nodes) < wanted:
                    self.cluster.start_node()
            if FILTERED.name not in self.rows:
                self._fill([FILTERED])
            await_balanced(self.cluster, ALL)

    def read(self, cache: Cache) -> Reading:
        """One epoch, asked of the oldest node; it gives its rows whatever carries them."""
        found = read(cache, self.cluster.address, SHARED)
        if (ALL.index(cache) + self._at) % FLIGHT_TURNS == 0:
            assert read(cache, self.cluster.address, FLIGHT) == found, cache
        return found

    def _fill(self, caches: list[Cache]) -> None:
        """Puts rows; each cache has its own keys."""
        with thin_client(self.cluster.nodes[0].pid) as client:
            for cache in caches:
                first = 10_000 * ALL.index(cache)
                fill(client, cache, range(first, first + ROWS))
                self.rows[cache.name] = set(range(first, first + ROWS))

    def _kill(self) -> None:
        """Kills a node; what had no copy elsewhere is gone. Who asks at once waits for new owners, and gets them."""
        victim = self.cluster.nodes[2]
        for cache in MATRIX["no-backup"]:
            self.rows[cache.name] -= set(self.read(cache).keys.get(str(victim.address), []))
        self.cluster.kill_node(victim)


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Growth]:
    """One node with every cache."""
    config = tmp_path_factory.mktemp("many-caches") / "node.xml"
    config.write_text(configuration(ALL))
    with LocalCluster(nodes=1, config=config, jvm_args=JVM) as cluster:
        yield Growth(cluster)


@pytest.fixture(
    scope="module",
    params=[stage if stage == "2 nodes" else pytest.param(stage, marks=pytest.mark.full) for stage in STAGES],
)
def grown(request: pytest.FixtureRequest, growing: Growth) -> Growth:
    """The cluster at each of its stages, in this order."""
    growing.reach(request.param)
    return growing


@pytest.mark.parametrize("kind", KINDS)
def test_each_row_is_read_once_whatever_the_number_of_partitions_and_copies(grown: Growth, kind: str) -> None:
    for cache in MATRIX[kind]:
        grown.read(cache).assert_whole(cache, grown.rows[cache.name])


def test_each_cache_of_a_group_gives_its_own_rows_once(grown: Growth) -> None:
    for cache in GROUPED:
        grown.read(cache).assert_whole(cache, grown.rows[cache.name])


def test_nodes_without_partitions_are_not_called(grown: Growth) -> None:
    single = grown.read(MATRIX["replicated"][0])
    assert len(single.keys) == 1
    if FILTERED.name in grown.rows:
        found = grown.read(FILTERED)
        found.assert_whole(FILTERED, grown.rows[FILTERED.name])
        assert list(found.keys) == [node.address for node in grown.cluster.nodes if node.name == FILTERED.only_on]


def test_rows_that_expire_later_are_read_once(grown: Growth) -> None:
    grown.read(HOUR).assert_whole(HOUR, grown.rows[HOUR.name])


def test_rows_that_expire_while_they_are_read_come_once_or_not_at_all(cluster: LocalCluster) -> None:
    cache = Cache("expires-while-read", 1024)
    lasting, fleeting = range(ROWS), range(ROWS, 5 * ROWS)
    with thin_client(cluster.nodes[0].pid) as client:
        rows = client.get_or_create_cache(cache.name)
        rows.put_all({key: -key for key in lasting})
        for step, seconds in enumerate((1, 2, 4, 20)):
            until = rows.with_expire_policy(create=timedelta(seconds=seconds))
            until.put_all({key: -key for key in fleeting[step::4]})
    seen: set[int] = set()
    for keys in _epochs(cache, cluster, until=lambda keys: keys.isdisjoint(fleeting)):
        seen |= keys
        assert keys.issuperset(lasting)
    assert not seen.isdisjoint(fleeting), "some were read before they expired"


def test_rows_that_are_there_throughout_come_once_while_others_are_put_changed_and_removed(
    cluster: LocalCluster,
) -> None:
    cache = Cache("changing", 1024)
    lasting, passing = range(20 * ROWS), range(20 * ROWS, 40 * ROWS)
    writer = _Writer(cluster, cache, lasting, passing)
    epochs = []
    try:
        for keys in _epochs(cache, cluster, until=lambda keys: len(epochs) == 20):
            epochs.append((keys, writer.rounds))
            assert keys.issuperset(lasting)
            assert keys <= {*lasting, *passing}
    finally:
        writer.end()
    assert epochs[-1][1] - epochs[0][1] > 2, "rows changed while they were read"
    assert len({len(keys) for keys, _ in epochs}) > 1, "rows came and went while they were read"


def _epochs(cache: Cache, cluster: LocalCluster, until: Callable[[set[int]], bool]) -> Iterator[set[int]]:
    """The keys of one epoch after another, none of which came twice in it; ends with the epoch that meets `until`."""
    deadline = time.monotonic() + SECONDS
    transports = itertools.cycle(TRANSPORTS)
    while time.monotonic() < deadline:
        found = read(cache, cluster.address, next(transports))
        assert [key for key, times in Counter(found.all_keys).items() if times > 1] == []
        keys = set(found.all_keys)
        yield keys
        if until(keys):
            return
    raise AssertionError(f"no epoch of {cache.name} in {SECONDS:.0f} s was as expected")


class _Writer:
    """A thread that changes a cache for as long as it is read."""

    def __init__(self, cluster: LocalCluster, cache: Cache, lasting: range, passing: range) -> None:
        """Puts the rows that stay, then begins."""
        self.rounds = 0
        self._cluster, self._cache, self._lasting, self._passing = cluster, cache, lasting, passing
        self._ending = threading.Event()
        self._failure: BaseException | None = None
        with thin_client(cluster.nodes[0].pid) as client:
            client.get_or_create_cache(cache.name)
            fill(client, cache, lasting)
        self._thread = threading.Thread(target=self._run, name="writer")
        self._thread.start()

    def end(self) -> None:
        """Waits for the thread, and raises what went wrong in it."""
        self._ending.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            with thin_client(self._cluster.nodes[1].pid) as client:
                rows = client.get_cache(self._cache.name)
                while not self._ending.is_set():
                    chunk = slice(self.rounds % 20, None, 20)
                    rows.put_all(dict.fromkeys(self._lasting[chunk], self.rounds))
                    rows.put_all(dict.fromkeys(self._passing[chunk], self.rounds))
                    rows.remove_keys(list(self._passing[(self.rounds - 5) % 20 :: 20]))
                    self.rounds += 1
        except BaseException as failure:
            self._failure = failure
