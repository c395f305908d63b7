"""What people see of a job that trains: speed, memory, and a profile on request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pytest
from jobs import SCRIPTS, await_job, cli

import tensorflow_ignite as tfi
from tensorflow_ignite.errors import InvalidRequestError, JobFinishedError
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

CACHE = "points_of_speed"


@pytest.fixture(scope="module")
def points(cluster: LocalCluster) -> str:
    """A cache with points of a line."""
    x = np.random.default_rng(0).random(2_000, np.float32)
    tfi.load(CACHE, {"x": x, "y": 2 * x + 1}, partitions=24, address=cluster.address)
    return CACHE


def is_measured(job: Job) -> bool:
    """Whether the worker has reported its speed, and its node its memory."""
    status = job.attempt.tasks[0].status if job.attempt and job.attempt.tasks else None
    return bool(status and status.memory_bytes and status.progress and status.progress.throughput)


@pytest.fixture(scope="module")
def training(cluster: LocalCluster, points: str) -> Iterator[JobHandle]:
    """A job that trains until a test stops it, and whose speed is known."""
    with tfi.connect(cluster.address) as client:
        handle = client.submit(SCRIPTS / "train_until_stopped.py", cache=points, strategy="one")
        await_job(handle, is_measured)
        yield handle
        if not handle.refresh().is_over:
            handle.stop()


def test_a_running_job_shows_its_speed_and_memory_and_draws_the_speed_as_curves(
    cluster: LocalCluster, training: JobHandle, tmp_path: Path
) -> None:
    status = training.status.attempt.tasks[0].status
    assert 0 <= status.progress.throughput.input_wait <= 1
    assert status.progress.seconds_left > 0
    shown = cli("describe", training.id, address=cluster.address).stdout
    assert re.search(r"TASK +STEP +LOSS +STEPS/S +ROWS/S +INPUT WAIT +MEMORY ", shown)
    expected = {"loss", "throughput/steps_per_second", "throughput/examples_per_second"}
    # Points are written every 2 s.
    await_job(training, lambda job: expected <= curves_of(training, cluster.address, tmp_path))


def curves_of(job: JobHandle, address: str, folder: Path) -> set[str]:
    """The names of the curves of a job, as TensorBoard reads them."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    files = fsspec.filesystem("ignite", address=address)
    files.get(f"/jobs/{job.id}/tensorboard/report", str(folder / "report"), recursive=True)
    accumulator = EventAccumulator(str(folder / "report"))
    accumulator.Reload()
    return set(accumulator.Tags()["tensors"]) | set(accumulator.Tags()["scalars"])


def test_a_profile_shows_the_wait_for_input_and_the_operations_of_a_running_task(
    cluster: LocalCluster, training: JobHandle, tmp_path: Path
) -> None:
    before = training.refresh().progress.step
    ran = cli(
        *("profile", training.id, "--seconds", "1", "--task", "worker:0", "--output", str(tmp_path), "--json"),
        address=cluster.address,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["task"] == "worker-0"
    assert found["seconds"] > 0
    assert 0 <= found["input_wait"] <= 1
    names = {each["name"] for each in found["operations"]}
    assert any("MatMul" in name for name in names), names
    traces = [path.relative_to(tmp_path) for path in tmp_path.rglob("*.xplane.pb")]
    assert len(traces) == 1
    # Where TensorBoard's profiler expects it, here and in the cluster.
    assert traces[0].parts[:2] == ("plugins", "profile")
    files = fsspec.filesystem("ignite", address=cluster.address)
    stored = f"/jobs/{training.id}/tensorboard/{traces[0]}"
    assert files.cat_file(stored) == (tmp_path / traces[0]).read_bytes()
    text = cli("profile", training.id, "--seconds", "0.5", address=cluster.address).stdout
    assert "waiting for input: " in text
    assert "OPERATION" in text
    # The training has gone on.
    await_job(training, lambda job: job.progress is not None and job.progress.step > before)


def test_only_a_task_that_runs_has_a_profile_of_a_possible_length(cluster: LocalCluster, training: JobHandle) -> None:
    with pytest.raises(InvalidRequestError, match=r"worker:7 does not run.* Name one of these: worker:0"):
        training.profile("worker:7")
    with pytest.raises(
        InvalidRequestError, match=r"seconds=61 is no length of a profile. A profile has 0.1 to 60 seconds"
    ):
        training.profile(seconds=61)
    training.stop()
    with pytest.raises(JobFinishedError, match="Only an unfinished job can have a profile"):
        training.profile()
    ran = cli("profile", training.id, address=cluster.address)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error: Job ")
