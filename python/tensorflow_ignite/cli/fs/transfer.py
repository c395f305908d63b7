"""Carries out what was planned: several files at a time, told by bytes, stopped at once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from tensorflow_ignite.cli.fs.plan import FileCopy, Plan
from tensorflow_ignite.errors import TensorFlowIgniteError

__all__ = ["Meter", "transfer"]


class Meter:
    """A bar on standard error, where that is a terminal; a context manager; safe for threads."""

    def __init__(self, doing: str, files: int, total_bytes: int | None) -> None:
        """Describes the bar; entering the context shows it."""
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[files]}"),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._lock = threading.Lock()
        self._files = files
        self._done = 0
        #: Bytes so far.
        self.bytes = 0
        self._task = self._bar.add_task(doing, total=total_bytes, files="")

    def __enter__(self) -> Meter:
        """Shows the bar."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Removes the bar."""
        self._bar.stop()

    def add(self, count: int = 0, *, files: int = 0) -> None:
        """So many more bytes, and files that are complete."""
        with self._lock:
            self.bytes += count
            self._done += files
            text = f"{self._done:,} of {self._files:,} files" if self._files > 1 else ""
            self._bar.update(self._task, advance=count, files=text)


# An interrupt that another thread took, while this one began threads, is heard of only when this one runs.
_HEAR_SECONDS = 0.1


class _StoppedError(TensorFlowIgniteError):
    """Another file failed, or the user has had enough."""


def transfer(plan: Plan, parallel: int, meter: Meter) -> None:
    """Makes the directories, then copies the files.

    Args:
        plan: What is to be done.
        parallel: So many files at a time.
        meter: Told of each piece.

    Raises:
        TensorFlowIgniteError: The first failure; the files that were being copied then have not appeared.
    """
    for directory in plan.directories:
        plan.target.make_directory(directory)
    if len(plan.files) <= 1:
        # Here, an interrupt ends a read that waits for more, of a pipe; a thread would read on.
        for file in plan.files:
            _copy(plan, file, lambda: False, meter)
        return
    stop = threading.Event()
    with ThreadPoolExecutor(min(parallel, len(plan.files)), thread_name_prefix="copy") as pool:
        try:
            pending = {pool.submit(_copy, plan, file, stop.is_set, meter) for file in plan.files}
            while pending:
                done, pending = wait(pending, _HEAR_SECONDS, FIRST_COMPLETED)
                for future in done:
                    future.result()
        except BaseException:
            # Also when the user interrupts, be it while the first are begun: leaving the block waits for the threads.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _copy(plan: Plan, file: FileCopy, stopped: Callable[[], bool], meter: Meter) -> None:
    with file.source.reading(file.source_path) as pieces, plan.target.writing(file.target_path) as sink:
        for piece in pieces:
            sink.write(piece)
            meter.add(len(piece))
            if stopped():
                raise _StoppedError(f"{file.source_path} was not copied to its end")
    meter.add(files=1)
