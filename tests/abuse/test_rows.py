"""Rows that are larger, wider or deeper than what people keep in tables."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from arena import MIB, SECONDS, Arena
from usage import thin
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite import errors


@pytest.mark.parametrize("kind", ["binary", "text"])
def test_a_row_of_half_the_region_is_loaded_and_read(arena: Arena, kind: str) -> None:
    size = 60 * MIB if kind == "binary" else 50 * MIB
    value = bytes(size) if kind == "binary" else "x" * size
    with arena.cache("large"):
        tfi.load("large", {"value": [value]}, partitions=8, address=arena.address)
        for transport in ("tcp", "flight"):
            rows = tfi.read_table("large", transport=transport, address=arena.address)
            assert rows.column("value")[0].as_py() == value
        _confirm_messages(arena)


def test_a_row_for_which_no_node_has_room_is_refused(arena: Arena) -> None:
    """Half of it would have room on each node, but a row is stored whole."""
    with pytest.raises(errors.StorageFullError, match="no room for rows of cache large"):
        tfi.load("large", {"value": [bytes(90 * MIB)]}, partitions=1_024, address=arena.address)
    await_true(lambda: "large" not in arena.caches(), "the cache of the load is left", SECONDS)


def _confirm_messages(arena: Arena) -> None:
    """Sends messages between the nodes. Ignite keeps a message until its node confirms it, with each 32nd."""
    for node in arena.cluster.nodes:
        with arena.cache("messages"), thin(node) as client:
            cache = client.get_or_create_cache("messages")
            for key in range(150):
                cache.put(key, key)


def test_a_row_larger_than_any_batch_is_refused(arena: Arena) -> None:
    with pytest.raises(errors.LimitExceededError, match=r"larger than the node .* accepts .*Load smaller batches"):
        tfi.load("huge", {"value": [bytes(300 * MIB)]}, address=arena.address)
    await_true(lambda: "huge" not in arena.caches(), "the cache of the load is left", SECONDS)


def test_ten_thousand_columns_are_loaded_and_read(arena: Arena) -> None:
    columns = {f"column{number}": np.arange(20) + number for number in range(10_000)}
    with arena.cache("wide"):
        tfi.load("wide", columns, partitions=8, sql=False, address=arena.address)
        rows = tfi.read_table("wide", address=arena.address)
        assert rows.num_columns == len(columns)
        assert sorted(rows.column("column9999").to_pylist()) == columns["column9999"].tolist()


def test_ten_thousand_columns_of_a_sql_table(arena: Arena) -> None:
    columns = {f"column{number}": np.arange(20) + number for number in range(10_000)}
    with arena.cache("wide_sql"):
        tfi.load("wide_sql", columns, partitions=8, address=arena.address)
        rows = tfi.read_table("wide_sql", where="column9999 > 10010", address=arena.address)
        assert rows.num_rows == 8


@pytest.mark.parametrize("levels", [30, 1_000])
def test_deeply_nested_columns_are_loaded_and_read_or_refused(arena: Arena, levels: int) -> None:
    kind: pa.DataType = pa.int64()
    value: object = 7
    for _ in range(levels):
        kind, value = pa.struct([("inner", kind)]), {"inner": value}
    with arena.cache("deep"):
        rows = pa.RecordBatch.from_arrays([_nested(levels)], names=["value"])
        if levels > 64:
            with pytest.raises(errors.InvalidRequestError, match=r"'value' is nested deeper than 64 levels.*Flatten"):
                tfi.load("deep", pa.Table.from_batches([rows]), address=arena.address)
        else:
            tfi.load("deep", pa.Table.from_batches([rows]), partitions=8, address=arena.address)
            assert tfi.read_table("deep", address=arena.address).column("value")[0].as_py() == value


def _nested(levels: int) -> pa.Array:
    array = pa.array([7])
    for _ in range(levels):
        array = pa.StructArray.from_arrays([array], names=["inner"])
    return array
