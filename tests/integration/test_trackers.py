"""Jobs with real MLflow and Weights & Biases: one run over all attempts, and its end is the end of the job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
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

# Prints what a tracker has of each job on its standard input, as imports take seconds. MLflow's runs of all jobs are in
# one database, and W&B's in one folder.
READER = """
import glob, json, os, sys, mlflow
from wandb.proto.wandb_internal_pb2 import Record
from tensorflow_ignite.train.tracking.wandb_run import _records

def of_mlflow(job):
    runs = mlflow.search_runs(search_all_experiments=True, output_format="list",
        filter_string=f"tags.`tensorflow_ignite.job` = '{job}'")
    return [{
        "state": run.info.status, "tags": run.data.tags, "parameters": run.data.params,
        "points": {name: sorted([each.step, each.value] for each in client.get_metric_history(run.info.run_id, name))
                   for name in run.data.metrics},
    } for run in runs]

def values_of(items):
    return {item.key or item.nested_key[0]: json.loads(item.value_json) for item in items}

def of_wandb(job):
    run = {"points": {}, "tags": {}, "parameters": {}, "state": None}
    for path in sorted(glob.glob(f"{os.environ['WANDB_DIR']}/wandb/offline-run-*-{job}/*.wandb")):
        run["state"] = None
        for record in map(Record.FromString, _records(open(path, "rb").read())):
            kind = record.WhichOneof("record_type")
            if kind == "run":
                run["tags"] = dict.fromkeys(record.run.tags, "")
            if kind in ("run", "config"):
                items = record.run.config.update if kind == "run" else record.config.update
                run["parameters"].update(values_of(items))
            if kind == "exit":
                run["state"] = record.exit.exit_code
            values = values_of(record.history.item)
            if "loss" in values:
                run["points"].setdefault("loss", []).append([values["_step"], values["loss"]])
    return [run]

client = mlflow.MlflowClient()
# Tasks of several jobs must not create the tables at once.
for experiment in ("steps", "fits"):
    mlflow.set_experiment(experiment)
for line in sys.stdin:
    library, job = line.split()
    print(json.dumps(of_mlflow(job) if library == "mlflow" else of_wandb(job)), flush=True)
"""


@pytest.fixture(scope="session")
def tracker_python() -> Path:
    return python_with("tracker")


class Trackers:
    """Submits jobs with a tracker, and reads what it has of them."""

    def __init__(self, python: Path, folder: Path) -> None:
        self._python = str(python)
        self.variables = {
            "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
            "WANDB_DIR": str(folder),
            "WANDB_MODE": "offline",
            # Nothing asks another host.
            "WANDB_ERROR_REPORTING": "false",
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }
        self._reader = subprocess.Popen(
            [python, "-c", READER],
            env={**environment(None), **self.variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.runs("mlflow", "none") == []

    def close(self) -> None:
        self._reader.communicate()

    def environment(self, **variables: str) -> tfi.Environment:
        return tfi.Environment(python=self._python, variables={**self.variables, **variables})

    def runs(self, library: str, job: str) -> list[dict[str, Any]]:
        assert self._reader.stdin is not None
        assert self._reader.stdout is not None
        self._reader.stdin.write(f"{library} {job}\n")
        self._reader.stdin.flush()
        runs: list[dict[str, Any]] = json.loads(self._reader.stdout.readline())
        return runs

    def end_run(self, library: str, job: str, address: str) -> None:
        code = "import sys, tensorflow_ignite as tfi; tfi.train.end_run(sys.argv[1], tfi.connect().job(sys.argv[2]))"
        env = {**environment(address), **self.variables}
        subprocess.run([self._python, "-c", code, library, job], env=env, check=True, timeout=SECONDS)

    def wait_for(self, library: str, job: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The run of a job, when something is true of it."""
        deadline = time.monotonic() + LIMIT
        while True:
            runs = self.runs(library, job)
            if runs and holds(runs[0]):
                return runs[0]
            assert time.monotonic() < deadline, runs
            # No event reports that a tracker has stored something.
            time.sleep(0.1)


@pytest.fixture(scope="session")
def trackers(tracker_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trackers]:
    made = Trackers(tracker_python, tmp_path_factory.mktemp("trackers"))
    yield made
    made.close()


def begin(
    trackers: Trackers, client: tfi.Client, cache: str, library: str, *folders: Path, **options: Any
) -> list[tfi.JobHandle]:
    """Jobs whose first workers were killed once, and which are at their last step."""
    jobs = [
        client.submit(
            SCRIPTS / "tracked.py",
            cache=cache,
            strategy="custom",
            args=[library, str(folder)],
            environment=trackers.environment(),
            **options,
        )
        for folder in folders
    ]
    for job, folder in zip(jobs, folders, strict=True):
        (process,) = await_files(job, folder / "process-1")
        trackers.wait_for(library, job.id, lambda run: len(run["points"].get("loss", [])) == RECORDED[library])
        os.kill(int(process), signal.SIGKILL)
    for job, folder in zip(jobs, folders, strict=True):
        await_files(job, folder / "process-2")
    return jobs


@pytest.mark.parametrize(("library", "finished"), [("mlflow", "FINISHED"), ("wandb", 0)])
def test_a_job_whose_process_was_killed_has_one_run_and_each_step_once(
    trackers: Trackers, client: tfi.Client, numbered: str, tmp_path: Path, library: str, finished: str | int
) -> None:
    (job,) = begin(trackers, client, numbered, library, tmp_path)
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
    one, other = begin(trackers, client, numbered, library, *folders, restart=tfi.Restart(max_crashes=1))
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
