"""What the tests of streams from real nodes share: who sends."""

from __future__ import annotations

from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.v1 import data_pb2

# Many batches for each node.
BATCH = 64 * 1024


def endpoints(cluster: LocalCluster, cache: str) -> tuple[flight.Endpoint, ...]:
    """Who sends the rows of a cache, in small batches."""
    command = data_pb2.ReadCommand(cache=cache, batch_bytes=BATCH)
    return flight.describe(cluster.address, command).endpoints
