"""The progress bar of a load."""

from __future__ import annotations

import sys

import rich.progress
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeElapsedColumn, TransferSpeedColumn
from rich.table import Column

from tensorflow_ignite.data.loading.progress import Progress


class Meter(rich.progress.Progress):
    """A progress bar on standard error, if that is a terminal; a context manager."""

    def __init__(self, cache: str) -> None:
        """Creates the bar, which the context shows.

        Args:
            cache: Name of the cache that is loaded.
        """
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[rows]}"),
            # On a narrow terminal columns are cut: the bar has one line.
            DownloadColumn(table_column=Column(no_wrap=True)),
            TransferSpeedColumn(Column(no_wrap=True)),
            TimeElapsedColumn(Column(no_wrap=True)),
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._bar = self.add_task(f"loading {cache}", total=None, rows="")

    def show(self, progress: Progress) -> None:
        """Updates the bar."""
        total = None
        rows = f"{progress.rows:,} rows"
        if progress.total_rows and progress.rows:
            # The size of all rows is estimated from the rows so far.
            total = progress.bytes * progress.total_rows / progress.rows
            rows = f"{progress.rows:,} of {progress.total_rows:,} rows"
        self.update(self._bar, completed=progress.bytes, total=total, rows=rows)
