"""Follows the changes of partitions for one iterator; knows no cluster.

For each node a thread polls: the node sends the present rows of the keys that have changed since the last poll, or
waits for a change. The position of a partition advances with the last batch of a poll, so that an iterator that
continues at its position misses no row, and may get rows of an unfinished poll again. A thread reads on when the
consumer has taken its batches; the node, meanwhile, keeps keys alone, and a limited number of them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.changes import Changes, Position, as_array, as_positions
from tensorflow_ignite.data.epochs.prefetch import ReaderClosedError, Stream
from tensorflow_ignite.data.epochs.tensor_schema import Column, check_layout
from tensorflow_ignite.data.epochs.tensors import Array, arrays_of, empty_arrays
from tensorflow_ignite.data.follow.interrupts import interrupts

# How long a node waits for a change. A partition that a node has got from another one is polled after this time.
WAIT_MILLIS = 1_000
# A node has positions two seconds after the first request for them; a read of the whole cache begins then.
WAIT_TO_BEGIN_MILLIS = 3_000
# The time between two polls that bring rows, so that many rows do not come in many small batches.
SECONDS_BETWEEN_POLLS = 0.1
# Partitions of a poll that reads them whole: its position advances when all their rows have come.
WHOLE_PARTITIONS = 32
# Batches of each node that wait for the consumer.
WAITING_BATCHES = 2
# A partition whose owner is not known, or does not answer, for this time is an error.
SECONDS_WITHOUT_OWNER = 60.0
SECONDS_BETWEEN_TRIES = 0.5
SECONDS_WITHOUT_POSITIONS = 1.0
SECONDS_OF_SILENCE = 60.0
# TensorFlow ends an iterator, and its threads, after the call that they are in.
SECONDS_OF_CALL = 0.2
# The least time between two warnings that partitions are read whole.
SECONDS_BETWEEN_WARNINGS = 60.0

# A cluster with data on disk is not active while its nodes are restarted.
_UNREACHED = (
    errors.ClusterNotActiveError,
    errors.ConnectionFailedError,
    errors.NoAgentError,
    errors.PartitionNotLocalError,
    errors.RequestTimeoutError,
)
# What a node answers to a poll when it stops; whether the cache exists, the request for its owners says.
_RETRIED = (*_UNREACHED, errors.CacheNotFoundError)

_log = logging.getLogger(__name__)


class Poll(Stream, Protocol):
    """The changes of some partitions, without the columns that identify rows."""

    def outcome(self) -> Changes:
        """What the node says after the last row; partitions that it does not own have no position there."""


class Source(Protocol):
    """Where changes come from.

    Attributes:
        subject: Names the rows in error texts, such as "cache 'x'".
    """

    subject: str

    def owners(self, partitions: Sequence[int]) -> Mapping[str, Sequence[int]]:
        """The present owners of partitions, by address; of no partitions: of all that are followed."""

    def poll(self, address: str, positions: Mapping[int, Position], wait_millis: int) -> Poll:
        """Opens nothing before iteration."""


@dataclass(frozen=True)
class FollowedBatch:
    """A batch of changed rows.

    Attributes:
        rows: Number of rows; 0: nothing has changed for a while.
        arrays: The rows as arrays for TensorFlow.
        positions: What has been read of each partition with this batch; int64, shape [partitions, 2].
    """

    rows: int
    arrays: list[Array]
    positions: Array


class Follower:
    """The changed rows of one iterator. One caller is served at a time; any thread may close it."""

    def __init__(self, source: Source, layout: tuple[Column, ...]) -> None:
        """Reads nothing before the first rows are requested.

        Args:
            source: Where changes come from.
            layout: The layout of each column in TensorFlow.
        """
        self._source = source
        self._layout = layout
        self._serving = threading.Lock()
        # Re-entrant: a finalizer, which the interpreter runs anywhere, may close the follower.
        self._state = threading.RLock()
        self._closed = False
        self._idle = True
        self._polls: _Polls | None = None
        self._taken = as_array(())
        self._had_rows_at = self._warned_at = 0.0

    @property
    def idle(self) -> bool:
        """Whether it holds no threads or batches: before the first call, and after an error until the next call."""
        return self._idle

    def take(self, positions: Array) -> FollowedBatch:
        """The next batch after positions; waits for it, but not long: an iterator ends after its last call.

        Args:
            positions: The positions of the last batch; other positions begin a new read there. int64, shape
                [partitions, 2].

        Raises:
            TensorFlowIgniteError: If a node refuses, or a partition has no owner that answers for 60 s.
            ReaderClosedError: If the follower was closed, or the process was interrupted (Ctrl-C).
        """
        with self._serving:
            try:
                return self._take(positions)
            except BaseException:
                self._stop()
                raise

    def _take(self, positions: Array) -> FollowedBatch:
        if self._idle or (positions != self._taken).any():
            self._start(positions)
        assert self._polls is not None
        item = self._polls.take()
        if item is None:
            self._warn_of_silence()
            return FollowedBatch(0, empty_arrays(self._layout), self._taken)
        self._taken = self._taken.copy()
        self._taken[list(item.read)] = as_array(tuple(item.read.values()))
        if item.arrays is None:
            return FollowedBatch(0, empty_arrays(self._layout), self._taken)
        self._had_rows_at = self._warned_at = time.monotonic()
        return FollowedBatch(item.rows, item.arrays, self._taken)

    def _warn_of_silence(self) -> None:
        now = time.monotonic()
        if now - self._warned_at >= SECONDS_OF_SILENCE:
            self._warned_at = now
            _log.warning(
                "%s has not changed for %.0f s; its followers wait for rows that are put",
                self._source.subject,
                now - self._had_rows_at,
            )

    def _start(self, positions: Array) -> None:
        self._stop()
        ending = [] if self._polls is None else self._polls.threads()
        polls = _Polls(self._source, self._layout, as_positions(positions), ending)
        with self._state:
            if self._closed:
                raise ReaderClosedError
            self._idle, self._polls, self._taken = False, polls, positions.copy()
        self._had_rows_at = self._warned_at = time.monotonic()
        polls.start()

    def _stop(self) -> None:
        self._idle = True
        if self._polls is not None:
            self._polls.stop()

    def close(self) -> None:
        """Ends all streams; returns at once."""
        with self._state:
            self._closed = True
            if self._polls is not None:
                self._polls.stop()

    def join(self, seconds: float) -> None:
        """Waits until the threads have ended, at most this number of seconds for each."""
        if self._polls is not None:
            self._polls.join(seconds)


@dataclass(frozen=True)
class _Item:
    """A batch, or none, and the positions that are reached with it."""

    address: str
    read: Mapping[int, Position]
    rows: int = 0
    arrays: list[Array] | None = None


class _Polls:
    """The threads that poll, and the batches that wait for the consumer."""

    def __init__(
        self,
        source: Source,
        layout: tuple[Column, ...],
        positions: Sequence[Position],
        ending: Sequence[threading.Thread],
    ) -> None:
        self._source = source
        self._layout = layout
        self._changed = threading.Condition(threading.RLock())
        self._positions = dict(enumerate(positions))
        self._owners: dict[int, str] = {}
        self._threads: dict[str, threading.Thread] = {}
        # Living threads of these polls, including threads without partitions, and of the polls before.
        self._started = list(ending)
        self._streams: dict[str, Poll] = {}
        # When the owner of a partition did not answer for the first time since its last poll.
        self._missed: dict[int, float] = {}
        self._ready: deque[_Item] = deque()
        self._error: BaseException | None = None
        self._stopped = False
        self._warned_at = -SECONDS_BETWEEN_WARNINGS

    def start(self) -> None:
        """Finds the owners, and starts their threads."""
        self._assign(self._source.owners(()))

    def _assign(self, owners: Mapping[str, Sequence[int]]) -> None:
        self._require_known(owners)
        with self._changed:
            for address, partitions in owners.items():
                self._owners.update(dict.fromkeys(partitions, address))
                if partitions and address not in self._threads and not self._stopped:
                    thread = threading.Thread(
                        target=self._run, args=(address,), name="tensorflow-ignite-follower", daemon=True
                    )
                    self._threads[address] = thread
                    self._started = [*(other for other in self._started if other.is_alive()), thread]
                    thread.start()

    def _require_known(self, owners: Mapping[str, Sequence[int]]) -> None:
        """Raises an error if the cache has partitions that are not followed: their rows would be missed."""
        number = 1 + max((max(partitions) for partitions in owners.values() if partitions), default=-1)
        with self._changed:
            known = len(self._positions)
        if number > known:
            raise errors.AssignmentChangedError(
                f"{self._source.subject} cannot be followed on: it has {number} partitions now, and had {known}. Rows "
                f"are followed as long as their cache exists, and this one was created again. Start with a new dataset"
            )

    def take(self) -> _Item | None:
        """The next item; None: none has come for a while."""
        if interrupts.came():
            raise ReaderClosedError("interrupted while it waited for rows")
        with self._changed:
            if not self._changed.wait_for(lambda: self._ready or self._stopped, SECONDS_OF_CALL):
                return None
            if self._ready:
                item = self._ready.popleft()
                self._changed.notify_all()
                return item
            # The frames of an error that is kept would keep the caller's handle, and with it this follower.
            error, self._error = self._error, None
        try:
            raise error or ReaderClosedError("the follower was closed")
        finally:
            del error

    def stop(self) -> None:
        """Ends the threads and drops the batches; returns at once."""
        with self._changed:
            self._ready.clear()
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        """Ends the threads; the consumer gets the waiting batches, and then the error."""
        with self._changed:
            self._error = self._error or error
            self._stopped = True
            streams = list(self._streams.values())
            self._changed.notify_all()
        for stream in streams:
            stream.cancel()

    def join(self, seconds: float) -> None:
        """Waits until the threads have ended, at most this number of seconds for each."""
        for thread in self.threads():
            if thread is not threading.current_thread():
                thread.join(seconds)

    def threads(self) -> list[threading.Thread]:
        """The threads that have not ended yet."""
        with self._changed:
            return [thread for thread in self._started if thread.is_alive()]

    def _run(self, address: str) -> None:
        """Polls one node until it owns none of the partitions."""
        try:
            while (asked := self._next(address)) is not None:
                begin = time.monotonic()
                try:
                    had_rows = self._poll(address, asked)
                except _RETRIED as error:
                    self._find_owners(list(asked), error)
                    continue
                with self._changed:
                    unread = [number for number in asked if not self._positions[number].feed]
                # A node that has no positions yet would send the same rows again and again.
                pause = SECONDS_WITHOUT_POSITIONS if unread else SECONDS_BETWEEN_POLLS if had_rows else 0.0
                self._pause(pause - (time.monotonic() - begin))
        except ReaderClosedError:
            pass
        # The consumer must get any error: a thread that ends without an error means that the cache does not change.
        except BaseException as error:
            self._end(error)

    def _next(self, address: str) -> dict[int, Position] | None:
        """The partitions of the next poll of a node, with their positions; None: its thread ends."""
        with self._changed:
            own = {number: self._positions[number] for number, owner in self._owners.items() if owner == address}
            if self._stopped or not own:
                self._threads.pop(address, None)
                return None
        begun = {number: position for number, position in own.items() if not position.feed}
        return dict(list(begun.items())[:WHOLE_PARTITIONS]) or own

    def _poll(self, address: str, asked: Mapping[int, Position]) -> bool:
        """Reads what has changed; whether there were rows."""
        wait = WAIT_MILLIS if all(position.feed for position in asked.values()) else WAIT_TO_BEGIN_MILLIS
        stream = self._source.poll(address, asked, wait)
        with self._changed:
            if self._stopped:
                raise ReaderClosedError
            self._streams[address] = stream
        checked: pa.Schema | None = None
        had_rows, last = False, _Item(address, {})
        for records in stream:
            if checked is None or not records.schema.equals(checked):
                check_layout(records.schema, self._layout, self._source.subject)
                checked = records.schema
            if had_rows:
                self._put(last)
            last, had_rows = _Item(address, {}, records.num_rows, arrays_of(records, self._layout)), True
        with self._changed:
            if self._stopped:
                raise ReaderClosedError
        outcome = stream.outcome()
        whole = sum(asked[number].feed != 0 for number in outcome.whole)
        if whole:
            # The cache may be another one of the same name, which has more partitions.
            self._require_known(self._source.owners(()))
        self._say_whole(whole)
        self._put(replace(last, read=outcome.positions))
        with self._changed:
            self._positions.update(outcome.positions)
            for number in outcome.positions:
                self._missed.pop(number, None)
        moved = [number for number in asked if number not in outcome.positions]
        if moved:
            self._find_owners(moved, None)
        return had_rows

    def _put(self, item: _Item) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._waiting(item.address) < WAITING_BATCHES)
            if self._stopped:
                raise ReaderClosedError
            self._ready.append(item)
            self._changed.notify_all()

    def _waiting(self, address: str) -> int:
        return sum(item.address == address for item in self._ready)

    def _find_owners(self, partitions: Sequence[int], error: errors.TensorFlowIgniteError | None) -> None:
        """Gives partitions to their present owners; waits a little if that is the same node again."""
        with self._changed:
            now = time.monotonic()
            since = min(self._missed.setdefault(number, now) for number in partitions)
        if now - since > SECONDS_WITHOUT_OWNER:
            raise errors.PartitionNotLocalError(
                f"{self._source.subject} cannot be followed: {len(partitions)} partitions, such as {partitions[0]}, "
                f"had no owner that answers for {SECONDS_WITHOUT_OWNER:.0f} s "
                f"({error or 'the named nodes do not own them'}). Partitions that move are followed to their new "
                f"owners. Follow again when the cluster is balanced"
            )
        if now > since:
            self._pause(SECONDS_BETWEEN_TRIES)
        try:
            owners = self._source.owners(partitions)
            self._assign(owners)
            self._leave_out(set(partitions).difference(*owners.values()))
        except _UNREACHED:
            self._pause(SECONDS_BETWEEN_TRIES)

    def _leave_out(self, lost: set[int]) -> None:
        """Goes on without partitions that have lost all their copies; only readers that accept this come here."""
        if not lost:
            return
        with self._changed:
            for number in lost:
                self._owners.pop(number, None)
        _log.warning(
            "%s is followed without %d partitions, such as %d, which have lost all their copies",
            self._source.subject,
            len(lost),
            min(lost),
        )

    def _pause(self, seconds: float) -> None:
        if seconds > 0:
            with self._changed:
                if self._changed.wait_for(lambda: self._stopped, seconds):
                    raise ReaderClosedError

    def _say_whole(self, partitions: int) -> None:
        """Warns of partitions whose changes are not known any more."""
        now = time.monotonic()
        with self._changed:
            if not partitions or now - self._warned_at < SECONDS_BETWEEN_WARNINGS:
                return
            self._warned_at = now
        _log.warning(
            "%s: %d partitions are read whole, because their changes since the last batch are not known any more. They "
            "have moved, their node was restarted, or rows are put faster than they are read. Rows that were removed "
            "meanwhile do not come",
            self._source.subject,
            partitions,
        )
