"""Tables out of caches that are served by real Arrow Flight servers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from flight_cluster import Cluster

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.data.loading.columns import table_of

ROWS = 1000


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Three nodes with the cache ``numbers``."""
    started = Cluster.start(3)
    started.add("numbers", table_of({"label": np.arange(ROWS), "name": [f"row {row}" for row in range(ROWS)]}))
    yield started
    started.stop()


def test_a_table_has_every_row_of_every_node_once(cluster: Cluster) -> None:
    table = tfi.read_table("numbers", address=cluster.address, key=True)
    assert table.column_names == ["_key", "label", "name"]
    assert sorted(table.column("label").to_pylist()) == list(range(ROWS))
    assert table.column("_key").equals(table.column("label"))
    assert cluster.wait_for_streams(0)


def test_a_table_has_the_requested_columns_and_partitions(cluster: Cluster) -> None:
    table = tfi.read_table("numbers", address=cluster.address, columns=["name"], partitions=[3, 5])
    wanted = [f"row {row}" for row in range(ROWS) if row % 8 in (3, 5)]
    assert table.column_names == ["name"]
    assert sorted(table.column("name").to_pylist()) == sorted(wanted)


def test_a_cache_without_rows_is_a_table_without_rows(cluster: Cluster) -> None:
    cluster.add("empty", table_of({"x": np.zeros((0, 3), np.float32)}))
    table = tfi.read_table("empty", address=cluster.address)
    assert (table.num_rows, table.schema.field("x").type) == (0, pa.list_(pa.float32(), 3))


def test_a_table_outlives_its_cluster() -> None:
    cluster = Cluster.start(2)
    cluster.add("numbers", table_of({"label": np.arange(ROWS)}))
    table = tfi.read_table("numbers", address=cluster.address)
    cluster.stop()
    assert sorted(table.column("label").to_pylist()) == list(range(ROWS))


def test_what_a_node_refuses_is_raised(cluster: Cluster) -> None:
    with pytest.raises(errors.CacheNotFoundError):
        tfi.read_table("nothing", address=cluster.address)
