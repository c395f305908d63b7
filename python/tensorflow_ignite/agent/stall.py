"""Whether a task makes progress: by steps and checkpoints, before the first of them by output and processor time."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from tensorflow_ignite.v1 import job_pb2
from tensorflow_ignite.v1.agent_pb2 import StartTaskRequest

# A script that reports no steps, such as `fit` without output, makes progress while its process uses this part of a
# processor. A process that waits for a peer uses far less.
BUSY_PROCESSOR = 0.1
# Processor time is measured over a tenth of the limit, at most over these seconds.
WINDOW_SECONDS = 10.0
# Between SIGABRT, at which Python writes the stacks of its threads, and SIGKILL.
DUMP_SECONDS = 2.0


class StallMonitor:
    """Measures the time since the last progress of one task, on a monotonic clock."""

    def __init__(self, task_name: str, request: StartTaskRequest, clock: Callable[[], int] = time.monotonic_ns) -> None:
        """Starts the time of the first step now.

        Args:
            task_name: The task, as text.
            request: Its limits; a TensorFlow server of a parameter-server job has none, since it runs no script.
            clock: Nanoseconds of CLOCK_MONOTONIC.
        """
        self._task_name = task_name
        self._clock = clock
        runs_script = not request.is_server
        # How long an evaluation takes is not known, so output and processor time count between its steps too.
        self._evaluates = request.key.role == job_pb2.ROLE_EVALUATOR
        self._stall = request.stall_timeout.ToNanoseconds() if runs_script else 0
        first_step = self._stall if self._evaluates else request.first_step_timeout.ToNanoseconds()
        self._first_step = first_step if runs_script else 0
        self._last = clock()
        self._busy_until = 0
        self._position = (0, 0)
        self._has_stepped = False
        self._window = min(self._first_step // 10, int(WINDOW_SECONDS * 1e9))
        self._sampled_at = self._last
        self._processor_time = 0.0

    def observe_output(self) -> None:
        """The task has written output, which counts before its first step."""
        if not self._has_stepped:
            self._last = self._clock()

    def observe_processor_time(self, seconds: float) -> None:
        """The processor time of the task's process so far, which counts before its first step."""
        now = self._clock()
        passed = (now - self._sampled_at) / 1e9
        if now - self._sampled_at < self._window:
            return
        if not self._has_stepped and seconds - self._processor_time >= BUSY_PROCESSOR * passed:
            self._last = now
        self._sampled_at, self._processor_time = now, seconds

    def observe_progress(self, progress: job_pb2.Progress) -> None:
        """The script has reported progress."""
        position = (progress.step, progress.checkpoint_step)
        if position != self._position:
            self._position = position
            has_stepped = progress.step > progress.resumed_from_step or progress.checkpoint_step > 0
            self._has_stepped |= has_stepped and not self._evaluates
            self._last = self._clock()
        self._busy_until = progress.busy_until_nanos

    def stall(self, pid: int) -> str | None:
        """Describes the stall of the task, if it has stalled.

        Args:
            pid: The task's process, whose state is part of the text.
        """
        now = self._clock()
        limit = self._stall if self._has_stepped else self._first_step
        silent = now - max(self._last, self._busy_until)
        if not 0 < limit <= silent:
            return None
        if self._has_stepped:
            event = f"no step after step {self._position[0]} for {silent / 1e9:.1f} s (stall timeout {limit / 1e9:g} s)"
        elif self._evaluates:
            event = f"no step, no output and no work for {silent / 1e9:.1f} s (stall timeout {limit / 1e9:g} s)"
        else:
            event = (
                f"no first step, no output and no work for {silent / 1e9:.1f} s (first-step timeout {limit / 1e9:g} s)"
            )
        return (
            f"{self._task_name} stalled: {event}; its process was {_state(pid)}; the stacks of its Python threads are "
            "at the end of its output. Work without steps is announced by tensorflow_ignite.train.busy(seconds)"
        )


def processor_time(pid: int) -> float:
    """Seconds of processor time that a process has used; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _state(pid: int) -> str:
    """The state of a process, and where in the kernel it waits: `sleeping in futex_wait_queue`."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        state = next(line.split("(")[1].rstrip(")") for line in lines if line.startswith("State:"))
        channel = Path(f"/proc/{pid}/wchan").read_text().strip()
    except (OSError, IndexError, StopIteration):
        return "in an unknown state"
    return f"{state} in {channel}" if channel not in ("", "0") else state
