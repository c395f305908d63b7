"""What people and monitors see of a job that trains: speed, memory, metrics, and a profile on request."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pytest
from jobs import SCRIPTS, await_job, cli
from node_metrics import HTTP_PORT, PREFIX, metrics
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.errors import InvalidRequestError, JobFinishedError
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

CACHE, ROWS = "points_of_speed", 2_000


@pytest.fixture(scope="module")
def nodes(tolerant: Path) -> Iterator[LocalCluster]:
    """Two nodes with an HTTP port."""
    with LocalCluster(2, config=tolerant, environment=HTTP_PORT) as cluster:
        x = np.random.default_rng(0).random(ROWS, np.float32)
        tfi.load(CACHE, {"x": x, "y": 2 * x + 1}, partitions=24, address=cluster.address)
        yield cluster


def is_measured(job: Job) -> bool:
    """Whether the worker has reported its speed, and its node its memory."""
    status = job.attempt.tasks[0].status if job.attempt and job.attempt.tasks else None
    return bool(status and status.memory_bytes and status.progress and status.progress.throughput)


@pytest.fixture(scope="module")
def client(nodes: LocalCluster) -> Iterator[tfi.Client]:
    with tfi.connect(nodes.address) as connected:
        yield connected


@pytest.fixture(scope="module")
def training(client: tfi.Client) -> Iterator[JobHandle]:
    """A job that trains until a test stops it, and whose speed is known."""
    handle = client.submit(SCRIPTS / "train_until_stopped.py", cache=CACHE, strategy="one", name='a "job"')
    await_job(handle, is_measured)
    yield handle
    if not handle.refresh().is_over:
        handle.stop()


class Scrape:
    """One answer of each node."""

    def __init__(self, client: tfi.Client) -> None:
        self.nodes: list[dict[str, float]] = []
        for node in client.nodes():
            found = metrics(node.http_address)
            self.nodes.append({name.removeprefix(PREFIX): value for name, value in found.items()})

    def values(self, name: str) -> list[float]:
        """The value of each node that has one."""
        return [values[name] for values in self.nodes if name in values]


def test_a_running_job_shows_its_speed_and_memory_and_draws_the_speed_as_curves(
    nodes: LocalCluster, training: JobHandle, tmp_path: Path
) -> None:
    status = training.status.attempt.tasks[0].status
    assert 0 <= status.progress.throughput.input_wait <= 1
    assert status.progress.seconds_left > 0
    shown = cli("describe", training.id, address=nodes.address).stdout
    assert re.search(r"TASK +STEP +LOSS +STEPS/S +ROWS/S +INPUT WAIT +MEMORY ", shown)
    expected = {"loss", "throughput/steps_per_second", "throughput/examples_per_second"}
    # Points are written every 2 s.
    await_job(training, lambda job: expected <= curves_of(training, nodes.address, tmp_path))


def curves_of(job: JobHandle, address: str, folder: Path) -> set[str]:
    """The names of the curves of a job, as TensorBoard reads them."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    files = fsspec.filesystem("ignite", address=address)
    files.get(f"/jobs/{job.id}/tensorboard/report", str(folder / "report"), recursive=True)
    accumulator = EventAccumulator(str(folder / "report"))
    accumulator.Reload()
    return set(accumulator.Tags()["tensors"]) | set(accumulator.Tags()["scalars"])


def test_a_profile_shows_the_wait_for_input_and_the_operations_of_a_running_task(
    nodes: LocalCluster, training: JobHandle, tmp_path: Path
) -> None:
    before = training.refresh().progress.step
    ran = cli(
        *("profile", training.id, "--seconds", "1", "--task", "worker:0", "--output", str(tmp_path), "--json"),
        address=nodes.address,
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
    files = fsspec.filesystem("ignite", address=nodes.address)
    stored = f"/jobs/{training.id}/tensorboard/{traces[0]}"
    assert files.cat_file(stored) == (tmp_path / traces[0]).read_bytes()
    text = cli("profile", training.id, "--seconds", "0.5", address=nodes.address).stdout
    assert "waiting for input: " in text
    assert "OPERATION" in text
    # The training has gone on.
    await_job(training, lambda job: job.progress is not None and job.progress.step > before)


def test_only_a_task_that_runs_has_a_profile_of_a_possible_length(training: JobHandle) -> None:
    with pytest.raises(InvalidRequestError, match=r"worker:7 does not run.* Name one of these: worker:0"):
        training.profile("worker:7")
    with pytest.raises(
        InvalidRequestError, match=r"seconds=61 is no length of a profile. A profile has 0.1 to 60 seconds"
    ):
        training.profile(seconds=61)


def test_a_job_that_trains_restarts_and_ends_has_metrics_and_then_no_profile(
    nodes: LocalCluster, client: tfi.Client, training: JobHandle
) -> None:
    labels = f'{{job_id="{training.id}",job_name="a \\"job\\""}}'
    await_true(
        lambda: any(rate > 0 for rate in Scrape(client).values(f"job_examples_per_second{labels}")),
        "no node reports the speed of the job",
    )
    found = Scrape(client)
    assert found.values('jobs{state="running"}') == [1, 1]
    assert found.values("jobs_queued") == [0, 0]
    # Only the node of the job's service reports the job.
    assert found.values(f"job_running{labels}") == [1]
    assert found.values(f"job_attempts{labels}") == [1]
    (step,) = found.values(f"job_step{labels}")
    (memory,) = found.values(f"job_memory_bytes{labels}")
    (wait,) = found.values(f"job_input_wait_ratio{labels}")
    assert step > 0
    assert memory > 0
    assert 0 <= wait <= 1
    read = [found.values(f'read_rows_total{{transport="{name}"}}') for name in ("shared", "tcp", "flight")]
    assert sum(sum(values) for values in read) >= ROWS
    assert all(used > 0 for used in found.values("files_memory_used_bytes"))

    attempt = training.refresh().attempt
    assert attempt is not None
    pid = attempt.tasks[0].status.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await_job(training, lambda seen: seen.attempt is not None and seen.attempt.number == 2 and seen.state == "running")
    await_true(
        lambda: sum(Scrape(client).values('job_restarts_total{cause="crash"}')) == 1,
        "the restart is not counted",
    )
    await_true(lambda: Scrape(client).values(f"job_attempts{labels}") == [2], "the attempt is not counted")
    training.stop()
    await_true(lambda: Scrape(client).values(f"job_running{labels}") == [], "the job's metrics do not end")
    await_true(lambda: Scrape(client).values('jobs{state="stopped"}') == [1, 1], "the end is not counted")
    with pytest.raises(JobFinishedError, match="Only an unfinished job can have a profile"):
        training.profile()
    ran = cli("profile", training.id, address=nodes.address)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error: Job ")
