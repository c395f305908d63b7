"""Rows of a cache as batches of arrays, for any program; imports no TensorFlow."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Literal, NamedTuple

import numpy as np

from tensorflow_ignite import errors
from tensorflow_ignite.data import arguments, resuming
from tensorflow_ignite.data.epoch_readers import readers
from tensorflow_ignite.data.epochs.cutting import ArrayBatch, groups
from tensorflow_ignite.data.epochs.rows_per_worker import Uneven
from tensorflow_ignite.data.epochs.tensor_schema import Column, pack
from tensorflow_ignite.data.epochs.tensors import Array
from tensorflow_ignite.data.input_position import InputPosition
from tensorflow_ignite.data.open_readers import HANDLE_NUMBERS
from tensorflow_ignite.data.options import Changes, HoldOut, ReadOptions, RowArguments, group
from tensorflow_ignite.data.request import WEIGHT_COLUMN
from tensorflow_ignite.data.rows import Rows, requested_rows

# In a state: how many epochs of its iteration are finished.
_DONE = "done"


class Ragged(NamedTuple):
    """The lists of a column whose rows have lists of any length.

    Attributes:
        values: The elements of all lists, one after another, ``[elements, ...]``.
        splits: Where lists begin and end, int64: list ``i`` has the elements ``splits[i]`` to ``splits[i + 1]``. Of
            lists of lists one array for each level, the outermost first: its elements are numbers of lists.
    """

    values: Array
    splits: tuple[Array, ...]


class Batches:
    """The batches of a cache; :func:`tensorflow_ignite.batches` makes it. Each ``iter()`` reads the next epoch."""

    def __init__(self, rows: Rows, batch_size: int, epochs: int | None, drop_remainder: bool) -> None:
        """Reads nothing."""
        request = rows.request.in_batches_of(batch_size)
        # Also without shuffling: `state_dict` may be called at any time.
        request = replace(request, identified=request.is_identifiable)
        self._rows = rows._replace(request=request)
        self._batch_size = batch_size
        self._epochs = epochs
        self._drop_remainder = drop_remainder
        self._layout = (*[Column(WEIGHT_COLUMN, "float32")] * request.weighted, *request.layout)
        # The epoch in which the present iteration has begun in this process, the rows that it has given, and its
        # finished epochs before; those of the next iteration.
        self._begin = self._given = self._done = self._next_done = 0
        self._is_over = False
        readers.forget_on_collect(self, request.name)

    def state_dict(self) -> dict[str, Any]:
        """The position after the last batch that an iteration has given, as values of JSON, for a checkpoint.

        After an iteration it is the beginning of the next epoch.

        Raises:
            InvalidRequestError: It is not known: an iteration is a million rows behind what was read.
        """
        # Until the caller has noticed the end, a restart goes on with an iteration without a batch.
        last = None if self._is_over or self._epochs is None else self._begin + self._left() - 1
        position = readers.position(self._rows.request, self._begin, self._given, is_continuous=True, last=last)
        if position is None:
            raise errors.InvalidRequestError(
                f"the position in cache {self._rows.request.cache!r} is not known, since more than a million rows were "
                "read ahead of it. Save the position more often"
            )
        done = self._done + position.epoch - self._begin
        return {**position.to_json(), _DONE: done if done < (self._epochs or 0) else 0}

    def load_state_dict(self, state: dict[str, Any] | Sequence[dict[str, Any]]) -> None:
        """Makes the next ``iter()`` go on behind a position, in this process or another one, to the same last epoch.

        With the same workers and the same rows it brings the batches that the earlier iteration would have brought.
        Otherwise it brings those rows of the epoch that were not used, each once. Later iterations read later epochs.

        Args:
            state: What :meth:`state_dict` has returned. In a job with several workers, that of each of them, in the
                order of their indices: ``[state_of_0, state_of_1, ...]``; a job may resume with another number.

        Raises:
            InvalidRequestError: It is no such state, or a position within an epoch of another cache or of other rows.
        """
        states = [state] if isinstance(state, dict) else list(state)
        try:
            positions = [
                InputPosition.from_json({name: each[name] for name in each if name != _DONE}) for each in states
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise errors.InvalidRequestError(
                f"{str(states)[:80]} is no state of batches ({type(error).__name__}: {error}). Such a state comes from "
                "state_dict() of tfi.batches(...). Use one of these, or a list of one of each worker"
            ) from None
        if not positions:
            raise errors.InvalidRequestError("load_state_dict() got no state. Give the state of at least one worker")
        resuming.resume(self._rows.request, positions)
        self._begin, self._given = readers.epochs(self._rows.request), 0
        self._done = self._next_done = max((each["epoch"], each.get(_DONE, 0)) for each in states)[1]

    def __iter__(self) -> Generator[Any, None, None]:
        """Yields the batches of one epoch, or of ``epochs=``.

        Raises:
            TensorFlowIgniteError: If a node fails, or other rows arrive than were expected.
        """
        self._begin, self._given, self._is_over = readers.epochs(self._rows.request), 0, False
        self._done, self._next_done = self._next_done, 0
        for held in groups(self._read(), lambda _: self._batch_size):
            batch = ArrayBatch.of(held)
            self._given += batch.num_rows
            if batch.num_rows == self._batch_size or not self._drop_remainder:
                yield self._element(batch)
            # Its memory is free while the next batch is read, unless the caller holds it.
            del held, batch
        self._is_over = True

    def _left(self) -> int:
        """Number of epochs that the iteration still reads, from its begin in this process."""
        return max(1, (self._epochs or 1) - self._done)

    def _read(self) -> Iterator[ArrayBatch]:
        for _ in count() if self._epochs is None else range(self._left()):
            handle: Array = np.zeros(HANDLE_NUMBERS, np.int64)
            offset = 0
            while True:
                handle, following, *arrays = readers.read(self._rows.request, handle, offset)
                if following < 0:
                    break
                offset = int(following)
                yield ArrayBatch(self._layout, arrays)
                del arrays
            if not offset and self._epochs is None:
                # As tf.data.Dataset.repeat: epochs without rows would follow each other without an end.
                return

    def _element(self, batch: ArrayBatch) -> Any:
        row = pack(batch.layout, batch.arrays, _value)
        weights = row.pop(WEIGHT_COLUMN) if self._rows.request.weighted else None
        return self._rows.element(row, weights)


def _value(values: Array, shape: tuple[int, ...], splits: list[Array]) -> Array | Ragged:
    return Ragged(_read_only(values), tuple(map(_read_only, splits))) if splits else _read_only(values)


def _read_only(values: Array) -> Array:
    """The same memory: a snapshot may have it for later epochs."""
    view = values.view()
    view.flags.writeable = False
    return view


def batches(
    cache: str,
    *,
    batch_size: int,
    columns: Sequence[str] | None = None,
    key: bool = False,
    label: str | Sequence[str] | None = None,
    schema: Any = None,
    where: str | None = None,
    sql: str | None = None,
    parameters: Sequence[Any] = (),
    partitions: Sequence[int] | Literal["all"] | None = None,
    shuffle: bool | int | None = None,
    seed: int | None = None,
    epochs: int | None = 1,
    drop_remainder: bool = False,
    nulls: Literal["error", "default", "mask"] = "error",
    on_mismatch: Literal["error", "skip"] = "error",
    uneven: Uneven = "repeat",
    snapshot: Literal["refresh", "frozen"] | bool | None = None,
    accept_data_loss: bool | None = None,
    changes: Changes | None = None,
    hold_out: HoldOut | None = None,
    options: ReadOptions | None = None,
) -> Batches:
    """The rows of a cache as batches of numpy arrays, for JAX, PyTorch, scikit-learn and others, without TensorFlow.

    A batch is a dict from column names to arrays ``[batch, ...]``, and with ``label=`` a pair of that dict and the
    label::

        rows = tfi.batches("images", batch_size=256, columns=["pixels", "label"], label="label", shuffle=True)
        for epoch in range(10):
            for features, label in rows:
                step(features["pixels"], label)

    The batches are those of ``tfi.dataset(cache, ...).repeat(epochs).batch(batch_size, drop_remainder)`` with the same
    arguments: the same rows in the same order, of the same types. So a worker of a job reads the partitions that are
    assigned to it, and in a job whose workers take equal steps each has the same number of rows in an epoch
    (``uneven``). Each ``iter()`` reads the next epoch, in another order with ``shuffle``. Threads prefetch.

    Arrays are read-only, because they may share memory with the rows that are cached for later epochs, and stay valid
    as long as they are used. Numbers and booleans are arrays of their type, lists of a fixed length arrays of one more
    dimension, other lists :class:`Ragged`, text (UTF-8) and bytes object arrays of ``bytes``, nested objects dicts.

    Args:
        cache: Name of the cache.
        batch_size: Number of rows of each batch; only the last one may have fewer.
        columns: Columns to read, in this order; None: all.
        key: Read the cache's key too, as column ``_key``.
        label: The column to predict: batches become ``(features, label)``. Several columns: the label is a dict of
            them.
        schema: As for :func:`tensorflow_ignite.dataset`, such as ``{"pixels": pyarrow.list_(pyarrow.uint8(), 784)}``.
        where: Condition in SQL over the columns, with a ``?`` for each of ``parameters``; only rows that meet it.
        sql: SELECT over the cache's table, whose rows are read instead; it may join tables that lie with it.
        parameters: Values for the question marks of ``where`` or ``sql``.
        partitions: Numbers of partitions to read, or ``"all"``; None: those of this worker in a job, else all.
        shuffle: Number of rows that are shuffled together; True: about 64 MB of rows, at most 65,536.
        seed: Seed of the order; None: a random one.
        epochs: Number of epochs of one iteration, without a new batch between them; None: without an end.
        drop_remainder: Leave out a last batch with fewer rows.
        nulls: As for :func:`tensorflow_ignite.dataset`.
        on_mismatch: As for :func:`tensorflow_ignite.dataset`.
        uneven: As for :func:`tensorflow_ignite.dataset`. With ``"pad"`` batches have a weight for each row, float32: a
            column ``_weight``, or with ``label`` a third component.
        snapshot: As for :func:`tensorflow_ignite.dataset`.
        accept_data_loss: As for :func:`tensorflow_ignite.dataset`.
        changes: Only rows that change: :class:`tensorflow_ignite.Changes`, without ``follow``; None: all rows.
        hold_out: As for :func:`tensorflow_ignite.dataset`.
        options: As for :func:`tensorflow_ignite.dataset`.

    Returns:
        The batches, of which an iteration reads the rows. Errors of nodes are raised as they are.

    Raises:
        InvalidRequestError: If an argument breaks a rule.
        CacheEmptyError: If a worker of a job whose workers take equal steps has no row where it needs one.
        DataLossError: If partitions of the cache have lost all their copies.
        TensorFlowIgniteError: CacheNotFoundError and other errors of a node; if no node answers.
    """
    own = ("batch_size", "epochs", "drop_remainder")
    given = {name: value for name, value in locals().items() if name not in (*own, "own")}
    size, number = arguments.batch_size(batch_size), arguments.epochs(epochs)
    drops = bool(arguments.flag("drop_remainder", drop_remainder))
    changes = group("changes", changes, Changes)
    if changes is not None and changes.follow:
        raise errors.InvalidRequestError(
            f"batches of cache {cache!r} cannot be read with follow=True, since an iteration of batches has an end. "
            "Use tfi.dataset, or read what was put since a position: changes=tfi.Changes(since=position)"
        )
    rows = requested_rows(RowArguments(**{**given, "changes": changes}))
    return Batches(rows, size, number, drops)
