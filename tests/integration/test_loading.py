"""Rows of every kind in a real cluster: loaded, read back, and never half there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import pytest
from jobs import cli
from thin_client import thin_client

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.data.loading import load as loading
from tensorflow_ignite.data.loading.columns import table_of
from tensorflow_ignite.data.loading.inputs import BATCH_ROWS
from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.v1 import data_pb2

ROWS = 60
PARTITIONS = 16
MIB = 1 << 20

IMAGES = np.random.default_rng(0).integers(0, 256, (ROWS, 3, 4), np.uint8)
COLUMNS: dict[str, Any] = {
    "id": np.arange(ROWS),
    "image": IMAGES,
    "name": [f"row {number}" for number in range(ROWS)],
    "weight": np.arange(ROWS, dtype=np.float32) / 4,
}
FLAT = {name: values for name, values in COLUMNS.items() if name != "image"}


def read(cache: str, cluster: LocalCluster, partitions: Any = ()) -> pa.Table:
    """The rows with their keys, in no order."""
    received = flight.describe(cluster.address, data_pb2.ReadCommand(cache=cache, key=True, partitions=partitions))
    batches = [batch for endpoint in received.endpoints for batch in flight.BatchStream(endpoint, cache)]
    return pa.Table.from_batches(batches, received.schema)


def exists(cache: str, cluster: LocalCluster) -> bool:
    """Whether the cluster has the cache."""
    try:
        flight.describe(cluster.address, data_pb2.ReadCommand(cache=cache))
    except errors.CacheNotFoundError:
        return False
    return True


def assert_loaded(cache: str, cluster: LocalCluster, names: Any = tuple(COLUMNS)) -> None:
    """Every row once, with its values and its key."""
    table = read(cache, cluster).sort_by("_key")
    assert table.column("_key").to_pylist() == list(range(ROWS))
    for name in names:
        if name == "image":
            np.testing.assert_array_equal(np.array(table.column(name).to_pylist()).reshape(IMAGES.shape), IMAGES)
        else:
            assert table.column(name).to_pylist() == list(COLUMNS[name])


def batches() -> Iterator[dict[str, Any]]:
    for first in range(0, ROWS, 20):
        yield {name: values[first : first + 20] for name, values in COLUMNS.items()}


def test_rows_in_memory_and_in_batches_come_back_as_they_were(cluster: LocalCluster) -> None:
    options: Any = {"partitions": PARTITIONS, "if_exists": "replace", "address": cluster.address}
    table = table_of(COLUMNS)
    for data in (COLUMNS, table, table.to_reader(max_chunksize=7), batches()):
        assert tfi.load("of_memory", data, **options) == ROWS
        assert_loaded("of_memory", cluster)
    described = flight.describe(cluster.address, data_pb2.ReadCommand(cache="of_memory"))
    assert described.schema.field("image").type == pa.list_(pa.uint8(), 12)


def test_files_come_back_as_they_were(cluster: LocalCluster, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **COLUMNS)
    table = table_of(FLAT)
    (tmp_path / "parts").mkdir()
    for part in range(2):
        pa.parquet.write_table(table.slice(part * 30, 30), tmp_path / "parts" / f"{part}.parquet")
    pa.csv.write_csv(table, tmp_path / "a.csv")
    options: Any = {"partitions": PARTITIONS, "if_exists": "replace", "address": cluster.address}
    assert tfi.load("of_files", tmp_path / "a.npz", **options) == ROWS
    assert_loaded("of_files", cluster)
    for path in ("parts", "a.csv"):
        assert tfi.load("of_files", tmp_path / path, schema={"weight": "float32"}, **options) == ROWS
        assert_loaded("of_files", cluster, FLAT)


@pytest.mark.full
def test_datasets_of_tensors_come_back_as_they_were(cluster: LocalCluster) -> None:
    tf = pytest.importorskip("tensorflow")
    options: Any = {
        "partitions": PARTITIONS,
        "if_exists": "replace",
        "address": cluster.address,
        "schema": {"id": None, "image": None, "name": pa.string(), "weight": None},
    }
    rows = tf.data.Dataset.from_tensor_slices(COLUMNS)
    tuples = tf.data.Dataset.from_tensor_slices(tuple(COLUMNS.values()))
    for data in (rows, rows.batch(13), tuples):
        assert tfi.load("of_tensors", data, **options) == ROWS
        assert_loaded("of_tensors", cluster)
    same = rows.batch(10, drop_remainder=True)
    with pytest.raises(errors.InvalidRequestError, match="batched=True or batched=False"):
        tfi.load("of_tensors", same, **options)
    assert tfi.load("of_tensors", same, batched=True, **options) == ROWS
    assert_loaded("of_tensors", cluster)
    with pytest.raises(errors.InvalidRequestError, match="Columns need names"):
        tfi.load("of_tensors", tuples, address=cluster.address)

    sparse = tf.data.Dataset.from_tensors({"s": tf.sparse.eye(3)})
    with pytest.raises(errors.InvalidRequestError, match="'s' of the dataset is a SparseTensorSpec; only tensors and"):
        tfi.load("of_tensors", sparse, address=cluster.address)

    words = tf.data.Dataset.range(6).map(lambda number: {"n": tf.range(number)})
    tfi.load("of_tensors", words, batched=False, **{**options, "schema": None})
    ragged = read("of_tensors", cluster).sort_by("_key")
    assert ragged.column("n").to_pylist() == [list(range(number)) for number in range(6)]


@pytest.mark.full
def test_a_load_that_fails_in_the_middle_leaves_no_cache_and_its_own_error(cluster: LocalCluster) -> None:
    def failing() -> Iterator[dict[str, Any]]:
        yield from batches()
        raise KeyError("my own")

    def changing() -> Iterator[dict[str, Any]]:
        yield from batches()
        yield {**next(batches()), "id": ["now text"] * 20}

    def endless() -> Iterator[dict[str, Any]]:
        while True:
            yield {"x": np.arange(BATCH_ROWS)}

    def refuse(progress: loading.Progress) -> None:
        raise RuntimeError(f"{progress.rows} rows are too many")

    with pytest.raises(KeyError, match="my own"):
        tfi.load("failing", failing(), address=cluster.address)
    assert not exists("failing", cluster)
    with pytest.raises(errors.InvalidRequestError, match="of type string in batch 3, and of int64 in the first"):
        tfi.load("failing", changing(), address=cluster.address)
    assert not exists("failing", cluster)
    with pytest.raises(RuntimeError, match="rows are too many"):
        tfi.load("failing", endless(), progress=refuse, address=cluster.address)
    assert not exists("failing", cluster)


@pytest.mark.full
def test_names_and_values_that_ignite_would_confuse_or_lose_are_refused(cluster: LocalCluster) -> None:
    latin = pa.StringArray.from_buffers(1, pa.array([0, 4], pa.int32()).buffers()[1], pa.py_buffer(b"caf\xe9"))
    twice = pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))
    refused: list[tuple[pa.Table, str]] = [
        (pa.table({"to": [1], "v1": [10]}), 'fields "to" and "v1"'),
        (pa.table({"p": [{"x": 1, "X": 2}]}), 'the objects in p have the fields "x" and "X"'),
        (pa.table({"n": latin}), "row 0 .* column n is .* whose bytes are not UTF-8"),
        (pa.table({"n": twice}), "row 0 .* column n has the key a twice"),
        (pa.table({"n": pa.array([86_400], pa.time32("s"))}), "row 0 .* column n is 86400 .* no time of a day"),
    ]
    for rows, text in refused:
        with pytest.raises(errors.TensorFlowIgniteError, match=text):
            tfi.load("confused", rows, address=cluster.address)
        with pytest.raises(errors.CacheNotFoundError):
            read("confused", cluster)
    tfi.load("to", {"x": [1]}, address=cluster.address)
    with pytest.raises(errors.InvalidRequestError, match="cache v1 cannot be created beside cache to;"):
        tfi.load("v1", {"x": [1]}, address=cluster.address)
    tfi.load("to", {"x": [2]}, address=cluster.address, if_exists="replace")


def test_keys_that_are_not_unique_leave_no_cache(cluster: LocalCluster) -> None:
    with pytest.raises(
        errors.RowMismatchError,
        match=r"60 rows were loaded into cache twice, but the cache holds 30.* Several rows have the key id=\d+",
    ) as error:
        tfi.load("twice", {**COLUMNS, "id": np.arange(ROWS) // 2}, key="id", address=cluster.address)
    assert int(str(error.value).rpartition("=")[2]) in range(30)
    assert not exists("twice", cluster)


@pytest.mark.full
def test_appended_tensors_have_the_shape_of_those_before(cluster: LocalCluster) -> None:
    options: Any = {"partitions": PARTITIONS, "address": cluster.address}
    images = np.zeros((1, 2, 6))
    tfi.load("shaped", {"image": images}, **options)
    with pytest.raises(errors.RowMismatchError, match=r"image has values of shape \[3, 4\], and in cache shaped of"):
        tfi.load("shaped", {"image": images.reshape(1, 3, 4)}, if_exists="append", **options)
    tfi.load("shaped", {"image": images.reshape(1, 12)}, if_exists="append", **options)
    tfi.load("shaped", {"image": images}, if_exists="append", **options)


@pytest.mark.parametrize("sql", [True, False])
def test_rows_with_the_same_affinity_value_are_read_from_one_partition(cluster: LocalCluster, sql: bool) -> None:
    groups = np.arange(ROWS) % 7
    tfi.load(
        "grouped",
        {"id": np.arange(ROWS), "group": groups, "weight": COLUMNS["weight"]},
        key="id",
        affinity="group",
        partitions=PARTITIONS,
        sql=sql,
        if_exists="replace",
        address=cluster.address,
    )
    homes: dict[int, set[int]] = {}
    seen = []
    for partition in range(PARTITIONS):
        command = data_pb2.ReadCommand(cache="grouped", partitions=[partition])
        for endpoint in flight.describe(cluster.address, command).endpoints:
            for batch in flight.BatchStream(endpoint, "grouped"):
                for row in batch.to_pylist():
                    homes.setdefault(row["group"], set()).add(partition)
                    seen.append((row["id"], row["group"], row["weight"]))
    assert sorted(seen) == [(number, number % 7, number / 4) for number in range(ROWS)]
    assert {group: len(found) for group, found in homes.items()} == dict.fromkeys(range(7), 1)
    assert len(set.union(*homes.values())) > 2


@pytest.mark.full
def test_large_rows_before_many_small_ones_are_loaded(cluster: LocalCluster) -> None:
    values = [bytes(8 * MIB)] * 30 + [b"x"] * 300_000
    tfi.load("unequal", {"value": values}, partitions=8, address=cluster.address)
    lengths = pc.binary_length(
        tfi.read_table("unequal", options=tfi.ReadOptions(address=cluster.address)).column("value")
    )
    assert pc.sum(lengths).as_py() == 30 * 8 * MIB + 300_000


@pytest.mark.full
def test_progress_is_of_rows_that_are_stored(cluster: LocalCluster) -> None:
    received: list[loading.Progress] = []
    with thin_client(cluster.nodes[0].pid) as client:

        def check(progress: loading.Progress) -> None:
            assert client.get_cache("progress").get_size() >= progress.rows
            received.append(progress)

        rows = 15 * BATCH_ROWS
        columns = {"x": np.arange(rows), "y": np.ones(rows)}
        tfi.load("progress", columns, progress=check, partitions=PARTITIONS, address=cluster.address)
    stored = [progress.rows for progress in received]
    assert len(stored) > 5
    assert stored == sorted(stored)
    assert [stored[-1], received[-1].total_rows] == [rows, rows]
    assert received[-1].bytes >= 16 * rows


def test_the_command_line_loads_files_and_prints_errors(cluster: LocalCluster, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("id,weight\n" + "".join(f"{number},{number / 4}\n" for number in range(ROWS)))
    path = str(rows)
    ran = cli("load", "by_hand", path, "--key", "id", "--partitions", "8", address=cluster.address)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("loaded 60 rows into cache by_hand: ")
    again = cli("load", "by_hand", path, "--key", "id", "--if-exists", "replace", "--json", address=cluster.address)
    received = json.loads(again.stdout)
    assert (received["cache"], received["rows"]) == ("by_hand", ROWS)
    assert received["bytes"] > 0 < received["seconds"]
    assert read("by_hand", cluster).sort_by("_key").column("weight").to_pylist() == [n / 4 for n in range(ROWS)]

    for args, fault in (
        (["by_hand", path], "cache by_hand exists"),
        (["other", path, "--key", "nope"], "key='nope' is not a column of the data"),
    ):
        ran = cli("load", *args, address=cluster.address)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ran.stderr.startswith("error: ")
        assert fault in ran.stderr
        assert "Traceback" not in ran.stderr
    # Far behind the rows from which the types of the columns are inferred.
    rows.write_text("id,weight\n" + "".join(f"{number},1.{'0' * 50}\n" for number in range(90_000)) + "word,1.0\n")
    ran = cli("load", "broken", path, address=cluster.address)
    assert ran.returncode == 1
    assert "cannot be read as csv" in ran.stderr
    assert not exists("broken", cluster)
