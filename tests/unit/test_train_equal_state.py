"""The comparison of states: which part differs, and on which workers; without TensorFlow and nodes."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.train.equal_state import Part, require_equal


class Meeting:
    """Exchanges the numbers of workers that are threads."""

    def __init__(self, workers: int) -> None:
        self._barrier = threading.Barrier(workers, timeout=30)
        self._numbers = [0] * workers
        self.rounds = 0

    def exchange(self, worker: int, value: int) -> Sequence[int]:
        assert 0 <= value < 2**63
        self._numbers[worker] = value
        self._barrier.wait()
        found = list(self._numbers)
        if not worker:
            self.rounds += 1
        self._barrier.wait()
        return found


def compare(states: list[list[str]], adapted: list[list[str]] | None = None) -> tuple[list[str], int]:
    """The error of each worker, empty if it has none, and the number of rounds."""
    adapted = adapted or [[] for _ in states]
    meeting, errors = Meeting(len(states)), [""] * len(states)

    def run(worker: int) -> None:
        parts = [Part(f"layer {number}", text.encode()) for number, text in enumerate(states[worker])]
        further = [Part(f"adapted {number}", text.encode()) for number, text in enumerate(adapted[worker])]
        try:
            require_equal(parts, further, lambda value: meeting.exchange(worker, value))
        except TensorFlowIgniteError as error:
            errors[worker] = str(error)

    threads = [threading.Thread(target=run, args=(worker,)) for worker in range(len(states))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors, meeting.rounds


def test_equal_states_cost_one_exchange() -> None:
    assert compare([["a", "b", "c"]] * 3, [["x"]] * 3) == (["", "", ""], 1)
    assert compare([[]] * 3) == (["", "", ""], 1)


@pytest.mark.parametrize("differing", [0, 1, 3, 6])
def test_the_first_part_that_differs_is_named_with_its_workers_on_each_of_them(differing: int) -> None:
    states = [[str(number) for number in range(7)] for _ in range(4)]
    for worker in (1, 3):
        states[worker][differing] = "other"
        states[worker][6] = "other"
    errors, rounds = compare(states)
    expected = f"layer {differing} is not equal on all workers: worker 0 differs from worker 1, worker 3."
    assert all(error.startswith(expected) for error in errors)
    assert "tfi.train.adapt(layer, rows)" in errors[0]
    assert rounds <= 3 + 3


def test_a_layer_that_has_learned_outside_of_the_model_is_compared() -> None:
    errors, _ = compare([["a"]] * 2, [["x", "y"], ["x", "z"]])
    assert all(error.startswith("adapted 1 is not equal on all workers") for error in errors)


def test_models_of_different_size_are_an_error_and_different_calls_of_adapt_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors, _ = compare([["a"], ["a", "b"], ["a"]])
    assert set(errors) == {errors[0]}
    assert "worker 0 has 1 layers and variables, worker 1 has 2" in errors[0]
    errors, _ = compare([["a"]] * 2, [["x"], []])
    assert errors == ["", ""]
    assert "different numbers of layers, [1, 0]. These layers are not compared" in caplog.text
