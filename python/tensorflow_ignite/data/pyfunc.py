"""The functions that a graph calls to read rows, in the process that runs the graph.

A graph has well-known tokens; each process that may run graphs registers these functions under them. So a graph that
the client process of a parameter-server job builds runs on a worker, and reads the partitions of that worker.

The graph calls a function (PyFunc) with request, handle and position, which are the state of an iterator. It returns
the handle, the position of the next batch, weights if requested, and the arrays of the batch. A handle of zeros opens a
reader (:mod:`open_readers`).

For epochs, the position is the number of rows before the batch, below 0 after the last one. A handle that was restored
from a checkpoint, perhaps by another process, only has numbers: that of the epoch, and a digest of its plan. If the
reader of that epoch still exists, it continues; otherwise a new reader finds the row. If the plan is different now, the
call is an error. For rows that are followed, the position says what has been read of each partition, and any reader
continues there.
"""

from __future__ import annotations

import functools
import os
import threading
from typing import Any, NamedTuple

import numpy as np

from tensorflow_ignite import errors
from tensorflow_ignite.data.epoch_source import DatasetState, EpochSource
from tensorflow_ignite.data.epochs import snapshots
from tensorflow_ignite.data.epochs.epoch import RowOrder
from tensorflow_ignite.data.epochs.prefetch import EpochReader, ReaderClosedError
from tensorflow_ignite.data.epochs.rows_per_worker import EpochStart
from tensorflow_ignite.data.epochs.tensors import Array, empty_arrays
from tensorflow_ignite.data.follow.follower import Follower
from tensorflow_ignite.data.follow_source import FollowSource
from tensorflow_ignite.data.open_readers import Handle, Key, OpenReaders, two_numbers
from tensorflow_ignite.data.plan import Plan, make_plan
from tensorflow_ignite.data.request import Request

TOKEN = "tensorflow_ignite.read"
FOLLOW_TOKEN = "tensorflow_ignite.follow"


def register() -> None:
    """Registers the functions in this process; call it before the TensorFlow server of the process starts.

    A second call has no effect.
    """
    from tensorflow.python.ops import script_ops

    # The registry holds its functions weakly; this module holds the strong reference.
    script_ops._py_funcs._funcs[TOKEN] = read_batch
    script_ops._py_funcs._funcs[FOLLOW_TOKEN] = read_changes


def read_batch(request: bytes, handle: Array, offset: Any) -> list[Array]:
    """The function that the graph calls for epochs, with values of numpy."""
    return _epochs.read(_parse(bytes(request)), handle, int(offset))


def read_changes(request: bytes, handle: Array, positions: Array) -> list[Array]:
    """The function that the graph calls for rows that are followed: positions are int64, shape [partitions, 2]."""
    with _followers.call():
        return _follow(_parse(bytes(request)), handle, positions)


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


class _EpochReaders:
    """The epochs that iterators of this process read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._datasets: dict[str, DatasetState] = {}
        self.open: OpenReaders[EpochReader] = OpenReaders(lambda: bool(_snapshots.size))

    def read(self, request: Request, handle: Array, offset: int) -> list[Array]:
        """The handle, the offset of the next batch, and the arrays of this batch."""
        with self.open.call():
            return self._read(request, handle, offset)

    def _read(self, request: Request, handle: Array, offset: int) -> list[Array]:
        if self.open.ending:
            self.open.notify_once(Key(request.name, _EpochPosition.of(handle).name))
            return _end(request, handle)
        begins = not handle.any()
        # The reader stays open while this variable refers to the handle object.
        handle_object, position = self._begin(request) if begins else (None, _EpochPosition.of(handle))
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
                    self._undo_begin(request, position, reader)
                # TensorFlow may release the handle only after its next call; a thread closes the reader then.
                self.open.finalizers.ensure_running()
                raise
        if idle:
            self.open.finalizers.ensure_running()
        if batch is None:
            self.open.close(Key(request.name, position.name), reader)
            return _end(request, handle_object.tensor())
        weights = [np.full(batch.rows, batch.real, np.float32)] * request.weighted
        assert batch.arrays is not None
        return [handle_object.tensor(), np.array(offset + batch.rows, np.int64), *weights, *batch.arrays]

    def _begin(self, request: Request) -> tuple[Handle, _EpochPosition]:
        """Opens a reader of the dataset's next epoch."""
        self.open.finalizers.drain()
        snapshot = _snapshots.get(request.name)
        plan = _plan(request, snapshot)
        base = snapshot.epoch if snapshot and request.window is not None else -1
        with self._lock:
            dataset = self._datasets.setdefault(request.name, DatasetState())
            epoch, dataset.epochs = dataset.epochs, dataset.epochs + 1
            seed = dataset.seed if request.seed is None else request.seed
            start = dataset.start.number() if request.window is None else 0
            position = _EpochPosition(
                two_numbers(os.urandom(16)), epoch, base, seed, two_numbers(plan.digest(request)), start
            )
        return self._opened(request, plan, position)[0], position

    def _undo_begin(self, request: Request, position: _EpochPosition, reader: EpochReader) -> None:
        """Undoes the start of an epoch that failed before its first row; the next call starts it again."""
        with self._lock:
            dataset = self._datasets.get(request.name)
            if dataset is not None and dataset.epochs == position.epoch + 1:
                dataset.epochs = position.epoch
        self.open.close(Key(request.name, position.name), reader)

    def _find(self, request: Request, position: _EpochPosition) -> tuple[Handle, EpochReader]:
        """The reader of a position; a new reader for a restored iterator."""
        return self.open.find(Key(request.name, position.name)) or self._restore(request, position)

    def _restore(self, request: Request, position: _EpochPosition) -> tuple[Handle, EpochReader]:
        plan = _plan(request, _snapshots.get(request.name))
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
        return self._opened(request, plan, position)

    def _opened(self, request: Request, plan: Plan, position: _EpochPosition) -> tuple[Handle, EpochReader]:
        def make() -> EpochReader:
            start = EpochStart.of(position.start)
            order = RowOrder(position.epoch, position.seed, request.window, position.base, start)
            return EpochReader(EpochSource(request, plan, state, order).epoch(_snapshots).batches, request.layout)

        with self._lock:
            state = self._datasets.setdefault(request.name, DatasetState())
        return self.open.open(Key(request.name, position.name), position.numbers(), make)

    def forget(self, name: str) -> None:
        """Removes the state and the snapshot of a dataset that was collected; its open iterators continue."""
        with self._lock:
            self._datasets.pop(name, None)
        _snapshots.drop(name)
        self.open.finalizers.ensure_running()


def _follow(request: Request, handle: Array, positions: Array) -> list[Array]:
    """The handle, the positions with the next batch, whether it goes on, and the arrays of this batch."""
    known = int(handle[0]), int(handle[1])
    if _followers.ending:
        _followers.notify_once(Key(request.name, known))
        weights = [np.empty(0, np.float32)] * request.weighted
        return [handle, positions, np.array(False), *weights, *empty_arrays(request.layout)]
    name = known if handle.any() else two_numbers(os.urandom(16))
    opened, follower = _followers.open(
        Key(request.name, name), name, lambda: Follower(FollowSource(request), request.layout)
    )
    idle = follower.idle
    try:
        batch = follower.take(positions)
    except ReaderClosedError:
        _followers.require_time()
        raise
    finally:
        if idle:
            _followers.finalizers.ensure_running()
    weights = [np.ones(batch.rows, np.float32)] * request.weighted
    return [opened.tensor(), batch.positions, np.array(True), *weights, *batch.arrays]


def open_readers() -> int:
    """Number of iterators of this process that read a cache now."""
    return _epochs.open.count() + _followers.count()


def forget(name: str) -> None:
    """Removes the state and the snapshot of a dataset."""
    _epochs.forget(name)


def forget_on_collect(obj: object, name: str) -> None:
    """Removes a dataset soon after the object was collected that all users of the dataset refer to."""
    _epochs.open.finalizers.on_collect(obj, functools.partial(forget, name))


def snapshot_bytes() -> int:
    """Bytes of all snapshots of this process."""
    _epochs.open.finalizers.drain()
    return _snapshots.size


@functools.lru_cache(maxsize=64)
def _parse(request: bytes) -> Request:
    return Request.from_json(request)


def _plan(request: Request, snapshot: snapshots.Snapshot | None) -> Plan:
    """The plan of a new epoch; with a snapshot, its plan, without a call to the cluster."""
    plan: Plan = snapshot.plan if snapshot else make_plan(request)
    return plan


def _end(request: Request, handle: Array) -> list[Array]:
    """The result after the last row."""
    weights = [np.empty(0, np.float32)] * request.weighted
    return [handle, np.array(-1, np.int64), *weights, *empty_arrays(request.layout)]


_snapshots = snapshots.Snapshots()
_epochs = _EpochReaders()
_followers: OpenReaders[Follower] = OpenReaders()
