"""The planned end of a training loop: the job or SIGTERM from outside requests it; all workers save, and then end."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
from typing import ClassVar, NoReturn

from tensorflow_ignite.train.agreement import Agreement, Decision
from tensorflow_ignite.train.command import COMMAND_VARIABLE, POLL_SECONDS, CommandReader
from tensorflow_ignite.train.progress import announce, report_end
from tensorflow_ignite.train.termination import KILL_SECONDS, Termination
from tensorflow_ignite.v1 import job_pb2

_log = logging.getLogger(__name__)

# While all workers wait for the agreement.
WAITING_POLL_SECONDS = 0.02
# While the process waits for its end, it makes no progress.
PARKED_SECONDS = 600.0
_EXIT_TERMINATED = 128 + signal.SIGTERM


class PlannedEnd:
    """The planned end of a training loop; outside a job nothing is ever planned.

    A thread reads the commands of the agent, since the main thread may wait for another worker within a step. One loop
    of a process takes part: the one that began first, until it ends, or makes no further step while another one does.
    """

    _active: ClassVar[PlannedEnd | None] = None

    def __init__(self, *, leads: bool, alone: bool) -> None:
        """See `Agreement`; the loop has not begun."""
        self._path = os.environ.get(COMMAND_VARIABLE, "")
        self._commands = CommandReader(self._path)
        self._agreement = Agreement(leads=leads, alone=alone)
        self._lock = threading.Lock()
        self._reported = job_pb2.EndProgress()
        self._ready = False
        self._saved = False
        self._terminated = False
        self._stop_at: float | None = None
        self._closed = threading.Event()
        self._termination = Termination(self._path, self._receive)
        self._steps = 0
        self._steps_of_other: int | None = None
        self._warned = False

    def begin(self, step: int) -> None:
        """The loop begins after this step; from now on SIGTERM from outside requests a planned end from the job."""
        if not self._path or self._ready or not self._take_over():
            return
        with self._lock:
            self._agreement.finish(step)
            self._ready = True
        if not self._termination.set():
            _log.warning(
                "tensorflow_ignite: the training loop runs in the thread %s. Python handles SIGTERM in the main thread "
                "only: SIGTERM from outside the job ends this process without a checkpoint. Restarts that the job "
                "plans do save",
                threading.current_thread().name,
            )
        self._closed.clear()
        threading.Thread(target=self._watch, name="tensorflow-ignite-planned-end", daemon=True).start()
        self._poll()

    def _take_over(self) -> bool:
        """Whether no other loop takes part; ends the part of a loop that has stopped without a call of `end`."""
        other = PlannedEnd._active
        if other is not None:
            earlier, self._steps_of_other = self._steps_of_other, other._steps
            if earlier != other._steps:
                if earlier is not None and not self._warned:
                    self._warned = True
                    _log.warning(
                        "tensorflow_ignite: two loops of this process save checkpoints, and only the first one saves "
                        "before a planned restart. Give all objects to one checkpoint()"
                    )
                return False
            other.end()
        PlannedEnd._active = self
        return True

    def end(self) -> None:
        """The loop is over: an end cannot be planned any more."""
        if not self._ready:
            return
        PlannedEnd._active = None
        self._closed.set()
        with self._lock:
            self._ready = False
            self._report()
        self._termination.remove()

    def is_due(self, step: int) -> bool:
        """Whether to save after this step, and then call `wait`; may wait until the workers have agreed on a step."""
        if not self._ready:
            return False
        self._steps += 1
        while True:
            with self._lock:
                decision = self._agreement.finish(step)
                self._report()
            if decision is not Decision.WAIT:
                return decision is Decision.SAVE
            time.sleep(WAITING_POLL_SECONDS)
            self._poll()

    def wait(self) -> NoReturn:
        """Reports that the checkpoint is saved, and waits until the agent ends this process."""
        announce(PARKED_SECONDS, force=True)
        with self._lock:
            self._saved = True
            self._report()
        while True:
            # An earlier handler of the script runs within this call.
            time.sleep(POLL_SECONDS)
            if self._stop_at is not None and time.monotonic() > self._stop_at:
                raise SystemExit(_EXIT_TERMINATED)

    def _watch(self) -> None:
        while not self._closed.wait(POLL_SECONDS):
            self._poll()
            if self._termination.ends_process and self._stop_at is not None and time.monotonic() > self._stop_at:
                self._termination.kill()

    def _poll(self) -> None:
        with self._lock:
            command = self._commands.read()
            if command.stop and self._stop_at is None:
                self._stop_at = time.monotonic() + KILL_SECONDS
            if command.save:
                self._agreement.receive(command.step, command.agreed)
            self._report()

    def _report(self) -> None:
        """Reports what has changed."""
        now = job_pb2.EndProgress(
            ready=self._ready, step=self._agreement.proposal, saved=self._saved, terminated=self._terminated
        )
        if now != self._reported:
            # A full disk: the next call reports again.
            with contextlib.suppress(OSError):
                report_end(now)
                self._reported = now

    def _receive(self, by_agent: bool) -> bool:
        """SIGTERM has come, while the main thread may hold the lock; whether it ends the process now."""
        if not by_agent:
            self._terminated = True
        return by_agent
