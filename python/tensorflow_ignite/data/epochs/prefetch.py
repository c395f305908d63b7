"""Prefetches batches in threads, and returns rows by their position in the epoch.

The position of a row is the number of rows before it. So an iterator that is restored from a checkpoint finds its next
row, whatever the sizes of the batches.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from tensorflow_ignite.data.epochs import input_totals
from tensorflow_ignite.data.epochs.row_batch import RowBatch
from tensorflow_ignite.data.epochs.tensor_schema import Column
from tensorflow_ignite.data.epochs.tensors import arrays_of

# Number of batches that each thread prefetches; it works on one more.
PREFETCH_BATCHES = 2

_T = TypeVar("_T")


class Stream(Protocol):
    """Record batches; another thread can cancel them."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yields the batches in order."""

    def cancel(self) -> None:
        """Ends the stream; returns at once."""


class ReaderClosedError(Exception):
    """The reader was closed, so its next rows are not known."""


class EpochReader:
    """The rows of one iterator. One caller is served at a time; any thread may close the reader."""

    def __init__(
        self, batches: Callable[[PrefetchThreads, bool], Iterator[RowBatch]], layout: tuple[Column, ...]
    ) -> None:
        """Reads nothing before the first rows are requested.

        Args:
            batches: Starts the epoch, and returns its batches, which the given threads read. The second argument says
                whether the caller has had some of the rows, so that all must come in the same order.
            layout: The layout of each column in TensorFlow.
        """
        self._start = batches
        self._layout = layout
        self._closed = False
        self._idle = True
        self._serving = threading.Lock()
        # Re-entrant: a finalizer, which the interpreter runs anywhere, may close the reader.
        self._state = threading.RLock()
        self._threads = PrefetchThreads()
        self._batches: Iterator[RowBatch] | None = None
        self._position = 0

    def take(self, offset: int) -> RowBatch | None:
        """The batch that begins ``offset`` rows after the start of the epoch, with its arrays; None after the last row.

        A caller that passes the end of its last batch gets each row once; any other offset reads from the start again.

        Raises:
            TensorFlowIgniteError: If a node fails, or other rows arrive than were expected.
            ReaderClosedError: If the reader was closed, before the call or during it.
        """
        with self._serving:
            try:
                batch = self._take(offset)
                input_totals.add_rows(batch.rows if batch is not None else 0)
                return batch
            except BaseException:
                # The next call starts again: a broken stream must not be taken for an ended one.
                self._batches = None
                self._threads.stop()
                self._idle = True
                raise

    @property
    def idle(self) -> bool:
        """Whether it holds no threads or batches: before the first call, and after an error until the next call."""
        return self._idle

    def _take(self, offset: int) -> RowBatch | None:
        if self._batches is None or offset < self._position:
            self._restart(is_restart=offset > 0)
        assert self._batches is not None
        while True:
            batch = next(self._batches, None)
            if self._closed:
                raise ReaderClosedError
            if batch is None:
                return None
            begin = offset - self._position
            self._position += batch.rows
            if self._position > offset:
                rest = batch.slice(begin, batch.rows - begin)
                if rest.arrays is not None:
                    return rest
                return replace(rest, arrays=arrays_of(rest.records, self._layout, rest.real))

    def _restart(self, is_restart: bool) -> None:
        self._batches = None
        self._threads.stop()
        threads = PrefetchThreads()
        with self._state:
            if self._closed:
                raise ReaderClosedError
            # From here on close() finds these threads, started or not.
            self._threads = threads
        self._batches = self._start(threads, is_restart)
        self._idle = False
        self._position = 0

    def close(self) -> None:
        """Ends all streams; returns at once."""
        with self._state:
            self._closed = True
        self._threads.stop()

    def join(self, seconds: float) -> None:
        """Waits until the threads have ended, at most this number of seconds for each."""
        self._threads.join(seconds)


class PrefetchThreads:
    """The threads that read one epoch; none runs on after :meth:`stop`."""

    def __init__(self) -> None:
        """Starts no thread."""
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._started: list[Prefetcher[RowBatch]] = []

    def start(self, items: Iterable[RowBatch], cancel: Callable[[], None]) -> Prefetcher[RowBatch]:
        """Iterates over items in a thread.

        Args:
            items: The items to prefetch.
            cancel: Ends the iteration soon; returns at once.

        Raises:
            ReaderClosedError: If the threads were stopped.
        """
        prefetcher = Prefetcher(items, cancel)
        with self._lock:
            if self._stopped.is_set():
                raise ReaderClosedError
            self._started = [*(other for other in self._started if other.is_alive()), prefetcher]
            prefetcher.start()
        return prefetcher

    def sleep(self, seconds: float) -> None:
        """Waits some seconds.

        Raises:
            ReaderClosedError: If the threads were stopped.
        """
        if self._stopped.wait(seconds):
            raise ReaderClosedError

    def stop(self) -> None:
        """Ends the threads; returns at once."""
        with self._lock:
            self._stopped.set()
            started = self._started
        for prefetcher in started:
            prefetcher.cancel()

    def join(self, seconds: float) -> None:
        """Waits until the threads have ended, at most this number of seconds for each."""
        for prefetcher in self._started:
            if prefetcher is not threading.current_thread():
                prefetcher.join(seconds)


class Prefetcher(threading.Thread, Generic[_T]):
    """A thread that prefetches a bounded number of items for one consumer.

    Attributes:
        is_awaited: Whether the consumer waits for the next item.
    """

    def __init__(self, items: Iterable[_T], cancel: Callable[[], None]) -> None:
        """Made by :meth:`PrefetchThreads.start`."""
        super().__init__(name="tensorflow-ignite-reader", daemon=True)
        self._items: Iterable[_T] | None = items
        self._cancel = cancel
        self._changed = threading.Condition()
        self._ready: deque[_T] = deque()
        self._cancelled = False
        self._ended = False
        self.is_awaited = False
        self._error: BaseException | None = None

    def run(self) -> None:
        """Iterates to the end, or until :meth:`cancel`."""
        error: BaseException | None = None
        assert self._items is not None
        items = iter(self._items)
        # Objects that the items hold must not live as long as this thread object.
        self._items = None
        try:
            for item in items:
                if not self._enqueue(item):
                    break
        # The consumer must get any error: a thread that ends without an error means the end of the data.
        except BaseException as caught:
            error = caught
        finally:
            if isinstance(items, Iterator) and hasattr(items, "close"):
                items.close()
        with self._changed:
            self._ended = True
            self._error = error
            self._changed.notify_all()

    def _enqueue(self, item: _T) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._cancelled or len(self._ready) < PREFETCH_BATCHES)
            if self._cancelled:
                return False
            self._ready.append(item)
            self._changed.notify_all()
            return True

    def __iter__(self) -> Iterator[_T]:
        """Yields the items.

        Raises:
            ReaderClosedError: If the prefetcher was cancelled, so the next items are not known.
        """
        while (item := self.take()) is not None:
            yield item

    def take(self) -> _T | None:
        """The next item; None after the last.

        Raises:
            ReaderClosedError: If the prefetcher was cancelled, so the next items are not known.
        """
        with self._changed:
            if not self._ready:
                self.is_awaited = True
                with input_totals.waiting():
                    self._changed.wait_for(lambda: self._cancelled or self._ready or self._ended)
                self.is_awaited = False
            if self._cancelled:
                raise ReaderClosedError
            if self._ready:
                item = self._ready.popleft()
                self._changed.notify_all()
                return item
            if self._error is not None:
                raise self._error
            return None

    def cancel(self) -> None:
        """Ends the iteration and drops the prefetched items; returns at once."""
        with self._changed:
            self._cancelled = True
            self._ready.clear()
            self._changed.notify_all()
        self._cancel()


def round_robin(sources: Iterable[Prefetcher[_T]]) -> Iterator[_T]:
    """One item of each source in turn, so that the order does not depend on the speed of the sources."""
    waiting = deque(sources)
    while waiting:
        source = waiting.popleft()
        item = source.take()
        if item is not None:
            yield item
            waiting.append(source)
