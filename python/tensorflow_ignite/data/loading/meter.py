"""The bar that shows how far a load is."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn, TransferSpeedColumn

if TYPE_CHECKING:
    from tensorflow_ignite.data.loading import load as loading


class Meter:
    """A bar on standard error, where that is a terminal; a context manager."""

    def __init__(self, cache: str) -> None:
        """Describes the bar; entering the context shows it.

        Args:
            cache: Name of the cache that is loaded.
        """
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[rows]}"),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._task = self._bar.add_task(f"loading {cache}", total=None, rows="")

    def __enter__(self) -> Meter:
        """Shows the bar."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Removes the bar."""
        self._bar.stop()

    def show(self, progress: loading.Progress) -> None:
        """Shows how far the load is."""
        total = None
        rows = f"{progress.rows:,} rows"
        if progress.total_rows and progress.rows:
            # Rows are about equally large.
            total = progress.bytes * progress.total_rows / progress.rows
            rows = f"{progress.rows:,} of {progress.total_rows:,} rows"
        self._bar.update(self._task, completed=progress.bytes, total=total, rows=rows)
