"""The function that a graph calls to read rows, in the process that runs the graph.

A graph has one well-known token; each process that may run graphs registers this function under it. So a graph that the
client process of a parameter-server job builds runs on a worker, and reads the partitions of that worker.

The graph calls the function (PyFunc) with request, handle and offset. It returns the handle, the offset of the next
batch (below 0 after the last), weights if requested, and the arrays of the batch that begins at the row with this
offset. The handle and the offset are the state of an iterator, which it passes to the next call:

- A handle of zeros starts an epoch.
- The returned handle is a tensor over memory that belongs to the epoch's reader: when TensorFlow releases its iterator,
  the memory is collected, and the reader, its threads and its streams end.
- A handle that was restored from a checkpoint, perhaps by another process, only has numbers: that of the epoch, and a
  digest of its plan. If the reader of that epoch still exists, it continues; otherwise a new reader finds the row. If
  the plan is different now, the call is an error.
"""

from __future__ import annotations

import atexit
import functools
import os
import threading
import time
import weakref
from typing import Any, NamedTuple

import numpy as np

from tensorflow_ignite import errors
from tensorflow_ignite.data.epoch_source import DatasetState, EpochSource
from tensorflow_ignite.data.epochs import snapshots
from tensorflow_ignite.data.epochs.epoch import RowOrder
from tensorflow_ignite.data.epochs.prefetch import EpochReader, ReaderClosedError
from tensorflow_ignite.data.epochs.rows_per_worker import EpochStart
from tensorflow_ignite.data.epochs.tensors import ALIGNMENT, Array, empty_arrays
from tensorflow_ignite.data.finalizers import FinalizerQueue
from tensorflow_ignite.data.plan import Plan, make_plan
from tensorflow_ignite.data.request import Request

TOKEN = "tensorflow_ignite.read"

#: Number of 64-bit numbers of a handle, whose memory must be aligned for TensorFlow.
HANDLE_NUMBERS = ALIGNMENT // 8

SECONDS_TO_END_AT_EXIT = 5.0
# Longer than the time between two calls of a thread of TensorFlow, also at a new epoch of ``repeat``.
QUIET_SECONDS = 0.2


def register() -> None:
    """Registers the function in this process; call it before the TensorFlow server of the process starts.

    A second call has no effect.
    """
    from tensorflow.python.ops import script_ops

    # The registry holds its functions weakly; this module holds the strong reference.
    script_ops._py_funcs._funcs[TOKEN] = read_batch


def read_batch(request: bytes, handle: Array, offset: Any) -> list[Array]:
    """The function that the graph calls, with values of numpy."""
    return _readers.read(bytes(request), handle, int(offset))


class _EpochPosition(NamedTuple):
    """The content of a handle, in 64-bit numbers."""

    # Random and not zero, so that a handle of another process, from a checkpoint, never names a reader of this process.
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


class _ReaderHandle:
    """64 aligned bytes that begin with the name of a reader; collected with the last tensor over them."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        memory = np.zeros(2 * HANDLE_NUMBERS, np.int64)
        start = (-memory.ctypes.data % ALIGNMENT) // 8
        self._memory = memory[start : start + HANDLE_NUMBERS]
        self._memory[: len(numbers)] = numbers
        # An array over this interface keeps this object alive; a view of a plain array would keep only the memory.
        self.__array_interface__ = self._memory.__array_interface__


_Key = tuple[str, tuple[int, int]]


class _OpenReader(NamedTuple):
    reader: EpochReader
    handle: weakref.ref[_ReaderHandle]


class _ReaderRegistry:
    """The open readers of this process, by dataset and handle."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[_Key, _OpenReader] = {}
        self._datasets: dict[str, DatasetState] = {}
        self._ending = False
        # Readers whose callers got the error that the process ends.
        self._notified: set[_Key] = set()
        self._calls = self._returns = 0
        self.finalizers = FinalizerQueue(lambda: self._has_active() or bool(_snapshots.size))

    def read(self, request: bytes, handle: Array, offset: int) -> list[Array]:
        """The handle, the offset of the next batch, and the arrays of this batch."""
        with self._lock:
            self._calls += 1
        try:
            return self._read(_parse(request), handle, offset)
        finally:
            with self._lock:
                self._returns += 1

    def _read(self, request: Request, handle: Array, offset: int) -> list[Array]:
        if self._ending:
            self._notify_once(request, handle)
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
                self._require_time()
            except BaseException:
                if begins:
                    self._undo_begin(request, position, reader)
                # TensorFlow may release the handle only after its next call; a thread closes the reader then.
                self.finalizers.ensure_running()
                raise
        if idle:
            self.finalizers.ensure_running()
        if batch is None:
            self._close((request.name, position.name), reader)
            return _end(request, np.asarray(handle_object))
        weights = [np.full(batch.rows, batch.real, np.float32)] * request.weighted
        assert batch.arrays is not None
        return [np.asarray(handle_object), np.array(offset + batch.rows, np.int64), *weights, *batch.arrays]

    def _begin(self, request: Request) -> tuple[_ReaderHandle, _EpochPosition]:
        """Opens a reader of the dataset's next epoch."""
        self.finalizers.drain()
        snapshot = _snapshots.get(request.name)
        plan = _plan(request, snapshot)
        base = snapshot.epoch if snapshot and request.window is not None else -1
        with self._lock:
            dataset = self._datasets.setdefault(request.name, DatasetState())
            epoch, dataset.epochs = dataset.epochs, dataset.epochs + 1
            seed = dataset.seed if request.seed is None else request.seed
            start = dataset.start.number() if request.window is None else 0
            position = _EpochPosition(
                _two_numbers(os.urandom(16)), epoch, base, seed, _two_numbers(plan.digest(request)), start
            )
            return self._opened(request, plan, position)[0], position

    def _require_time(self) -> None:
        """Raises an error at the end of the process, when threads of TensorFlow may still call."""
        if self._ending:
            raise ReaderClosedError("the process ends, and its readers are closed")

    def _notify_once(self, request: Request, handle: Array) -> None:
        """Raises an error at an iterator's first call: TensorFlow prefetches after an error, but not after the end."""
        key = request.name, _EpochPosition.of(handle).name
        with self._lock:
            notified = key in self._notified
            self._notified.add(key)
        if not notified:
            self._require_time()

    def _undo_begin(self, request: Request, position: _EpochPosition, reader: EpochReader) -> None:
        """Undoes the start of an epoch that failed before its first row; the next call starts it again."""
        with self._lock:
            dataset = self._datasets.get(request.name)
            if dataset is not None and dataset.epochs == position.epoch + 1:
                dataset.epochs = position.epoch
        self._close((request.name, position.name), reader)

    def _find(self, request: Request, position: _EpochPosition) -> tuple[_ReaderHandle, EpochReader]:
        """The reader of a position; a new reader for a restored iterator."""
        with self._lock:
            found = self._open_reader(request, position)
        return found or self._restore(request, position)

    def _open_reader(self, request: Request, position: _EpochPosition) -> tuple[_ReaderHandle, EpochReader] | None:
        opened = self._open.get((request.name, position.name))
        handle = opened.handle() if opened else None
        # A reader whose handle was collected is about to be closed.
        return (handle, opened.reader) if opened and handle else None

    def _restore(self, request: Request, position: _EpochPosition) -> tuple[_ReaderHandle, EpochReader]:
        plan = _plan(request, _snapshots.get(request.name))
        if _two_numbers(plan.digest(request)) != position.digest:
            raise errors.AssignmentChangedError(
                f"the iterator of {plan.subject} cannot continue from its checkpoint: it reads other partitions, "
                f"another number of rows ({request.rows} an epoch now) or with other options. The state of an iterator "
                f"is valid for the same rows in the same order. Start with a new iterator"
            )
        with self._lock:
            dataset = self._datasets.setdefault(request.name, DatasetState())
            dataset.epochs = max(dataset.epochs, position.epoch + 1)
            dataset.seed = position.seed
            return self._open_reader(request, position) or self._opened(request, plan, position)

    def _opened(self, request: Request, plan: Plan, position: _EpochPosition) -> tuple[_ReaderHandle, EpochReader]:
        key = request.name, position.name
        reader, handle = self._reader(request, plan, position), _ReaderHandle(position.numbers())
        self._open[key] = _OpenReader(reader, weakref.ref(handle))
        self.finalizers.on_collect(handle, functools.partial(self._close, key, reader))
        return handle, reader

    def _reader(self, request: Request, plan: Plan, position: _EpochPosition) -> EpochReader:
        # Checked again with the lock: a reader that is added after close_all() would stay open.
        self._require_time()

        start = EpochStart.of(position.start)
        order = RowOrder(position.epoch, position.seed, request.window, position.base, start)
        state = self._datasets.setdefault(request.name, DatasetState())
        return EpochReader(EpochSource(request, plan, state, order).epoch(_snapshots).batches, request.layout)

    def forget(self, name: str) -> None:
        """Removes the state and the snapshot of a dataset that was collected; its open iterators continue."""
        with self._lock:
            self._datasets.pop(name, None)
        _snapshots.drop(name)
        self.finalizers.ensure_running()

    def _close(self, key: _Key, reader: EpochReader) -> None:
        """Closes a reader; returns at once."""
        with self._lock:
            opened = self._open.get(key)
            if opened is not None and opened.reader is reader:
                del self._open[key]
        reader.close()
        self.finalizers.ensure_running()

    def close_all(self) -> None:
        """Closes every reader and waits for its threads, so that none runs while the interpreter ends."""
        with self._lock:
            self._ending = True
            readers = [opened.reader for opened in self._open.values()]
            self._open.clear()
        for reader in readers:
            reader.close()
        for reader in readers:
            reader.join(SECONDS_TO_END_AT_EXIT)
        self._await_calls()
        self.finalizers.stop()

    def _await_calls(self) -> None:
        """Waits until threads of TensorFlow make no more calls.

        A thread that is in a call when the interpreter ends never returns, and TensorFlow would wait for it forever.
        """
        deadline = time.monotonic() + SECONDS_TO_END_AT_EXIT
        seen = -1
        while self._calls and not self._returns == self._calls == seen and time.monotonic() < deadline:
            seen = self._calls
            time.sleep(QUIET_SECONDS)

    def _has_active(self) -> bool:
        """Whether an open reader has threads or batches, which must end with it."""
        with self._lock:
            return any(not opened.reader.idle for opened in self._open.values())

    def count(self) -> int:
        """Number of open readers."""
        with self._lock:
            return len(self._open)


def open_readers() -> int:
    """Number of iterators of this process that read a cache now."""
    _readers.finalizers.drain()
    return _readers.count()


def forget(name: str) -> None:
    """Removes the state and the snapshot of a dataset."""
    _readers.forget(name)


def forget_on_collect(obj: object, name: str) -> None:
    """Removes a dataset soon after the object was collected that all users of the dataset refer to."""
    _readers.finalizers.on_collect(obj, functools.partial(forget, name))


def snapshot_bytes() -> int:
    """Bytes of all snapshots of this process."""
    _readers.finalizers.drain()
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


def _two_numbers(digest: bytes) -> tuple[int, int]:
    first, second = np.frombuffer(digest[:16], np.int64).tolist()
    return first, second


_snapshots = snapshots.Snapshots()
_readers = _ReaderRegistry()
atexit.register(_readers.close_all)
