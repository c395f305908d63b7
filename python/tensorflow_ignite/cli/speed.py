"""How fast the tasks of an attempt train, as a table: for ``describe``, and for the live view of ``attach``."""

from __future__ import annotations

from collections.abc import Sequence

from tensorflow_ignite.cli.render import seconds_text
from tensorflow_ignite.spec import Attempt, Task

HEADS = ("TASK", "STEP", "LOSS", "STEPS/S", "ROWS/S", "INPUT WAIT", "MEMORY", "GPU MEMORY", "LEFT")
#: Columns that a narrow terminal does without, first to last.
OPTIONAL = ("GPU MEMORY", "STEPS/S", "MEMORY")
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"))


def measured(attempt: Attempt) -> tuple[Task, ...]:
    """The tasks of which anything was measured."""
    return tuple(task for task in attempt.tasks if task.status.progress or task.status.memory_bytes)


def rows(tasks: Sequence[Task]) -> list[list[str]]:
    """One row a task, with a cell for each of the heads; ``-`` is not known."""
    return [_row(task) for task in tasks]


def _row(task: Task) -> list[str]:
    status, progress = task.status, task.status.progress
    speed = progress.throughput if progress else None
    left = progress.seconds_left if progress else None
    runs = status.state == "running"
    return [
        task.name,
        f"{progress.step:,}" if progress and progress.step else "-",
        f"{progress.metrics['loss']:.4g}" if progress and "loss" in progress.metrics else "-",
        _rate(speed.steps_per_second) if speed and runs else "-",
        _rate(speed.examples_per_second) if speed and runs else "-",
        f"{speed.input_wait:.0%}" if speed and speed.examples_per_second and runs else "-",
        _size(status.memory_bytes) if runs else "-",
        _size(status.device_memory_bytes) if runs else "-",
        seconds_text(left) if runs and left is not None else "-",
    ]


def _rate(value: float) -> str:
    if not value:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _size(size: int) -> str:
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.1f} {name}" if unit > 1 << 20 else f"{size // unit} {name}"
    return "-"
