"""The rows of ``fit``: its first epoch begins at any step, and what it reads is known to a CheckpointCallback."""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorflow_ignite.train.training_input import TrainingInput


class FitInput:
    """What one ``fit`` reads.

    Attributes:
        rows: Its dataset; None before it is known, and for other data.
        element_spec: What TensorFlow knows of a batch; None: nothing.
        steps_left_out: Steps at the beginning of its first epoch that are left out, as ``fit`` counts them.
        elements_left_out: Elements of its first iterator that are left out.
    """

    def __init__(self) -> None:
        """Knows nothing yet."""
        self.rows: TrainingInput | None = None
        self.element_spec: Any = None
        self._dataset: Any = None
        self.steps_left_out = 0
        self.elements_left_out = 0
        self._is_claimed = False

    def claim(self) -> bool:
        """Whether what ``fit`` is about to iterate over is for its training: the first thing that it iterates over."""
        is_first, self._is_claimed = not self._is_claimed, True
        return is_first

    def take(self, dataset: Any, strategy: Any, *, is_continuous: bool) -> None:
        """Takes the dataset of the training."""
        from tensorflow_ignite.train.training_input import TrainingInput

        self.rows, self._dataset = TrainingInput(dataset, strategy, is_continuous=is_continuous), dataset
        self.element_spec = getattr(dataset, "element_spec", None)

    def begin(self) -> None:
        """An iterator is about to be made."""
        if self.rows is not None:
            self.rows.begin()

    def has_more(self, elements: int) -> bool:
        """Whether an iterator has more than a number of elements; reads them."""
        iterator = iter(self._dataset)
        return all(next(iterator, None) is not None for _ in range(elements + 1))

    def leave_out(self, iterator: Any) -> None:
        """Leaves elements of the first iterator out."""
        count, self.elements_left_out = self.elements_left_out, 0
        for _ in range(count):
            if next(iterator, None) is None:
                return
        if count and self.rows is not None:
            self.rows.add(count)


_current: ContextVar[FitInput | None] = ContextVar("tensorflow_ignite_fit_input", default=None)
# On what a fit iterates over: its FitInput.
_OF_FIT = "_tensorflow_ignite_fit_input"


def current() -> FitInput:
    """What the ``fit`` reads that runs in this thread."""
    return _current.get() or FitInput()


def _noted(fit: Any) -> Any:
    @functools.wraps(fit)
    def call(*args: Any, **kwargs: Any) -> Any:
        token = _current.set(FitInput())
        try:
            return fit(*args, **kwargs)
        finally:
            _current.reset(token)

    return call


def _note_first(
    kind: Any, dataset: Callable[[Any], Any], strategy: Callable[[Any], Any], is_continuous: Callable[[Any], bool]
) -> None:
    """Notes the first object of a class that a ``fit`` makes: it is for the training.

    The objects of a validation, of `evaluate` in a callback, and of `predict` in a generator of rows come later.

    Args:
        kind: The class over whose objects Keras iterates.
        dataset: Returns the dataset of an object.
        strategy: Returns its tf.distribute.Strategy.
        is_continuous: Returns whether one iterator brings the rows of all epochs.
    """
    init = kind.__init__

    @functools.wraps(init)
    def noted_init(self: Any, *args: Any, **kwargs: Any) -> None:
        fit = _current.get()
        is_for_training = fit is not None and fit.claim()
        init(self, *args, **kwargs)
        if fit is not None and is_for_training:
            fit.take(dataset(self), strategy(self), is_continuous=is_continuous(self))
            setattr(self, _OF_FIT, fit)

    kind.__init__ = noted_init


def start_at(model: Any, epoch: int, batch: int) -> int:
    """Makes the ``fit`` that has called ``on_train_begin`` start at a later batch, without a call of a callback.

    Args:
        model: The model that is being fitted.
        epoch: Number of finished epochs.
        batch: Number of finished batches of the next epoch.

    Returns:
        The number of the batch with which ``fit`` begins: Keras 3 counts whole executions of several steps.
    """
    keras = sys.modules.get("keras")
    if keras is not None and isinstance(model, keras.Model):
        model._initial_epoch = epoch
        current().steps_left_out = left_out = batch // model.steps_per_execution
        return int(left_out * model.steps_per_execution)
    # `fit` of tf_keras gets its start position from this object.
    model._training_state = SimpleNamespace(
        maybe_load_initial_counters_from_ckpt=lambda *_args, **_kwargs: (epoch, batch)
    )
    return batch


def correct_keras3(trainer: ModuleType) -> None:
    """Makes ``fit`` of Keras 3 begin at a step, and note its iterators."""
    module: Any = trainer
    module.TensorFlowTrainer.fit = _noted(module.TensorFlowTrainer.fit)
    kind = module.TFEpochIterator
    enumerate_iterator, get_iterator = kind._enumerate_iterator, kind._get_iterator

    @functools.wraps(get_iterator)
    def noted_get_iterator(self: Any) -> Any:
        fit = getattr(self, _OF_FIT, None)
        if fit is not None:
            fit.begin()
        return get_iterator(self)

    @functools.wraps(enumerate_iterator)
    def from_first_step(self: Any) -> Iterator[Any]:
        fit, steps = getattr(self, _OF_FIT, None), enumerate_iterator(self)
        if fit is None:
            yield from steps
            return
        if not self.steps_per_epoch and self._num_batches and fit.rows:
            # After its last step Keras makes an unused iterator, which would begin an epoch.
            steps = itertools.islice(steps, -(-self._num_batches // self.steps_per_execution))
        left_out, fit.steps_left_out = fit.steps_left_out, 0
        if left_out and left_out * self.steps_per_execution >= (self.steps_per_epoch or self._num_batches or math.inf):
            # Only the end of the epoch is left. An iterator that nobody uses would begin an epoch of the dataset.
            fit.begin()
            return
        for step in itertools.islice(steps, left_out, None):
            fit.leave_out(step[2])
            yield step

    _note_first(
        kind,
        lambda each: each._distributed_dataset,
        lambda each: each._distribute_strategy,
        lambda each: bool(each.steps_per_epoch),
    )
    kind._get_iterator = noted_get_iterator
    kind._enumerate_iterator = from_first_step


def correct_fit_of_tf_keras(training: ModuleType) -> None:
    """Makes ``fit`` of Keras 2, in the package tf_keras, note its input."""
    model: Any = training.Model
    model.fit = _noted(model.fit)


def correct_data_of_tf_keras(data_adapter: ModuleType) -> None:
    """Makes Keras 2, in the package tf_keras, note the iterators of a training, and make no unused ones."""
    kind: Any = data_adapter.DataHandler
    enumerate_epochs = kind.enumerate_epochs

    def strategy(_: Any) -> Any:
        import tensorflow as tf

        return tf.distribute.get_strategy()

    @functools.wraps(enumerate_epochs)
    def noted_epochs(self: Any) -> Iterator[Any]:
        fit = getattr(self, _OF_FIT, None)
        if fit is None or not fit.rows:
            yield from enumerate_epochs(self)
            return
        with self._truncate_execution_to_epoch():
            iterator = None
            for epoch in range(self._initial_epoch, self._epochs):
                if self._insufficient_data:
                    break
                if iterator is None or not fit.rows.is_continuous:
                    fit.begin()
                    iterator = iter(self._dataset)
                    fit.leave_out(iterator)
                yield epoch, iterator
                self._adapter.on_epoch_end()

    _note_first(kind, lambda each: each._dataset, strategy, lambda each: not each._adapter.should_recreate_iterator())
    kind.enumerate_epochs = noted_epochs
