"""Reports the progress of a script to its job."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import SupportsFloat

from google.protobuf import json_format

from tensorflow_ignite import task
from tensorflow_ignite.data import epoch_report
from tensorflow_ignite.data.epochs import input_totals
from tensorflow_ignite.train import curves, strategy_check
from tensorflow_ignite.train.throughput import ThroughputMeter
from tensorflow_ignite.v1 import job_pb2

PROGRESS_VARIABLE = "TENSORFLOW_IGNITE_PROGRESS"

# A step may take a millisecond; the agent reads the file much less often.
SECONDS_BETWEEN_WRITES = 0.2

# Of a report, in JSON; the agent reads no longer one.
MAX_BYTES = 64 * 1024
# Curves of the throughput are below this name.
_THROUGHPUT = "throughput"
# A further metric in JSON, less its name: quotes, separators and the digits of the number.
_METRIC_BYTES = 32


def report(step: int, total_steps: int | None = None, *, force: bool = False, **metrics: SupportsFloat) -> None:
    """Reports the step and any metrics to the job; ``describe``, ``attach`` and ``submit --wait`` show them.

    May be called at every step: at most five reports a second are written, and always the last one. Outside a job it
    does nothing. Metrics of the first worker, or of the client process, are curves too: ``tensorflow-ignite tensorboard
    JOB`` shows them, of all attempts in one line. A report has at most 64 KiB: of more metrics, the job shows the first
    by name.

    Args:
        step: Number of finished steps.
        total_steps: Number of all steps, if known.
        force: Write at once.
        **metrics: Values by name, such as ``loss=0.3``; numbers or scalar tensors.

    Raises:
        TypeError: A metric is not a number.
    """
    report_figures(step, total_steps, metrics, force=force)


def report_figures(
    step: int,
    total_steps: int | None,
    metrics: Mapping[str, SupportsFloat],
    *,
    force: bool = False,
    run: str = curves.RUN,
    draws_metrics: bool = True,
) -> None:
    """As :func:`report`, with metrics of any name.

    Args:
        step: Number of finished steps.
        total_steps: Number of all steps, if known.
        metrics: Values by name.
        force: Write at once.
        run: Name of the run in TensorBoard to which the curves belong.
        draws_metrics: Whether the metrics are new, and make points of their curves.

    Raises:
        TypeError: A metric is not a number.
    """
    path = os.environ.get(PROGRESS_VARIABLE)
    if not path:
        return
    progress = job_pb2.Progress(step=int(step), total_steps=int(total_steps or 0))
    for name, value in metrics.items():
        try:
            progress.metrics[name] = float(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"metric {name}={value!r} is not a number") from error
    strategy_check.warn_without()
    measured = _writer.put(path, progress, force)
    figures = dict(progress.metrics) if draws_metrics else {}
    if measured is not None:
        figures.update({f"{_THROUGHPUT}/{field.name}": value for field, value in measured.ListFields()})
    if figures:
        _writer.draw(progress.step, figures, run)


def report_throughput() -> None:
    """Reports how fast the datasets of a task without steps of its own are read, such as a server's datasets."""
    path = os.environ.get(PROGRESS_VARIABLE)
    if path:
        _writer.put(path, job_pb2.Progress(), force=False)


def report_checkpoint(*, resumed_from_step: int | None = None, checkpoint_step: int | None = None) -> None:
    """Reports a restored or saved checkpoint to the job at once; step and metrics of the last report stay.

    Outside a job it does nothing.

    Args:
        resumed_from_step: The step of the checkpoint that was restored; 0: a training begins without one.
        checkpoint_step: The step of the checkpoint that was saved.
    """
    path = os.environ.get(PROGRESS_VARIABLE)
    if path:
        _writer.mark(path, resumed_from_step, checkpoint_step)
        curves.flush()


def report_end(end: job_pb2.EndProgress) -> None:
    """Reports at once how far a planned end has come; outside a job it does nothing."""
    path = os.environ.get(PROGRESS_VARIABLE)
    if path:
        _writer.end(path, end)
        curves.flush()


def report_rounds(rounds: Sequence[job_pb2.RoundProgress], waiting_for: str = "") -> None:
    """Reports the rounds of a continuous job, and what the next one waits for; outside a job it does nothing."""
    path = os.environ.get(PROGRESS_VARIABLE)
    if path:
        _writer.report_rounds(path, job_pb2.Progress(rounds=rounds, waiting_for=waiting_for))


def busy(seconds: float) -> None:
    """Announces work without steps, such as the build of an index: a task that is silent for long counts as stalled.

    See `tensorflow_ignite.Timeouts`. A later call replaces an
    earlier one. Outside a job it does nothing.

    Args:
        seconds: Longest time until the next step, from now; 0: none, as without a call.

    Raises:
        ValueError: It is no time of 0 or more seconds.
    """
    if not 0 <= seconds < float("inf"):
        raise ValueError(
            f"seconds={seconds!r} is not a time. It is 0 or more seconds, and finite. Give another number."
        )
    announce(seconds, force=True)


def announce(seconds: float, *, force: bool) -> None:
    """As :func:`busy`; without ``force`` at most five a second are written, for a call at every batch."""
    path = os.environ.get(PROGRESS_VARIABLE)
    if path:
        _writer.announce(path, seconds, force)


class _Writer:
    """Writes the newest report into the progress file, at most every `SECONDS_BETWEEN_WRITES`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._pending: tuple[str, job_pb2.Progress] | None = None
        self._timer: threading.Timer | None = None
        self._written_at = float("-inf")
        self._last = job_pb2.Progress()
        self._resumed_from_step = 0
        self._checkpoint_step = 0
        self._end = job_pb2.EndProgress()
        self._rounds = job_pb2.Progress()
        self._meter = ThroughputMeter()
        self._throughput: job_pb2.Throughput | None = None
        self._is_failing = False
        self._is_cut = False

    def _copy_of_last(self) -> job_pb2.Progress:
        copied = job_pb2.Progress()
        copied.CopyFrom(self._last)
        return copied

    def end(self, path: str, end: job_pb2.EndProgress) -> None:
        with self._lock:
            self._end.CopyFrom(end)
            self.put(path, self._copy_of_last(), force=True)

    def report_rounds(self, path: str, rounds: job_pb2.Progress) -> None:
        with self._lock:
            if rounds == self._rounds:
                return
            self._rounds.CopyFrom(rounds)
            self.put(path, self._copy_of_last(), force=True)

    def draw(self, step: int, figures: Mapping[str, float], run: str) -> None:
        drawn = curves.of_this_process(run)
        if drawn is not None:
            drawn.add(step, figures, self._resumed_from_step)

    def announce(self, path: str, seconds: float, force: bool) -> None:
        with self._lock:
            same = self._copy_of_last()
            same.busy_until_nanos = time.monotonic_ns() + int(seconds * 1e9)
            self.put(path, same, force)

    def mark(self, path: str, resumed_from_step: int | None, checkpoint_step: int | None) -> None:
        with self._lock:
            last = self._copy_of_last()
            if resumed_from_step is not None:
                self._resumed_from_step = resumed_from_step
                # Steps of an earlier training of this process are none of this one.
                last.step = resumed_from_step
                self._meter.restart()
                self._throughput = None
            if checkpoint_step is not None:
                self._checkpoint_step = checkpoint_step
            if resumed_from_step != 0:
                last.busy_until_nanos = 0
            last.step = max(last.step, checkpoint_step or 0)
            self.put(path, last, force=True)

    def put(self, path: str, progress: job_pb2.Progress, force: bool) -> job_pb2.Throughput | None:
        """Returns the throughput, if it was measured now."""
        progress.reported_at.GetCurrentTime()
        with self._lock:
            # An evaluator reports the step of a checkpoint, which other tasks have reached.
            measured = self._meter.measure(0 if task.current().is_evaluator else progress.step)
            self._throughput = measured or self._throughput
            progress.ClearField("throughput")
            if self._throughput is not None:
                progress.throughput.CopyFrom(self._throughput)
            progress.snapshot_bytes = input_totals.snapshot_bytes()
            progress.resumed_from_step = self._resumed_from_step
            progress.checkpoint_step = self._checkpoint_step
            progress.end.CopyFrom(self._end)
            del progress.epochs[:]
            for epoch in epoch_report.recent():
                progress.epochs.add(**epoch._asdict())
            for name in ("rounds", "waiting_for"):
                progress.ClearField(name)
            progress.MergeFrom(self._rounds)
            self._last = progress
            self._pending = (path, progress)
            wait = self._written_at + SECONDS_BETWEEN_WRITES - time.monotonic()
            if force or wait <= 0:
                self._write_or_retry()
            elif self._timer is None:
                self._write_after(wait)
            return measured

    def close(self) -> None:
        """Writes the last report."""
        with self._lock, contextlib.suppress(OSError):
            self._write()

    def _write_after(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._write_late)
        self._timer.daemon = True
        self._timer.start()

    def _write_late(self) -> None:
        with self._lock:
            self._timer = None
            self._write_or_retry()

    def _write_or_retry(self) -> None:
        """A report must not end the training: the node's disk may be full for a moment."""
        try:
            self._write()
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                self._is_failing = True
                # The output of a task is on the same disk.
                with contextlib.suppress(OSError):
                    print(f"progress cannot be reported to the job; it is tried again: {error}", file=sys.stderr)
            self._write_after(SECONDS_BETWEEN_WRITES)

    def _write(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._pending is None:
            return
        path, progress = self._pending
        self._written_at = time.monotonic()
        replace(path, self._text(progress))
        self._pending = None

    def _text(self, progress: job_pb2.Progress) -> str:
        """A report in JSON, in ASCII, without metrics that exceed the size of a report."""
        text = json_format.MessageToJson(progress, indent=None)
        if len(text) <= MAX_BYTES:
            return text
        short = job_pb2.Progress()
        short.CopyFrom(progress)
        short.metrics.clear()
        left = MAX_BYTES - len(json_format.MessageToJson(short, indent=None)) - _METRIC_BYTES
        for name in sorted(progress.metrics):
            left -= len(json.dumps(name)) + _METRIC_BYTES
            if left < 0:
                break
            short.metrics[name] = progress.metrics[name]
        if not self._is_cut:
            self._is_cut = True
            with contextlib.suppress(OSError):
                print(
                    f"the job shows {len(short.metrics)} of {len(progress.metrics)} metrics: a report has at most "
                    f"{MAX_BYTES >> 10} KiB. Report fewer metrics, or shorter names",
                    file=sys.stderr,
                )
        return json_format.MessageToJson(short, indent=None)


def replace(path: str, text: str) -> None:
    """Replaces a file; a reader gets the old or the new text, never a part."""
    handle, temporary = tempfile.mkstemp(prefix=".progress-", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


_writer = _Writer()
atexit.register(_writer.close)
