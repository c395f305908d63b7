"""What a resumed `fit` leaves out, with the iterators of Keras replaced by small ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tensorflow_ignite.train import callback, fit_input, training_input
from tensorflow_ignite.train.callback import CheckpointCallback

STEPS = 6


class _Rows:
    """Counts what a training has begun and used."""

    def __init__(self, dataset: Any, strategy: Any, *, is_continuous: bool) -> None:
        self.is_continuous, self.begun, self.used = is_continuous, 0, 0

    def begin(self) -> None:
        self.begun, self.used = self.begun + 1, 0

    def add(self, steps: int) -> None:
        self.used += steps


@pytest.fixture(autouse=True)
def _rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_input, "TrainingInput", _Rows)


def _keras3(during: Callable[[Any], None], executions: int = 1) -> None:
    """Runs `fit` of a Keras 3 that has what is changed of it."""

    class TFEpochIterator:
        _num_batches = STEPS
        _distribute_strategy = None
        steps_per_execution = executions

        def __init__(self, draw: Callable[[], object] = lambda: None) -> None:
            # Keras draws a batch of a generator here.
            draw()
            self._distributed_dataset = list(range(STEPS))
            self.steps_per_epoch = None
            self.made = 0

        def _get_iterator(self) -> list[int]:
            self.made += 1
            return self._distributed_dataset

        def _enumerate_iterator(self) -> Iterator[Any]:
            iterator = iter(self._get_iterator())
            for step in range(0, STEPS, executions):
                yield step, step + executions - 1, iterator
            # One more, as Keras makes it.
            self._get_iterator()

    class TensorFlowTrainer:
        _initial_epoch = 0
        steps_per_execution = executions

        def fit(self) -> None:
            during(self)

    trainer: Any = SimpleNamespace(TensorFlowTrainer=TensorFlowTrainer, TFEpochIterator=TFEpochIterator)
    fit_input.correct_keras3(trainer)
    model: Any = TensorFlowTrainer()
    model.iterator = TFEpochIterator
    model.fit()


@pytest.mark.parametrize("executions", [1, 2])
def test_only_the_first_epoch_of_a_resumed_fit_skips_steps(executions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begins = list(range(0, STEPS, executions))

    def during(model: Any) -> None:
        monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(Model=type(model)))
        batches, validation = model.iterator(), model.iterator()
        # Keras 3 counts whole executions.
        assert fit_input.start_at(model, 3, 5) == (5 if executions == 1 else 4)
        assert model._initial_epoch == 3
        assert [step for step, *_ in validation._enumerate_iterator()] == begins
        assert [step for step, *_ in batches._enumerate_iterator()] == [
            step for step in begins if step + executions > 5
        ]
        assert [step for step, *_ in batches._enumerate_iterator()] == begins

    _keras3(during, executions)


def test_an_epoch_of_which_all_steps_are_done_begins_no_iterator() -> None:
    def during(model: Any) -> None:
        batches = model.iterator()
        fit_input.current().steps_left_out = STEPS
        assert not list(batches._enumerate_iterator())
        assert batches.made == 0
        assert [step for step, *_ in batches._enumerate_iterator()] == list(range(STEPS))

    _keras3(during)


def test_elements_that_a_resumed_fit_leaves_out_are_taken_from_its_first_iterator() -> None:
    def during(model: Any) -> None:
        batches = model.iterator()
        fit = fit_input.current()
        fit.steps_left_out = fit.elements_left_out = 2
        rows: Any = fit.rows
        assert [(step, next(iterator)) for step, _, iterator in batches._enumerate_iterator()] == [
            (step, step) for step in range(2, STEPS)
        ]
        assert (rows.begun, rows.used) == (1, 2)

    _keras3(during)


def test_a_training_makes_no_iterator_that_nobody_uses() -> None:
    """It would begin an epoch, perhaps not on every worker."""

    def during(model: Any) -> None:
        batches = model.iterator()
        for _ in range(3):
            list(batches._enumerate_iterator())
        assert batches.made == 3

    _keras3(during)


def test_rows_that_a_generator_predicts_with_are_not_those_of_the_training() -> None:
    def during(model: Any) -> None:
        inner: list[Any] = []
        outer = model.iterator(draw=lambda: inner.append(model.iterator()))
        list(inner[0]._enumerate_iterator())
        rows: Any = fit_input.current().rows
        assert rows.begun == 0
        list(outer._enumerate_iterator())
        assert rows.begun == 1

    _keras3(during)
    assert fit_input.current().rows is None


@pytest.mark.parametrize("recreates", [True, False])
def test_tf_keras_makes_the_iterators_that_it_uses(recreates: bool) -> None:
    class DataHandler:
        _initial_epoch, _epochs, _insufficient_data = 1, 4, False

        def __init__(self) -> None:
            self._adapter = SimpleNamespace(should_recreate_iterator=lambda: recreates, on_epoch_end=lambda: None)
            self._dataset = list(range(STEPS))

        def enumerate_epochs(self) -> Iterator[Any]:
            raise AssertionError("that of Keras begins one epoch more")

        def _truncate_execution_to_epoch(self) -> Any:
            import contextlib

            return contextlib.nullcontext()

    class Model:
        def fit(self) -> list[Any]:
            handler = DataHandler()
            fit = fit_input.current()
            fit.elements_left_out = 2
            epochs = [(epoch, next(iterator)) for epoch, iterator in handler.enumerate_epochs()]
            rows: Any = fit.rows
            return [epochs, rows.begun]

    fit_input.correct_data_of_tf_keras(SimpleNamespace(DataHandler=DataHandler))  # type: ignore[arg-type]
    fit_input.correct_fit_of_tf_keras(SimpleNamespace(Model=Model))  # type: ignore[arg-type]
    found: Any = Model().fit()
    assert found == ([[(1, 2), (2, 0), (3, 0)], 3] if recreates else [[(1, 2), (2, 3), (3, 4)], 1])


class _Resumed:
    """Rows whose first elements were used; counts what is done with them."""

    is_continuous = False

    def __init__(self, left_out: int | None, elements: int) -> None:
        self.left_out, self.elements = left_out, elements
        self.resumed = self.ended = 0

    def resume(self, *_: Any) -> int | None:
        self.resumed += 1
        return self.left_out

    def end(self, *_: Any) -> None:
        self.ended += 1

    def ends(self) -> bool:
        return not self.elements


@pytest.mark.parametrize(
    ("left_out", "elements", "steps", "begins", "does"),
    [
        (4, 10, None, (1, 4), (2, 0, 4)),
        (4, 4, None, (2, 0), (1, 1, 0)),
        (0, 3, None, (1, 4), (1, 0, 0)),
        (0, 0, None, (2, 0), (1, 0, 0)),
        # Their number is known: all were used, or there are fewer now.
        (4, 4, 4, (2, 0), (1, 1, 0)),
        (None, 10, 4, (2, 0), (1, 0, 0)),
    ],
)
def test_a_fit_of_tf_keras_goes_on_within_an_epoch_or_behind_it(
    left_out: int | None,
    elements: int,
    steps: int | None,
    begins: tuple[int, int],
    does: tuple[int, int, int],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    fit, rows = fit_input.FitInput(), _Resumed(left_out, elements)
    fit._dataset = range(elements)
    monkeypatch.setattr(fit_input, "current", lambda: fit)
    ours = CheckpointCallback(directory="d")
    found: list[Any] = []
    monkeypatch.setattr(ours, "_start_at", lambda *position: found.append(position))
    ours.checkpoint = SimpleNamespace(resumed_from_step=24, is_on_all=bool)  # type: ignore[assignment]
    ours.model, ours.params = SimpleNamespace(), {"epochs": 3, "steps": steps}
    ours._inputs.inputs.append(rows)  # type: ignore[arg-type]
    ours._resume(1, 4)
    assert found == [begins]
    assert (rows.resumed, rows.ended, fit.elements_left_out) == does
    assert ours._steps_before + begins[1] == 24
    assert ("epoch 1 goes on after batch 4, but its rows are read" in caplog.text) == (left_out is None)
    assert ("epoch is not evaluated" in caplog.text) == (begins == (2, 0))


def test_a_fit_of_tf_keras_whose_last_epoch_was_done_saves_that_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number of batches was not known when the last of them was saved; the next attempt trains nothing."""
    fit = fit_input.FitInput()
    monkeypatch.setattr(fit_input, "current", lambda: fit)
    ours = CheckpointCallback(directory="d")
    assigned: list[int] = []
    saved: list[int] = []
    ours.checkpoint = SimpleNamespace(resumed_from_step=8, is_on_all=bool, planned_end=None, save=saved.append)  # type: ignore[assignment]
    ours.model, ours.params = SimpleNamespace(built=True), {"epochs": 2, "steps": None}
    ours._epoch_variable = ours._batch_variable = SimpleNamespace(assign=assigned.append)
    ours._metrics = SimpleNamespace(take=lambda *_, **__: None)  # type: ignore[assignment]
    ours._inputs.inputs.append(_Resumed(0, 0))  # type: ignore[arg-type]
    ours._resume(1, 4)
    ours.on_train_end()
    assert (assigned, saved) == ([2, 0], [8])


@pytest.mark.parametrize("number", [0, 4], ids=["training", "round"])
@pytest.mark.parametrize(("batch", "begins"), [(2, [2]), (0, [1, 2])])
def test_a_scheduler_does_not_begin_the_epoch_again_in_which_a_training_goes_on(
    number: int, batch: int, begins: list[int]
) -> None:
    """The unfinished epoch of a round is trained again, with the learning rate of the checkpoint, too."""
    found: list[int] = []
    schedule = type(
        "LearningRateScheduler",
        (),
        {"__module__": "keras.src.callbacks", "on_epoch_begin": lambda self, epoch: found.append(epoch)},
    )()
    ours = CheckpointCallback(directory="d")
    ours.checkpoint = SimpleNamespace(resumed_from_step=7)  # type: ignore[assignment]
    ours.model, ours.params, ours._round = SimpleNamespace(built=True), {"epochs": 3}, number
    ours._resume(number * callback._ROUND + 1, batch)
    ours._after_train_begin([ours, schedule])
    for epoch in (1, 2):
        schedule.on_epoch_begin(epoch)
    assert found == begins


def test_a_fit_that_trains_nothing_keeps_the_position_within_an_epoch_of_a_later_fit() -> None:
    """In a loop of fit(initial_epoch=n, epochs=n + 1) with one directory."""
    ours = CheckpointCallback(directory="d")
    saved: list[int] = []
    ours.checkpoint = SimpleNamespace(resumed_from_step=17, planned_end=None, save=saved.append)  # type: ignore[assignment]
    ours.model, ours.params = SimpleNamespace(built=True), {"epochs": 1}
    ours._epoch_variable = ours._batch_variable = SimpleNamespace(assign=lambda _: None)
    ours._metrics = SimpleNamespace(take=lambda *_, **__: None)  # type: ignore[assignment]
    ours._resume(1, 7)
    ours.on_train_end()
    assert saved == []
