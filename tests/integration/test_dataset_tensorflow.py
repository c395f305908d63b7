"""TensorFlow over caches that are served by real Arrow Flight servers."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from flight_cluster import ROWS, BecomeTask, Cluster, numbers, tasks  # noqa: E402
from waiting import await_true  # noqa: E402

import tensorflow_ignite as tfi  # noqa: E402
from local_nodes import read_at  # noqa: E402
from tensorflow_ignite import errors  # noqa: E402
from tensorflow_ignite.data import pyfunc  # noqa: E402
from tensorflow_ignite.data.loading.columns import table_of  # noqa: E402
from tensorflow_ignite.data.transport.choice import STREAMS  # noqa: E402


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with numbers() as started:
        yield started


@pytest.fixture(autouse=True)
def task(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BecomeTask]:
    """Makes this process a task of a mirrored job on ``numbers``."""
    with tasks(cluster, "numbers", tmp_path, monkeypatch) as become:
        yield become


def labels(dataset: Any) -> list[int]:
    return [int(row["label"]) for row in dataset]


def test_each_row_comes_once_with_every_column_in_its_place(cluster: Cluster) -> None:
    dataset = tfi.dataset("numbers", key=True, exact=True, options=read_at(cluster, batch_bytes=2048))
    assert int(dataset.cardinality()) == ROWS
    assert dataset.element_spec["pixels"] == tf.TensorSpec([3, 4], tf.float32)
    assert dataset.element_spec["label"] == tf.TensorSpec([], tf.int32)
    seen = []
    for row in dataset.as_numpy_iterator():
        number = int(row["_key"])
        seen.append(number)
        assert (row["pixels"] == number).all()
        assert (row["label"], row["name"], row["even"]) == (number, f"row {number}".encode(), number % 2 == 0)
        assert row["words"].tolist() == [b"w"] * (number % 3)
    assert sorted(seen) == list(range(ROWS))
    # Lists of any length are ragged in batches; columns come in the requested order.
    some = tfi.dataset("numbers", columns=["words", "even"], options=read_at(cluster))
    batch = next(iter(some.batch(50)))
    assert list(batch) == list(some.element_spec) == ["words", "even"]
    assert isinstance(batch["words"], tf.RaggedTensor)
    assert batch["words"].shape == [50, None]


def test_it_runs_inside_a_function_and_under_fit(cluster: Cluster) -> None:
    @tf.function
    def total() -> Any:
        dataset = tfi.dataset("numbers", columns=["label"], options=read_at(cluster))
        return dataset.reduce(tf.constant(0), lambda sum_, row: sum_ + row["label"])

    assert int(total()) == int(total()) == ROWS * (ROWS - 1) // 2

    import keras

    model = keras.Sequential([keras.Input([3, 4]), keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    rows = tfi.dataset("numbers", options=read_at(cluster)).map(lambda row: (row["pixels"] / ROWS, row["even"]))
    history = model.fit(rows.batch(100), epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2


@pytest.mark.full
def test_an_iterator_that_is_dropped_ends_its_streams_and_so_does_one_that_went_on(
    cluster: Cluster, tmp_path: Path
) -> None:
    def streams_end() -> bool:
        gc.collect()
        # TensorFlow releases what it was fetching for a deleted iterator when it runs something next.
        return bool(tf.zeros([]) == 0) and cluster.wait_for_streams(0, 0.5)

    cluster.holds_streams = True
    dataset = tfi.dataset("numbers", columns=["label"], options=read_at(cluster, batch_bytes=64)).prefetch(2)
    iterator = iter(dataset)
    next(iterator)
    assert cluster.wait_for_streams(STREAMS * len(cluster.nodes))
    path = tf.train.Checkpoint(iterator=iterator).save(tmp_path / "c")
    del iterator
    await_true(streams_end, "streams are open")
    resumed = iter(dataset)
    tf.train.Checkpoint(iterator=resumed).restore(path)
    # The first rows are in the checkpoint: a batch of 16, and what TensorFlow had read ahead.
    for _ in range(40):
        next(resumed)
    assert cluster.wait_for_streams(STREAMS * len(cluster.nodes))
    del resumed
    await_true(streams_end, "streams are open")
    assert pyfunc.open_readers() == 0


READ_AHEAD = """
import sys
import tensorflow_ignite as tfi
options = tfi.ReadOptions(address=sys.argv[1], batch_bytes=2_000)
rows = tfi.dataset("numbers", options=options).repeat().batch(5).prefetch(100_000)
iterators = [iter(rows) for _ in range(3)]
for iterator in iterators:
    next(iterator)
print("ends while TensorFlow reads ahead")
"""


@pytest.mark.full
def test_a_process_ends_while_tensorflow_reads_ahead(cluster: Cluster) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", READ_AHEAD, cluster.address], capture_output=True, text=True, timeout=240
    )
    assert (ended.returncode, ended.stdout) == (0, "ends while TensorFlow reads ahead\n"), ended.stderr


@pytest.mark.full
def test_an_empty_cache_is_an_empty_dataset_and_rows_that_get_lost_are_an_error_and_not_a_shorter_epoch(
    cluster: Cluster,
) -> None:
    cluster.add("empty", table_of({"x": np.zeros((0, 3), np.float32), "s": np.zeros(0, "U1")}))
    empty = tfi.dataset("empty", exact=True, options=read_at(cluster))
    assert int(empty.cardinality()) == 0
    assert empty.element_spec["x"] == tf.TensorSpec([3], tf.float32)
    assert list(empty) == []
    assert int(tfi.dataset("numbers", options=read_at(cluster)).cardinality()) == tf.data.UNKNOWN_CARDINALITY
    dataset = tfi.dataset("numbers", exact=True, options=read_at(cluster))
    cluster.missing_rows = 1
    with pytest.raises(tf.errors.OpError, match=r"994 rows arrived, 1000 were expected"):
        list(dataset)


@pytest.mark.full
def test_errors_of_nodes_come_as_their_classes_and_later_with_their_text(cluster: Cluster) -> None:
    with pytest.raises(errors.CacheNotFoundError, match="cache 'nope' does not exist"):
        tfi.dataset("nope", options=read_at(cluster))
    with pytest.raises(errors.ColumnNotFoundError, match="no column 'nope'"):
        tfi.dataset("numbers", columns=["nope"], options=read_at(cluster))
    dataset = tfi.dataset("numbers", exact=True, options=read_at(cluster))
    del cluster.caches["numbers"]
    with pytest.raises(tf.errors.OpError, match="cache 'numbers' does not exist"):
        list(dataset)
    cluster.stop()
    with pytest.raises(errors.ConnectionFailedError, match="no node answers"):
        tfi.dataset("numbers", options=read_at(cluster))


@pytest.mark.full
def test_outside_a_job_the_environment_names_cache_and_address(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, port = cluster.nodes[1].address.split(":")
    monkeypatch.setenv("IGNITE_DATASET_HOST", host)
    monkeypatch.setenv("IGNITE_DATASET_PORT", port)
    monkeypatch.setenv("IGNITE_DATASET_CACHE_NAME", "numbers")
    assert len(labels(tfi.dataset("another"))) == ROWS
    monkeypatch.setenv("IGNITE_DATASET_LOCAL", "true")
    assert sorted(labels(tfi.dataset("another"))) == [number for number in range(ROWS) if number % 8 % 3 == 1]
    monkeypatch.setenv("IGNITE_DATASET_PART", "0,7")
    assert sorted(labels(tfi.dataset("another"))) == [number for number in range(ROWS) if number % 8 in (0, 7)]


def test_in_a_task_the_jobs_cache_is_its_own_partitions_and_any_other_is_whole(
    cluster: Cluster, task: BecomeTask
) -> None:
    cluster.add("other", table_of({"label": np.arange(10)}))
    task(1)
    own = tfi.dataset("numbers", columns=["label"], exact=True, options=tfi.ReadOptions(address="ignored:1"))
    assert sorted(labels(own)) == [number for number in range(ROWS) if number % 8 in (1, 4, 7)]
    assert int(own.cardinality()) == 375
    assert sorted(labels(tfi.dataset("other"))) == list(range(10))
    assert len(labels(tfi.dataset("numbers", partitions="all"))) == ROWS
