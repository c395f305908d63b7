"""Reads ahead in threads, and hands rows out by their place in the epoch.

Rows are asked for by the number of rows before them, not by "the next ones", so that an iterator that goes on from a
checkpoint finds its place, however the rows come in batches.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from tensorflow_ignite.data.layout import Column
from tensorflow_ignite.data.snapshots import Part
from tensorflow_ignite.data.tensors import arrays_of

# Batches that wait for the consumer, for each thread that reads; one more is in its hands.
BATCHES_AHEAD = 2

_T = TypeVar("_T")


class Stream(Protocol):
    """Record batches that can be cancelled from another thread."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yields them in order."""

    def cancel(self) -> None:
        """Ends them; returns at once."""


class ReaderClosed(Exception):
    """The reader was closed; what it would have said next is not known."""


class Reader:
    """The rows of one iterator. Callers are served one by one; any thread may close."""

    def __init__(self, parts: Callable[[Threads, bool], Iterator[Part]], layout: tuple[Column, ...]) -> None:
        """Reads nothing before the first rows are asked for.

        Args:
            parts: Gives the batches of the epoch from its start, with the help of threads; told whether some were
                given before, so that all must come in the same order.
            layout: How TensorFlow takes each column.
        """
        self._begin = parts
        self._layout = layout
        self._closed = False
        self._idle = True
        self._serving = threading.Lock()
        # Re-entrant: a finalizer may close wherever the interpreter happens to be.
        self._state = threading.RLock()
        self._threads = Threads()
        self._parts: Iterator[Part] | None = None
        self._position = 0

    def take(self, offset: int) -> Part | None:
        """Some rows, with arrays, from ``offset`` on: so many rows of the epoch are before it; None after the last.

        Asking where the last answer ended reads each row once; any other place reads from the start again.

        Raises:
            TensorFlowIgniteError: If a node fails, or other rows arrive than were expected.
            ReaderClosed: If the reader was closed, before or meanwhile.
        """
        with self._serving:
            try:
                return self._take(offset)
            except BaseException:
                # Asked again, it begins again: a stream that broke must not look like one that has ended.
                self._parts = None
                self._threads.stop()
                self._idle = True
                raise

    @property
    def idle(self) -> bool:
        """Whether it holds nothing: until it is asked, and since an error until it is asked again."""
        return self._idle

    def _take(self, offset: int) -> Part | None:
        if self._parts is None or offset < self._position:
            self._restart(again=offset > 0)
        assert self._parts is not None
        while True:
            part = next(self._parts, None)
            if self._closed:
                raise ReaderClosed
            if part is None:
                return None
            begin = offset - self._position
            self._position += part.rows
            if self._position > offset:
                return self._with_arrays(part.slice(begin, part.rows - begin))

    def _with_arrays(self, part: Part) -> Part:
        return part if part.arrays is not None else replace(part, arrays=arrays_of(part.batch, self._layout, part.real))

    def _restart(self, again: bool) -> None:
        self._parts = None
        self._threads.stop()
        threads = Threads()
        with self._state:
            if self._closed:
                raise ReaderClosed
            # Whoever closes from here on finds them, started or not.
            self._threads = threads
        self._parts = self._begin(threads, again)
        self._idle = False
        self._position = 0

    def close(self) -> None:
        """Ends all streams; returns at once."""
        with self._state:
            self._closed = True
        self._threads.stop()

    def join(self, seconds: float) -> None:
        """Waits until the threads have ended, each for so many seconds at most."""
        self._threads.join(seconds)


class Threads:
    """The threads of one reading; none runs on after it is stopped."""

    def __init__(self) -> None:
        """Has none yet."""
        self._lock = threading.RLock()
        self._stopped = False
        self._started: list[Ahead[Part]] = []

    def start(self, items: Iterable[Part], cancel: Callable[[], None]) -> Ahead[Part]:
        """Begins to iterate in a thread.

        Args:
            items: What it iterates over.
            cancel: Makes the iteration end soon; returns at once.

        Raises:
            ReaderClosed: If they were stopped.
        """
        ahead = Ahead(items, cancel)
        with self._lock:
            if self._stopped:
                raise ReaderClosed
            self._started = [*(other for other in self._started if other.is_alive()), ahead]
            ahead.start()
        return ahead

    def stop(self) -> None:
        """Ends them; returns at once."""
        with self._lock:
            self._stopped = True
            started = self._started
        for ahead in started:
            ahead.cancel()

    def join(self, seconds: float) -> None:
        """Waits until they have ended, each for so many seconds at most."""
        for ahead in self._started:
            if ahead is not threading.current_thread():
                ahead.join(seconds)


class Ahead(threading.Thread, Generic[_T]):
    """Iterates ahead of its consumer by a bounded number of items; to be iterated over once."""

    def __init__(self, items: Iterable[_T], cancel: Callable[[], None]) -> None:
        """Made by :meth:`Threads.start`."""
        super().__init__(name="tensorflow-ignite-reader", daemon=True)
        self._items: Iterable[_T] | None = items
        self._cancel = cancel
        self._changed = threading.Condition()
        self._ready: deque[_T] = deque()
        self._cancelled = False
        self._ended = False
        self._error: BaseException | None = None

    def run(self) -> None:
        """Iterates to the end, or until it is cancelled."""
        error: BaseException | None = None
        assert self._items is not None
        items = iter(self._items)
        # Whatever is held by what was iterated over must not wait for the end of this object.
        self._items = None
        try:
            for item in items:
                if not self._hand_over(item):
                    break
        # Whatever it is, the consumer must get it: a thread that dies in silence looks like the end of the data.
        except BaseException as caught:
            error = caught
        finally:
            if isinstance(items, Iterator) and hasattr(items, "close"):
                items.close()
        with self._changed:
            self._ended = True
            self._error = error
            self._changed.notify_all()

    def _hand_over(self, item: _T) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._cancelled or len(self._ready) < BATCHES_AHEAD)
            if self._cancelled:
                return False
            self._ready.append(item)
            self._changed.notify_all()
            return True

    def __iter__(self) -> Iterator[_T]:
        """Yields the items.

        Raises:
            ReaderClosed: If it was cancelled: what is missing is not known.
        """
        while (item := self.take()) is not None:
            yield item

    def take(self) -> _T | None:
        """The next item; None after the last.

        Raises:
            ReaderClosed: If it was cancelled: what is missing is not known.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._cancelled or self._ready or self._ended)
            if self._cancelled:
                raise ReaderClosed
            if self._ready:
                item = self._ready.popleft()
                self._changed.notify_all()
                return item
            if self._error is not None:
                raise self._error
            return None

    def cancel(self) -> None:
        """Ends the iteration and forgets what waits; returns at once."""
        with self._changed:
            self._cancelled = True
            self._ready.clear()
            self._changed.notify_all()
        self._cancel()


def in_turns(sources: Iterable[Ahead[_T]]) -> Iterator[_T]:
    """One item of each in turn, so that their order is the same however fast each is."""
    waiting = deque(sources)
    while waiting:
        source = waiting.popleft()
        item = source.take()
        if item is not None:
            yield item
            waiting.append(source)
