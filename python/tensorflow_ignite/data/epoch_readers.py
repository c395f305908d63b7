"""The epochs that iterators of this process read, whether a graph of TensorFlow iterates, or Python.

The state of an iterator is a handle and the position of its next batch: the number of rows before it. A handle of zeros
opens a reader (:mod:`open_readers`). A handle that was restored from a checkpoint, perhaps by another process, only has
numbers: that of the epoch, and a digest of its plan. If the reader of that epoch still exists, it continues; otherwise
a new reader finds the row. If the plan is different now, the call is an error.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tensorflow_ignite import errors
from tensorflow_ignite.data import whole_rows
from tensorflow_ignite.data.epoch_source import BegunEpoch, DatasetState, EpochSource, Resumed
from tensorflow_ignite.data.epochs import input_totals, snapshots
from tensorflow_ignite.data.epochs.epoch import RowOrder
from tensorflow_ignite.data.epochs.prefetch import EpochReader, ReaderClosedError
from tensorflow_ignite.data.epochs.rows_per_worker import EpochStart
from tensorflow_ignite.data.epochs.tensors import Array, empty_arrays
from tensorflow_ignite.data.input_position import InputPosition
from tensorflow_ignite.data.open_readers import HANDLE_NUMBERS, Handle, Key, OpenReaders, two_numbers
from tensorflow_ignite.data.plan import Plan, make_plan
from tensorflow_ignite.data.request import Request

_log = logging.getLogger("tensorflow_ignite.data")


class _EpochPosition(NamedTuple):
    """The content of a handle, in 64-bit numbers."""

    name: tuple[int, int]
    epoch: int
    base: int
    seed: int
    digest: tuple[int, int]
    start: int

    def numbers(self) -> tuple[int, ...]:
        return (*self.name, self.epoch, self.base, self.seed, *self.digest, self.start)

    @classmethod
    def of(cls, handle: Array) -> _EpochPosition:
        name, other, epoch, base, seed, digest, more, start = (int(number) for number in handle[:8])
        return cls((name, other), epoch, base, seed, (digest, more), start)


class EpochReaders:
    """The epochs that iterators of this process read. Any thread may call."""

    def __init__(self) -> None:
        """Has none."""
        self._lock = threading.Lock()
        self._datasets: dict[str, DatasetState] = {}
        self._snapshots = snapshots.Snapshots()
        self.open: OpenReaders[EpochReader] = OpenReaders(lambda: bool(self._snapshots.size))

    def read(self, request: Request, handle: Array, offset: int) -> list[Array]:
        """The next batch of an iterator.

        Args:
            request: The dataset.
            handle: int64, shape [HANDLE_NUMBERS]; zeros begin the next epoch of the dataset.
            offset: Number of rows before the batch; 0 at the beginning.

        Returns:
            The handle, which keeps the reader open; the offset of the following batch, int64, below 0 after the last
            row; float32 weights, if the request has them; and the arrays of the batch, which a snapshot may have for
            later epochs: read only.

        Raises:
            TensorFlowIgniteError: If a node fails, or other rows arrive than were expected.
            ReaderClosedError: If the process ends.
        """
        with self.open.call():
            if handle.any():
                return self._read(request, handle, offset)
            # The owners of the partitions, what has changed, and the first batch.
            with input_totals.waiting():
                return self._read(request, handle, offset)

    def _read(self, request: Request, handle: Array, offset: int) -> list[Array]:
        if self.open.ending:
            self.open.notify_once(Key(request.name, _EpochPosition.of(handle).name))
            return _end(request, handle)
        begins = not handle.any()
        # The reader stays open while this variable refers to the handle object.
        source = self._source(whole_rows.source_of(request)) if begins else request
        handle_object, position = self._begin(request, source) if begins else (None, _EpochPosition.of(handle))
        while True:
            handle_object, reader = self._find(request, position)
            idle = reader.idle
            try:
                batch = reader.take(offset)
                break
            except ReaderClosedError:
                # Closed with the iterator that started it, while an iterator that was restored from it continues.
                self.open.require_time()
            except BaseException:
                if begins:
                    self._undo_begin(request, source, position, reader)
                # TensorFlow may release the handle only after its next call; a thread closes the reader then.
                self.open.finalizers.ensure_running()
                raise
        if idle:
            self.open.finalizers.ensure_running()
        if batch is None:
            self.open.close(Key(request.name, position.name), reader)
            with self._lock:
                if request.name in self._datasets:
                    self._datasets[request.name].end(position.epoch, position.name, offset)
            return _end(request, handle_object.tensor())
        weights = [np.full(batch.rows, batch.real, np.float32)] * request.weighted
        assert batch.arrays is not None
        return [handle_object.tensor(), np.array(offset + batch.rows, np.int64), *weights, *batch.arrays]

    def _begin(self, request: Request, source: Request) -> tuple[Handle, _EpochPosition]:
        """Opens a reader of the dataset's next epoch, which reads the rows of the source."""
        self.open.finalizers.drain()
        snapshot = self._snapshots.get(source.name)
        plan = _plan(source, snapshot)
        digest = two_numbers(plan.digest(source))
        with self._lock:
            dataset = self._datasets.setdefault(source.name, DatasetState())
            resumed, dataset.resumed = dataset.resumed, None
            begun = (
                BegunEpoch(_next(source, dataset, snapshot))
                if resumed is None
                else _continued(source, plan, resumed, digest)
            )
            given = begun.position = replace(begun.position.begun(), digest=digest)
            begun.resumed = resumed
            dataset.epochs = given.epoch + 1
            dataset.window = dataset.window or given.window
            dataset.begin(begun)
            begun.name, begun.is_identified = two_numbers(os.urandom(16)), source.identified
            position = _EpochPosition(begun.name, given.epoch, given.base, given.seed, digest, given.start)
        return self._opened(request, source, plan, position, begun)[0], position

    def _source(self, request: Request) -> Request:
        with self._lock:
            state = self._datasets.get(request.name)
            return replace(request, identified=True) if state is not None and state.needs_identities else request

    def _undo_begin(self, request: Request, source: Request, position: _EpochPosition, reader: EpochReader) -> None:
        """Undoes the start of an epoch that failed before its first row; the next call starts it again."""
        with self._lock:
            dataset = self._datasets.get(source.name)
            if dataset is not None and dataset.epochs == position.epoch + 1:
                dataset.epochs = position.epoch
                begun = dataset.begun.pop(position.epoch, None)
                dataset.resumed = begun.resumed if begun else None
        self.open.close(Key(request.name, position.name), reader)

    def _find(self, request: Request, position: _EpochPosition) -> tuple[Handle, EpochReader]:
        """The reader of a position; a new reader for a restored iterator."""
        return self.open.find(Key(request.name, position.name)) or self._restore(request, position)

    def _restore(self, request: Request, position: _EpochPosition) -> tuple[Handle, EpochReader]:
        plan = _plan(request, self._snapshots.get(request.name))
        if two_numbers(plan.digest(request)) != position.digest:
            raise errors.AssignmentChangedError(
                f"the iterator of {plan.subject} cannot continue from its checkpoint: it reads other partitions, "
                f"another number of rows ({request.rows} an epoch now) or with other options. The state of an iterator "
                f"is valid for the same rows in the same order. Start with a new iterator"
            )
        with self._lock:
            dataset = self._datasets.setdefault(request.name, DatasetState())
            dataset.epochs = max(dataset.epochs, position.epoch + 1)
            dataset.seed = position.seed
        return self._opened(request, request, plan, position)

    def _opened(
        self, request: Request, source: Request, plan: Plan, position: _EpochPosition, begun: BegunEpoch | None = None
    ) -> tuple[Handle, EpochReader]:
        def make() -> EpochReader:
            start = EpochStart.of(position.start)
            # A number of rows that was determined by their size stays the same.
            window = state.window if source.window == 0 else source.window
            order = RowOrder(position.epoch, position.seed, window, position.base, start)
            epoch = EpochSource(source, plan, state, order, begun).epoch(self._snapshots)
            return EpochReader(epoch.batches, source.layout)

        with self._lock:
            state = self._datasets.setdefault(source.name, DatasetState())
        return self.open.open(Key(request.name, position.name), position.numbers(), make)

    def epochs(self, request: Request) -> int:
        """The number of the next epoch of a dataset."""
        with self._lock:
            state = self._datasets.get(request.name)
            if state is None:
                return 0
            return state.epochs if state.resumed is None else state.resumed[0].epoch

    def total(self, request: Request, epoch: int) -> int | None:
        """Number of rows that this process has read of an epoch; None: it has not read it to its end yet."""
        with self._lock:
            state = self._datasets.get(request.name)
            return state.ended.get(epoch) if state else None

    def position(
        self, request: Request, epoch: int, rows: int, *, is_continuous: bool = False, last: int | None = None
    ) -> InputPosition | None:
        """Where a consumer stands that has had some rows; None: it is so far behind that it is not known.

        Args:
            request: The dataset.
            epoch: The number of the epoch that its first row was of.
            rows: Number of rows that it has had, in this process.
            is_continuous: Whether the next epoch follows the last row; else the consumer stands behind that row.
            last: The last epoch that follows; None: there is none.
        """
        with self._lock:
            state = self._datasets.setdefault(request.name, DatasetState())
            while is_continuous and epoch != last and rows >= state.ended.get(epoch, rows + 1):
                rows -= state.ended[epoch]
                epoch += 1
            begun = state.begun.get(epoch)
            if begun is None and state.resumed is not None and state.resumed[0].epoch == epoch:
                own, others = state.resumed
                begun = BegunEpoch(own, own.resumption(others))
                return None if rows else begun.standing(0)
            if begun is None:
                following = _next(request, state, self._snapshots.get(request.name))
                return None if rows or epoch < state.epochs else replace(following, epoch=epoch)
        return begun.standing(rows)

    def has_overlapping(self, request: Request, epoch: int) -> bool:
        """Whether a later epoch began before the one before it had ended, so that several iterators have read."""
        with self._lock:
            state = self._datasets.get(request.name)
            return state is not None and state.overlapping > epoch

    def identify(self, request: Request) -> None:
        """Identifies the rows of later epochs of a dataset, if they have identities: positions will be asked for."""
        with self._lock:
            state = self._datasets.setdefault(request.name, DatasetState())
            state.needs_identities = request.is_identifiable

    def given(self, request: Request, epoch: int) -> tuple[int, int]:
        """A number of rows with which an epoch begins in this process, and their checksum; (0, 0): not known."""
        with self._lock:
            state = self._datasets.get(request.name)
            begun = state.begun.get(epoch) if state else None
        return begun.emission.given() if begun is not None and begun.emission is not None else (0, 0)

    def resume(self, request: Request, own: InputPosition, others: Sequence[InputPosition]) -> None:
        """Makes the next epoch of a dataset continue at a position.

        Args:
            request: The dataset.
            own: The position of this process.
            others: Those of all workers.
        """
        with self._lock:
            state = self._datasets.setdefault(request.name, DatasetState())
            state.resume(own, tuple(others))

    def digest(self, request: Request) -> tuple[int, int]:
        """Identifies the rows that this process would read now, and their order before shuffling."""
        return two_numbers(make_plan(request).digest(request))

    def has_ended(self, request: Request, rows: int = 1) -> bool:
        """Whether the next epoch of a dataset, which continues at a position, has too few rows left; then it is over.

        Args:
            request: The dataset.
            rows: The number of rows of an element: the epoch is over if it has fewer.
        """
        handle: Array = np.zeros(HANDLE_NUMBERS, np.int64)
        offset = 0
        while offset < rows:
            handle, following, *_ = self.read(request, handle, offset)
            offset = int(following)
            if offset < 0:
                return True
        with self._lock:
            state = self._datasets[request.name]
            begun = state.begun.pop(_EpochPosition.of(handle).epoch)
            state.epochs, state.resumed = begun.position.epoch, begun.resumed
        return False

    def forget(self, name: str) -> None:
        """Removes the state and the snapshot of a dataset; its open iterators continue."""
        with self._lock:
            self._datasets.pop(name, None)
            self._datasets.pop(whole_rows.name_of(name), None)
        self._snapshots.drop(name)
        self.open.finalizers.ensure_running()

    def forget_on_collect(self, obj: object, name: str) -> None:
        """Removes a dataset soon after the object was collected that all users of the dataset refer to."""
        self.open.finalizers.on_collect(obj, functools.partial(self.forget, name))

    def snapshot_bytes(self) -> int:
        """Bytes of all snapshots of this process."""
        self.open.finalizers.drain()
        return self._snapshots.size


def _plan(request: Request, snapshot: snapshots.Snapshot | None) -> Plan:
    """The plan of a new epoch; with a snapshot, its plan, without a call to the cluster."""
    plan: Plan = snapshot.plan if snapshot else make_plan(request)
    return plan


def _next(request: Request, state: DatasetState, snapshot: snapshots.Snapshot | None) -> InputPosition:
    """The beginning of the next epoch."""
    return InputPosition(
        request.cache,
        request.selection,
        state.epochs,
        state.seed if request.seed is None else request.seed,
        snapshot.epoch if snapshot and request.window is not None else -1,
        state.start.number() if request.window is None else 0,
        window=state.window,
    )


def _continued(request: Request, plan: Plan, resumed: Resumed, digest: tuple[int, int]) -> BegunEpoch:
    """The epoch of a position, without the rows that were used."""
    own, others = resumed
    resumption = own.resumption(others)
    counted = max(each.rows for each in (own, *others))
    if resumption is None and not (counted and digest != own.digest):
        if own.elements and not own.given[0]:
            _log.warning(
                "%s: epoch %d is read again without its first %d batches. Whether its rows are the same is unknown, "
                'as for sql=, since= and transport="thin": if rows were put or removed since, some rows of this epoch '
                "come twice or never. Later epochs have each row once",
                plan.subject,
                own.epoch,
                own.elements,
            )
        return BegunEpoch(own)
    if resumption is None or (not resumption.used and digest != own.digest):
        _log.warning(
            "%s: epoch %d begins again, of which %d rows had been used. Its rows, which have no identities, are read "
            "in another order now, since partitions or workers have changed",
            plan.subject,
            own.epoch,
            counted,
        )
        return BegunEpoch(replace(own, rows=0, filled=0))
    if not resumption.used:
        _log.warning(
            "%s: epoch %d goes on after its first %d rows. Its rows have no identities (sql=, since=, "
            'transport="thin"), so these are the used ones only if no row was put or removed since; else some rows '
            "of this epoch come twice or never. Later epochs have each row once. Read without these, or write nothing "
            "while training restarts",
            plan.subject,
            own.epoch,
            own.rows,
        )
    return BegunEpoch(own, resumption)


def _end(request: Request, handle: Array) -> list[Array]:
    """The result after the last row."""
    weights = [np.empty(0, np.float32)] * request.weighted
    return [handle, np.array(-1, np.int64), *weights, *empty_arrays(request.layout)]


readers = EpochReaders()
