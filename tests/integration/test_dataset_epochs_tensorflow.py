"""Batches, labels, shuffles, snapshots and iterator states, in TensorFlow over real Arrow Flight servers."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from flight_cluster import BecomeTask, Cluster, tasks  # noqa: E402

import tensorflow_ignite as tfi  # noqa: E402
from tensorflow_ignite import errors  # noqa: E402
from tensorflow_ignite.data import pyfunc  # noqa: E402
from tensorflow_ignite.data.epoch_readers import readers  # noqa: E402
from tensorflow_ignite.data.loading.columns import table_of  # noqa: E402

ROWS = 1000


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Three nodes with the cache ``numbers``: 375, 375 and 250 rows."""
    cluster = Cluster.start(3)
    numbers = np.arange(ROWS)
    cluster.add(
        "numbers",
        table_of(
            {
                "pixels": np.repeat(numbers, 16).astype(np.float32).reshape(ROWS, 4, 4),
                "label": numbers.astype(np.int32),
                "words": [[f"w{number}"] * (number % 3) for number in numbers],
            }
        ),
    )
    yield cluster
    cluster.stop()
    gc.collect()
    assert pyfunc.open_readers() == 0
    assert readers.snapshot_bytes() == 0


@pytest.fixture(autouse=True)
def task(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BecomeTask]:
    """Makes this process a task of a mirrored job on ``numbers``."""
    with tasks(cluster, "numbers", tmp_path, monkeypatch) as become:
        yield become


def labels(dataset: Any) -> list[int]:
    """The column ``label`` of batches."""
    return [number for batch in dataset for number in batch["label"].numpy().tolist()]


def own(index: int) -> list[int]:
    """Rows of a node."""
    return [number for number in range(ROWS) if number % 8 % 3 == index]


@pytest.mark.full
@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("repeat", [None, 2])
def test_batches_are_those_of_single_rows(cluster: Cluster, drop: bool, repeat: int | None) -> None:
    dataset = tfi.dataset("numbers", address=cluster.address, batch_bytes=3000, exact=True)
    rows = dataset if repeat is None else dataset.repeat(repeat)
    # Whatever comes between makes TensorFlow gather single rows; a map would make plain tensors of ragged ones.
    fast, slow = rows.batch(64, drop_remainder=drop), rows.skip(0).batch(64, drop_remainder=drop)
    assert type(rows.skip(0)) is not type(rows)
    assert fast.element_spec == slow.element_spec
    assert int(fast.cardinality()) == int(slow.cardinality())
    count = 0
    for one, other in zip(fast, slow, strict=True):
        count += 1
        for name in ("pixels", "label"):
            np.testing.assert_array_equal(one[name], other[name])
        assert one["words"].to_list() == other["words"].to_list()
    assert count == int(fast.cardinality())


@pytest.mark.full
def test_batches_without_end_are_all_full(cluster: Cluster) -> None:
    batches = tfi.dataset("numbers", columns=["label"], address=cluster.address, exact=True).repeat().batch(300)
    assert int(batches.cardinality()) == tf.data.INFINITE_CARDINALITY
    assert batches.element_spec["label"] == tf.TensorSpec([300], tf.int32)
    found = labels(batches.take(10))
    assert sorted(found) == sorted(list(range(ROWS)) * 3)


@pytest.mark.full
def test_a_strategy_knows_the_size_of_batches_that_are_all_full(cluster: Cluster) -> None:
    from tensorflow.python.data.experimental.ops import distribute

    rows = tfi.dataset("numbers", columns=["label"], address=cluster.address, exact=True)
    assert rows.batch(250).element_spec["label"] == tf.TensorSpec([250], tf.int32)
    assert sorted(labels(rows.batch(250))) == list(range(ROWS))
    for batches in (rows.batch(250), rows.repeat(3).batch(600), rows.repeat().batch(300), rows.batch(300, True)):
        assert int(distribute.compute_batch_size(batches)) == batches.element_spec["label"].shape[0]


@pytest.mark.full
def test_a_label_makes_pairs_that_fit_takes(cluster: Cluster) -> None:
    rows = tfi.dataset("numbers", columns=["pixels", "label"], label="label", address=cluster.address)
    assert rows.element_spec == ({"pixels": tf.TensorSpec([4, 4])}, tf.TensorSpec([], tf.int32))
    _, both = tfi.dataset("numbers", label=["label", "words"], address=cluster.address).element_spec
    assert list(both) == ["label", "words"]
    features, label, weight = tfi.dataset("numbers", label="label", uneven="pad", address=cluster.address).element_spec
    assert (list(features), label.dtype, weight) == (["pixels", "words"], tf.int32, tf.TensorSpec([], tf.float32))

    import keras

    pixels = keras.Input([4, 4], name="pixels")
    model = keras.Model(pixels, keras.layers.Dense(1)(keras.layers.Flatten()(pixels)))
    model.compile("sgd", "mse")
    history = model.fit(rows.batch(100), epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2
    with pytest.raises(ValueError, match="label='nope' is not among the columns"):
        tfi.dataset("numbers", columns=["label"], label="nope", address="nobody:1")


@pytest.mark.full
@pytest.mark.parametrize(
    "wrong",
    [
        {"shuffle": 0},
        {"seed": -1},
        {"uneven": "fill"},
        {"snapshot": 1},
        {"memory": "much"},
        {"nulls": "drop"},
        {"transport": "mail"},
        {"batch_bytes": -1},
        {"label": 3},
    ],
    ids=str,
)
def test_invalid_arguments_are_refused_before_any_call(wrong: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidRequestError, match=next(iter(wrong))):
        tfi.dataset("numbers", address="nobody:1", **wrong)


@pytest.mark.full
def test_later_epochs_make_no_calls_and_end_with_the_dataset(cluster: Cluster) -> None:
    dataset = tfi.dataset("numbers", columns=["pixels", "label"], snapshot=True, address=cluster.address)
    first = labels(dataset.batch(100))
    sent = len(cluster.sent)
    assert sent == 8
    assert [labels(dataset.batch(70)), labels(dataset.repeat(2).batch(250))] == [first, first * 2]
    assert labels(dataset.batch(10).take(3)) == first[:30]
    assert len(cluster.sent) == sent
    assert readers.snapshot_bytes() > ROWS * 64
    iterator = iter(dataset.batch(100))
    next(iterator)
    del dataset
    gc.collect()
    assert sum(len(batch["label"]) for batch in iterator) == 900


@pytest.mark.full
def test_fresh_epochs_have_the_rows_that_are_there(cluster: Cluster) -> None:
    fresh, fixed = (
        tfi.dataset("numbers", columns=["label"], exact=exact, address=cluster.address) for exact in (False, True)
    )
    assert int(fresh.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    assert len(labels(fresh.batch(100))) == len(labels(fixed.batch(100))) == ROWS
    cluster.add("numbers", table_of({"label": np.arange(7, dtype=np.int32)}))
    assert sorted(labels(fresh.batch(100))) == list(range(7))
    with pytest.raises(tf.errors.OpError, match=r"7 rows arrived, 1000 were expected.*snapshot=False"):
        labels(fixed.batch(100))


def test_shuffled_epochs_differ_and_a_seed_repeats_them(cluster: Cluster) -> None:
    def runs(seed: int | None, **options: Any) -> list[list[int]]:
        dataset = tfi.dataset(
            "numbers", columns=["label"], shuffle=200, seed=seed, address=cluster.address, batch_bytes=200, **options
        )
        return [labels(dataset.batch(64)) for _ in range(3)]

    for options in ({}, {"snapshot": True}):
        epochs = runs(5, **options)
        assert all(sorted(epoch) == list(range(ROWS)) for epoch in epochs)
        assert len({tuple(epoch) for epoch in epochs}) == 3
        assert runs(5, **options) == epochs
        assert runs(6, **options)[0] != epochs[0]
        assert runs(None, **options)[0] != runs(None, **options)[0]


@pytest.mark.parametrize("epochs", [1, 3])
@pytest.mark.parametrize(
    "options",
    [{}, {"shuffle": 100, "seed": 3}, {"snapshot": True}, {"shuffle": True, "seed": 3, "snapshot": True}],
    ids=lambda options: "-".join(options) or "plain",
)
def test_an_iterator_goes_on_from_its_state_in_another_dataset(
    cluster: Cluster, tmp_path: Path, options: dict[str, Any], epochs: int
) -> None:
    def made() -> Any:
        dataset = tfi.dataset("numbers", columns=["label"], address=cluster.address, batch_bytes=400, **options)
        return dataset.repeat(epochs).batch(48)

    whole = labels(made())
    iterator = iter(made())
    # In the middle of the last epoch, and of a batch that arrived.
    count = (epochs * ROWS - 400) // 48
    begun = [number for _ in range(count) for number in next(iterator)["label"].numpy().tolist()]
    path = tf.train.Checkpoint(iterator=iterator).save(tmp_path / "c")
    resumed = iter(made())
    tf.train.Checkpoint(iterator=resumed).restore(path)
    assert begun + labels(resumed) == whole


@pytest.mark.full
def test_an_iterator_that_would_read_something_else_says_so(cluster: Cluster, task: BecomeTask, tmp_path: Path) -> None:
    task(0)
    iterator = iter(tfi.dataset("numbers", columns=["label"]).batch(10))
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(tmp_path / "c")
    task(1)
    other = iter(tfi.dataset("numbers", columns=["label"]).batch(10))
    tf.train.Checkpoint(iterator=other).restore(path)
    with pytest.raises(tf.errors.OpError, match=r"AssignmentChangedError.*reads other partitions"):
        labels(other)


@pytest.mark.parametrize(("uneven", "rows"), [("repeat", 375), ("drop", 250), ("pad", 375)])
def test_workers_of_a_mirrored_job_have_epochs_of_one_length(
    cluster: Cluster, task: BecomeTask, uneven: Any, rows: int
) -> None:
    seen: list[int] = []
    for index in range(3):
        task(index)
        dataset = tfi.dataset("numbers", columns=["label"], uneven=uneven, exact=True)
        assert int(dataset.cardinality()) == rows
        for _ in range(2):
            batches = list(dataset.batch(50))
            numbers = [int(number) for batch in batches for number in batch["label"]]
            assert len(numbers) == rows
            if uneven == "pad":
                weights = [float(weight) for batch in batches for weight in batch["_weight"]]
                numbers = [number for number, weight in zip(numbers, weights, strict=True) if weight]
                assert sorted(numbers) == own(index)
                assert sum(weights) == len(own(index))
            assert set(numbers) <= set(own(index))
        seen += numbers
    if uneven == "repeat":
        assert set(seen) == set(range(ROWS))


@pytest.mark.full
def test_a_cache_that_is_written_does_not_end_a_mirrored_job(
    cluster: Cluster, task: BecomeTask, caplog: pytest.LogCaptureFixture
) -> None:
    task(0)
    dataset = tfi.dataset("numbers", columns=["label"], snapshot=False)
    cluster.add("numbers", table_of({"label": np.arange(800, dtype=np.int32)}))
    for _ in range(2):
        assert len(labels(dataset.batch(50))) == 375
    assert "has 300 rows in epoch 0; an epoch has 375 on every worker" in caplog.records[0].message
    assert len(caplog.records) == 1


@pytest.mark.full
def test_partitions_that_moved_are_read_from_their_owners(cluster: Cluster, task: BecomeTask) -> None:
    task(2)
    dataset = tfi.dataset("numbers", columns=["label"])
    gone = cluster.nodes.pop()
    try:
        assert sorted(labels(dataset.batch(50)))[:2] == [2, 2]
        assert set(labels(dataset.batch(50))) == set(own(2))
    finally:
        gone.shutdown()


@pytest.mark.full
def test_it_may_be_made_and_run_in_a_function(cluster: Cluster) -> None:
    @tf.function
    def total() -> Any:
        rows = tfi.dataset("numbers", columns=["label"], shuffle=True, snapshot=True, address=cluster.address)
        return rows.batch(64).reduce(tf.constant(0), lambda sum_, batch: sum_ + tf.reduce_sum(batch["label"]))

    assert [int(total()) for _ in range(3)] == [ROWS * (ROWS - 1) // 2] * 3
    # What lives in a graph lives as long as its process.
    for name in list(readers._datasets):
        readers.forget(name)


@pytest.mark.parametrize("snapshot", ["refresh", "frozen"])
def test_a_graph_that_reuses_the_memory_of_its_inputs_changes_no_row_of_a_later_epoch(
    task: BecomeTask, snapshot: str
) -> None:
    task(0)
    rows = tfi.dataset("numbers", columns=["pixels", "label"], snapshot=snapshot).batch(16)

    @tf.function
    def step(iterator: Any) -> Any:
        # TensorFlow puts the results of both operations where the batch is, if nobody else refers to it.
        batch = next(iterator)
        return tf.reduce_sum(tf.square(batch["pixels"]) + 1.0) + tf.cast(tf.reduce_sum(-batch["label"]), tf.float32)

    for _ in range(3):
        iterator = iter(rows)
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while True:
                step(iterator)
    found = [(row["label"].numpy(), row["pixels"].numpy()) for row in rows.unbatch()]
    assert sorted(int(label) for label, _ in found) == own(0)
    assert all((pixels == label).all() for label, pixels in found)
