"""Rows that are larger, wider or deeper than what people keep in tables."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from arena import MIB, SECONDS, Arena
from thin_client import thin_client
from waiting import await_true

import tensorflow_ignite as tfi
from local_nodes import read_at
from tensorflow_ignite import errors


@pytest.mark.parametrize("kind", ["binary", "text"])
def test_a_row_of_half_the_region_is_loaded_and_read(arena: Arena, kind: str) -> None:
    size = 60 * MIB if kind == "binary" else 50 * MIB
    value = bytes(size) if kind == "binary" else "x" * size
    with arena.cache("large"):
        tfi.load("large", {"value": [value]}, partitions=8, address=arena.address)
        for transport in ("tcp", "flight"):
            rows = tfi.read_table("large", options=read_at(arena, transport=transport))
            assert rows.column("value")[0].as_py() == value
        _confirm_messages(arena)


@pytest.mark.parametrize(
    ("size", "partitions", "kind", "text"),
    [
        # Half of it would have room on each node, but a row is stored whole.
        (90 * MIB, 1_024, errors.StorageFullError, "no room for rows of cache large"),
        (300 * MIB, None, errors.LimitExceededError, r"larger than the node .* accepts .*Load smaller batches"),
    ],
    ids=["no room", "larger than any batch"],
)
def test_a_row_that_no_node_can_take_is_refused(
    arena: Arena, size: int, partitions: int | None, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        tfi.load("large", {"value": [bytes(size)]}, partitions=partitions, address=arena.address)
    await_true(lambda: "large" not in arena.caches(), "the cache of the load is left", SECONDS)


def _confirm_messages(arena: Arena) -> None:
    """Sends messages between the nodes. Ignite keeps a message until its node confirms it, with each 32nd."""
    for node in arena.cluster.nodes:
        with arena.cache("messages"), thin_client(node.pid) as client:
            cache = client.get_or_create_cache("messages")
            for key in range(150):
                cache.put(key, key)


@pytest.mark.parametrize("sql", [False, True], ids=["cache", "table"])
def test_ten_thousand_columns_are_loaded_and_read(arena: Arena, sql: bool) -> None:
    columns = {f"column{number}": np.arange(20) + number for number in range(10_000)}
    with arena.cache("wide"):
        tfi.load("wide", columns, partitions=8, sql=sql, address=arena.address)
        rows = tfi.read_table("wide", options=read_at(arena))
        assert rows.num_columns == len(columns)
        assert sorted(rows.column("column9999").to_pylist()) == columns["column9999"].tolist()
        if sql:
            assert tfi.read_table("wide", where="column9999 > 10010", options=read_at(arena)).num_rows == 8


@pytest.mark.parametrize("levels", [30, 1_000])
def test_deeply_nested_columns_are_loaded_and_read_or_refused(arena: Arena, levels: int) -> None:
    array = pa.array([7])
    for _ in range(levels):
        array = pa.StructArray.from_arrays([array], names=["inner"])
    rows = pa.Table.from_arrays([array], names=["value"])
    with arena.cache("deep"):
        if levels > 64:
            with pytest.raises(errors.InvalidRequestError, match=r"'value' is nested deeper than 64 levels.*Flatten"):
                tfi.load("deep", rows, address=arena.address)
        else:
            tfi.load("deep", rows, partitions=8, address=arena.address)
            assert tfi.read_table("deep", options=read_at(arena)).to_pydict() == rows.to_pydict()
