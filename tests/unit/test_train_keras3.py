"""Which steps of a resumed `fit` are skipped, with the iterator of Keras replaced by a small one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from tensorflow_ignite.train import keras3

STEPS = 6


@pytest.mark.parametrize("executions", [1, 2])
def test_only_the_first_epoch_of_a_resumed_fit_skips_steps(executions: int) -> None:
    class TFEpochIterator:
        """Has what is changed of that of Keras."""

        def __init__(self, draw: Callable[[], object] = lambda: None) -> None:
            # Keras draws a batch of a generator here.
            draw()

        def _enumerate_iterator(self) -> Iterator[int]:
            yield from range(STEPS)

    keras3._skip_steps(TFEpochIterator)
    model = SimpleNamespace(steps_per_execution=executions)
    token = keras3._training.set([])
    try:
        batches = TFEpochIterator(draw=TFEpochIterator)
        validation = TFEpochIterator()
        keras3.start_at(model, 3, 4)
    finally:
        keras3._training.reset(token)
    assert model._initial_epoch == 3
    assert list(validation._enumerate_iterator()) == list(range(STEPS))
    assert list(batches._enumerate_iterator()) == list(range(4 // executions, STEPS))
    assert list(batches._enumerate_iterator()) == list(range(STEPS))
