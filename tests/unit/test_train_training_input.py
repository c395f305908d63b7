"""Of which datasets the position of a training is known, and which rows others have read meanwhile."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from tensorflow_ignite.data import resuming
from tensorflow_ignite.data.epoch_readers import EpochReaders, readers
from tensorflow_ignite.data.epoch_source import BegunEpoch, DatasetState
from tensorflow_ignite.data.epochs.rows_per_worker import INPUT, Input
from tensorflow_ignite.data.epochs.used_rows import Unit, UsedRows
from tensorflow_ignite.data.input_position import InputPosition
from tensorflow_ignite.data.request import Request
from tensorflow_ignite.errors import InvalidRequestError

tf = pytest.importorskip("tensorflow")

from tensorflow_ignite import train  # noqa: E402
from tensorflow_ignite.data.row_dataset import RowDataset  # noqa: E402
from tensorflow_ignite.train import training_input  # noqa: E402
from tensorflow_ignite.train.training_input import TrainingInput, rows_of_parts  # noqa: E402

POSITION = InputPosition("c", "", 0, 7, -1, 0)


@pytest.fixture
def rows() -> Iterator[Any]:
    """Batches of ten rows, as `tfi.dataset(...).batch(10)` makes them."""
    request = Request("c", (), False, "all", None, 0, identified=True)
    batches = tf.data.Dataset.range(100).batch(10)
    setattr(batches, INPUT, Input(request, 10, 1, 1))
    yield batches
    readers.forget(request.name)


def training(dataset: Any, *, is_continuous: bool = True) -> TrainingInput:
    return TrainingInput(dataset, tf.distribute.get_strategy(), is_continuous=is_continuous)


def unordered(rows: Any) -> Any:
    options = tf.data.Options()
    options.deterministic = False
    return rows.map(lambda row: row).with_options(options)


KNOWN: dict[str, Callable[[Any], Any]] = {
    "map": lambda rows: rows.map(lambda row: row, num_parallel_calls=2).prefetch(2),
    "zip": lambda rows: tf.data.Dataset.zip((rows, tf.data.Dataset.counter())),
    "map in order": lambda rows: rows.map(lambda row: row, num_parallel_calls=2, deterministic=True),
}
READ_AGAIN: dict[str, Callable[[Any], Any]] = {
    "filter": lambda rows: rows.filter(lambda row: True),
    "sample with a seed": lambda rows: tf.data.Dataset.sample_from_datasets([rows, rows], seed=3),
}
UNKNOWN: dict[str, Callable[[Any], Any]] = {
    "shuffle": lambda rows: rows.shuffle(3),
    "cache": lambda rows: rows.cache(),
    "unordered map": lambda rows: rows.map(lambda row: row, num_parallel_calls=2, deterministic=False),
    "unordered options": unordered,
    "sample without a seed": lambda rows: tf.data.Dataset.sample_from_datasets([rows, rows]),
    "parallel interleave": lambda rows: rows.interleave(tf.data.Dataset.from_tensors, num_parallel_calls=2),
}


@pytest.mark.parametrize("method", [*KNOWN.values(), *READ_AGAIN.values()], ids=[*KNOWN, *READ_AGAIN])
def test_the_position_within_an_epoch_is_known_where_elements_come_in_one_order(
    rows: Any, method: Callable[[Any], Any]
) -> None:
    found = training(method(rows), is_continuous=False)
    found.begin()
    assert found.has_known_rows == (method in KNOWN.values())
    assert found.positions() is not None


@pytest.mark.parametrize("method", UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("is_continuous", [True, False])
def test_the_position_is_not_known_where_the_same_rows_give_other_elements(
    rows: Any, method: Callable[[Any], Any], is_continuous: bool
) -> None:
    found = training(method(rows), is_continuous=is_continuous)
    found.begin()
    found.add(1)
    assert found.positions() is None


def unbatched(*, follow: bool = False) -> Any:
    request = Request("c", (), False, "all", None, 0, identified=True, follow=follow)
    return RowDataset(lambda _: tf.data.Dataset.range(100).batch(20), tf.data.UNKNOWN_CARDINALITY, request)


def repeated(times: int | None, *, follow: bool = False) -> Any:
    return unbatched(follow=follow).repeat(times).batch(10)


@pytest.mark.parametrize(("times", "is_known"), [(1, True), (2, False), (None, True)])
def test_an_iterator_of_several_epochs_does_not_begin_within_one_of_them(times: int | None, is_known: bool) -> None:
    assert training(repeated(times), is_continuous=False).has_known_rows == is_known
    assert training(repeated(times)).has_known_rows
    # Its elements are left out.
    assert training(repeated(times), is_continuous=False).positions() is not None


@pytest.mark.parametrize(
    ("method", "least"),
    [
        (lambda rows: rows.batch(10, drop_remainder=True), 10),
        (lambda rows: rows.batch(10), 1),
        (lambda rows: rows.map(lambda row: row).batch(10, drop_remainder=True).map(lambda row: row), 10),
        # Rows of the next epoch follow.
        (lambda rows: rows.repeat().batch(10, drop_remainder=True), 1),
    ],
)
def test_an_epoch_is_over_when_its_rows_are_too_few_for_an_element(
    method: Callable[[Any], Any], least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An epoch without a step is an error of tf_keras."""
    left = least - 1
    monkeypatch.setattr(EpochReaders, "has_ended", lambda _, request, rows: left < rows)
    assert training(method(unbatched()), is_continuous=False).ends()
    left = least
    assert not training(method(unbatched()), is_continuous=False).ends()


def test_an_epoch_that_is_over_is_passed_although_that_of_another_input_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise its repeat() would end at once, and the training with it."""
    one, two = repeated(None), repeated(None)
    asked: list[str] = []

    def has_ended(_: EpochReaders, request: Request, rows: int) -> bool:
        asked.append(request.name)
        return len(asked) > 1

    monkeypatch.setattr(EpochReaders, "has_ended", has_ended)
    found = training(tf.data.Dataset.zip((one, two)))
    names = [source.request.name for source in found._sources]
    positions = [replace(POSITION, selection=source.request.selection, rows=30) for source in found._sources]
    assert found.resume([positions]) == 0
    assert asked == names
    assert len(set(names)) == 2


def test_rows_that_are_followed_are_an_input_whose_position_is_not_known() -> None:
    found = training(repeated(1, follow=True))
    found.begin()
    found.add(1)
    assert found
    assert found.positions() is None


def test_iterators_of_the_same_dataset_read_different_epochs(rows: Any) -> None:
    assert not training(tf.data.Dataset.zip((rows, rows))).has_known_rows


def test_elements_are_left_out_only_of_batches_of_the_same_size(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer or more rows would be left out than were used."""
    # It asks the cluster.
    monkeypatch.setattr(resuming, "is_read_as_before", lambda *_: True)
    before = training(rows.filter(lambda _: True).unbatch().batch(4), is_continuous=False)
    before.begin()
    before.add(3)
    positions = before.positions()
    assert positions is not None
    for size, left_out in ((4, 3), (8, None)):
        again = training(rows.filter(lambda _: True).unbatch().batch(size), is_continuous=False)
        assert again.resume([positions]) == left_out


def test_an_iterator_of_somebody_else_within_a_training_makes_its_position_unknown(rows: Any) -> None:
    found = training(rows)
    found.begin()
    request = getattr(rows, INPUT)[0]
    state = readers._datasets.setdefault(request.name, DatasetState())

    def begin(epoch: int) -> None:
        state.epochs = epoch + 1
        state.begin(BegunEpoch(replace(POSITION, epoch=epoch)))

    begin(0)
    state.end(0, (0, 0), 100)
    begin(1)
    found.add(10)
    assert found.positions() is not None
    # While epoch 1 is read.
    begin(2)
    assert found.positions() is None
    # A later training begins with its own iterator.
    found.begin()
    assert found.positions() is not None


@pytest.mark.parametrize(
    ("replicas", "steps", "epoch", "used"),
    [(1, 3, 0, 90), (1, 4, 1, 0), (3, 9, 0, 90), (3, 10, 0, 94), (3, 11, 0, 98), (3, 12, 1, 0)],
)
def test_a_loop_over_epochs_has_used_no_more_rows_than_the_last_element_of_an_epoch_has(
    rows: Any, replicas: int, steps: int, epoch: int, used: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100 rows in batches of 30, whose parts are for one or three workers."""
    setattr(rows, INPUT, getattr(rows, INPUT)._replace(rows=30))
    parts = functools.partial(rows_of_parts, replicas=replicas, own=1)
    monkeypatch.setattr(training_input, "_rows_of_steps", lambda *_: parts)
    found = training(rows)
    found.begin()
    state = readers._datasets.setdefault(getattr(rows, INPUT)[0].name, DatasetState())
    state.epochs = 1
    state.begin(BegunEpoch(POSITION))
    state.end(0, (0, 0), 100)
    found.add(steps)
    (position,) = found.positions() or [None]
    assert position is not None
    assert (position.epoch, position.rows) == (epoch, used)


def test_it_is_said_that_other_inputs_of_a_zip_begin_again(
    rows: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It reads the cluster.
    monkeypatch.setattr(TrainingInput, "ends", lambda _: False)
    within = [[replace(POSITION, selection=getattr(rows, INPUT)[0].selection, rows=30)]]
    with caplog.at_level(logging.WARNING):
        assert training(rows).resume(within) == 0
        assert not caplog.records
        assert training(KNOWN["zip"](rows)).resume(within) == 0
    assert "other inputs of Dataset.zip begin again" in caplog.text


@pytest.mark.parametrize(("last", "following"), [({"epoch": 2}, 2), ({"epoch": 2, "rows": 30}, 3)])
def test_after_a_finished_training_its_dataset_goes_on_with_the_next_epoch(
    rows: Any, last: dict[str, int], following: int
) -> None:
    training(rows).end([[replace(POSITION, **last)]])
    assert readers.epochs(getattr(rows, INPUT)[0]) == following
    training(rows).end([None])
    assert readers.epochs(getattr(rows, INPUT)[0]) == following


def test_a_worker_whose_position_is_not_known_makes_the_epoch_begin_again(rows: Any) -> None:
    """Its rows would come twice otherwise, without a word."""
    within = replace(POSITION, selection=getattr(rows, INPUT)[0].selection, rows=30)
    assert training(rows, is_continuous=False).resume([[within], [within]]) == 0
    assert training(rows, is_continuous=False).resume([[within], None]) is None


def test_at_the_end_of_an_epoch_all_workers_go_on_with_the_next_one_although_some_have_not_read_ahead(
    rows: Any,
) -> None:
    request = getattr(rows, INPUT)[0]
    used = (UsedRows(frozenset({Unit(3)})),)
    ended = replace(POSITION, selection=request.selection, rows=100, used=used)
    begun = replace(POSITION, selection=request.selection, epoch=1)
    for workers in ([[ended], [begun]], [[begun], [ended]]):
        assert training(rows, is_continuous=False).resume(workers) == 0
        assert readers.epochs(request) == 1
        position = readers.position(request, 1, 0)
        assert position is not None
        assert (position.rows, position.used) == (0, ())


def test_a_loop_is_refused_a_dataset_of_which_a_restart_would_read_all_epochs_again(rows: Any) -> None:
    setattr(rows, INPUT, getattr(rows, INPUT)._replace(epochs=3))
    with pytest.raises(InvalidRequestError, match=r"got a dataset with repeat\(3\).*Use repeat\(\) without a number"):
        train.checkpoint(counter=tf.Variable(0)).iterate(rows)
