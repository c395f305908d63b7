"""Jobs with real MLflow and Weights & Biases: one run over all attempts, and its end is the end of the job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from environments import SECONDS, python_with
from jobs import LIMIT, SCRIPTS, await_files, await_job, environment

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

# Of the six steps of the first attempt; W&B keeps a step back until the next one.
RECORDED = {"mlflow": 6, "wandb": 5}

# Prints what a tracker has of a job; MLflow's runs of all jobs are in one database, and W&B's in one folder.
READ_MLFLOW = """
import json, sys, mlflow
client = mlflow.MlflowClient()
runs = mlflow.search_runs(search_all_experiments=True, output_format="list",
    filter_string=f"tags.`tensorflow_ignite.job` = '{sys.argv[1]}'")
print(json.dumps([{
    "state": run.info.status, "tags": run.data.tags, "parameters": run.data.params,
    "points": {name: sorted([each.step, each.value] for each in client.get_metric_history(run.info.run_id, name))
               for name in run.data.metrics},
} for run in runs]))
"""
READ_WANDB = """
import glob, json, sys
from wandb.proto.wandb_internal_pb2 import Record
from tensorflow_ignite.train.tracking.wandb_run import _records
run = {"points": {}, "tags": {}, "parameters": {}, "state": None}
for path in sorted(glob.glob(f"{sys.argv[2]}/wandb/offline-run-*-{sys.argv[1]}/*.wandb")):
    run["state"] = None
    for record in map(Record.FromString, _records(open(path, "rb").read())):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            run["tags"] = dict.fromkeys(record.run.tags, "")
        if kind in ("run", "config"):
            items = record.run.config.update if kind == "run" else record.config.update
            run["parameters"].update({item.key or item.nested_key[0]: json.loads(item.value_json) for item in items})
        if kind == "exit":
            run["state"] = record.exit.exit_code
        values = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
        if "loss" in values:
            run["points"].setdefault("loss", []).append([values["_step"], values["loss"]])
print(json.dumps([run]))
"""


@pytest.fixture(scope="session")
def tracker_python() -> Path:
    """With trackers."""
    return python_with("tracker")


class Trackers:
    """Submits jobs with a tracker, and reads what it has of them."""

    def __init__(self, python: Path, folder: Path) -> None:
        """Everything is below a folder."""
        self._python, self._folder = str(python), folder
        self.variables = {
            "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
            "WANDB_DIR": str(folder),
            "WANDB_MODE": "offline",
            # Nothing asks another host.
            "WANDB_ERROR_REPORTING": "false",
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }
        # Tasks of several jobs must not create the tables at once.
        self._run("-c", "import mlflow; mlflow.set_experiment('steps'); mlflow.set_experiment('fits')")

    def environment(self, **variables: str) -> tfi.Environment:
        """Of a job."""
        return tfi.Environment(python=self._python, variables={**self.variables, **variables})

    def runs(self, library: str, job: str) -> list[dict[str, Any]]:
        """The runs of a job."""
        read = READ_MLFLOW if library == "mlflow" else READ_WANDB
        runs: list[dict[str, Any]] = json.loads(self._run("-c", read, job, str(self._folder)))
        return runs

    def end_run(self, library: str, job: str, address: str) -> None:
        """Calls `tfi.train.end_run`."""
        code = "import sys, tensorflow_ignite as tfi; tfi.train.end_run(sys.argv[1], tfi.connect().job(sys.argv[2]))"
        self._run("-c", code, library, job, address=address)

    def _run(self, *arguments: str, address: str | None = None) -> str:
        env = {**environment(address), **self.variables}
        done = subprocess.run(
            [self._python, *arguments], env=env, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def wait_for(self, library: str, job: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The run of a job, when something is true of it."""
        deadline = time.monotonic() + LIMIT
        while True:
            runs = self.runs(library, job)
            if runs and holds(runs[0]):
                return runs[0]
            assert time.monotonic() < deadline, runs
            # No event reports that a tracker has stored something.
            time.sleep(0.5)


@pytest.fixture(scope="session")
def trackers(tracker_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Trackers:
    return Trackers(tracker_python, tmp_path_factory.mktemp("trackers"))


def begin(
    trackers: Trackers, client: tfi.Client, cache: str, library: str, folder: Path, **options: Any
) -> tfi.JobHandle:
    """A job whose first worker was killed once, and which is at its last step."""
    job = client.submit(
        SCRIPTS / "tracked.py",
        cache=cache,
        strategy="custom",
        args=[library, str(folder)],
        environment=trackers.environment(),
        **options,
    )
    (process,) = await_files(job, folder / "process-1")
    trackers.wait_for(library, job.id, lambda run: len(run["points"].get("loss", [])) == RECORDED[library])
    os.kill(int(process), signal.SIGKILL)
    await_files(job, folder / "process-2")
    return job


@pytest.mark.parametrize(("library", "finished"), [("mlflow", "FINISHED"), ("wandb", 0)])
def test_a_job_whose_process_was_killed_has_one_run_and_each_step_once(
    trackers: Trackers, client: tfi.Client, numbered: str, tmp_path: Path, library: str, finished: str | int
) -> None:
    job = begin(trackers, client, numbered, library, tmp_path)
    (tmp_path / "go").touch()
    status = job.wait(LIMIT)
    assert len(status.attempts) == 2
    (run,) = trackers.runs(library, job.id)
    # The second attempt has done steps 5 and 6 again.
    last = RECORDED[library]
    expected = [[step, (100 if step <= last else 200) + step] for step in range(1, 11)]
    assert run["points"]["loss"] == expected
    assert run["state"] == finished
    parameters = run["parameters"]
    assert parameters["cache"] == numbered
    assert parameters["args"] == f"{library} {tmp_path}"
    assert parameters["strategy.kind"] == "custom"
    assert parameters["version.python"].startswith("3.")
    assert "MLFLOW_TRACKING_URI" not in str(parameters)
    tags = {name.rpartition(".")[2] if library == "mlflow" else name.rpartition(" ")[2] for name in run["tags"]}
    assert {"1", "2"} <= tags


@pytest.mark.parametrize(("library", "failed", "stopped"), [("mlflow", "FAILED", "KILLED"), ("wandb", 1, 130)])
def test_a_run_ends_as_its_job(
    trackers: Trackers,
    cluster: LocalCluster,
    client: tfi.Client,
    numbered: str,
    tmp_path: Path,
    library: str,
    failed: str | int,
    stopped: str | int,
) -> None:
    folders = [tmp_path / name for name in ("failed", "stopped")]
    for folder in folders:
        folder.mkdir()
    one, other = (
        begin(trackers, client, numbered, library, folder, restart=tfi.Restart(max_crashes=1)) for folder in folders
    )
    (folders[0] / "go").write_text("fail")
    assert one.wait(LIMIT, raise_on_failure=False).state == "failed"
    assert other.stop(timeout=LIMIT).state == "stopped"
    assert trackers.runs(library, one.id)[0]["state"] == failed
    if library == "wandb":
        trackers.end_run(library, other.id, cluster.address)
    assert trackers.runs(library, other.id)[0]["state"] == stopped


def test_fit_records_its_epochs_and_the_version_of_its_model(
    trackers: Trackers, cluster: LocalCluster, client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    job = client.submit(
        SCRIPTS / "tracked_fit.py",
        cache=numbered,
        strategy="one",
        args=[str(tmp_path)],
        environment=trackers.environment(),
    )
    (process,) = await_files(job, tmp_path / "process-1")
    os.kill(int(process), signal.SIGKILL)
    await_job(job, lambda status: len(status.attempts) == 2)
    job.wait(LIMIT)
    trackers.end_run("mlflow", job.id, cluster.address)
    (run,) = trackers.runs("mlflow", job.id)
    assert [step for step, _ in run["points"]["loss"]] == [5, 10, 15, 20]
    assert [value for _, value in run["points"]["epoch"]] == [1, 2, 3, 4]
    assert [step for step, _ in run["points"]["step_loss"]] == list(range(1, 21))
    assert run["state"] == "FINISHED"
    assert run["tags"]["tensorflow_ignite.attempts"] == "2"
    (version,) = (each for each in client.models.versions("tracked") if each.job == job.id)
    assert run["tags"]["tensorflow_ignite.model.tracked"] == str(version.number)
