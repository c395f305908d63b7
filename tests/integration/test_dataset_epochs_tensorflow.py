"""Batches, labels, shuffles, snapshots and iterator states, in TensorFlow over real Arrow Flight servers.

Promise (rows): What TensorFlow writes changes no row that is read again.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from flight_cluster import ROWS, BecomeTask, Cluster, numbers, tasks  # noqa: E402

import tensorflow_ignite as tfi  # noqa: E402
from local_nodes import read_at  # noqa: E402
from tensorflow_ignite.data import pyfunc  # noqa: E402
from tensorflow_ignite.data.loading.columns import table_of  # noqa: E402

ROWS_OF_EPOCHS = (40, 100, 20, 70)


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
    return [number for batch in dataset for number in batch["label"].numpy().tolist()]


def own(index: int) -> list[int]:
    return [number for number in range(ROWS) if number % 8 % 3 == index]


@pytest.mark.full
@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("repeat", [None, 2])
def test_batches_are_those_of_single_rows(cluster: Cluster, drop: bool, repeat: int | None) -> None:
    dataset = tfi.dataset("numbers", exact=True, options=read_at(cluster, batch_bytes=3000))
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
def test_each_epoch_asks_the_first_of_the_addresses_that_answers(cluster: Cluster) -> None:
    addresses = ",".join(node.address for node in cluster.nodes[:2])
    options: Any = {"columns": ["label"], "partitions": cluster.own(1, "numbers"), "snapshot": False}
    rows = tfi.dataset("numbers", options=tfi.ReadOptions(address=addresses), **options).batch(50)
    assert sorted(labels(rows)) == own(1)
    cluster.nodes[0].shutdown()
    assert sorted(labels(rows)) == own(1)
    assert sorted(
        labels(tfi.dataset("numbers", options=tfi.ReadOptions(address=addresses), **options).batch(50))
    ) == own(1)


@pytest.mark.full
def test_a_strategy_knows_the_size_of_batches_that_are_all_full(cluster: Cluster) -> None:
    from tensorflow.python.data.experimental.ops import distribute

    rows = tfi.dataset("numbers", columns=["label"], exact=True, options=read_at(cluster))
    assert rows.batch(250).element_spec["label"] == tf.TensorSpec([250], tf.int32)
    assert sorted(labels(rows.batch(250))) == list(range(ROWS))
    endless = rows.repeat().batch(300)
    for batches in (rows.batch(250), rows.repeat(3).batch(600), endless, rows.batch(300, True)):
        assert int(distribute.compute_batch_size(batches)) == batches.element_spec["label"].shape[0]
    assert int(endless.cardinality()) == tf.data.INFINITE_CARDINALITY
    assert endless.element_spec["label"] == tf.TensorSpec([300], tf.int32)
    assert sorted(labels(endless.take(10))) == sorted(list(range(ROWS)) * 3)


@pytest.mark.full
def test_a_label_makes_pairs_that_fit_takes(cluster: Cluster) -> None:
    rows = tfi.dataset("numbers", columns=["pixels", "label"], label="label", options=read_at(cluster))
    assert rows.element_spec == ({"pixels": tf.TensorSpec([3, 4])}, tf.TensorSpec([], tf.int32))
    _, both = tfi.dataset("numbers", label=["label", "words"], options=read_at(cluster)).element_spec
    assert list(both) == ["label", "words"]
    features, label, weight = tfi.dataset("numbers", label="label", uneven="pad", options=read_at(cluster)).element_spec
    assert (list(features), label.dtype, weight) == (
        ["pixels", "name", "words", "even"],
        tf.int32,
        tf.TensorSpec([], tf.float32),
    )

    keras = pytest.importorskip("keras")
    pixels = keras.Input([3, 4], name="pixels")
    model = keras.Model(pixels, keras.layers.Dense(1)(keras.layers.Flatten()(pixels)))
    model.compile("sgd", "mse")
    history = model.fit(rows.batch(100), epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2
    with pytest.raises(ValueError, match="label='nope' is not among the columns"):
        tfi.dataset("numbers", columns=["label"], label="nope", options=tfi.ReadOptions(address="nobody:1"))


def test_shuffled_epochs_differ_and_a_seed_repeats_them(cluster: Cluster) -> None:
    def runs(seed: int | None, **options: Any) -> list[list[int]]:
        dataset = tfi.dataset(
            "numbers",
            columns=["label"],
            shuffle=200,
            seed=seed,
            options=read_at(cluster, batch_bytes=200),
            **options,
        )
        return [labels(dataset.batch(64)) for _ in range(3)]

    for options in ({}, {"snapshot": True}):
        epochs = runs(5, **options)
        assert all(sorted(epoch) == list(range(ROWS)) for epoch in epochs)
        assert len({tuple(epoch) for epoch in epochs}) == 3
        assert runs(5, **options) == epochs
        assert runs(6, **options)[0] != epochs[0]
        assert runs(None, **options)[0] != runs(None, **options)[0]


@pytest.mark.parametrize(
    ("options", "epochs"),
    [
        ({}, 3),
        ({"shuffle": 100, "snapshot": "refresh"}, 1),
        ({"shuffle": True}, 3),
        ({"shuffle": True, "snapshot": "frozen"}, 3),
    ],
    ids=["plain", "window", "shuffled", "shuffled snapshot"],
)
def test_an_iterator_goes_on_from_its_state_in_another_dataset(
    cluster: Cluster, tmp_path: Path, options: dict[str, Any], epochs: int
) -> None:
    def made(seed: int = 3) -> Any:
        more = {**options, "seed": seed} if "shuffle" in options else options
        dataset = tfi.dataset("numbers", columns=["label"], options=read_at(cluster, batch_bytes=400), **more)
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
    # Without a window as large as the cache, it has more rows to read.
    if options.get("shuffle") == 100:
        other = iter(made(seed=4))
        tf.train.Checkpoint(iterator=other).restore(path)
        with pytest.raises(tf.errors.OpError, match=r"AssignmentChangedError.*with other options"):
            labels(other)


@pytest.mark.full
def test_an_epoch_that_could_not_begin_is_begun_again(cluster: Cluster) -> None:
    # A window as large as the cache wants all rows before it gives the first.
    dataset, other = (
        tfi.dataset("numbers", columns=["label"], shuffle=ROWS, seed=3, options=read_at(cluster)) for _ in range(2)
    )
    cluster.nodes[2].shutdown()
    with pytest.raises(tf.errors.OpError, match="ConnectionFailedError"):
        labels(dataset.batch(50))
    assert pyfunc.open_readers() == 0
    cluster.nodes.pop()
    assert [labels(dataset.batch(50)) for _ in range(2)] == [labels(other.batch(50)) for _ in range(2)]


def test_partitions_that_moved_are_read_from_their_owners(cluster: Cluster, task: BecomeTask) -> None:
    task(2)
    dataset = tfi.dataset("numbers", columns=["label"])
    gone = cluster.nodes.pop()
    try:
        assert set(labels(dataset.batch(50))) == set(own(2))
    finally:
        gone.shutdown()


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


@pytest.mark.full
@pytest.mark.parametrize(("library", "strategy"), [("keras", None), ("keras", "mirrored"), ("tf_keras", "mirrored")])
def test_each_epoch_of_fit_has_the_rows_of_its_time(
    cluster: Cluster, library: str, strategy: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    def write(rows: int) -> None:
        """From now on the cache has this number of rows."""
        cluster.add("rows", table_of({"x": np.ones(rows, np.float32), "y": np.ones(rows, np.float32)}))

    kind: Any = pytest.importorskip(library)

    class Writes(kind.callbacks.Callback):  # type: ignore[misc]
        """Changes the number of rows after each epoch."""

        def __init__(self) -> None:
            super().__init__()
            self.batches = [0]

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.batches[-1] += 1

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            if epoch + 1 < len(ROWS_OF_EPOCHS):
                write(ROWS_OF_EPOCHS[epoch + 1])
                self.batches.append(0)

    write(ROWS_OF_EPOCHS[0])
    rows = tfi.dataset("rows", label="y", options=read_at(cluster)).batch(10)
    data = rows.map(lambda features, label: (features["x"][:, None], label))
    scope = tf.distribute.MirroredStrategy(["CPU:0"]) if strategy else tf.distribute.get_strategy()
    with scope.scope():
        model = kind.Sequential([kind.layers.Input([1]), kind.layers.Dense(1)])
        model.compile("sgd", "mse")
    writes = Writes()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(data, epochs=len(ROWS_OF_EPOCHS), callbacks=[writes], verbose=0)
    assert writes.batches == [rows // 10 for rows in ROWS_OF_EPOCHS]
    # What finds the end of the rows is no step.
    assert int(model.optimizer.iterations.numpy()) == sum(writes.batches)
    assert not [str(warning.message) for warning in said if "ran out of data" in str(warning.message)]
    assert not [record for record in caplog.records if "ran out of data" in record.message]
    # Over other datasets it is as before.
    some = tf.data.Dataset.from_tensor_slices((np.ones((20, 1)), np.ones(20))).filter(lambda x, y: True).batch(10)
    assert len(model.fit(some, epochs=3, verbose=0).history["loss"]) == 3
    assert len(model.fit(some.repeat(), epochs=2, steps_per_epoch=3, verbose=0).history["loss"]) == 2
