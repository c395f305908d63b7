"""Attempts that end as planned lose no step: real nodes, real TensorFlow, and a ledger of each worker's steps.

Promise (jobs): A planned end loses no step.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, await_job

import tensorflow_ignite as tfi
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

pytest.importorskip("tensorflow")


def ledger(folder: Path, job: Job, attempt: int) -> set[int]:
    """The last step that each worker of an attempt has done."""
    workers = sum(task.role == "worker" for task in job.attempts[attempt - 1].tasks)
    paths = [folder / f"ledger-{attempt}-{index}" for index in range(workers)]
    return {int(path.read_text().split()[-1]) for path in paths}


def has_stepped(attempt: int) -> Callable[[Job], bool]:
    """Every worker of the attempt has done a step of its own."""

    def holds(job: Job) -> bool:
        if len(job.attempts) != attempt or job.state != "running" or job.attempts[-1].phase != "run":
            return False
        reported = [task.status.progress for task in job.attempts[-1].tasks]
        return all(each is not None and each.step > (each.resumed_from_step or 0) for each in reported)

    return holds


def ends_saved(handle: JobHandle, folder: Path, attempt: int) -> None:
    """All workers of the attempt have ended after the same step, and the next attempt resumes there."""
    job = await_job(handle, has_stepped(attempt + 1))
    assert ledger(folder, job, attempt) == {job.attempts[attempt].resumed_from_step}
    (step,) = ledger(folder, job, attempt)
    assert any(
        event.text == f"attempt {attempt} ended at step {step}, saved at step {step}" for event in handle.events()
    ), [event.text for event in handle.events()]


def test_planned_ends_lose_no_step(tmp_path: Path, tolerant: Path) -> None:
    # Each node more is a TensorFlow more in each attempt.
    with LocalCluster(nodes=2, config=tolerant) as nodes, tfi.connect(",".join(nodes.addresses)) as client:
        tfi.load("ledger", {"x": np.arange(300, dtype=np.float32)}, backups=1, address=nodes.address)
        handle = client.submit(
            SCRIPTS / "ledger.py",
            cache="ledger",
            args=[str(tmp_path)],
            restart=tfi.Restart(max_crashes=0),
            timeouts=tfi.Timeouts(stop_grace=30, start=300),
        )
        try:
            job = await_job(handle, has_stepped(1))
            # Somebody else, such as a machine that is about to be taken away.
            pid = job.attempts[0].tasks[-1].status.pid
            assert pid is not None
            os.kill(pid, signal.SIGTERM)
            ends_saved(handle, tmp_path, 1)
            assert handle.status.attempts[0].cause_kind == "planned"
            assert "was sent SIGTERM from outside the job" in handle.status.attempts[0].cause

            nodes.start_node()
            ends_saved(handle, tmp_path, 2)
            assert handle.status.attempts[1].cause_kind == "data-moved"
            assert len(handle.status.attempts[2].tasks) == 3

            # The node that decides about the job leaves too.
            nodes.stop_node(next(node for node in nodes.nodes if node.node_id == handle.status.service_node_id))
            ends_saved(handle, tmp_path, 3)
            assert handle.status.attempts[2].cause_kind == "planned"
            assert handle.status.attempts[2].cause.endswith("is being stopped")
        finally:
            job = handle.stop(save=True, timeout=LIMIT)
        (step,) = ledger(tmp_path, job, 4)
        assert job.crashes == 0
        assert job.events[-1].text.endswith(f"; attempt 4 ended at step {step}, saved at step {step}")
