"""What a training reads: where it stands after some steps, and where another process goes on.

A step takes one element of a dataset of batches. How many rows these are is known if the dataset is made of
:func:`tensorflow_ignite.dataset` by ``batch``, and by methods that make one element of one, such as ``map``.

The position of a worker goes from ``fit_input`` and this module to ``input_states``, which stores the positions of all
workers in the checkpoint. In a later attempt they come back here, and ``data.resuming`` begins an epoch there.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tensorflow_ignite.data import resuming
from tensorflow_ignite.data.epoch_readers import readers
from tensorflow_ignite.data.epochs.rows_per_worker import INPUT, Input
from tensorflow_ignite.data.input_position import InputPosition
from tensorflow_ignite.data.request import Request
from tensorflow_ignite.task import current

_log = logging.getLogger("tensorflow_ignite")

# Methods of tf.data.Dataset that make one element of one.
_ONE_OF_ONE = frozenset({"_MapDataset", "_ParallelMapDataset", "_PrefetchDataset", "_OptionsDataset", "_ZipDataset"})
# Methods that keep rows in a buffer: after a restart, the buffer has other rows.
_OWN_ORDER = frozenset({"_ShuffleDataset", "CacheDataset"})
_BATCHES = frozenset({"_BatchDataset", "_ParallelBatchDataset"})


class _Source(NamedTuple):
    """Rows of a cache that a dataset has.

    Attributes:
        request: The request for the rows.
        rows: Number of rows of each element; 0: not known.
        batch: Number of rows that ``batch`` joins in an element, of which a later method may leave some out.
        least: The smallest number of rows of an element, if ``rows`` is known.
        is_repeatable: Whether the same rows give the same elements again.
        epochs: Number of epochs that an iterator reads; below 0: without an end.
    """

    request: Request
    rows: int
    batch: int
    least: int
    is_repeatable: bool
    epochs: int


class TrainingInput:
    """The dataset of one training, as this process reads it.

    Attributes:
        is_continuous: Whether one iterator brings the rows of all epochs.
        is_between_epochs: Whether the next step needs a new iterator.
    """

    def __init__(self, dataset: Any, strategy: Any, *, is_continuous: bool) -> None:
        """Reads nothing.

        Args:
            dataset: A tf.data.Dataset of batches, or a dataset that the strategy has distributed.
            strategy: The tf.distribute.Strategy of the training.
            is_continuous: Whether one iterator brings the rows of all epochs.
        """
        import tensorflow as tf

        self.is_continuous = is_continuous
        self.is_between_epochs = False
        # Workers of parameter servers take batches at their own speed, and this process reads none.
        coordinated = isinstance(strategy, tf.distribute.ParameterServerStrategy)
        original = getattr(dataset, "_original_dataset", dataset)
        self._sources = [] if coordinated else _sources(original, is_continuous=is_continuous)
        self._has_rows = all(source.rows for source in self._sources)
        self._has_other_inputs = bool(self._sources) and _has_other_inputs(original)
        self._rows_of = _rows_of_steps(original, strategy) if self._sources else _whole
        # Under several workers TensorFlow divides an element into parts, one for each worker: all are of this one.
        divides = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
        self._steps_of_element = (
            int(strategy.num_replicas_in_sync) // len(strategy.extended.worker_devices) if divides else 1
        )
        self._begins = [0] * len(self._sources)
        self._done = 0
        self._is_shared = False

    def __bool__(self) -> bool:
        """Whether it has rows of a cache."""
        return bool(self._sources)

    def identify(self) -> None:
        """The positions within later epochs will be saved."""
        for source in self._sources:
            readers.identify(source.request)

    def reads_as(self, other: TrainingInput) -> bool:
        """Whether it reads the same datasets as another one."""
        return [each.request.name for each in self._sources] == [each.request.name for each in other._sources]

    def begin(self) -> None:
        """The training is about to make a new iterator."""
        self._begins = self.next_epochs()
        self._done, self._is_shared = 0, False

    def add(self, steps: int) -> None:
        """The training has used ``steps`` more elements."""
        self._done += steps

    @property
    def has_known_rows(self) -> bool:
        """Whether the number of rows of each step is known."""
        return bool(self._sources) and self._has_rows

    @property
    def most_epochs(self) -> int:
        """The largest number of epochs that an iterator reads, if it has an end."""
        return max((source.epochs for source in self._sources), default=0)

    def next_epochs(self) -> list[int]:
        """The number of the next epoch of each source; any iterator may have begun the epochs before."""
        return [readers.epochs(source.request) for source in self._sources]

    def note_others(self, before: Sequence[int]) -> None:
        """Another iterator, such as the validation's, may have read the same dataset since ``next_epochs``."""
        self._is_shared = self._is_shared or self.next_epochs() != list(before)

    def positions(self) -> list[InputPosition] | None:
        """Where the training stands in each cache; None: it is not known."""
        begins = list(zip(self._sources, self._begins, strict=True))
        if self.is_between_epochs and not self.is_continuous:
            found = [readers.position(source.request, readers.epochs(source.request), 0) for source in self._sources]
        elif self.is_continuous and (
            self._is_shared or any(readers.has_overlapping(source.request, begin) for source, begin in begins)
        ):
            # It is not known which epochs its own iterator has read.
            return None
        elif self._has_rows:
            found = [self._position(source, begin) for source, begin in begins]
        elif not self.is_continuous and all(source.is_repeatable for source in self._sources):
            found = [
                position and replace(position, elements=self._done, given=readers.given(source.request, begin))
                for source, begin in begins
                for position in [readers.position(source.request, begin, 0)]
            ]
        else:
            return None
        known = [
            replace(position, batch=source.batch)
            for source, position in zip(self._sources, found, strict=True)
            if position is not None
        ]
        return known if len(known) == len(found) else None

    def _position(self, source: _Source, begin: int) -> InputPosition | None:
        position = self._position_after(source, begin, self._done)
        parts = self._done % self._steps_of_element
        if position is None or not parts:
            return position
        aligned = self._position_after(source, begin, self._done - parts)
        return replace(position, aligned=aligned and replace(aligned, elements=parts))

    def _position_after(self, source: _Source, begin: int, steps: int) -> InputPosition | None:
        # Of an iterator of several epochs, rows of the next one follow in the last element of an epoch.
        total = None if self.is_continuous and source.epochs != 1 else readers.total(source.request, begin)
        rows = self._rows_of(source.rows, steps, total)
        return readers.position(source.request, begin, rows, is_continuous=self.is_continuous)

    def resume(
        self, workers: Sequence[Sequence[InputPosition] | None], do_all: Callable[[bool], bool] = bool
    ) -> int | None:
        """Makes the next iterator continue at the positions of all workers.

        Args:
            workers: The positions of each worker of the attempt that has saved them; None: not known.
            do_all: Whether something is true on all workers; they call it together.

        Returns:
            The number of elements of that iterator that the caller must leave out; None: the position of a worker is
            not known, and the iterator begins an epoch.

        Raises:
            InvalidRequestError: A position within an epoch belongs to another cache, or to other rows.
        """
        count = len(self._sources)
        known = [positions for positions in workers if positions is not None]
        if not count or not known or len(known) < len(workers) or any(len(each) != count for each in known):
            return None
        of_sources = [[None if each is None else each[number] for each in workers] for number in range(count)]
        left_out = max(position.elements for positions in known for position in positions)
        parts = max((each.aligned.elements for positions in known for each in positions if each.aligned), default=0)
        if left_out or parts:
            as_before = do_all(
                all(
                    resuming.is_read_as_before(source.request, positions)
                    and all(each is None or each.batch in (0, source.batch) for each in positions)
                    for source, positions in zip(self._sources, of_sources, strict=True)
                )
            )
            if left_out and not as_before:
                return None
            if parts and as_before:
                left_out = parts
                of_sources = [[each and each.with_whole_batch() for each in positions] for positions in of_sources]
        for source, positions in zip(self._sources, of_sources, strict=True):
            resuming.resume(source.request, positions)
        is_within = any(each.rows or (self.is_continuous and each.epoch) for positions in known for each in positions)
        if self._has_other_inputs and is_within:
            _log.warning(
                "tensorflow_ignite: the rows of cache %r go on, but the other inputs of Dataset.zip begin again: their "
                "position is not known. Elements are paired otherwise than before. Compute what belongs to a row from "
                "its columns, with map",
                self._sources[0].request.cache,
            )
        if self.is_continuous and is_within and not left_out:
            # TensorFlow's repeat() ends at a first epoch without a row: an epoch that has no row left is passed.
            self.ends()
        return left_out

    def end(self, workers: Sequence[Sequence[InputPosition] | None]) -> None:
        """The training was over when all workers stood there: the next iterator begins the epoch after its last one."""
        known = [positions for positions in workers if positions is not None and len(positions) == len(self._sources)]
        for source, positions in zip(self._sources, zip(*known, strict=True), strict=bool(known)):
            last = max(positions, key=lambda position: position.epoch)
            has_begun = any(each.epoch == last.epoch and (each.rows or each.elements) for each in positions)
            readers.resume(source.request, replace(last.of_other_worker(), epoch=last.epoch + has_begun), [])

    def ends(self) -> bool:
        """Whether the epoch that :meth:`resume` has set has no element left; then it is over."""
        # Each is asked, since an epoch that is over is passed.
        ended = [
            readers.has_ended(source.request, 1 if self.is_continuous else source.least) for source in self._sources
        ]
        return all(ended)


def _sources(dataset: Any, *, is_continuous: bool = False) -> list[_Source]:
    """The rows of caches that a dataset has, each with the number of rows of an element."""
    found: list[_Source] = []
    waiting: list[tuple[Any, int, int, int, bool]] = [(dataset, 1, 1, 1, True)]
    has_order = not (hasattr(dataset, "options") and dataset.options().deterministic is False)
    while waiting:
        each, rows, batch, least, is_repeatable = waiting.pop(0)
        mark: Input | None = getattr(each, INPUT, None)
        if mark is not None and mark.request is not None:
            request = mark.request
            # An epoch with a fixed number of rows has all of them, also in TensorFlow's eyes. An iterator of several
            # epochs that begins within one of them would read as many again.
            is_whole = request.rows >= 0 or (mark.epochs > 1 and not is_continuous)
            is_unknown = is_whole or request.follow
            is_repeatable = is_repeatable and not request.follow
            known = 0 if is_unknown else rows * mark.rows
            found.append(_Source(request, known, batch * mark.rows, least * mark.least, is_repeatable, mark.epochs))
            continue
        kind = type(each).__name__
        size = _batch_size(each)
        batch *= size
        least *= size if _drops_remainder(each) else 1
        if kind in _BATCHES:
            rows *= size
        elif kind not in _ONE_OF_ONE:
            rows = 0
        has_order = has_order and not _is_random(each)
        is_repeatable = is_repeatable and kind not in _OWN_ORDER
        waiting += [(inner, rows, batch, least, is_repeatable) for inner in _inputs(each)]
    names = [source.request.name for source in found]
    # Each iterator of one dataset reads an epoch of its own.
    found = [source if names.count(source.request.name) == 1 else source._replace(rows=0) for source in found]
    return found if has_order else [source._replace(rows=0, is_repeatable=False) for source in found]


def _inputs(dataset: Any) -> list[Any]:
    # Other data than a tf.data.Dataset has no inputs.
    has_inputs = hasattr(dataset, "element_spec") and callable(getattr(dataset, "_inputs", None))
    return list(dataset._inputs()) if has_inputs else []


def _is_random(dataset: Any) -> bool:
    """Whether a method gives its elements in another order each time, without a seed or by the speed of its threads."""
    import tensorflow as tf

    kind = type(dataset).__name__
    if kind == "_RandomDataset":
        return not any(tf.get_static_value(seed) for seed in (dataset._seed, dataset._seed2))
    # TensorFlow does not keep the argument `deterministic` of interleave.
    return kind == "_ParallelInterleaveDataset" or getattr(dataset, "_deterministic", None) == "false"


def _has_other_inputs(dataset: Any) -> bool:
    """Whether rows of caches are paired with elements of other datasets, which have their own positions."""
    if getattr(dataset, INPUT, None) is not None:
        return False
    inputs = _inputs(dataset)
    is_zip = type(dataset).__name__ == "_ZipDataset"
    return any((is_zip and not _sources(each)) or _has_other_inputs(each) for each in inputs)


def _batch_size(dataset: Any) -> int:
    """The number of elements that a method joins in one; 0: not known."""
    import tensorflow as tf

    size: Any = tf.get_static_value(getattr(dataset, "_batch_size", 1))
    return 0 if size is None else int(size)


def _drops_remainder(dataset: Any) -> bool:
    import tensorflow as tf

    return bool(tf.get_static_value(getattr(dataset, "_drop_remainder", False)))


def _whole(rows: int, steps: int, total: int | None) -> int:
    return rows * steps if total is None else min(rows * steps, total)


def _rows_of_steps(dataset: Any, strategy: Any) -> Callable[[int, int, int | None], int]:
    """How many of each worker's own rows a number of steps takes.

    The arguments are the rows of an element, the steps, and all rows of the epoch, if they are known. They are known as
    soon as a step takes a part of the last element, which may have fewer rows.
    """
    import tensorflow as tf

    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return _whole
    from tensorflow.python.data.experimental.ops import distribute

    replicas, own = int(strategy.num_replicas_in_sync), len(strategy.extended.worker_devices)
    if int(distribute.compute_batch_size(dataset)) < 0:
        return functools.partial(rows_of_parts, replicas=replicas, own=own)

    # TensorFlow cuts batches of these sizes in turn, whatever the sizes of elements are.
    def rows_of(rows: int, steps: int, total: int | None) -> int:
        sizes = distribute.batch_sizes_for_worker(rows, replicas // own, own, current().index).numpy().tolist()
        parts = steps * own
        return _whole(int(parts // replicas * rows + sum(sizes[: parts % replicas])), 1, total)

    return rows_of


def rows_of_parts(rows: int, steps: int, total: int | None, *, replicas: int, own: int) -> int:
    """How many rows a number of steps takes, if TensorFlow divides each element into equal parts for all replicas.

    Args:
        rows: Number of rows of each element but the last.
        steps: Number of steps.
        total: Number of rows of all elements; None: the last element is far.
        replicas: Number of replicas, of all workers.
        own: Number of replicas of this worker, each of which takes a part in a step.
    """
    elements, parts = divmod(steps * own, replicas)
    if total is not None and elements * rows >= total - total % rows:
        last = total % rows
        parts += (elements - total // rows) * replicas
        return total - last + min(last, -(-last // replicas) * parts)
    return elements * rows + min(rows, -(-rows // replicas) * parts)
