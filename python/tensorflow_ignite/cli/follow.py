"""Following a job on a terminal: its tasks' output line by line, its states, its progress; and its exit code."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Protocol, TextIO

from tensorflow_ignite.cli import speed
from tensorflow_ignite.cli.render import age, count, fold, has_colour, paint, seconds_text, short_id, table
from tensorflow_ignite.errors import ConnectionFailedError
from tensorflow_ignite.spec import Job, Progress

if TYPE_CHECKING:
    from tensorflow_ignite.jobs.handle import JobHandle
    from tensorflow_ignite.jobs.logs import LogLine

INTERRUPTED = 130
# Lines of a terminal that shows the table of the tasks.
_TABLE_HEIGHT = 12
_PREFIX_COLOURS = ("cyan", "green", "magenta", "blue", "yellow")


def follow(job: JobHandle, output: TextIO) -> int:
    """Prints a job's output from its first line until the job is over; Ctrl-C detaches from it.

    Args:
        job: The job.
        output: Where the output of its tasks goes; states and progress go to standard error.

    Returns:
        The job's exit code; 130 after Ctrl-C.
    """
    view: _View = _LiveView(output) if has_colour(sys.stderr) else _PlainView(output)
    try:
        with _Watcher(job, view) as watcher:
            for line in job.logs(follow=True):
                view.line(line)
            finished = watcher.result()
    except KeyboardInterrupt:
        view.close()
        short = short_id(job.id)
        print(
            f"detached; job {job.id} goes on. Follow it again: tensorflow-ignite attach {short}; "
            f"end it: tensorflow-ignite stop {short}",
            file=sys.stderr,
        )
        return INTERRUPTED
    except ConnectionFailedError as error:
        view.close()
        raise ConnectionFailedError(
            f"lost sight of job {job.id}, which may go on: {error}\n"
            f"Follow it again: tensorflow-ignite attach {short_id(job.id)}"
        ) from error
    finally:
        view.close()
    _print_end(finished)
    return exit_code_of(finished)


def exit_code_of(job: Job) -> int:
    """The code that a process exits with for a job that is over: the job's own, in the way of a shell.

    A task that a signal ended has code -N, a shell's 128+N; and only success is 0.
    """
    code = job.exit_code or 0
    if job.state == "succeeded":
        return 0
    if code < 0:
        code = 128 - code
    return code if 0 < code < 256 else 1


def log_text(line: LogLine, stream: TextIO, *, prefix: bool = True) -> str:
    """A line as it is printed: ``"[worker 0] text"``, coloured by task on a terminal."""
    text = line.text
    if has_colour(stream):
        # A terminal shows what follows the last carriage return; the prefix must not be written over.
        text = text.rpartition("\r")[2]
    mark = ""
    if prefix:
        attempt = f" attempt {line.attempt}" if line.attempt > 1 else ""
        incarnation = f" incarnation {line.incarnation}" if line.incarnation else ""
        colour = _PREFIX_COLOURS[(line.index + len(line.role)) % len(_PREFIX_COLOURS)]
        mark = paint(f"[{line.task}{attempt}{incarnation}]", colour, stream) + " "
    if line.dropped_bytes:
        gap = f"(here {line.dropped_bytes:,} bytes of output were dropped or lost)"
        text = f"{gap}\n{mark}{text}" if text else gap
    return mark + text


def _print_end(job: Job) -> None:
    if job.state == "succeeded":
        print(f"job {short_id(job.id)} succeeded after {age(job.created_at, job.finished_at)}", file=sys.stderr)
        return
    cause = f": {job.cause}" if job.cause else ""
    how = "was stopped" if job.state == "stopped" else "failed"
    text = (
        f"{paint('error:', 'red', sys.stderr)} job {job.id} {how} (exit code {exit_code_of(job)}){cause}\n"
        f"See: tensorflow-ignite describe {short_id(job.id)}"
    )
    print(fold(text, 0, sys.stderr), file=sys.stderr)


class _Watcher:
    """Follows a job's states beside its output, in a thread of its own."""

    def __init__(self, job: JobHandle, view: _View) -> None:
        self._job = job
        self._view = view
        self._last: Job | None = None
        self._error: Exception | None = None
        self._is_detached = False
        self._thread = threading.Thread(target=self._run, name=f"watch {job.id}", daemon=True)

    def __enter__(self) -> _Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # After an error or Ctrl-C the thread may still wait for the next state: closing the client ends it.
        self._is_detached = True

    def result(self) -> Job:
        """Waits for the end of the job."""
        self._thread.join()
        if self._error:
            raise self._error
        assert self._last is not None, "a watched job has at least one state"
        return self._last

    def _run(self) -> None:
        try:
            for job in self._job.watch():
                self._last = job
                if not self._is_detached:
                    self._view.job(job)
        except Exception as error:
            self._error = error


class _View(Protocol):
    def line(self, line: LogLine) -> None: ...

    def job(self, job: Job) -> None: ...

    def close(self) -> None: ...


class _PlainView:
    """For files and pipes: lines only, a state once when it changes."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._headline = ""

    def line(self, line: LogLine) -> None:
        print(log_text(line, self._output), file=self._output, flush=True)

    def job(self, job: Job) -> None:
        headline = _headline(job)
        if headline != self._headline and not job.is_over:
            self._headline = headline
            print(f"job {short_id(job.id)} {headline}", file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class _LiveView:
    """For a terminal: below the lines, the present state and progress, and a table of the tasks."""

    def __init__(self, output: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column

        self._output = output
        self._console = Console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=16),
            TextColumn("{task.fields[progress]}", markup=False),
            TimeElapsedColumn(Column(no_wrap=True)),
            console=self._console,
        )
        self._task = self._progress.add_task("", total=None, progress="")
        self._live = Live(
            self._progress,
            console=self._console,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def line(self, line: LogLine) -> None:
        text = log_text(line, self._output)
        if self._output.isatty():
            from rich.text import Text

            # Through the console, which keeps the progress line below printed lines.
            self._console.print(Text.from_ansi(text), soft_wrap=True, highlight=False)
        else:
            print(text, file=self._output, flush=True)

    def job(self, job: Job) -> None:
        from rich.console import Group
        from rich.text import Text

        progress = job.progress
        left = progress.seconds_left if progress else None
        self._progress.update(
            self._task,
            description=f"{short_id(job.id)} {_headline(job)}",
            total=progress.total_steps if progress else None,
            completed=progress.step if progress else 0,
            progress=_steps(progress) + (f", {seconds_text(left)} left" if left is not None else ""),
        )
        tasks = speed.measured(job.attempt) if job.attempt else ()
        # A small terminal has the state and the progress alone.
        shown = tasks[: self._console.height // 2] if self._console.height >= _TABLE_HEIGHT else ()
        lines = []
        if shown:
            text = table(speed.HEADS, speed.rows(shown), optional=speed.OPTIONAL, stream=sys.stderr)
            lines = [Text.from_ansi(text, no_wrap=True, overflow="ellipsis")]
        if shown and len(shown) < len(tasks):
            lines.append(Text(f"and {count(len(tasks) - len(shown), 'more task')}: tensorflow-ignite describe"))
        self._live.update(Group(*lines, self._progress))

    def close(self) -> None:
        self._live.stop()


def _steps(progress: Progress | None) -> str:
    if progress is None:
        return ""
    return f"step {progress.step:,}" + (f"/{progress.total_steps:,}" if progress.total_steps else "")


def _headline(job: Job) -> str:
    """A job's state in one line, as it changes from state to state and not from step to step."""
    text = job.state_text
    if job.attempt and job.state in ("reserving", "starting", "running", "restarting"):
        roles: dict[str, int] = {}
        for task in job.attempt.tasks:
            role = task.role_name or task.role
            roles[role] = roles.get(role, 0) + 1
        tasks = ", ".join(count(number, role) for role, number in roles.items())
        text += f", attempt {job.attempt.number}" + (f": {tasks}" if tasks else "")
    return f"{text}, waiting for {job.waiting_for}" if job.waiting_for else text
