"""A thin client of Ignite's own at a node, for what ours does not do: foreign rows, caches that are destroyed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from pyignite import Client

# By default a node takes thin clients on the first free port of these.
_PORTS = range(10_800, 10_901)
_SECONDS = 60.0
# What we keep in a cluster ourselves is there once, for all tests.
_OURS = "tensorflow-ignite"


def thin_port(pid: int) -> int:
    """The port for thin clients of the node that is this process."""
    connections = psutil.Process(pid).net_connections("tcp")
    listening = {connection.laddr.port for connection in connections if connection.status == psutil.CONN_LISTEN}
    return min(listening.intersection(_PORTS))


@contextmanager
def thin_client(pid: int) -> Iterator[Client]:
    """A client of the node that is this process; it asks no other."""
    client = Client(partition_aware=False, timeout=_SECONDS)
    with client.connect("127.0.0.1", thin_port(pid)):
        yield client


def destroy_caches(pid: int) -> None:
    """Gives the memory of all caches that users have made in the cluster of this node back."""
    with thin_client(pid) as client:
        for name in client.get_cache_names():
            if not name.startswith(_OURS):
                client.get_cache(name).destroy()
