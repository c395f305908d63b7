"""What the tests of streams from real nodes share: who sends, and waiting for what the kernel tells."""

from __future__ import annotations

import time
from collections.abc import Callable

from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.v1 import data_pb2

# Many batches for each node.
BATCH = 64 * 1024
SECONDS = 30.0


def endpoints(cluster: LocalCluster, cache: str) -> tuple[flight.Endpoint, ...]:
    """Who sends the rows of a cache, in small batches."""
    command = data_pb2.ReadCommand(cache=cache, batch_bytes=BATCH)
    return flight.describe(cluster.address, command).endpoints


def await_true(condition: Callable[[], bool], otherwise: str) -> None:
    """The kernel's tables tell nobody when they change."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)
