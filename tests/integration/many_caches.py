"""Caches of every kind on one cluster: how they are configured, filled, and read back without TensorFlow."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pyignite import Client
from thin_client import thin_client

from local_nodes import GIVES_UP_AFTER_A_MINUTE
from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.data.transport.choice import FLIGHT, SHARED, TCP, open_stream
from tensorflow_ignite.testing import LocalCluster, node_configuration
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.v1 import data_pb2

TRANSPORTS = (SHARED, TCP, FLIGHT)
_BALANCE_SECONDS = patiently(240.0)
# Few rows need little memory.
_BATCH_BYTES = 64 * 1024
_POLL = 0.1
# The map of partitions changes once more, a moment after the last one has moved.
_STEADY_POLLS = 4

_CACHE = """
<bean class="org.apache.ignite.configuration.CacheConfiguration">
  <property name="name" value="{name}"/>
  <property name="writeSynchronizationMode" value="FULL_SYNC"/>
  <property name="affinity">
    <bean class="org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction">
      <constructor-arg type="boolean" value="false"/>
      <constructor-arg type="int" value="{partitions}"/>
    </bean>
  </property>
  <property name="queryEntities"><list>
    <bean class="org.apache.ignite.cache.QueryEntity">
      <constructor-arg type="java.lang.String" value="java.lang.Long"/>
      <constructor-arg type="java.lang.String" value="java.lang.Long"/>
    </bean>
  </list></property>
  {more}
</bean>
"""

_FILTER = """
<property name="nodeFilter">
  <bean class="org.apache.ignite.util.AttributeNodeFilter">
    <constructor-arg type="java.lang.String" value="org.apache.ignite.ignite.name"/>
    <constructor-arg type="java.lang.Object" value="{node}"/>
  </bean>
</property>
"""

_EXPIRY = """
<property name="expiryPolicyFactory">
  <bean class="javax.cache.expiry.CreatedExpiryPolicy" factory-method="factoryOf">
    <constructor-arg><bean class="javax.cache.expiry.Duration">
      <constructor-arg value="SECONDS"/><constructor-arg value="{seconds}"/>
    </bean></constructor-arg>
  </bean>
</property>
"""


@dataclass(frozen=True)
class Cache:
    """A cache with numbers for keys and values."""

    name: str
    partitions: int
    backups: int = 0
    replicated: bool = False
    group: str = ""
    only_on: str = ""
    expires: int = 0

    def to_xml(self) -> str:
        more = '<property name="cacheMode" value="REPLICATED"/>' if self.replicated else ""
        if not self.replicated:
            more += f'<property name="backups" value="{self.backups}"/>'
        if self.group:
            more += f'<property name="groupName" value="{self.group}"/>'
        if self.only_on:
            more += _FILTER.format(node=self.only_on)
        if self.expires:
            more += _EXPIRY.format(seconds=self.expires)
        return _CACHE.format(name=self.name, partitions=self.partitions, more=more)


def configuration(caches: list[Cache]) -> str:
    """A Spring XML file for nodes that have these caches from their start."""
    found = "".join(cache.to_xml() for cache in caches)
    caches_of_nodes = f'<property name="cacheConfiguration"><list>{found}</list></property>'
    return node_configuration(node=caches_of_nodes + GIVES_UP_AFTER_A_MINUTE, timeouts={"leaseSeconds": 20})


def fill(client: Client, cache: Cache, keys: range) -> None:
    """Puts rows whose value is their key, negated."""
    client.get_cache(cache.name).put_all({key: -key for key in keys})


@dataclass(frozen=True)
class Reading:
    """What one epoch over a cache gave."""

    keys: dict[str, list[int]]
    partitions: dict[str, list[int]]
    values: dict[int, int]

    @property
    def all_keys(self) -> list[int]:
        """The keys of all nodes, each as often as it came."""
        return [key for keys in self.keys.values() for key in keys]

    def assert_whole(self, cache: Cache, expected: set[int]) -> None:
        """Each expected row came once, and no other; each partition was read on one node."""
        assert sorted(self.all_keys) == sorted(expected), cache
        assert all(self.values[key] == -key for key in expected), cache
        asked = [partition for partitions in self.partitions.values() for partition in partitions]
        assert sorted(asked) == list(range(cache.partitions)), cache


def read(cache: Cache, address: str, transport: str) -> Reading:
    """Reads a cache from all its nodes, as Arrow batches."""
    # The tests kill nodes themselves, and know which rows are left.
    command = data_pb2.ReadCommand(cache=cache.name, key=True, batch_bytes=_BATCH_BYTES, accept_data_loss=True)
    plan = flight.describe(address, command)
    keys: dict[str, list[int]] = {}
    partitions: dict[str, list[int]] = {}
    values: dict[int, int] = {}
    for endpoint in plan.endpoints:
        assert endpoint.address not in keys, "a node sends all its rows in one stream"
        partitions[endpoint.address] = list(endpoint.command.partitions)
        keys[endpoint.address] = []
        stream = open_stream(endpoint, f"cache {cache.name!r}", transport)
        for batch in stream:
            names = batch.column(0).to_pylist()
            keys[endpoint.address] += names
            values.update(zip(names, batch.column(1).to_pylist(), strict=True))
            del batch
        assert stream.result is not None
        assert stream.result.rows == len(keys[endpoint.address])
    return Reading(keys, partitions, values)


def await_balanced(cluster: LocalCluster, caches: list[Cache], seconds: float = _BALANCE_SECONDS) -> None:
    """Waits until no partition moves any more, and every node that is there has its share of each cache."""
    deadline = time.monotonic() + seconds
    wide = [cache for cache in caches if cache.partitions >= 256 and not cache.only_on]
    with thin_client(cluster.nodes[0].pid) as client:
        steady: list[object] = []
        while len(steady) < _STEADY_POLLS:
            if time.monotonic() > deadline:
                raise TimeoutError(f"partitions still move {seconds:.0f} s after the last change: {_moving(client)}")
            # No event informs a process outside the cluster that rebalancing has ended.
            time.sleep(_POLL)
            shares = [_shares(cache, cluster.address) for cache in wide]
            if _moving(client) or any(set(share) != set(cluster.addresses) for share in shares):
                steady = []
            else:
                steady = [*(one for one in steady if one == shares), shares]


def _moving(client: Client) -> int:
    """How many copies of partitions are not where they belong."""
    ((count,),) = client.sql("SELECT COUNT(*) FROM SYS.PARTITION_STATES WHERE STATE IN ('MOVING', 'RENTING')")
    return int(count)


def _shares(cache: Cache, address: str) -> dict[str, list[int]]:
    """Which node sends which partitions. With many partitions, chance leaves no node without one."""
    plan = flight.describe(address, data_pb2.ReadCommand(cache=cache.name, uncounted=True, accept_data_loss=True))
    return {endpoint.address: list(endpoint.command.partitions) for endpoint in plan.endpoints}
