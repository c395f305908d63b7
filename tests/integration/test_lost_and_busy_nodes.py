"""Reading outlasts a node that dies, and one that is too busy to answer."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tensorflow_ignite as tfi
from tensorflow_ignite.data.plan import count_rows
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full
PARTITIONS = 64
ROWS = 4_000
# So that a table of them takes a second, and none fits into the buffers of a connection.
ROW_BYTES = 50_000
# gRPC gives up a connection whose peer has been silent for 9 s.
FROZEN_SECONDS = 15.0


@pytest.mark.parametrize(("transport", "delay"), [("auto", 0.3), ("flight", 0.0)])
def test_a_table_is_whole_though_an_owner_dies_before_or_while_it_is_read(
    nodes: LocalCluster, transport: str, delay: float
) -> None:
    cache = f"table_{transport}_{bool(delay)}"
    values = np.random.default_rng(0).integers(0, 256, (ROWS, ROW_BYTES), np.uint8)
    tfi.load(
        cache, {"id": np.arange(ROWS), "x": values}, backups=1, partitions=PARTITIONS, address=nodes.nodes[0].address
    )
    options = tfi.ReadOptions(transport=transport, address=nodes.nodes[0].address)
    with ThreadPoolExecutor(1) as pool:
        if not delay:
            nodes.kill_node(nodes.nodes[2])
        read = pool.submit(tfi.read_table, cache, options=options)
        if delay:
            time.sleep(delay)
            nodes.kill_node(nodes.nodes[2])
        table = read.result().sort_by("id")
    assert table["id"].to_pylist() == list(range(ROWS))
    np.testing.assert_array_equal(table["x"].combine_chunks().flatten().to_numpy().reshape(ROWS, ROW_BYTES), values)
    assert count_rows(cache, address=nodes.nodes[0].address) == ROWS


def test_a_node_that_is_silent_for_a_while_is_asked_again(nodes: LocalCluster, patient: LocalCluster) -> None:
    address = nodes.nodes[0].address
    tfi.load("of_a_busy_node", {"id": np.arange(ROWS)}, partitions=PARTITIONS, address=address)
    nodes.suspend_node(nodes.nodes[0])
    waker = threading.Timer(FROZEN_SECONDS, nodes.resume_node, [nodes.nodes[0]])
    waker.start()
    try:
        assert count_rows("of_a_busy_node", address=address) == ROWS
        assert not nodes.nodes[0].suspended
    finally:
        waker.join()
