"""What a graph calls to read rows, in whatever process it runs.

A graph names one well-known token; each process that may run graphs registers its reader under it. So a graph that the
client process of a parameter-server job builds runs on a worker, and reads the worker's own partitions there.

The graph calls it (PyFunc) with request, handle, offset, and gets handle, offset, weights if asked for, arrays…: the
rows of one batch from that row of the epoch on, and the offset of the next; below 0 after the last. The handle and the
offset are the state of an iterator, given back at its next call:

- A handle of zeros begins an epoch.
- The handle that is returned is a tensor over memory that belongs to the epoch's reader: when TensorFlow lets go of its
  iterator, the memory goes, and with it the reader, its threads and its streams.
- A handle that is restored from a checkpoint, perhaps by another process, is mere numbers: which epoch it was, and a
  digest of what was read. While the reader of that epoch lives it goes on with that one, and gets a new one else, which
  finds the row; where something else would be read now, it gets an error.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import secrets
import threading
import time
import weakref
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data import reading, snapshots
from tensorflow_ignite.data.endings import Endings
from tensorflow_ignite.data.epochs import Epoch, Keep, Keeping, Order
from tensorflow_ignite.data.reader import Reader, ReaderClosed, Stream
from tensorflow_ignite.data.tensors import ALIGNMENT, Array, empty_arrays
from tensorflow_ignite.data.transport import ways
from tensorflow_ignite.train.context import context

_log = logging.getLogger(__name__)

TOKEN = "tensorflow_ignite.read"

#: Numbers of a handle: as many bytes as TensorFlow must find aligned.
HANDLE_NUMBERS = ALIGNMENT // 8

SECONDS_TO_END_AT_EXIT = 5.0
# More than a thread of TensorFlow lets pass between two calls, a new epoch of ``repeat`` included.
QUIET_SECONDS = 0.2


def register() -> None:
    """Makes this process able to run graphs that read caches; call it before its TensorFlow server starts.

    Repeating it changes nothing.
    """
    from tensorflow.python.ops import script_ops

    # The registry holds its functions weakly; this module holds the strong reference.
    script_ops._py_funcs._funcs[TOKEN] = call


def call(request: bytes, handle: Array, offset: Any) -> list[Array]:
    """What the graph calls; arguments arrive as numpy values."""
    return _readers.read(bytes(request), handle, int(offset))


class _Place(NamedTuple):
    """What a handle says of its epoch, in 64-bit numbers."""

    # Random, so that numbers which another process wrote into a checkpoint are not taken for one of this process; and
    # never zeros.
    name: tuple[int, int]
    epoch: int
    base: int
    seed: int
    digest: tuple[int, int]

    def numbers(self) -> tuple[int, ...]:
        return (*self.name, self.epoch, self.base, self.seed, *self.digest)

    @classmethod
    def of(cls, handle: Array) -> _Place:
        name, other, epoch, base, seed, digest, more = (int(number) for number in handle[:7])
        return cls((name, other), epoch, base, seed, (digest, more))


class _Handle:
    """64 aligned bytes of an own, which begin with the number of a reader; dies with the last tensor over them."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        memory = np.zeros(2 * HANDLE_NUMBERS, np.int64)
        start = (-memory.ctypes.data % ALIGNMENT) // 8
        self._memory = memory[start : start + HANDLE_NUMBERS]
        self._memory[: len(numbers)] = numbers
        # An array that borrows from this object keeps this object; views of a plain array would keep only the memory.
        self.__array_interface__ = self._memory.__array_interface__


_Key = tuple[str, tuple[int, int]]


class _Opened(NamedTuple):
    reader: Reader
    handle: weakref.ref[_Handle]


class _Readers:
    """The readers of this process, by their datasets and the numbers of their handles."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[_Key, _Opened] = {}
        self._datasets: dict[str, _Dataset] = {}
        self._ending = False
        # Those that were told that the process ends.
        self._told: set[_Key] = set()
        self._calls = self._returns = 0
        self.endings = Endings(lambda: self._hold() or bool(_kept.size))

    def read(self, request: bytes, handle: Array, offset: int) -> list[Array]:
        """The rows of one batch, preceded by the handle and the offset of the next."""
        with self._lock:
            self._calls += 1
        try:
            return self._read(_parse(request), handle, offset)
        finally:
            with self._lock:
                self._returns += 1

    def _read(self, asked: reading.Request, handle: Array, offset: int) -> list[Array]:
        if self._ending:
            self._refuse_once(asked, handle)
            return _end(asked, handle)
        begins = not handle.any()
        # Who holds it keeps the reader open.
        own, place = self._begin(asked) if begins else (None, _Place.of(handle))
        while True:
            own, reader = self._find(asked, place)
            idle = reader.idle
            try:
                part = reader.take(offset)
                break
            except ReaderClosed:
                # Closed with the iterator that began it, while one that was restored from it reads on.
                self._require_time()
            except BaseException:
                if begins:
                    self._take_back(asked, place, reader)
                # TensorFlow may let go of the handle no sooner than it is called again, and nobody needs to wait.
                self.endings.watch()
                raise
        if idle:
            self.endings.watch()
        if part is None:
            self._close((asked.name, place.name), reader)
            return _end(asked, np.asarray(own))
        weights = [np.full(part.rows, part.real, np.float32)] * asked.weighted
        assert part.arrays is not None
        return [np.asarray(own), np.array(offset + part.rows, np.int64), *weights, *part.arrays]

    def _begin(self, asked: reading.Request) -> tuple[_Handle, _Place]:
        """Opens a reader of the dataset's next epoch."""
        self.endings.settle()
        snapshot = _kept.get(asked.name)
        plan = _plan(asked, snapshot)
        base = snapshot.epoch if snapshot and asked.window is not None else -1
        with self._lock:
            dataset = self._datasets.setdefault(asked.name, _Dataset())
            epoch, dataset.epochs = dataset.epochs, dataset.epochs + 1
            seed = dataset.seed if asked.seed is None else asked.seed
            place = _Place(_two_numbers(os.urandom(16)), epoch, base, seed, _two_numbers(plan.digest(asked)))
            return self._opened(asked, plan, place)[0], place

    def _require_time(self) -> None:
        """At the end of the process nothing is opened any more: TensorFlow's own threads may still ask."""
        if self._ending:
            raise ReaderClosed("the process ends, and its readers are closed")

    def _refuse_once(self, asked: reading.Request, handle: Array) -> None:
        """TensorFlow reads ahead over errors, but not over an end."""
        key = asked.name, _Place.of(handle).name
        with self._lock:
            told = key in self._told
            self._told.add(key)
        if not told:
            self._require_time()

    def _take_back(self, asked: reading.Request, place: _Place, reader: Reader) -> None:
        """Of an epoch without a first row nobody knows: asked again, it is begun again."""
        with self._lock:
            dataset = self._datasets.get(asked.name)
            if dataset is not None and dataset.epochs == place.epoch + 1:
                dataset.epochs = place.epoch
        self._close((asked.name, place.name), reader)

    def _find(self, asked: reading.Request, place: _Place) -> tuple[_Handle, Reader]:
        """The reader of a place; a new one, for an iterator that was restored."""
        with self._lock:
            found = self._alive(asked, place)
        return found or self._restore(asked, place)

    def _alive(self, asked: reading.Request, place: _Place) -> tuple[_Handle, Reader] | None:
        opened = self._open.get((asked.name, place.name))
        handle = opened.handle() if opened else None
        # One whose handle has gone is about to be closed.
        return (handle, opened.reader) if opened and handle else None

    def _restore(self, asked: reading.Request, place: _Place) -> tuple[_Handle, Reader]:
        plan = _plan(asked, _kept.get(asked.name))
        if _two_numbers(plan.digest(asked)) != place.digest:
            raise errors.AssignmentChangedError(
                f"the iterator of {plan.what} cannot go on where its checkpoint left it: it reads other partitions, "
                f"another number of rows ({asked.rows} an epoch now) or with other options than before. The state of "
                f"an iterator holds for the same rows in the same order. Begin with a new iterator"
            )
        with self._lock:
            dataset = self._datasets.setdefault(asked.name, _Dataset())
            dataset.epochs = max(dataset.epochs, place.epoch + 1)
            dataset.seed = place.seed
            return self._alive(asked, place) or self._opened(asked, plan, place)

    def _opened(self, asked: reading.Request, plan: reading.Plan, place: _Place) -> tuple[_Handle, Reader]:
        key = asked.name, place.name
        reader, handle = self._reader(asked, plan, place), _Handle(place.numbers())
        self._open[key] = _Opened(reader, weakref.ref(handle))
        self.endings.when_gone(handle, functools.partial(self._close, key, reader))
        return handle, reader

    def _reader(self, asked: reading.Request, plan: reading.Plan, place: _Place) -> Reader:
        # Again, with the lock held: one that is added after all were closed would stay.
        self._require_time()

        def streams(epoch: int, keep: Keep | None, follow: bool) -> list[Stream]:
            shuffled = asked.window is not None
            endpoints = plan.shuffled(place.seed, epoch) if shuffled else plan.endpoints
            return [
                stream
                for endpoint in endpoints
                for stream in ways.streams(
                    asked.transport,
                    endpoint,
                    plan.what,
                    asked=plan.asked,
                    who=asked.credentials,
                    kept=keep,
                    follow=follow,
                )
            ]

        def warn(text: str) -> None:
            with self._lock:
                dataset = self._datasets.get(asked.name)
                said = dataset is not None and dataset.warned
                if dataset is not None:
                    dataset.warned = True
            if not said:
                _log.warning("%s", text)

        epoch = Epoch(
            streams,
            asked.layout,
            asked.share,
            Order(place.epoch, place.seed, asked.window, place.base),
            plan.what,
            Keeping(_kept, asked.name, functools.partial(_limit, asked.memory)) if asked.snapshot else None,
            _kept.get(asked.name),
            plan,
            pa.ipc.read_schema(pa.py_buffer(asked.arrow_of_zeros())) if asked.zeros else None,
            warn,
        )
        return Reader(epoch.parts, asked.layout)

    def forget(self, name: str) -> None:
        """Lets go of what belongs to a dataset that is no more; an iterator that is left reads on."""
        with self._lock:
            self._datasets.pop(name, None)
        _kept.drop(name)
        self.endings.watch()

    def _close(self, key: _Key, reader: Reader) -> None:
        """Ends a reader; returns at once."""
        with self._lock:
            opened = self._open.get(key)
            if opened is not None and opened.reader is reader:
                del self._open[key]
        reader.close()
        self.endings.watch()

    def close_all(self) -> None:
        """Ends every reader and waits for its threads, so that none runs while the interpreter goes down."""
        with self._lock:
            self._ending = True
            readers = [opened.reader for opened in self._open.values()]
            self._open.clear()
        for reader in readers:
            reader.close()
        for reader in readers:
            reader.join(SECONDS_TO_END_AT_EXIT)
        self._await_calls()
        self.endings.stop()

    def _await_calls(self) -> None:
        """Waits until no thread of TensorFlow calls any more, if any ever did.

        One that the interpreter finds here as it goes down never returns, and TensorFlow would wait for it forever.
        """
        deadline = time.monotonic() + SECONDS_TO_END_AT_EXIT
        seen = -1
        while self._calls and not self._returns == self._calls == seen and time.monotonic() < deadline:
            seen = self._calls
            time.sleep(QUIET_SECONDS)

    def _hold(self) -> bool:
        """Whether a reader holds what must end with it."""
        with self._lock:
            return any(not opened.reader.idle for opened in self._open.values())

    def count(self) -> int:
        """Readers that are open."""
        with self._lock:
            return len(self._open)


def open_readers() -> int:
    """How many iterators of this process read a cache right now."""
    _readers.endings.settle()
    return _readers.count()


def forget(name: str) -> None:
    """Lets go of the snapshot of a dataset that is no more."""
    _readers.forget(name)


def forget_with(thing: object, name: str) -> None:
    """Forgets a dataset soon after the thing has gone that all who use the dataset hold."""
    _readers.endings.when_gone(thing, functools.partial(forget, name))


def kept_bytes() -> int:
    """Bytes of all snapshots of this process."""
    _readers.endings.settle()
    return _kept.size


class _Dataset:
    """What this process knows of a dataset beyond its request."""

    def __init__(self) -> None:
        self.epochs = 0
        self.seed = secrets.randbits(62)
        self.warned = False


@functools.lru_cache(maxsize=64)
def _parse(request: bytes) -> reading.Request:
    return reading.Request.from_json(request)


def _plan(asked: reading.Request, snapshot: snapshots.Snapshot | None) -> reading.Plan:
    """Who has the rows matters to those who will read them; a snapshot needs nobody."""
    plan: reading.Plan = snapshot.told if snapshot else reading.plan(asked)
    return plan


def _end(asked: reading.Request, handle: Array) -> list[Array]:
    """The answer behind the last rows."""
    weights = [np.empty(0, np.float32)] * asked.weighted
    return [handle, np.array(-1, np.int64), *weights, *empty_arrays(asked.layout)]


def _two_numbers(digest: bytes) -> tuple[int, int]:
    first, second = np.frombuffer(digest[:16], np.int64).tolist()
    return first, second


def _limit(memory: int) -> int:
    return memory if memory >= 0 else _default_limit()


@functools.lru_cache(maxsize=1)
def _default_limit() -> int:
    """Once for the process: what it has kept is not available any more."""
    here = context()
    own = here.own_assignment
    return snapshots.default_limit(sum(own is not None and other.node_id == own.node_id for other in here.assignment))


_kept = snapshots.Snapshots()
_readers = _Readers()
atexit.register(_readers.close_all)
