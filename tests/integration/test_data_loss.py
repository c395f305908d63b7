"""Rows whose nodes have died: an error for everybody, until somebody accepts the loss or loads the cache again.

Promise (rows): Rows that died with their nodes are an error for every reader.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_metrics import HTTP_PORT, metric
from waiting import await_true

import tensorflow_ignite as tfi
from local_nodes import read_at
from tensorflow_ignite.errors import DataLossError
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

ROWS = 3000
# Reads what is left of the cache, in a task of a job that accepts it.
SCRIPT = f"""
import tensorflow_ignite as tfi
assert 0 < tfi.read_table("rows").num_rows < {ROWS}
"""


def test_rows_that_died_with_their_nodes_are_missed_by_every_reader(tmp_path: Path, tolerant: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    rows = {"id": np.arange(ROWS)}
    with LocalCluster(3, config=tolerant, environment=HTTP_PORT) as cluster:
        for name in ("rows", "again"):
            tfi.load(name, rows, backups=1, partitions=64, address=cluster.address)
        tfi.load("everywhere", rows, replicated=True, address=cluster.address)
        *dying, kept = cluster.nodes
        with ThreadPoolExecutor() as pool:
            list(pool.map(cluster.kill_node, dying))
        # A node that joins now knows of the loss too.
        joined = cluster.start_node()
        for address in (kept.address, joined.address):
            assert tfi.read_table("everywhere", options=tfi.ReadOptions(address=address)).num_rows == ROWS
            with tfi.connect(address) as client:
                await_true(lambda client=client: len(client.nodes()) == 2, "there are not two nodes")
                assert_lost(lambda address=address: tfi.read_table("rows", options=tfi.ReadOptions(address=address)))
                assert_lost(lambda address=address: tfi.dataset("rows", options=tfi.ReadOptions(address=address)))
                assert_lost(lambda client=client: client.submit(script, cache="rows"))
                assert lost_caches(client) == ["again", "rows"]
                for node in client.nodes():
                    assert metric(node.http_address, 'tensorflow_ignite_lost_partitions{cache="rows"}') > 0
                    assert metric(node.http_address, 'tensorflow_ignite_lost_partitions{cache="everywhere"}') == 0
                assert_lost(
                    lambda client=client: client.submit(script, cache="everywhere", access=tfi.Access(caches=["rows"]))
                )

        tfi.load("again", rows, if_exists="replace", address=joined.address)
        assert tfi.read_table("again", options=read_at(kept)).num_rows == ROWS

        left = tfi.read_table("rows", accept_data_loss=True, options=read_at(joined)).num_rows
        assert 0 < left < ROWS
        assert (
            int(tfi.dataset("rows", accept_data_loss=True, exact=True, options=read_at(joined)).cardinality()) == left
        )
        with tfi.connect(joined.address) as client:
            client.submit(script, cache="rows", restart=tfi.Restart(allow_data_loss=True)).wait(timeout=120)
            assert_lost(lambda: tfi.read_table("rows", options=read_at(kept)))
            assert client.accept_data_loss("rows")
            assert tfi.read_table("rows", options=read_at(kept)).num_rows == left
            assert client.accept_data_loss("rows") == ()
            assert lost_caches(client) == []
            assert metric(client.nodes()[0].http_address, 'tensorflow_ignite_lost_partitions{cache="rows"}') == 0


def lost_caches(client: tfi.Client) -> list[str]:
    """Without the service's own."""
    return [loss.cache for loss in client.nodes()[0].losses if not loss.is_of_service]


def assert_lost(call: Callable[[], Any]) -> None:
    with pytest.raises(DataLossError, match=r"cache rows has lost partitions: of [0-9]+ no copy is left"):
        call()
