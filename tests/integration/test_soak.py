"""Many epochs leave nothing behind, in this process and in the nodes; hundreds, with TensorFlow: `make soak`."""

from __future__ import annotations

import gc
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from many_caches import TRANSPORTS, Cache, fill, read
from thin_client import thin_client

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.footprint import Footprint

pytestmark = pytest.mark.full

CACHE = Cache("soak", 1024)
ROWS = 5_000
WARM_EPOCHS, EPOCHS = 10, 30
# Heaps of nodes that have just started still grow; threads and what is mapped or open need not.
TOLERANCE = Footprint(resident_bytes=96 << 20, threads=3, descriptors=3, segments=1)

# A node has at most 128 threads for calls, and starts one for each call until then.
CALLS = 150


def footprints(cluster: LocalCluster) -> dict[str, Footprint]:
    """Of this process and of the nodes, each with all its threads for calls: these end after 10 s without a call."""
    gc.collect()
    found = {"this process": Footprint.of(os.getpid())}
    for node in cluster.nodes:
        with tfi.connect(node.address) as client, ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda _: client.nodes(), range(CALLS)))
        found[node.name] = Footprint.of(node.pid)
    return found


def test_epochs_leave_no_memory_thread_descriptor_or_segment(cluster: LocalCluster) -> None:
    with thin_client(cluster.nodes[0].pid) as client:
        client.get_or_create_cache(CACHE.name)
        fill(client, CACHE, range(ROWS))
    before: dict[str, Footprint] = {}
    for number in range(1, EPOCHS + 1):
        for transport in TRANSPORTS:
            read(CACHE, cluster.address, transport).assert_whole(CACHE, set(range(ROWS)))
        if number == WARM_EPOCHS:
            before = footprints(cluster)
    for name, after in footprints(cluster).items():
        before[name].require_flat(after, TOLERANCE, name)
