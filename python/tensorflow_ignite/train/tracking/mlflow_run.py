"""The run of a job in MLflow, which is found by the tag of the job's id."""

from __future__ import annotations

import atexit
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.train.tracking.run import PREFIX, Outcome, RunSource, importing

JOB_TAG = f"{PREFIX}job"
# Between two attempts a run waits for its next process.
_STATUSES: Mapping[Outcome, str] = {
    "finished": "FINISHED",
    "failed": "FAILED",
    "stopped": "KILLED",
    "restarting": "SCHEDULED",
}
# The most metrics of a request.
_BATCH = 1000


class MlflowRun:
    """An active run of this process: calls of ``mlflow`` in the script belong to it, too."""

    def __init__(self, source: RunSource, experiment: str | None, options: Mapping[str, Any]) -> None:
        """Begins the run, or resumes the run of an earlier attempt."""
        with importing("mlflow", "mlflow-skinny"):
            import mlflow
        if source.job and (not mlflow.is_tracking_uri_set() or _is_in_work_directory(mlflow.get_tracking_uri())):
            raise InvalidRequestError(
                f'tracker("mlflow") cannot begin in job {source.job}: MLflow has no server, and would write into the '
                "work directory of the task, which is removed. All attempts of a job need the same server, or a "
                "database or directory that each node reaches, by its absolute path. Submit the job with "
                "--env MLFLOW_TRACKING_URI=..."
            )
        if experiment is not None:
            mlflow.set_experiment(experiment)
        self._mlflow = mlflow
        self._client = mlflow.MlflowClient()
        found = find(mlflow, source.job) if source.job else None
        tags = {**(options.get("tags") or {}), **({JOB_TAG: source.job} if source.job else {})}
        if source.attempt:
            tags |= {f"{PREFIX}attempts": str(source.attempt), f"{PREFIX}attempt.{source.attempt}": source.note}
        if found is not None:
            self.native = mlflow.start_run(**{**options, "run_id": found, "tags": tags})
        else:
            self.native = mlflow.start_run(**{"run_name": source.name or None, **options, "tags": tags})
        self._id: str = self.native.info.run_id
        self._is_resumed = found is not None
        known = self.native.data.params
        mlflow.log_params({name: value for name, value in source.parameters.items() if name not in known})

    def last_step(self, name: str) -> int | None:
        """See `TrackedRun`."""
        if not self._is_resumed:
            return None
        return max((each.step for each in self._client.get_metric_history(self._id, _metric(name))), default=None)

    def write(self, figures: Sequence[tuple[int, float, Mapping[str, float]]]) -> None:
        """See `TrackedRun`."""
        entity = self._mlflow.entities.Metric
        metrics = [
            entity(_metric(name), value, int(seconds * 1000), step)
            for step, seconds, values in figures
            for name, value in values.items()
        ]
        for first in range(0, len(metrics), _BATCH):
            self._client.log_batch(self._id, metrics=metrics[first : first + _BATCH])

    def note_model(self, name: str, version: str) -> None:
        """See `TrackedRun`."""
        self._client.set_tag(self._id, f"{PREFIX}model.{name}", version)

    def end(self, outcome: Outcome) -> None:
        """See `TrackedRun`."""
        active = self._mlflow.active_run()
        # It is active in the thread that has begun it.
        if active is not None and active.info.run_id == self._id:
            self._mlflow.end_run(_STATUSES[outcome])
        else:
            self._client.set_terminated(self._id, _STATUSES[outcome])
            # The script may handle SIGTERM by `sys.exit`; MLflow then ends the run of the main thread as finished.
            atexit.register(self._mlflow.end_run, _STATUSES[outcome])


def _metric(name: str) -> str:
    """The name of a metric, in letters that MLflow allows; it refuses a request with any other name."""
    return re.sub(r"[^\w. /-]", "_", name)


def _is_in_work_directory(uri: str) -> bool:
    """Whether the address of a store is a file or a folder in the work directory of this process."""
    path = re.sub("^(sqlite:///|file:(//)?)", "", uri).partition("?")[0]
    is_local = not re.match("databricks|[a-z][a-z0-9+.-]+:", path)
    return is_local and Path(path).resolve().is_relative_to(Path.cwd())


def find(mlflow: Any, job: str) -> str | None:
    """The id of the run of a job; None: it has none."""
    runs = mlflow.search_runs(
        search_all_experiments=True, filter_string=f"tags.`{JOB_TAG}` = '{job}'", output_format="list"
    )
    return runs[0].info.run_id if runs else None


def end_from_outside(job: str, outcome: Outcome, models: Mapping[str, str], options: Mapping[str, Any]) -> bool:
    """Ends the run of a job that is over; False: the job has none."""
    with importing("mlflow", "mlflow-skinny"):
        import mlflow
    run = find(mlflow, job)
    if run is None:
        return False
    client = mlflow.MlflowClient()
    for name, version in models.items():
        client.set_tag(run, f"{PREFIX}model.{name}", version)
    client.set_terminated(run, _STATUSES[outcome])
    return True
