"""Batches of arrays: the rows of tfi.dataset in its order, without TensorFlow."""

from __future__ import annotations

import functools
import gc
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import LIMIT, PARTITIONS, SCRIPTS, partition_of, read, workers
from waiting import await_true

import tensorflow_ignite as tfi
from local_nodes import read_at
from tensorflow_ignite.data.batches import Ragged
from tensorflow_ignite.data.epoch_readers import readers
from tensorflow_ignite.testing import LocalCluster

CACHE, ROWS = "batches", 1_000


@pytest.fixture(scope="module")
def cache(cluster: LocalCluster) -> str:
    """Rows of every kind of column."""
    numbers = np.arange(ROWS)
    columns = {
        "id": numbers,
        "pixels": np.repeat(numbers, 6).astype(np.float32).reshape(ROWS, 2, 3),
        "even": numbers % 2 == 0,
        "name": [f"row {number}" for number in numbers],
        "words": [["w"] * (number % 3) for number in numbers],
        "some": [None if number % 5 else number for number in range(ROWS)],
    }
    tfi.load(CACHE, columns, backups=1, partitions=PARTITIONS, address=cluster.address)
    return CACHE


@pytest.fixture(autouse=True)
def _no_open_reader() -> Iterator[None]:
    yield
    gc.collect()
    await_true(lambda: readers.open.count() == 0, "a reader is open")


def ids(batches: Any) -> list[list[int]]:
    """The column ``id`` of each batch."""
    return [batch["id"].tolist() for batch in batches]


def assert_equal(found: Any, expected: Any) -> None:
    """Asserts that a batch has the values and types of one of TensorFlow."""
    if isinstance(found, tuple) and not isinstance(found, Ragged):
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other)
    elif isinstance(found, dict):
        assert list(found) == list(expected)
        for name in found:
            assert_equal(found[name], expected[name])
    elif isinstance(found, Ragged):
        assert_equal(found.values, expected.flat_values)
        for one, other in zip(found.splits, expected.nested_row_splits, strict=True):
            assert_equal(one, other)
    else:
        assert found.dtype == expected.numpy().dtype
        np.testing.assert_array_equal(found, expected.numpy())
        assert not found.flags.writeable


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"key": True, "label": "even", "uneven": "pad", "shuffle": True, "seed": 5},
        {"columns": ["id", "words", "name"], "label": ["name"], "shuffle": 100, "seed": 7},
        {"nulls": "mask", "snapshot": "refresh", "options": {"batch_bytes": 2048}},
        {
            "columns": ["pixels", "id"],
            "snapshot": "frozen",
            "shuffle": 64,
            "seed": 3,
            "options": {"transport": "flight"},
        },
        {
            "columns": ["id", "name"],
            "where": "id < ?",
            "parameters": [400],
            "options": {"transport": "tcp"},
            "uneven": "pad",
        },
        {"sql": "SELECT id, id * 2 AS twice FROM Batches WHERE even", "shuffle": True, "seed": 1},
        {"columns": ["id"], "hold_out": tfi.HoldOut(0.2, "validation")},
    ],
    ids=str,
)
def test_batches_are_those_of_a_dataset(cluster: LocalCluster, cache: str, options: dict[str, Any]) -> None:
    pytest.importorskip("tensorflow")
    reading = read_at(cluster, **options.get("options", {}))
    options = {"nulls": "default", **options, "options": reading}
    rows, batches = tfi.dataset(cache, **options), tfi.batches(cache, batch_size=96, **options)
    for _ in range(3):
        sizes = []
        for found, expected in itertools.zip_longest(batches, rows.batch(96)):
            assert_equal(found, expected)
            sizes.append(len(found[0]["id"]) if isinstance(found, tuple) else len(found["id"]))
        assert set(sizes[:-1]) <= {96}


def test_each_iteration_is_an_epoch_and_each_row_comes_once(cluster: LocalCluster, cache: str) -> None:
    def made(**options: Any) -> Any:
        return tfi.batches(cache, columns=["id"], shuffle=True, seed=4, options=read_at(cluster), **options)

    batches, again = made(batch_size=96), made(batch_size=96)
    epochs = [ids(batches) for _ in range(3)]
    for epoch in epochs:
        assert [len(batch) for batch in epoch] == [96] * 10 + [40]
        assert sorted(itertools.chain(*epoch)) == list(range(ROWS))
    assert epochs[0] != epochs[1] != epochs[2]
    assert [ids(again) for _ in range(3)] == epochs
    assert [len(batch) for batch in ids(made(batch_size=96, drop_remainder=True))] == [96] * 10
    assert [len(batch) for batch in ids(made(batch_size=900, epochs=3))] == [900] * 3 + [300]
    assert len(list(itertools.islice(made(batch_size=ROWS, epochs=None), 4))) == 4


@pytest.mark.full
def test_batches_that_are_kept_do_not_change_and_share_memory_where_they_can(cluster: LocalCluster, cache: str) -> None:
    batches = tfi.batches(cache, batch_size=10, columns=["id", "pixels"], snapshot="frozen", options=read_at(cluster))
    kept = [batch for _ in range(3) for batch in batches]
    for batch in kept:
        assert (batch["pixels"] == batch["id"][:, None, None]).all()
        with pytest.raises(ValueError, match="read-only"):
            batch["pixels"][0] = 0
    # Later epochs are views of the snapshot.
    pairs = zip(kept[100:200], kept[200:], strict=True)
    assert sum(np.shares_memory(first["id"], second["id"]) for first, second in pairs) > 50


@pytest.mark.full
def test_an_iteration_that_is_dropped_ends_its_streams_and_another_one_begins(
    cluster: LocalCluster, cache: str
) -> None:
    batches = tfi.batches(cache, batch_size=3, columns=["id"], options=read_at(cluster))
    for _ in range(3):
        next(iter(batches))
    assert sorted(itertools.chain(*ids(batches))) == list(range(ROWS))


def load_numbers(cluster: LocalCluster, begin: int, end: int, if_exists: str) -> None:
    columns = {"id": np.arange(begin, end), "x": np.arange(begin, end)}
    address = cluster.address
    partitions = PARTITIONS if if_exists == "replace" else None
    tfi.load("put_within", columns, key="id", partitions=partitions, if_exists=if_exists, address=address)


@pytest.mark.parametrize("where", [None, "x >= 0"], ids=["cache", "condition"])
@pytest.mark.parametrize("shuffle", [None, 70], ids=["plain", "shuffled"])
def test_a_row_comes_once_in_an_epoch_that_goes_on_outside_a_job_after_rows_were_put(
    cluster: LocalCluster, where: str | None, shuffle: int | None
) -> None:
    load_numbers(cluster, 0, 300, "replace")
    reading = read_at(cluster)
    options: Any = {"where": where, "shuffle": shuffle, "seed": 3, "options": reading}
    first = tfi.batches("put_within", batch_size=50, **options)
    used = list(itertools.islice(first, 3))
    state = json.loads(json.dumps(first.state_dict()))
    load_numbers(cluster, 300, 400, "append")
    rest = tfi.batches("put_within", batch_size=50, **options)
    rest.load_state_dict(state)
    found = [number for batch in itertools.chain(used, rest) for number in batch["x"].tolist() if number < 300]
    assert sorted(found) == list(range(300))


@pytest.fixture
def new(cluster: LocalCluster, cache: str) -> Callable[..., Any]:
    """Makes the same batches again, as another process does."""
    return functools.partial(
        tfi.batches, cache, batch_size=300, columns=["id"], shuffle=True, seed=3, options=read_at(cluster)
    )


def test_a_state_that_was_loaded_is_the_position_until_the_next_batch(new: Callable[..., Any]) -> None:
    first = new()
    ids(first)
    iteration = iter(first)
    next(iteration)
    state = first.state_dict()
    rest = ids(iteration)
    second = new()
    # Of the same process, too, that has read later epochs.
    for each in (first, second):
        each.load_state_dict(state)
        iteration = iter(each)
        assert (each.state_dict()["epoch"], each.state_dict()["rows"]) == (1, 300)
        assert ids(iteration) == rest
    third = new()
    third.load_state_dict(second.state_dict())
    assert ids(third) == ids(first)


def test_an_iteration_of_several_epochs_goes_on_to_its_last_epoch(new: Callable[..., Any]) -> None:
    first = new(epochs=3)
    expected, following = ids(first), ids(first)
    assert (sum(map(len, expected)), sum(map(len, following))) == (3 * ROWS, 3 * ROWS)
    # Within the first, the second and the last epoch.
    reader, found = new(epochs=3), list[list[int]]()
    state: Any = None
    for batches in (1, 4, 3):
        if state is not None:
            reader = new(epochs=3)
            reader.load_state_dict(json.loads(json.dumps(state)))
        found += ids(itertools.islice(reader, batches))
        state = reader.state_dict()
    last = new(epochs=3)
    last.load_state_dict(state)
    assert found + ids(last) == expected
    # The next iteration has all epochs again.
    assert ids(last) == following


def test_a_state_after_the_last_batch_is_within_the_iteration_until_its_end(new: Callable[..., Any]) -> None:
    first, second = new(), new()
    # The last one has 100 rows.
    used = ids(itertools.islice(first, 4))
    assert sorted(itertools.chain(*used)) == list(range(ROWS))
    second.load_state_dict(first.state_dict())
    assert ids(second) == []
    assert ids(second) == ids(first)


def test_an_epoch_of_a_select_goes_on_by_its_number_of_rows_and_the_log_says_so(
    cluster: LocalCluster, cache: str, caplog: pytest.LogCaptureFixture
) -> None:
    def new() -> Any:
        return tfi.batches(CACHE, batch_size=300, sql="SELECT id FROM Batches", options=read_at(cluster))

    first = new()
    used = ids(itertools.islice(first, 2))
    second = new()
    second.load_state_dict(first.state_dict())
    assert sorted(itertools.chain(*used, *ids(second))) == list(range(ROWS))
    assert "epoch 0 goes on after its first 600 rows" in caplog.text


@pytest.mark.full
def test_workers_read_their_own_partitions_and_equal_numbers_of_rows_without_tensorflow(
    cluster: LocalCluster, client: tfi.Client, cache: str, tmp_path: Path
) -> None:
    handle = client.submit(SCRIPTS / "read_batches.py", cache=cache, args=[str(tmp_path), cache, "2"])
    job = handle.wait(LIMIT)
    owner, shares = partition_of(cache, PARTITIONS, cluster.address), workers(job)
    counts = [sum(owner[number] in share for number in range(ROWS)) for share in shares]
    for uneven, epoch in itertools.product(("repeat", "drop", "pad"), range(2)):
        found = [read(tmp_path, f"worker-{index}-{uneven}-{epoch}.json") for index in range(len(shares))]
        for share, numbers in zip(shares, found, strict=True):
            assert {owner[number] for number in numbers} <= set(share)
        if uneven == "pad":
            assert sorted(itertools.chain(*found)) == list(range(ROWS))
        else:
            assert {len(numbers) for numbers in found} == {max(counts) if uneven == "repeat" else min(counts)}
