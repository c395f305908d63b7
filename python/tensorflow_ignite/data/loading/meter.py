"""The progress bar of a load."""

from __future__ import annotations

import sys

import rich.progress
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, ProgressColumn, TextColumn, TimeElapsedColumn, TransferSpeedColumn
from rich.table import Column

from tensorflow_ignite.data.loading.progress import Progress


class Bar(rich.progress.Progress):
    """A progress bar on standard error, if that is a terminal; a context manager."""

    def __init__(self, description: str, total_bytes: int | None, time: ProgressColumn) -> None:
        """Describes the bar, which the context shows; ``time`` is its last column."""
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[done]}"),
            # On a narrow terminal columns are cut: the bar has one line.
            DownloadColumn(table_column=Column(no_wrap=True)),
            TransferSpeedColumn(Column(no_wrap=True)),
            time,
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._bar = self.add_task(description, total=total_bytes, done="")


class Meter(Bar):
    """The bar of a load."""

    def __init__(self, cache: str) -> None:
        """Describes the bar of a load into a cache."""
        super().__init__(f"loading {cache}", None, TimeElapsedColumn(Column(no_wrap=True)))

    def show(self, progress: Progress) -> None:
        """Updates the bar."""
        total = None
        rows = f"{progress.rows:,} rows"
        if progress.total_rows and progress.rows:
            # The size of all rows is estimated from the rows so far.
            total = progress.bytes * progress.total_rows / progress.rows
            rows = f"{progress.rows:,} of {progress.total_rows:,} rows"
        self.update(self._bar, completed=progress.bytes, total=total, done=rows)
