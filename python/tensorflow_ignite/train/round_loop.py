"""The rounds of a job: its chief begins and ends them, and the other workers follow through a file in the cluster."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from functools import partial
from typing import TypeVar

from tensorflow_ignite import errors
from tensorflow_ignite.base.messages import write_message
from tensorflow_ignite.data import agreement, arguments
from tensorflow_ignite.data.cache_position import CachePosition
from tensorflow_ignite.data.plan import count_rows
from tensorflow_ignite.data.position import any_row, position
from tensorflow_ignite.spec import Publication, RoundProgress
from tensorflow_ignite.task import Task
from tensorflow_ignite.train import fits, round_rule
from tensorflow_ignite.train.pause import Pause
from tensorflow_ignite.train.progress import report_rounds
from tensorflow_ignite.train.round_file import RoundFile
from tensorflow_ignite.train.training_round import Round
from tensorflow_ignite.v1 import job_pb2

# Between two calls that observe the cache, or the file of the rounds.
POLL_SECONDS = 1.0
# A node forgets the changes of a cache ten minutes after the last call.
_KEEP_ALIVE_SECONDS = 60.0
# Nodes that come and go may refuse a call meanwhile.
_FAILING_SECONDS = 60.0
_NO_ROW = "a row to train on: there is none, or all are held out"

_T = TypeVar("_T")


class RoundLoop:
    """The loop of one worker."""

    def __init__(self, here: Task, validation_split: float | None) -> None:
        """Makes no call yet."""
        self._here = here
        self._rule = here.rounds
        self._split = validation_split
        self._file = RoundFile(here.job_id)
        self._state = job_pb2.RoundState()
        # Calls of this round, by the name of the model.
        self._publications: Counter[str] = Counter()
        self._begun = 0.0

    def run(self) -> Iterator[Round]:
        """Yields the rounds, beginning with the one that is not over."""
        self._state = self._file.read()
        last = self._state.rounds[-1].number if self._state.rounds else 0
        number = last if self._is_open() else last + 1
        ended = threading.Event()
        if self._here.is_chief and self._rule is not None:
            threading.Thread(
                target=self._keep_alive, args=(ended,), name="tensorflow-ignite-rounds", daemon=True
            ).start()
        if self._state.rounds:
            # From here on by a monotonic clock.
            begun = self._state.rounds[-1].begun_at.ToDatetime(tzinfo=timezone.utc)
            self._begun = time.monotonic() - max(0.0, (datetime.now(timezone.utc) - begun).total_seconds())
        try:
            while True:
                self._begin(number)
                fits.begin_round(number)
                self._publications.clear()
                since = CachePosition.from_json(self._state.since) if self._state.since else None
                replay = self._rule.replay if self._rule else 0.0
                yield Round(number, self._here.cache, since, self._split, replay, self._publish_once)
                if self._rule is None:
                    return
                self._finish(number)
                number += 1
        finally:
            fits.begin_round(0)
            ended.set()

    def _is_open(self) -> bool:
        return bool(self._state.rounds) and not self._state.rounds[-1].HasField("finished_at")

    def _begin(self, number: int) -> None:
        """Waits for the begin of a round."""
        is_repeated = self._is_open() and self._state.rounds[-1].number == number
        with Pause() as pause:
            if not self._here.is_chief:
                self._await(pause, lambda last: last.number >= number)
            elif not self._is_open():
                self._open(number, pause)
            if is_repeated and self._rule is not None:
                # Its rows may have been removed since the attempt before has begun it.
                self._await_rows(pause)
        if self._here.is_chief:
            report_rounds(self._state.rounds)
            begun = RoundProgress.from_proto(self._state.rounds[-1])
            if self._rule is not None:
                _say(f"{begun} (begun {begun.begun_at:%Y-%m-%d %H:%M:%S} UTC)")

    def _open(self, number: int, pause: Pause) -> None:
        begun = job_pb2.RoundProgress(number=number)
        if self._rule is None:
            begun.changes = sum(worker.rows for worker in self._here.assignment)
        else:
            # Taken before any row is read: a row that is put later is in the next round too.
            until, changes = self._await_changes(pause) if self._state.since else self._all_rows(pause)
            self._state.until = until.to_json()
            if changes is not None:
                begun.changes = changes
        begun.begun_at.GetCurrentTime()
        self._begun = time.monotonic()
        self._state.rounds.append(begun)
        self._file.write(self._state)

    def _all_rows(self, pause: Pause) -> tuple[CachePosition, int]:
        self._await_rows(pause)
        until = self._patiently(pause, partial(position, self._here.cache))
        return until, self._patiently(pause, partial(count_rows, self._here.cache))

    def _await_rows(self, pause: Pause) -> None:
        """Waits until the round whose rows begin at the position of the file has a row to train on."""
        is_said = False
        while not self._any_row(pause):
            if self._here.is_chief:
                report_rounds(self._state.rounds, _NO_ROW)
                if not is_said:
                    is_said = True
                    _say(f"the round waits for {_NO_ROW}")
            pause(POLL_SECONDS)

    def _any_row(self, pause: Pause) -> bool:
        cache = self._here.cache
        since = CachePosition.from_json(self._state.since) if self._state.since else CachePosition(cache, ())
        keys = None if self._split is None else arguments.key_range(self._split, "training")
        return self._patiently(pause, partial(any_row, cache, since, keys))

    def _await_changes(self, pause: Pause) -> tuple[CachePosition, int | None]:
        """The position at which the next round begins, and the changes before it."""
        assert self._rule is not None
        is_said = False
        while True:
            since = CachePosition.from_json(self._state.since)
            now = self._patiently(pause, partial(position, self._here.cache))
            changes = now.changes_since(since)
            wait = round_rule.wait(self._rule, time.monotonic() - self._begun, changes)
            if wait is None:
                if self._any_row(pause):
                    return now, changes
                # Rows were removed, or are held out: nothing of that is left to train on.
                if now != since:
                    self._state.since = now.to_json()
                    self._file.write(self._state)
                pause(POLL_SECONDS)
                continue
            report_rounds(self._state.rounds, wait.text)
            if not is_said:
                is_said = True
                _say(f"the next round waits for {wait.text}")
            pause(min(wait.seconds or POLL_SECONDS, _KEEP_ALIVE_SECONDS))

    def _patiently(self, pause: Pause, call: Callable[[], _T]) -> _T:
        """Calls again while nodes come and go."""
        begin = time.monotonic()
        while True:
            try:
                return call()
            except (errors.ConnectionFailedError, errors.PartitionNotLocalError, errors.RequestTimeoutError):
                if time.monotonic() - begin > _FAILING_SECONDS:
                    raise
            pause(POLL_SECONDS)

    def _keep_alive(self, ended: threading.Event) -> None:
        """While a round trains, too, the nodes remember what changes."""
        while not ended.wait(_KEEP_ALIVE_SECONDS):
            with contextlib.suppress(errors.TensorFlowIgniteError):
                position(self._here.cache)

    def _finish(self, number: int) -> None:
        """A round is over when all workers have done it."""
        with Pause() as pause:
            agreement.exchange("rounds", number, 0, pause)
        if self._here.is_chief:
            self._state.rounds[-1].finished_at.GetCurrentTime()
            self._state.since, self._state.until = self._state.until, ""
            self._file.write(self._state)
            report_rounds(self._state.rounds)

    def _publish_once(
        self, name: str, publish: Callable[[], Publication], take_part: Callable[[], None]
    ) -> Publication:
        """Publishes on the chief, unless an earlier attempt has; returns the result on all workers."""
        index = self._publications[name]
        self._publications[name] += 1
        current = self._state.rounds[-1]
        if self._here.is_chief and len(_publications_of(current, name)) <= index:
            found = publish()
            current.publications.append(write_message(found, job_pb2.Publication))
            self._file.write(self._state)
            report_rounds(self._state.rounds)
            _say(f"round {current.number}: {found}")
        elif len(_publications_of(current, name)) <= index:
            number = current.number
            take_part()
            with Pause() as pause:
                self._await(pause, lambda last: last.number > number or len(_publications_of(last, name)) > index)
        return Publication.from_proto(_publications_of(self._state.rounds[-1], name)[index])

    def _await(self, pause: Pause, holds: Callable[[job_pb2.RoundProgress], bool]) -> None:
        """Reads the file until its last round is as expected."""
        while not (self._state.rounds and holds(self._state.rounds[-1]) and self._is_open()):
            pause(POLL_SECONDS)
            self._state = self._patiently(pause, self._file.read)


def _publications_of(progress: job_pb2.RoundProgress, name: str) -> list[job_pb2.Publication]:
    """What a round has published under a name."""
    return [publication for publication in progress.publications if publication.model == name]


def _say(text: str) -> None:
    print(f"tensorflow_ignite: {text}", flush=True)
