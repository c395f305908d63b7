"""A job as HTML, which notebooks show in place of its text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from tensorflow_ignite.spec import Attempt, Job, Task

_COLOURS = {"succeeded": "green", "running": "green", "failed": "crimson", "unreadable": "crimson"}


def html(job: Job) -> str:
    """The job as a table: its state and progress, and the tasks of its newest attempt.

    Args:
        job: Its present state.

    Returns:
        HTML without scripts; every text of the job is escaped.
    """
    rows = [
        ("job", f"<b>{escape(job.id)}</b> {escape(job.spec.name)}"),
        ("state", f'<b style="color:{_COLOURS.get(job.state, "darkorange")}">{escape(job.state_text)}</b>'),
        ("waiting for", "" if job.is_over else escape(job.waiting_for)),
        ("cause", escape(job.cause)),
        ("cache", escape(job.spec.cache)),
        ("progress", _progress(job)),
        ("attempt", _attempt(job.attempt) if job.attempt else ""),
    ]
    facts = "".join(_row((f"<th>{name}</th>", f"<td>{value}</td>")) for name, value in rows if value)
    return f'<table style="text-align:left">{facts}</table>{_tasks(job.attempt) if job.attempt else ""}'


def _progress(job: Job) -> str:
    progress = job.progress
    if progress is None:
        return ""
    bar = ""
    if progress.total_steps:
        bar = f'<progress value="{progress.step}" max="{progress.total_steps}"></progress> '
    return bar + escape(str(progress))


def _attempt(attempt: Attempt) -> str:
    return f"{attempt.number}" + (f" ({escape(attempt.cause_kind)})" if attempt.cause_kind else "")


def _tasks(attempt: Attempt) -> str:
    heads = _row(f"<th>{name}</th>" for name in ("task", "state", "rows", "progress"))
    return f'<table style="text-align:left">{heads}{"".join(map(_task, attempt.tasks))}</table>'


def _task(task: Task) -> str:
    rows = f"{task.status.rows:,}" if task.partitions else ""
    cells = (task.name, task.status.state, rows, str(task.status.progress or ""))
    return _row(f"<td>{escape(cell)}</td>" for cell in cells)


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"
