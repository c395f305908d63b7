"""Each row once an epoch, over all nodes together, whatever the cache and the cluster are like.

One cluster grows, loses a node and gets another, and has every cache from its start. Rows are read as
Arrow batches, without TensorFlow.

Promise (rows): A dataset returns each row that exists throughout an epoch once, or raises.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from many_caches import TRANSPORTS, Cache, Reading, await_balanced, configuration, fill, read
from meanwhile import repeating
from thin_client import thin_client

import tensorflow_ignite as tfi
from tensorflow_ignite.data.transport.choice import FLIGHT, SHARED
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.patience import patiently

ROWS = 300
KINDS: dict[str, dict[str, Any]] = {
    "no-backup": {"backups": 0},
    "one-backup": {"backups": 1},
    "two-backups": {"backups": 2},
    "replicated": {"replicated": True},
}
# Each number of partitions in two kinds, and each kind with two numbers or more.
MATRIX = [
    Cache(f"{kind}-{count}", count, **KINDS[kind])
    for kind, counts in {
        "no-backup": (1, 256, 2048),
        "one-backup": (16, 1024),
        "two-backups": (1, 256, 2048),
        "replicated": (16, 1024),
    }.items()
    for count in counts
]
SINGLE = Cache("replicated-1", 1, replicated=True)
GROUPED = [Cache(f"grouped-{letter}", 256, backups=1, group="shared") for letter in "ab"]
FILTERED = Cache("filtered", 16, only_on="node-1")
HOUR = Cache("expires-in-an-hour", 16, backups=1, expires=3600)
ALL = [*MATRIX, SINGLE, *GROUPED, FILTERED, HOUR]
# Far more than an epoch or a row's life takes.
SECONDS = patiently(240.0)
# Many nodes share two processors and the memory of a laptop.
JVM = ("-Xms64m", "-Xmx384m")
KILLED, JOINED = "one was killed", "another joined"
SIZES = {"1 node": 1, "4 nodes": 4}
STAGES = ["1 node", "4 nodes", KILLED, JOINED]
# All caches are read through shared memory at each stage. One in FLIGHT_TURNS, another each time, is read over the
# network too.
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
                expected = SIZES.get(STAGES[self._at], len(self.cluster.nodes) + 1)
                while len(self.cluster.nodes) < expected:
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
        for cache in [cache for cache in MATRIX if not cache.backups and not cache.replicated]:
            self.rows[cache.name] -= set(self.read(cache).keys.get(str(victim.address), []))
        self.cluster.kill_node(victim)


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Growth]:
    config = tmp_path_factory.mktemp("many-caches") / "node.xml"
    config.write_text(configuration(ALL))
    with LocalCluster(nodes=1, config=config, jvm_args=JVM) as cluster:
        yield Growth(cluster)


# The fixture reaches the stage, as nodes that a test starts may not outlive it.
@pytest.fixture(scope="module", params=STAGES)
def grown(request: pytest.FixtureRequest, growing: Growth) -> Growth:
    """The cluster at each of its stages, in this order."""
    growing.reach(request.param)
    return growing


@pytest.mark.full
def test_each_row_is_read_once_whatever_the_cache_and_the_cluster_are_like(grown: Growth) -> None:
    for cache in ALL:
        if cache.name not in grown.rows:
            continue
        found = grown.read(cache)
        found.assert_whole(cache, grown.rows[cache.name])
        # Nodes without partitions are not called.
        if cache is SINGLE:
            assert len(found.keys) == 1
        if cache is FILTERED:
            assert list(found.keys) == [node.address for node in grown.cluster.nodes if node.name == cache.only_on]


@pytest.mark.parametrize(("kind", "partitions"), [*zip(KINDS, (1, 16, 256, 1024), strict=True)])
def test_each_row_of_a_loaded_cache_is_read_once(cluster: LocalCluster, kind: str, partitions: int) -> None:
    cache = Cache(f"loaded-{kind}", partitions, **KINDS[kind])
    keys = np.arange(ROWS)
    rows = {"key": keys, "value": -keys}
    tfi.load(cache.name, rows, key="key", partitions=partitions, address=cluster.address, **KINDS[kind])
    for transport in TRANSPORTS:
        read(cache, cluster.address, transport).assert_whole(cache, set(range(ROWS)))


@pytest.mark.full
def test_rows_that_expire_while_they_are_read_come_once_or_not_at_all(cluster: LocalCluster) -> None:
    cache = Cache("expires-while-read", 1024)
    lasting, fleeting = range(ROWS), range(ROWS, 5 * ROWS)
    with thin_client(cluster.nodes[0].pid) as client:
        rows = client.get_or_create_cache(cache.name)
        rows.put_all({key: -key for key in lasting})
        expiring = rows.with_expire_policy(create=timedelta(seconds=2))
        seen: set[int] = set()
        epochs = _epochs(cache, cluster)
        # Until some were read before they expired.
        while seen.isdisjoint(fleeting):
            expiring.put_all({key: -key for key in fleeting})
            seen = next(epochs)
            assert seen.issuperset(lasting)
    while not seen.isdisjoint(fleeting):
        seen = next(epochs)
        assert seen.issuperset(lasting)


@pytest.mark.full
def test_rows_that_are_there_throughout_come_once_while_others_are_put_changed_and_removed(
    cluster: LocalCluster,
) -> None:
    cache = Cache("changing", 1024)
    lasting, passing = range(20 * ROWS), range(20 * ROWS, 40 * ROWS)
    rounds, sizes = 0, []
    with thin_client(cluster.nodes[1].pid) as client:
        rows = client.get_or_create_cache(cache.name)
        fill(client, cache, lasting)

        def change() -> None:
            nonlocal rounds
            chunk = slice(rounds % 20, None, 20)
            rows.put_all(dict.fromkeys(lasting[chunk], rounds))
            rows.put_all(dict.fromkeys(passing[chunk], rounds))
            rows.remove_keys(list(passing[(rounds - 5) % 20 :: 20]))
            rounds += 1

        with repeating(change):
            begin = rounds
            for keys in _epochs(cache, cluster):
                assert keys.issuperset(lasting)
                assert keys <= {*lasting, *passing}
                sizes.append(len(keys))
                # Rows changed, came and went while they were read.
                if len(sizes) >= 20 and rounds - begin > 2 and len(set(sizes)) > 1:
                    break


def _epochs(cache: Cache, cluster: LocalCluster) -> Iterator[set[int]]:
    """The keys of one epoch after another, none of which came twice in it, for as long as an epoch may be awaited."""
    deadline = time.monotonic() + SECONDS
    transports = itertools.cycle(TRANSPORTS)
    while time.monotonic() < deadline:
        found = read(cache, cluster.address, next(transports))
        assert [key for key, times in Counter(found.all_keys).items() if times > 1] == []
        yield set(found.all_keys)
    raise AssertionError(f"no epoch of {cache.name} in {SECONDS:.0f} s was as expected")
