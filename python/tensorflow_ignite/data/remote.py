"""What a graph calls to read rows, in whatever process it runs.

A graph names one well-known token; each process that may run graphs registers its reader under it. So a graph that the
client process of a parameter-server job builds runs on a worker, and reads the worker's own partitions there.

The graph calls it in two ways (PyFunc, first argument):

- ``open``, request → handle: begins an epoch. The handle is a tensor over memory that belongs to the epoch's reader:
  when TensorFlow lets go of its iterator, the memory goes, and with it the reader, its threads and its streams.
- ``read``, request, handle, offset → offset, weights if asked for, arrays…: the rows of one batch from that row of the
  epoch on, and the offset of the next; below 0 after the last.

A handle that is restored from a checkpoint, perhaps by another process, is mere numbers: which epoch it was, and a
digest of what was read. It gets a new reader, which finds the row, and which lives until its last batch or the end of
its dataset; where something else would be read now, it gets an error.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import secrets
import threading
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

SECONDS_TO_END_AT_EXIT = 5.0


def register() -> None:
    """Makes this process able to run graphs that read caches; call it before its TensorFlow server starts.

    Repeating it changes nothing.
    """
    from tensorflow.python.ops import script_ops

    # The registry holds its functions weakly; this module holds the strong reference.
    script_ops._py_funcs._funcs[TOKEN] = call


def call(operation: bytes, request: bytes, *rest: Any) -> Array | list[Array]:
    """What the graph calls; arguments arrive as numpy values."""
    if operation == b"open":
        return _readers.open(bytes(request))
    handle, offset = rest
    return _readers.read(bytes(request), handle, int(offset))


class _Place(NamedTuple):
    """What a handle says of its epoch, in 64-bit numbers."""

    # Random, so that numbers which another process wrote into a checkpoint are not taken for one of this process.
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
        size = ALIGNMENT // 8
        memory = np.zeros(2 * size, np.int64)
        start = (-memory.ctypes.data % ALIGNMENT) // 8
        self._memory = memory[start : start + size]
        self._memory[: len(numbers)] = numbers
        # An array that borrows from this object keeps this object; views of a plain array would keep only the memory.
        self.__array_interface__ = self._memory.__array_interface__


_Key = tuple[str, tuple[int, int]]


class _Readers:
    """The readers of this process, by their datasets and the numbers of their handles."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[_Key, Reader] = {}
        # Those of restored iterators: they have no handle whose end would tell that they are not needed any more.
        self._restored: set[_Key] = set()
        self._datasets: dict[str, _Dataset] = {}
        self._ending = False
        self.endings = Endings(lambda: self._hold() or bool(_kept.size))

    def open(self, request: bytes) -> Array:
        """A new reader's handle."""
        self._require_time()
        self.endings.settle()
        asked = _parse(request)
        snapshot = _kept.get(asked.name)
        # Who has the rows matters to those who will read them; a snapshot needs nobody.
        plan: reading.Plan = snapshot.told if snapshot else reading.plan(asked)
        base = snapshot.epoch if snapshot and asked.window is not None else -1
        with self._lock:
            dataset = self._datasets.setdefault(asked.name, _Dataset())
            epoch, dataset.epochs = dataset.epochs, dataset.epochs + 1
            seed = dataset.seed if asked.seed is None else asked.seed
            place = _Place(_two_numbers(os.urandom(16)), epoch, base, seed, _two_numbers(plan.digest(asked)))
            key = asked.name, place.name
            self._open[key] = self._reader(asked, plan, place)
        handle = _Handle(place.numbers())
        self.endings.when_gone(handle, functools.partial(self.close, key))
        self.endings.watch()
        return np.asarray(handle)

    def read(self, request: bytes, handle: Array, offset: int) -> list[Array]:
        """The rows of one batch, preceded by the offset of the next."""
        asked, place = _parse(request), _Place.of(handle)
        while True:
            self._require_time()
            reader = self._find(place, asked)
            again = reader.broken
            try:
                part = reader.take(offset)
                break
            except ReaderClosed:
                # Closed with the iterator that began it, while one that was restored from it reads on.
                continue
            except BaseException:
                # TensorFlow may let go of the handle no sooner than it is called again, and nobody needs to wait.
                self.endings.watch()
                raise
        if again:
            self.endings.watch()
        if part is None:
            self.close((asked.name, place.name))
            weights = [np.empty(0, np.float32)] * asked.weighted
            return [np.array(-1, np.int64), *weights, *empty_arrays(asked.layout)]
        weights = [np.full(part.rows, part.real, np.float32)] * asked.weighted
        assert part.arrays is not None
        return [np.array(offset + part.rows, np.int64), *weights, *part.arrays]

    def _require_time(self) -> None:
        """At the end of the process nothing is opened any more: TensorFlow's own threads may still ask."""
        if self._ending:
            raise ReaderClosed

    def _find(self, place: _Place, asked: reading.Request) -> Reader:
        with self._lock:
            reader = self._open.get((asked.name, place.name))
        return reader or self._restore(place, asked)

    def _restore(self, place: _Place, asked: reading.Request) -> Reader:
        snapshot = _kept.get(asked.name)
        plan: reading.Plan = snapshot.told if snapshot else reading.plan(asked)
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
            key = asked.name, place.name
            reader = self._open.get(key)
            if reader is None:
                reader = self._open[key] = self._reader(asked, plan, place)
                self._restored.add(key)
            return reader

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
            left = [key for key in self._restored if key[0] == name]
        for key in left:
            self.close(key)
        _kept.drop(name)
        self.endings.watch()

    def close(self, key: _Key) -> None:
        """Ends a reader; returns at once."""
        with self._lock:
            reader = self._open.pop(key, None)
            self._restored.discard(key)
        if reader is not None:
            reader.close()
            self.endings.watch()

    def close_all(self) -> None:
        """Ends every reader and waits for its threads, so that none runs while the interpreter goes down."""
        with self._lock:
            self._ending = True
            readers = list(self._open.values())
            self._open.clear()
        for reader in readers:
            reader.close()
        for reader in readers:
            reader.join(SECONDS_TO_END_AT_EXIT)
        self.endings.stop()

    def _hold(self) -> bool:
        """Whether a reader holds what must end with it."""
        with self._lock:
            return any(not reader.broken for reader in self._open.values())

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
