"""Nodes die, join and restart; the training goes on by itself. Real nodes and kills; the scripts need no TensorFlow."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT

import tensorflow_ignite as tfi
from tensorflow_ignite.spec import Job
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster, LocalNode
from tensorflow_ignite.testing.leaks import marked_processes

ROWS = 300
STEPS = 20
STEP_SECONDS = 0.1
SCRIPT = Path(__file__).parent / "scripts" / "steps.py"


class Run:
    """One job that counts steps, and what it has read. It does its last step only when it may: see `let_end`."""

    def __init__(self, cluster: LocalCluster, directory: Path, **options: object) -> None:
        self.cluster = cluster
        self.directory = directory
        self.cache = f"rows_{directory.name}"
        backups = options.pop("backups", 1)
        self.client = tfi.connect(",".join(cluster.addresses))
        tfi.load(
            self.cache, {"x": np.arange(ROWS, dtype=np.float32)}, backups=int(str(backups)), address=cluster.address
        )
        (directory / "hold").touch()
        arguments = [str(directory), str(STEPS), str(STEP_SECONDS)]
        self.job = self.client.submit(
            SCRIPT, cache=self.cache, args=arguments, timeouts=tfi.Timeouts(stop_grace=1), **options
        )  # type: ignore[arg-type]

    def until(self, holds: Callable[[Job], bool], timeout: float = LIMIT) -> Job:
        try:
            for job in self.job.watch(timeout=timeout):
                if holds(job):
                    return job
        except tfi.errors.RequestTimeoutError as error:
            raise AssertionError(f"not within {timeout:.0f} s: {self.job.status}") from error
        raise AssertionError(f"the job ended without it: {self.job.status}")

    def let_end(self) -> None:
        """Whatever happens to a job before this, it does not miss because it was quick, or the machine busy."""
        (self.directory / "hold").unlink(missing_ok=True)

    def until_step(self, step: int, attempt: int = 1) -> Job:
        return self.until(
            lambda job: (
                len(job.attempts) == attempt
                and all(task.status.progress and task.status.progress.step >= step for task in job.attempts[-1].tasks)
            )
        )

    def succeeds(self, *, workers: int, attempts: int | None = None) -> Job:
        """Lets the job end, and checks what must hold after every end."""
        self.let_end()
        job = self.job.wait(timeout=LIMIT)
        assert job.state == "succeeded"
        assert self.saved_step() == STEPS
        last = job.attempts[-1]
        assert len(last.tasks) == workers
        assert attempts is None or len(job.attempts) == attempts, [attempt.cause for attempt in job.attempts]
        keys = [json.loads((self.directory / f"keys-{last.number}-{i}.json").read_text()) for i in range(workers)]
        assert sorted(itertools.chain(*keys)) == list(range(ROWS)), "each row is read once, by one worker"
        assert not self.tasks()
        return job

    def saved_step(self) -> int:
        with Files.at(tuple(self.cluster.addresses)).open_reader(f"/jobs/{self.job.id}/checkpoints/step") as reader:
            return int(reader.read(0, reader.bytes))

    def tasks(self) -> list[str]:
        """What runs of the job anywhere on this machine."""
        return [
            str(process)
            for process in marked_processes(self.cluster.directory)
            if process.task is not None and f":{self.job.id}/" in process.task
        ]

    def node_of(self, node_id: str) -> LocalNode:
        return next(node for node in self.cluster.nodes if node.node_id == node_id)


@pytest.fixture
def run(nodes: LocalCluster, tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Starts jobs, and closes their clients."""
    runs: list[Run] = []

    def start(**options: object) -> Run:
        directory = tmp_path / f"{tmp_path.name.replace('-', '_')}_{len(runs)}"
        directory.mkdir()
        runs.append(Run(nodes, directory, **options))
        return runs[-1]

    yield start
    for started in runs:
        with contextlib.suppress(tfi.errors.JobFinishedError):
            started.job.stop(timeout=LIMIT)
        started.client.close()


@pytest.mark.full
def test_smaller_side_of_a_split_cluster_starts_nothing(run: Callable[..., Run], nodes: LocalCluster) -> None:
    started = run(restart=tfi.Restart(max_crashes=0), backups=2)
    job = started.until_step(10)
    here = started.node_of(job.service_node_id)
    started.client.close()
    # To the node that is left, two frozen nodes look like the other side of a cut network.
    started.client = tfi.connect(str(here.address))
    started.job = started.client.job(job.id)
    frozen = [node for node in nodes.nodes if node is not here]
    for node in frozen:
        nodes.suspend_node(node)
    try:
        waiting = started.until(lambda job: "quorum=majority" in job.waiting_for)
        assert "1 are here, missing: " in waiting.waiting_for
        assert f"tensorflow-ignite quorum accept {job.id}" in waiting.waiting_for
        assert not started.tasks()
    finally:
        for node in frozen:
            nodes.kill_node(node)
    # A node that is left cannot know that. An operator can.
    missing = started.job.accept_quorum()
    assert {node.id for node in missing} == {node.node_id for node in frozen}
    job = started.succeeds(workers=1, attempts=2)
    assert any("accepted the quorum" in event.text for event in job.events)


def test_job_follows_its_data_to_a_node_that_joins_after_a_quiet_time(
    run: Callable[..., Run], nodes: LocalCluster
) -> None:
    started = run(restart=tfi.Restart(max_crashes=0))
    started.until_step(1)
    nodes.start_node()
    started.until(lambda job: job.state == "running" and len(job.attempts) == 2)
    assert started.succeeds(workers=4, attempts=2).attempts[0].cause_kind == "data-moved"


@pytest.mark.full
def test_job_waits_for_its_next_checkpoint_or_goes_on_without_a_node_that_joins_if_it_says_so(
    run: Callable[..., Run], nodes: LocalCluster
) -> None:
    started = run(restart=tfi.Restart(max_crashes=0))
    patient = run(restart=tfi.Restart(max_crashes=0, on_join="ignore"))
    careful = run(restart=tfi.Restart(max_crashes=0, on_join="at-checkpoint"))
    for each in (started, patient, careful):
        each.until_step(1)
    nodes.start_node()
    started.until(lambda job: job.state == "running" and len(job.attempts) == 2)
    assert len(careful.job.refresh().attempts) == 1
    (careful.directory / "save").touch()
    careful.until(lambda job: job.state == "running" and len(job.attempts) == 2)
    for each in (started, careful):
        each.succeeds(workers=4, attempts=2)
    assert careful.job.refresh().attempts[0].cause_kind == "data-moved"
    patient.let_end()
    assert len(patient.job.wait(timeout=LIMIT).attempts) == 1


@pytest.mark.full
def test_lost_data_end_the_job_with_that_cause(run: Callable[..., Run], nodes: LocalCluster) -> None:
    started = run(backups=0)
    accepting = run(backups=0, restart=tfi.Restart(allow_data_loss=True))
    job = started.until_step(10)
    accepting.until_step(10)
    nodes.kill_node(next(node for node in nodes.nodes if node.node_id != job.service_node_id))
    job = started.job.wait(timeout=LIMIT, raise_on_failure=False)
    assert job.state == "failed"
    assert job.cause.startswith("data lost: ")
    assert not started.tasks()
    accepting.let_end()
    assert accepting.job.wait(timeout=LIMIT).attempts[-1].tasks[0].status.rows < ROWS
