"""A thin client of Ignite's own at a node, for rows that know nothing of us."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from pyignite import Client

from tensorflow_ignite.testing.patience import patiently

# By default a node takes thin clients on the first free port of these.
_PORTS = range(10_800, 10_901)
_SECONDS = patiently(60.0)


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
