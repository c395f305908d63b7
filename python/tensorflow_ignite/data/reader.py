"""Reads one epoch: a thread for each node that sends, and batches handed out by their index.

The order of batches is the same whenever the same nodes send the same rows: they take turns. A batch is asked for by
index, not by "the next one", so that an iterator that goes on from a checkpoint finds its place.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data.layout import Column, columns_like, describe
from tensorflow_ignite.data.tensors import Array, arrays_of

# Batches that wait for the consumer, for each node that sends; one more is in its thread's hands.
BATCHES_AHEAD = 2


class Stream(Protocol):
    """Record batches that can be cancelled from another thread."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yields them in order."""

    def cancel(self) -> None:
        """Ends them; returns at once."""


class ReaderClosed(Exception):
    """The reader was closed; what it would have said next is not known."""


class Reader:
    """The batches of one iterator. Callers are served one by one; any thread may close."""

    def __init__(
        self, open_streams: Callable[[], list[Stream]], layout: tuple[Column, ...], rows: int, what: str
    ) -> None:
        """Opens nothing before the first batch is asked for.

        Args:
            open_streams: Opens the streams of an epoch from its start.
            layout: How each column must arrive.
            rows: Rows that must arrive in all; -1: any number.
            what: What is read, for messages.
        """
        self._open_streams = open_streams
        self._layout = layout
        self._rows = rows
        self._what = what
        self._closed = False
        self._serving = threading.Lock()
        # Re-entrant: a finalizer may close wherever the interpreter happens to be.
        self._state = threading.RLock()
        self._fetchers: list[_Fetcher] = []
        self._turn: Iterator[_Batch] | None = None
        self._next = 0
        self._seen = 0

    def batch(self, index: int) -> list[Array] | None:
        """The arrays of one batch, as :func:`arrays_of` lays them out; None after the last.

        Asking in ascending order reads each batch once; any other index reads from the start again.

        Raises:
            TensorFlowIgniteError: If a node fails, or other rows arrive than were expected.
            ReaderClosed: If the reader was closed, before or meanwhile.
        """
        with self._serving:
            try:
                return self._batch(index)
            except BaseException:
                # Asked again, it begins again: a stream that broke must not look like one that has ended.
                self._turn = None
                self._stop()
                raise

    def _batch(self, index: int) -> list[Array] | None:
        if self._turn is None or index < self._next:
            self._restart()
        assert self._turn is not None
        while True:
            batch = next(self._turn, None)
            if self._closed:
                raise ReaderClosed
            if batch is None:
                self._check_rows()
                return None
            self._seen += batch.rows
            self._next += 1
            if self._next > index:
                return batch.arrays

    def _restart(self) -> None:
        self._stop()
        fetchers = [_Fetcher(stream, self._layout, self._what) for stream in self._open_streams()]
        with self._state:
            if self._closed:
                raise ReaderClosed
            self._fetchers = fetchers
        # Whoever closes from here on finds them, started or not.
        for fetcher in fetchers:
            fetcher.start()
        self._turn = _take_turns(fetchers)
        self._next = 0
        self._seen = 0

    def _check_rows(self) -> None:
        if self._rows in (-1, self._seen):
            return
        raise errors.RowMismatchError(
            f"{self._what}: {self._seen} rows arrived, {self._rows} were expected. An epoch must have the rows that "
            f"were counted when the dataset was made or the attempt started; the cache was written in between, or "
            f"lost rows. Make the dataset anew, or start the job again"
        )

    def _stop(self) -> None:
        for fetcher in self._fetchers:
            fetcher.cancel()

    def close(self) -> None:
        """Ends all streams; returns at once."""
        with self._state:
            self._closed = True
        self._stop()

    def join(self, seconds: float) -> None:
        """Waits until the threads have ended, each for so many seconds at most."""
        for fetcher in self._fetchers:
            if fetcher.ident is not None:
                fetcher.join(seconds)


class _Batch:
    def __init__(self, rows: int, arrays: list[Array]) -> None:
        self.rows = rows
        self.arrays = arrays


def _take_turns(fetchers: list[_Fetcher]) -> Iterator[_Batch]:
    waiting = deque(fetchers)
    while waiting:
        fetcher = waiting.popleft()
        batch = fetcher.take()
        if batch is not None:
            yield batch
            waiting.append(fetcher)


class _Fetcher(threading.Thread):
    """Fetches the batches of one stream ahead of the consumer, a bounded number of them."""

    def __init__(self, stream: Stream, layout: tuple[Column, ...], what: str) -> None:
        super().__init__(name="tensorflow-ignite-reader", daemon=True)
        self._stream = stream
        self._layout = layout
        self._what = what
        self._changed = threading.Condition()
        self._ready: deque[_Batch] = deque()
        self._cancelled = False
        self._ended = False
        self._error: BaseException | None = None

    def run(self) -> None:
        error: BaseException | None = None
        try:
            for batch in self._stream:
                if not self._hand_over(self._convert(batch)):
                    break
        # Whatever it is, the consumer must get it: a thread that dies in silence looks like the end of the data.
        except BaseException as caught:
            error = caught
        with self._changed:
            self._ended = True
            self._error = error
            self._changed.notify_all()

    def _convert(self, batch: pa.RecordBatch) -> _Batch:
        found = columns_like(batch.schema, self._layout)
        if found != self._layout:
            raise errors.RowMismatchError(
                f"{self._what} arrives as {describe(found)}, but the dataset was made for {describe(self._layout)}. "
                f"The columns of a dataset are fixed when it is made. Make the dataset anew"
            )
        return _Batch(batch.num_rows, arrays_of(batch, self._layout))

    def _hand_over(self, batch: _Batch) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._cancelled or len(self._ready) < BATCHES_AHEAD)
            if self._cancelled:
                return False
            self._ready.append(batch)
            self._changed.notify_all()
            return True

    def take(self) -> _Batch | None:
        """The next batch; None after the last."""
        with self._changed:
            self._changed.wait_for(lambda: self._cancelled or self._ready or self._ended)
            if self._ready and not self._cancelled:
                batch = self._ready.popleft()
                self._changed.notify_all()
                return batch
            if self._error is not None and not self._cancelled:
                raise self._error
            return None

    def cancel(self) -> None:
        """Ends the stream and forgets what waits; returns at once."""
        with self._changed:
            self._cancelled = True
            self._ready.clear()
            self._changed.notify_all()
        self._stream.cancel()
