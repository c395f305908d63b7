"""Curves of a job: the figures that its chief reports, as points of event files in the cluster, for TensorBoard.

Each process of the chief writes a file of its own, named by its attempt, so that TensorBoard reads the files of a job
in the order of its attempts. A file begins with the step at which its attempt goes on: from there on TensorBoard
forgets what an earlier attempt has written. A thread writes; an error of it is logged once, and never reaches the
script.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tensorflow_ignite import task
from tensorflow_ignite.errors import AttemptSupersededError
from tensorflow_ignite.storage import gc_pause, paths
from tensorflow_ignite.train import event_file

if TYPE_CHECKING:
    from tensorflow_ignite.storage.writer import Writer

#: Directory below the job's `log_directory`: the name of the run of the first training of a script.
RUN = "report"
#: The name of the run of an evaluator, which reports at the same time as the chief.
EVALUATION_RUN = "evaluation"
# A curve gets a point at most every 0.2 s, later at most every thousandth of the time since the first: a week has
# some 8,000 points.
_SECONDS_BETWEEN_POINTS = 0.2
_POINTS = 1000
# Points are written every 2 s, later every 200th of that time.
_SECONDS_BETWEEN_WRITES = 2.0
_WRITES = 200
# Points in memory while the cluster does not take them; the oldest are dropped.
_MOST_RECORDS = 20_000
# Seconds that the end of the process waits for the last points.
_END_SECONDS = 5.0

_log = logging.getLogger(__name__)

Opener = Callable[[str], "Writer"]


class Curves:
    """The curves of one process. Its methods are called by the script, return at once and raise nothing."""

    def __init__(self, path: str, open_writer: Opener, seconds: Callable[[], float] = time.monotonic) -> None:
        """Writes nothing yet.

        Args:
            path: Path of the event file.
            open_writer: Opens the file to append to it.
            seconds: The clock that limits points and writes.
        """
        self._path = path
        self._open = open_writer
        self._seconds = seconds
        self._changed = threading.Condition()
        self._records: list[bytes] = []
        # When each curve got its last point, and the newest figure since then, with its step and its time.
        self._points: dict[str, float] = {}
        self._withheld: dict[str, tuple[int, float, float]] = {}
        self._first: float | None = None
        self._written_at = float("-inf")
        self._hurry = False
        self._ended = False
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, name="tensorflow-ignite curves", daemon=True)

    def add(self, step: int, figures: Mapping[str, float], resumed_from_step: int) -> None:
        """Adds a point to each curve; if points come faster than they are shown, some are left out.

        Args:
            step: Number of finished steps.
            figures: Values by the names of the curves.
            resumed_from_step: The step of the checkpoint from which this process has resumed; 0: none.
        """
        if os.getpid() != self._process:
            return
        now, wall = self._seconds(), time.time()
        with self._changed:
            if self._ended:
                return
            if self._first is None:
                self._first = now
                begin = resumed_from_step + 1 if resumed_from_step else step
                self._records += [event_file.head(wall), event_file.start(min(begin, step), wall)]
                self._thread.start()
            due = {name: value for name, value in figures.items() if self._is_due(name, now)}
            for name, value in figures.items():
                self._withheld[name] = step, wall, value
            for name in due:
                del self._withheld[name]
                self._points[name] = now
            if due:
                self._put(event_file.scalars(step, wall, due))
            self._changed.notify()

    def flush(self) -> None:
        """Has all points written soon; does not wait."""
        if os.getpid() != self._process:
            return
        with self._changed:
            self._hurry = True
            self._changed.notify()

    def close(self) -> None:
        """Writes all points; waits 5 s at most."""
        if os.getpid() != self._process:
            return
        with self._changed:
            self._ended = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(_END_SECONDS)

    def _is_due(self, name: str, now: float) -> bool:
        last = self._points.get(name)
        return last is None or now - last >= self._interval(now, _SECONDS_BETWEEN_POINTS, _POINTS)

    def _interval(self, now: float, least: float, parts: int) -> float:
        return max(least, (now - (self._first if self._first is not None else now)) / parts)

    def _put(self, record: bytes) -> None:
        self._records.append(record)
        self._drop_oldest()

    def _drop_oldest(self) -> None:
        # The first two are the head of the file and its start, if nothing was written yet.
        del self._records[2 : 2 + max(0, len(self._records) - _MOST_RECORDS)]

    def _release(self, now: float, *, everything: bool) -> None:
        """Makes points of withheld figures that no later figure has replaced."""
        for name in [name for name in self._withheld if everything or self._is_due(name, now)]:
            step, wall, value = self._withheld.pop(name)
            self._points[name] = now
            self._put(event_file.scalars(step, wall, {name: value}))

    def _run(self) -> None:
        with gc_pause.paused() as gate:
            self._write_until_end(gate)

    def _write_until_end(self, gate: gc_pause.GarbageCollectionGate | None) -> None:
        output = _Output(self._path, self._open)
        while True:
            with self._changed:
                while not self._ended and (seconds := self._wait_seconds()) > 0:
                    with gc_pause.resumed(gate):
                        self._changed.wait(seconds)
                ended, hurry, self._hurry = self._ended, self._hurry, False
                now = self._written_at = self._seconds()
                self._release(now, everything=ended or hurry)
                records, self._records = self._records, []
            if records and not output.write(b"".join(records)):
                with self._changed:
                    self._records = [*records, *self._records]
                    self._drop_oldest()
            if ended or output.is_superseded:
                output.close()
                with self._changed:
                    self._ended = True
                return

    def _wait_seconds(self) -> float:
        """Seconds until the next write."""
        now = self._seconds()
        least = 0.5 if self._hurry else self._interval(now, _SECONDS_BETWEEN_WRITES, _WRITES)
        if not self._records and not self._withheld and not self._hurry:
            return least
        return self._written_at + least - now


class _Output:
    """The event file, which is opened again after an error."""

    def __init__(self, path: str, open_writer: Opener) -> None:
        self._path = path
        self._open = open_writer
        self._writer: Writer | None = None
        self._logged = False
        self.is_superseded = False

    def write(self, data: bytes) -> bool:
        """Appends to the file what readers see at once; False: it was not possible, which is logged once."""
        try:
            self._writer = self._writer or self._open(self._path)
            self._writer.write(data)
            self._writer.publish()
        except Exception as error:  # a curve must not end a training
            self._abandon()
            self.is_superseded = isinstance(error, AttemptSupersededError)
            if not self._logged and not self.is_superseded:
                self._logged = True
                _log.warning("tensorflow_ignite: the curves in %s are not written at present: %s", self._path, error)
            return False
        return True

    def close(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(Exception):
                self._writer.close()

    def _abandon(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(Exception):
                writer.abandon()


_lock = threading.Lock()
_curves: dict[str, Curves] = {}


def of_this_process(run: str) -> Curves | None:
    """The curves of a run of this process; None outside a job, and for a task that is neither chief nor evaluator."""
    with _lock:
        if run not in _curves:
            here = task.current()
            if not here.in_job or not (here.is_chief or here.role == "evaluator"):
                return None
            shown = EVALUATION_RUN if run == RUN and here.role == "evaluator" else run
            if shown not in _curves:
                name = f"events.out.tfevents.{here.attempt:010d}.{here.incarnation:06d}"
                _curves[shown] = Curves(f"{paths.parse(here.log_directory).path}/{shown}/{name}", _open_writer)
                atexit.register(_curves[shown].close)
            _curves[run] = _curves[shown]
        return _curves[run]


def flush() -> None:
    """Has the points of this process written soon, if there are any; does not wait."""
    for each in tuple(_curves.values()):
        each.flush()


def _open_writer(path: str) -> Writer:
    from tensorflow_ignite.storage.files import Files

    return Files.at(None).open_writer(path, "a", parents=True)
