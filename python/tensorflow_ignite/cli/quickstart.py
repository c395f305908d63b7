"""``tensorflow-ignite quickstart``: a real cluster on this machine, real data, a real job; nothing is left behind."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from tensorflow_ignite.base.package import PACKAGE
from tensorflow_ignite.cli.jobs import newest_tasks
from tensorflow_ignite.data.loading.load import load
from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.groups import Timeouts
from tensorflow_ignite.jobs.client import connect
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.spec import Job, Progress
from tensorflow_ignite.testing import LeakError, LocalCluster

if TYPE_CHECKING:
    from rich.console import Console

NODES = 3
CACHE = "digits"
HELD_OUT = 0.2
SEED = 0
LEAST_ACCURACY = 0.9
METRIC = "test_accuracy"
# The cluster has no authentication: credentials of the environment or of a profile are for another cluster.
ANONYMOUS = Credentials()
# Part of all steps: a node that is killed later may not interrupt the training.
KILL_BEFORE = 0.7


class QuickstartError(TensorFlowIgniteError):
    """A step of the quickstart failed."""


class _Interrupted(BaseException):
    """A signal interrupts the quickstart."""


@dataclass(frozen=True)
class _Outcome:
    accuracy: float
    attempts: int
    # The step of the checkpoint that the last attempt began with.
    resumed_from_step: int


class _Signals:
    """Raises an exception for the first SIGINT, SIGTERM or SIGHUP, but never during the clean-up."""

    NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self.caught: int | None = None
        self._armed = False
        self._before = {number: signal.signal(number, self._handle) for number in self.NUMBERS}

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """Within this block a signal raises `_Interrupted`; outside it is remembered."""
        if self.caught is not None:
            raise _Interrupted
        self._armed = True
        try:
            yield
        finally:
            self._armed = False

    def restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.caught = self.caught or number
        if self._armed:
            self._armed = False
            raise _Interrupted


def run() -> int:
    """Runs the quickstart.

    Returns:
        The exit code: 0 when the model was trained and nothing is left; 1 when something went wrong; 128 plus the
        signal's number after a signal. The last line on standard output is for machines.
    """
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    begin = time.monotonic()
    signals = _Signals()
    problem: str | None = None
    outcome: _Outcome | None = None
    cluster = LocalCluster(nodes=NODES)
    try:
        with signals.raising():
            outcome = _train(cluster, console)
    except _Interrupted:
        console.print("interrupted; cleaning up")
    except TensorFlowIgniteError as failed:
        problem = str(failed)
    except Exception as failed:  # printed in one line after the clean-up, without a traceback
        problem = f"{type(failed).__name__}: {failed}"
    finally:
        try:
            cluster.close()
        except LeakError as leak:
            problem = f"{problem}\n{leak}" if problem else str(leak)
    signals.restore()
    if signals.caught is not None:
        print(f"quickstart: interrupted by {signal.Signals(signals.caught).name}", flush=True)
        return 128 + signals.caught
    if problem is not None or outcome is None:
        print(problem, file=sys.stderr)
        print("quickstart: failed", flush=True)
        return 1
    print(
        f"quickstart: ok accuracy={outcome.accuracy:.4f} attempts={outcome.attempts} "
        f"resumed_from_step={outcome.resumed_from_step} seconds={time.monotonic() - begin:.1f}",
        flush=True,
    )
    return 0


def example(name: str) -> Path:
    """An example script: the package carries them when it is installed, the repository keeps them beside the package.

    Raises:
        QuickstartError: It is in neither of them.
    """
    candidates = [PACKAGE / "examples" / name, PACKAGE.parents[1] / "examples" / name]
    for path in candidates:
        if path.is_file():
            return path
    raise QuickstartError(
        f"The example {name} was not found: it is neither {candidates[0]} nor {candidates[1]}. Install the "
        "package from a wheel, or run the quickstart in a complete clone: make quickstart"
    )


def _train(cluster: LocalCluster, console: Console) -> _Outcome:
    script = example("digits.py")
    console.print(f"starting {NODES} Ignite nodes, each a process of its own")
    cluster.start()
    for node in cluster.nodes:
        console.print(f"  {node.name}: process {node.pid}, API on {node.address}")
    _load_digits(cluster.address, console)
    with connect(",".join(cluster.addresses), credentials=ANONYMOUS) as client:
        job = client.submit(script, cache=CACHE, timeouts=Timeouts(stop_grace=1.0))
        console.print(f"submitted {script.name} as job {job.id}: one worker beside the rows of each node")
        _follow(job, cluster, console)
        end = job.wait()
    accuracy = _held_out_accuracy(end)
    console.print(f"held-out accuracy: {accuracy:.4f}")
    if accuracy < LEAST_ACCURACY:
        raise QuickstartError(
            f"job {end.id} reached an accuracy of {accuracy:.4f} on the held-out rows; at least {LEAST_ACCURACY} was "
            "expected. Run it again; when that repeats, the training does not see all rows."
        )
    last = end.attempt
    assert last is not None
    if not last.resumed_from_step:
        raise QuickstartError(
            f"job {end.id} succeeded with attempt {last.number}, which did not resume from a checkpoint in "
            f"{end.spec.checkpoint_directory}. A job resumes where it was saved. See its history: tensorflow-ignite "
            f"events {end.id}"
        )
    return _Outcome(accuracy=accuracy, attempts=end.attempts[-1].number, resumed_from_step=last.resumed_from_step)


def _load_digits(address: str, console: Console) -> None:
    try:
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split
    except ImportError as missing:
        raise QuickstartError(
            "The handwritten digits come with scikit-learn, which is not installed. "
            "Install it: pip install scikit-learn"
        ) from missing
    digits = load_digits()
    parts = train_test_split(
        digits.data.astype("float32"),
        digits.target.astype("int32"),
        test_size=HELD_OUT,
        stratify=digits.target,
        random_state=SEED,
    )
    train_pixels, test_pixels, train_labels, test_labels = parts
    target: dict[str, Any] = {"address": address, "credentials": ANONYMOUS}
    trained = load(CACHE, {"pixels": train_pixels, "label": train_labels}, backups=1, **target)
    held_out = load(f"{CACHE}_test", {"pixels": test_pixels, "label": test_labels}, backups=1, **target)
    console.print(f"loaded {trained:,} images of digits into the cache {CACHE}, with one backup; {held_out} held out")


def _follow(job: JobHandle, cluster: LocalCluster, console: Console) -> None:
    """Shows the job's steps and history until it is over, and kills a node in the middle of the training."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[metrics]}"),
    )
    newest = 0
    killed = False
    with Bar(*columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("waiting", total=None, metrics="")
        for status in job.watch():
            progress = _progress(status)
            metrics = ""
            if progress is not None:
                metrics = " ".join(f"{name}={value:.3f}" for name, value in sorted(progress.metrics.items()))
                bar.update(task, completed=progress.step, total=progress.total_steps)
            bar.update(task, description=status.state, metrics=metrics)
            for event in status.events:
                if event.number > newest:
                    newest = event.number
                    console.print(f"  {event.at:%H:%M:%S} {event.text}")
            if not killed and _is_in_the_middle(progress):
                killed = True
                victim = cluster.nodes[-1]
                console.print(f"kill -9 {victim.pid}: {victim.name} is gone, in the middle of the training")
                cluster.kill_node(victim)


def _is_in_the_middle(progress: Progress | None) -> bool:
    """A checkpoint has been saved, and there is much left to do."""
    return (
        progress is not None
        and (progress.checkpoint_step or 0) > 0
        and progress.step < KILL_BEFORE * (progress.total_steps or 0)
    )


def _progress(job: Job) -> Progress | None:
    """The last progress of the first worker."""
    first = next((task for task in newest_tasks(job) if task.role == "worker" and task.index == 0), None)
    return first.status.progress if first is not None else None


def _held_out_accuracy(job: Job) -> float:
    progress = _progress(job)
    if progress is None or METRIC not in progress.metrics:
        reported = "nothing" if progress is None else ", ".join(sorted(progress.metrics)) or "no metric"
        raise QuickstartError(
            f"job {job.id} succeeded, but its worker 0 did not report the metric {METRIC}; it reported: {reported}. "
            f"The script reports it at its end: tfi.train.report(..., {METRIC}=...)"
        )
    return progress.metrics[METRIC]
