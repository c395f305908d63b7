"""The readers of this process that iterators of TensorFlow hold, from the first call of an iterator to its release.

A handle is a tensor over memory that belongs to its reader: when TensorFlow releases the iterator, the memory is
collected, and the reader, its threads and its streams end.
"""

from __future__ import annotations

import atexit
import functools
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from tensorflow_ignite.data.epochs.prefetch import ReaderClosedError
from tensorflow_ignite.data.epochs.tensors import ALIGNMENT, Array
from tensorflow_ignite.data.finalizers import FinalizerQueue

#: Number of 64-bit numbers of a handle, whose memory must be aligned for TensorFlow.
HANDLE_NUMBERS = ALIGNMENT // 8

SECONDS_TO_END_AT_EXIT = 5.0
# Longer than the time between two calls of a thread of TensorFlow, also at a new epoch of ``repeat``.
QUIET_SECONDS = 0.2


class Reader(Protocol):
    """What an iterator reads from."""

    @property
    def idle(self) -> bool:
        """Whether it holds no threads or batches."""

    def close(self) -> None:
        """Ends all streams; returns at once."""

    def join(self, seconds: float) -> None:
        """Waits until the threads have ended, at most this number of seconds for each."""


class Key(NamedTuple):
    """The dataset of a reader, and the two random numbers that its handle begins with.

    They are not zero, so that a handle of another process, from a checkpoint, never names a reader of this process.
    """

    dataset: str
    name: tuple[int, int]


class Handle:
    """64 aligned bytes that begin with the name of a reader; collected with the last tensor over them."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        """Makes the memory.

        Args:
            numbers: Its content; at most HANDLE_NUMBERS.
        """
        memory = np.zeros(2 * HANDLE_NUMBERS, np.int64)
        start = (-memory.ctypes.data % ALIGNMENT) // 8
        self._memory = memory[start : start + HANDLE_NUMBERS]
        self._memory[: len(numbers)] = numbers
        # An array over this interface keeps this object alive; a view of a plain array would keep only the memory.
        self.__array_interface__ = self._memory.__array_interface__

    def tensor(self) -> Array:
        """The numbers, as an array that keeps the reader open."""
        return np.asarray(self)


R = TypeVar("R", bound=Reader)


@dataclass(frozen=True)
class _OpenReader(Generic[R]):
    reader: R
    handle: weakref.ref[Handle]


class OpenReaders(Generic[R]):
    """The open readers of one kind. Any thread may call."""

    def __init__(self, is_busy: Callable[[], bool] = lambda: False) -> None:
        """Has none.

        Args:
            is_busy: Whether something else must end with the objects that were collected.
        """
        self._lock = threading.Lock()
        self._open: dict[Key, _OpenReader[R]] = {}
        #: Whether the process ends.
        self.ending = False
        # Readers whose callers got the error that the process ends.
        self._notified: set[Key] = set()
        self._calls = self._returns = 0
        self.finalizers = FinalizerQueue(lambda: self._has_active() or is_busy())
        atexit.register(self.close_all)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Surrounds each call of the graph."""
        with self._lock:
            self._calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._returns += 1

    def require_time(self) -> None:
        """Raises an error at the end of the process, when threads of TensorFlow may still call."""
        if self.ending:
            raise ReaderClosedError("the process ends, and its readers are closed")

    def notify_once(self, key: Key) -> None:
        """Raises an error at an iterator's first call: TensorFlow prefetches after an error, but not after the end."""
        with self._lock:
            notified = key in self._notified
            self._notified.add(key)
        if not notified:
            self.require_time()

    def find(self, key: Key) -> tuple[Handle, R] | None:
        """An open reader and its handle."""
        with self._lock:
            return self._find(key)

    def _find(self, key: Key) -> tuple[Handle, R] | None:
        opened = self._open.get(key)
        handle = opened.handle() if opened else None
        # A reader whose handle was collected is about to be closed.
        return (handle, opened.reader) if opened and handle else None

    def open(self, key: Key, numbers: tuple[int, ...], make: Callable[[], R]) -> tuple[Handle, R]:
        """The reader of a key, which is made if there is none.

        Args:
            key: Its name.
            numbers: The content of its handle.
            make: Makes the reader; reads nothing.
        """
        with self._lock:
            found = self._find(key)
            if found is not None:
                return found
            # Checked with the lock: a reader that is added after close_all() would stay open.
            self.require_time()
            reader, handle = make(), Handle(numbers)
            self._open[key] = _OpenReader(reader, weakref.ref(handle))
            self.finalizers.on_collect(handle, functools.partial(self.close, key, reader))
            return handle, reader

    def close(self, key: Key, reader: R) -> None:
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
            self.ending = True
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
        self.finalizers.drain()
        with self._lock:
            return len(self._open)


def two_numbers(digest: Any) -> tuple[int, int]:
    """The first 16 bytes as numbers."""
    first, second = np.frombuffer(digest[:16], np.int64).tolist()
    return first, second
