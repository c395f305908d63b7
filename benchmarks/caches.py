"""The caches that are read: plain byte[] of 1 MiB, and objects of small byte[] with a label."""

from __future__ import annotations

from collections.abc import Sequence

from pyignite import Client

import rows
import tensorflow_ignite as tfi
from tensorflow_ignite.testing import node_configuration

PARTITIONS = 16
SWEEP_LARGE = 200
# How the names of caches begin that passes make.
WRITTEN = ("load_", "pyignite_put_")
_CHUNK_ROWS = 20

_CACHE = """
<bean class="org.apache.ignite.configuration.CacheConfiguration">
  <property name="name" value="{name}"/>
  <property name="affinity">
    <bean class="org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction">
      <constructor-arg type="boolean" value="false"/>
      <constructor-arg type="int" value="{partitions}"/>
    </bean>
  </property>
</bean>
"""


def configuration(sweep: Sequence[int]) -> str:
    """A Spring XML file of a node that has the caches of large rows: thin clients cannot say how many partitions."""
    caches = {"large": PARTITIONS, **{f"sweep_1mb_{partitions}": partitions for partitions in sweep}}
    beans = "".join(_CACHE.format(name=name, partitions=count) for name, count in caches.items())
    return node_configuration(node=f'<property name="cacheConfiguration"><list>{beans}</list></property>')


def fill(address: str, thin_port: int, large: int, small: int, sweep: Sequence[int]) -> None:
    """Fills the caches of large rows, and makes those of small ones."""
    client = Client(timeout=60)
    with client.connect("127.0.0.1", thin_port):
        fill_large(client, "large", large)
        for partitions in sweep:
            fill_large(client, f"sweep_1mb_{partitions}", min(SWEEP_LARGE, large))
    pixels, labels = rows.small_rows(small)
    digits = {"pixels": pixels, "label": labels}
    tfi.load("small", digits, partitions=PARTITIONS, address=address)
    for partitions in sweep:
        tfi.load(f"sweep_small_{partitions}", digits, partitions=partitions, address=address)


def drop_written(thin_port: int) -> None:
    """Removes what passes have written: a run would fill the memory of the machine."""
    client = Client(timeout=60)
    with client.connect("127.0.0.1", thin_port):
        for cache in client.get_cache_names():
            if cache.startswith(WRITTEN):
                client.get_cache(cache).destroy()


def fill_large(client: Client, cache: str, count: int) -> None:
    """A piece at a time, as a message holds only so much."""
    row = rows.large_row().tobytes()
    for first in range(0, count, _CHUNK_ROWS):
        client.get_cache(cache).put_all(dict.fromkeys(range(first, min(first + _CHUNK_ROWS, count)), row))
