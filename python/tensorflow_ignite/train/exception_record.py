"""The exception that ends the script of a task, recorded for its agent, which reports it to the job."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from types import TracebackType

from tensorflow_ignite import task
from tensorflow_ignite.base import failures
from tensorflow_ignite.base.messages import to_json


def install() -> None:
    """Adds the record to `sys.excepthook`; the package calls this once, in the process of a task's script."""
    previous = sys.excepthook

    def record_and_report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        with contextlib.suppress(Exception):
            _record(error)
        previous(kind, error, trace)

    sys.excepthook = record_and_report


def _record(error: BaseException) -> None:
    path = failures.record_path(Path(os.environ[task.CONTEXT_VARIABLE]), os.getpid())
    path.write_text(to_json(failures.of_exception(error)), encoding="utf-8")
