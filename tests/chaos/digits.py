"""A job that learns digits on a cluster of its own, and what must hold when it is over."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sklearn.datasets import load_digits

import tensorflow_ignite as tfi
from tensorflow_ignite.cli.quickstart import example
from tensorflow_ignite.jobs.client import Client, JobHandle
from tensorflow_ignite.spec import Job, JobKind, Task
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.leaks import marked_processes

SCRIPTS: dict[JobKind, str] = {"multi-worker-mirrored": "digits.py", "parameter-server": "digits_ps.py"}
HELD_OUT = 360
SECONDS = 300


class Training:
    """One job, watched."""

    def __init__(self, cluster: LocalCluster, client: Client, job: JobHandle) -> None:
        self.cluster = cluster
        self.client = client
        self.job = job

    def until(self, holds: Callable[[Job], bool]) -> Job:
        for status in self.job.watch(timeout=SECONDS):
            if holds(status):
                return status
        raise AssertionError(f"the job ended without it: {self.job.status.cause}")

    def until_saved(self, *, attempt: int = 1) -> Job:
        """A checkpoint has been saved by the attempt."""
        return self.until(
            lambda job: len(job.attempts) == attempt and any(saved(task) for task in job.attempts[-1].tasks)
        )

    def until_replaced(self, role: str, index: int) -> Job:
        """The task runs again, as another process in the same attempt."""
        return self.until(lambda job: has(job, role, index, lambda task: task.incarnation > 0 and running(task)))

    def kill(self, role: str, index: int = 0) -> None:
        job = self.job.refresh()
        task = next(task for task in job.attempts[-1].tasks if (task.role, task.index) == (role, index))
        os.kill(task.status.pid, signal.SIGKILL)

    def succeeds(self, *, attempts: int) -> Job:
        """Waits for the end: it resumed, did its last step, learned something, and left nothing."""
        job = self.job.wait(timeout=SECONDS)
        assert len(job.attempts) == attempts, [attempt.cause for attempt in job.attempts]
        progress = next(
            task.status.progress
            for task in job.attempts[-1].tasks
            if task.role in ("worker", "client")
            and task.status.progress
            and "test_accuracy" in task.status.progress.metrics
        )
        assert progress.step == progress.total_steps
        assert progress.metrics["test_accuracy"] >= 0.9
        left = [
            str(process)
            for process in marked_processes(self.cluster.directory)
            if process.task is not None and f":{self.job.id}/" in process.task
        ]
        assert not left
        return job


@contextmanager
def training(cluster: LocalCluster, kind: JobKind, *args: str) -> Iterator[Training]:
    """Loads the digits, and starts a job that saves its checkpoints in the cluster itself."""
    pixels, label = load_digits(return_X_y=True)
    pixels, label = pixels.astype("float32"), label.astype("int32")
    for cache, rows in {"digits": slice(HELD_OUT, None), "digits_test": slice(HELD_OUT)}.items():
        tfi.load(
            cache,
            {"pixels": pixels[rows], "label": label[rows]},
            backups=2,
            if_exists="replace",
            address=cluster.address,
        )
    with tfi.connect(",".join(cluster.addresses)) as client:
        job = client.submit(
            example(SCRIPTS[kind]),
            cache="digits",
            kind=kind,
            args=args,
            stop_grace=1,
        )
        yield Training(cluster, client, job)


def saved(task: Task) -> bool:
    return task.status.progress is not None and (task.status.progress.checkpoint_step or 0) > 0


def running(task: Task) -> bool:
    return task.status.state == "running"


def has(job: Job, role: str, index: int, holds: Callable[[Task], bool]) -> bool:
    return any((task.role, task.index) == (role, index) and holds(task) for task in job.attempts[-1].tasks)
