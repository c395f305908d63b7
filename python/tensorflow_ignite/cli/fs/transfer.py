"""Carries out a plan: several files at a time, with a progress bar, stopped at once by the first failure."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from rich.progress import TimeRemainingColumn
from rich.table import Column

from tensorflow_ignite.cli.fs.plan import FileCopy, Plan
from tensorflow_ignite.data.loading.meter import Bar
from tensorflow_ignite.errors import TensorFlowIgniteError


class Meter(Bar):
    """The bar of files; safe for threads."""

    def __init__(self, description: str, files: int, total_bytes: int | None) -> None:
        """Describes the bar; entering the context shows it."""
        super().__init__(description, total_bytes, TimeRemainingColumn(table_column=Column(no_wrap=True)))
        self._counting = threading.Lock()
        self._files = files
        self._complete_files = 0
        #: Bytes so far.
        self.bytes = 0

    def add(self, count: int = 0, *, files: int = 0) -> None:
        """Adds bytes, and files that are complete."""
        with self._counting:
            self.bytes += count
            self._complete_files += files
            text = f"{self._complete_files:,} of {self._files:,} files" if self._files > 1 else ""
            self.update(self._bar, advance=count, done=text)


# Python handles a signal in the main thread only, when that runs: it may have arrived while threads were started.
_SIGNAL_POLL_SECONDS = 0.1


class _StoppedError(TensorFlowIgniteError):
    """Another file failed, or the user interrupted the copy."""


def transfer(plan: Plan, parallel: int, meter: Meter) -> None:
    """Makes the directories, then copies the files.

    Args:
        plan: The directories to make and the files to copy.
        parallel: Files that are copied at the same time.
        meter: Counts each piece.

    Raises:
        TensorFlowIgniteError: The first failure; the files that were being copied then have not appeared.
    """
    for directory in plan.directories.values():
        directory.make_directory()
    if len(plan.files) <= 1:
        # In the main thread, an interrupt ends a read of a pipe that waits for data; another thread would go on.
        for file in plan.files:
            _copy(file, lambda: False, meter)
        return
    stop = threading.Event()
    with ThreadPoolExecutor(min(parallel, len(plan.files)), thread_name_prefix="copy") as pool:
        try:
            pending = {pool.submit(_copy, file, stop.is_set, meter) for file in plan.files}
            while pending:
                done, pending = wait(pending, _SIGNAL_POLL_SECONDS, FIRST_COMPLETED)
                for future in done:
                    future.result()
        except BaseException:
            # Also when the user interrupts while the threads are started: leaving the block waits for them.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _copy(file: FileCopy, stopped: Callable[[], bool], meter: Meter) -> None:
    with file.source.read() as pieces, file.target.write() as target:
        for piece in pieces:
            target.write(piece)
            meter.add(len(piece))
            if stopped():
                raise _StoppedError(f"{file.source.url} was not copied to its end")
    meter.add(files=1)
