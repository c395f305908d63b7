"""A job's run in MLflow or Weights & Biases; each attempt goes on with it, and the first worker alone writes."""

from __future__ import annotations

import contextlib
import json
import logging
import platform
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat, get_args

from tensorflow_ignite import task
from tensorflow_ignite.errors import InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.train.tracking import mlflow_run, wandb_run
from tensorflow_ignite.train.tracking.ending import Ending
from tensorflow_ignite.train.tracking.keras_callback import TrackerCallback
from tensorflow_ignite.train.tracking.run import Outcome, RunSource, TrackedRun
from tensorflow_ignite.train.tracking.writer import FigureWriter

if TYPE_CHECKING:
    from tensorflow_ignite.jobs.handle import JobHandle
    from tensorflow_ignite.spec import Job

Library = Literal["mlflow", "wandb"]

# Seconds for an answer of the node about the job.
_ASK_SECONDS = 2.0
# How long the end of a process waits for figures that are not recorded yet.
_FLUSH_SECONDS: Mapping[Outcome, float] = {"finished": 30.0, "failed": 30.0, "stopped": 2.0, "restarting": 2.0}
_LIBRARIES = ("tensorflow", "keras", "tf_keras", "jax", "numpy")

_log = logging.getLogger(__name__)
_trackers: dict[str, Tracker] = {}


class Tracker:
    """The run of this job, or of this process outside any job; returned by `tracker`.

    In tasks that do not write, all methods do nothing.
    """

    def __init__(self, run: TrackedRun | None, ask: Callable[[], Outcome] = lambda: "restarting") -> None:
        """Use `tracker`."""
        self._run = run
        self._writer = None if run is None else FigureWriter(run)
        self._ending = None if run is None else Ending(self._end, ask)
        # The last step of each metric, of this process and of earlier ones.
        self._lasts: dict[str, int | None] = {}
        self._own: set[str] = set()
        self._has_warned = False

    @property
    def run(self) -> Any:
        """The run of the library: ``mlflow.ActiveRun`` or ``wandb.Run``; None in tasks that do not write."""
        return None if self._run is None else self._run.native

    def log(self, step: int, **values: SupportsFloat) -> None:
        """Records values at a step; returns at once.

        A metric has one value for each step. If a restart repeats steps, their first values stay.

        Args:
            step: Number of finished steps.
            **values: Values by name, such as ``loss=0.3``; numbers or scalar tensors.

        Raises:
            TypeError: A value is not a number.
        """
        numbers = {}
        for name, value in values.items():
            try:
                numbers[name] = float(value)
            except (TypeError, ValueError) as error:
                raise TypeError(f"metric {name}={value!r} is not a number") from error
        self._record(int(step), numbers)

    def callback(self, *, every_steps: int | None = None, prefix: str = "") -> Any:
        """A callback for ``fit`` of Keras 3 and tf_keras, which records the metrics of each epoch.

        Args:
            every_steps: Also record the metrics of every n-th step, as ``step_loss`` and so on.
            prefix: Precedes the names, for a second ``fit`` of the script: ``"fine/"``.

        Raises:
            InvalidRequestError: ``every_steps`` is less than 1.
        """
        if every_steps is not None and every_steps < 1:
            raise InvalidRequestError(
                f"every_steps={every_steps} records no step. It is at least 1. Give another number, or leave it out"
            )
        return TrackerCallback(self._record, every_steps, prefix)

    def close(self) -> None:
        """Ends the run now; otherwise it ends with the process."""
        if self._ending is not None:
            self._ending.close()

    def note_model(self, name: str, version: str) -> None:
        """Records a model that this process has made.

        Args:
            name: Name of the model.
            version: Its number; or why it has none yet.
        """
        try:
            if self._run is not None:
                self._run.note_model(name, version)
        except Exception as error:  # a tracker must not end a training
            _log.warning("tensorflow_ignite: the tracker has not recorded the model %s: %s", name, error)

    def _record(self, step: int, values: Mapping[str, float]) -> None:
        if self._run is None or self._writer is None:
            return
        fresh = {}
        for name, value in values.items():
            if name not in self._lasts:
                self._lasts[name] = self._last_step(self._run, name)
            last = self._lasts[name]
            if last is not None and step <= last:
                if name in self._own and not self._has_warned:
                    self._has_warned = True
                    _log.warning(
                        "tensorflow_ignite: the tracker skips %s of step %d, since step %d is recorded. The steps of a "
                        "metric ascend. Record another training under other names: callback(prefix=...)",
                        *(name, step, last),
                    )
                continue
            fresh[name] = value
            self._lasts[name] = step
            self._own.add(name)
        if fresh:
            self._writer.add(step, fresh)

    def _last_step(self, run: TrackedRun, name: str) -> int | None:
        try:
            return run.last_step(name)
        except Exception as error:  # a tracker must not end a training
            _log.warning("tensorflow_ignite: steps of %s may be recorded twice: %s", name, error)
            return None

    def _end(self, outcome: Outcome) -> None:
        for library, each in tuple(_trackers.items()):
            if each is self:
                del _trackers[library]
        assert self._run is not None
        assert self._writer is not None
        self._writer.close(_FLUSH_SECONDS[outcome])
        try:
            self._run.end(outcome)
        except Exception as error:  # the exit code of the script says how it has ended
            _log.warning("tensorflow_ignite: the tracker has not recorded the end of the run: %s", error)


def tracker(library: Library, *, experiment: str | None = None, **options: Any) -> Tracker:
    """Begins the run of this job in MLflow or Weights & Biases; a later attempt goes on with it.

        tracker = tfi.train.tracker("mlflow", experiment="digits")
        model.fit(rows, callbacks=[tfi.train.CheckpointCallback(), tracker.callback()])

    Call it on every worker, before `tensorflow_ignite.train.checkpoint`: the first worker, or the client process,
    writes; other tasks need not have the library. The run has the options of the job, its arguments and versions as
    parameters, a tag for each attempt, and the models of `tensorflow_ignite.train.export`. It ends as this process
    ends: finished, failed, or stopped by a user. Outside a job it is a run of this process.

    The server and the credentials are those of the library: ``MLFLOW_TRACKING_URI``, ``WANDB_API_KEY``, and so on. A
    second call returns the same tracker.

    Args:
        library: ``"mlflow"`` (the package mlflow-skinny suffices) or ``"wandb"``.
        experiment: The experiment of MLflow, or the project of W&B; None: the default of the library.
        **options: Further arguments of ``mlflow.start_run`` or ``wandb.init``.

    Raises:
        InvalidRequestError: The library is unknown, or it would write into a directory that the job removes.
        TensorFlowIgniteError: The library is not installed.
    """
    _check(library)
    here = task.current()
    if library in _trackers:
        return _trackers[library]
    if not here.is_chief:
        return Tracker(None)
    source = RunSource(
        here.job_id,
        here.job_name,
        here.attempt,
        f"{here.num_workers} workers, from {here.node_address}",
        _parameters(here),
    )
    begin = mlflow_run.MlflowRun if library == "mlflow" else wandb_run.WandbRun
    _trackers[library] = Tracker(begin(source, experiment, options), lambda: _outcome(here))
    return _trackers[library]


def end_run(library: Library, job: JobHandle, **options: Any) -> None:
    """Brings the run of a job to the end of the job, from outside: its state, and the numbers of its models.

    A run ends with the process of the first worker. If this process was killed, or lost with its node, and the job had
    no further attempt, nobody has ended the run; nor in W&B if the job was stopped. Numbers of models are known when
    the job has succeeded.

    Args:
        library: As for `tracker`.
        job: The job.
        **options: Further arguments of ``wandb.init``, such as ``project``.

    Raises:
        InvalidRequestError: The job is not over, or has no run.
        TensorFlowIgniteError: The library is not installed.
    """
    _check(library)
    status = job.refresh()
    if not status.is_over:
        raise InvalidRequestError(
            f"the run of job {job.id} does not end: the job is {status.state}. A run ends with its job. Wait for the "
            "job: job.wait(raise_on_failure=False)"
        )
    end = mlflow_run.end_from_outside if library == "mlflow" else wandb_run.end_from_outside
    if not end(job.id, _OUTCOMES[status.state], dict(_models(job)), options):
        raise InvalidRequestError(
            f"job {job.id} has no run in {library}. Its script begins the run by tracker({library!r}), on the same "
            "server. Set the server of the script here, too"
        )


def note_model(name: str, version: str) -> None:
    """Records a model in all runs of this process, if there are any."""
    for each in tuple(_trackers.values()):
        each.note_model(name, version)


_OUTCOMES: Mapping[str, Outcome] = {"succeeded": "finished", "failed": "failed", "stopped": "stopped"}


def _check(library: str) -> None:
    if library not in get_args(Library):
        raise InvalidRequestError(
            f"tracker {library!r} is unknown. There are: {', '.join(get_args(Library))}. Name one of these"
        )


def _parameters(here: task.Task) -> dict[str, str]:
    """The options of the job that say something, its arguments, and versions."""
    found = {"version.python": platform.python_version()}
    with contextlib.suppress(metadata.PackageNotFoundError):
        found["version.tensorflow_ignite"] = metadata.version("tensorflow-ignite")
    for name in _LIBRARIES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if version:
            found[f"version.{name}"] = str(version)
    if here.in_job:
        found["cache"] = here.cache
        try:
            spec = _job(here).spec.to_dict()
        except TensorFlowIgniteError as error:
            _log.warning("tensorflow_ignite: the tracker does not record the options of the job: %s", error)
        else:
            # Variables may have passwords.
            spec["environment"].pop("variables")
            spec["args"] = shlex.join(spec["args"])
            found |= _flat(spec, "")
    return found


def _flat(options: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif value not in (None, "", []):
            yield prefix + name, value if isinstance(value, str) else json.dumps(value)


def _job(here: task.Task) -> Job:
    from tensorflow_ignite.jobs.client import connect

    with connect(timeout=_ASK_SECONDS) as client:
        return client.job(here.job_id).status


def _outcome(here: task.Task) -> Outcome:
    """The outcome of the job, which has stopped this task."""
    job = _job(here)
    if job.stop_requested:
        return "stopped"
    return "restarting" if job.outcome is None else _OUTCOMES[job.outcome]


def _models(job: JobHandle) -> Iterator[tuple[str, str]]:
    """The models that a job has made, with the number of the version."""
    from tensorflow_ignite.models.registry import Models

    models = Models(job.files())
    for name in models.names():
        for version in models.versions(name):
            if version.job == job.id:
                yield name, str(version.number)
