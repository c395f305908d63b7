"""Helpers of the tests of jobs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agent_harness import is_alive
from tensorflow_ignite.data.options import ReadOptions, RowArguments
from tensorflow_ignite.data.plan import make_plan
from tensorflow_ignite.data.request import make_request
from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.node_process import LocalNode
from tensorflow_ignite.testing.patience import patiently

SCRIPTS = Path(__file__).with_name("scripts")
# Far more than a job needs on a busy machine: what is late is wrong.
LIMIT = patiently(300.0)
# The cache `numbered`. Ignite assigns partitions by the random ids of nodes: in one of 200 clusters of three nodes,
# a node has none of 16 partitions; in one of 10^11, none of 64.
ROWS = 500
PARTITIONS = 64


def cli(*arguments: str, address: str | None, seconds: float = LIMIT) -> subprocess.CompletedProcess[str]:
    """Runs the command line, and its exit code and output; a command that takes longer fails the test."""
    return subprocess.run(
        [sys.executable, "-m", "tensorflow_ignite.cli", *arguments],
        env=environment(address),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def environment(address: str | None) -> dict[str, str]:
    """The environment of a user's process, who has named a node."""
    names = ("TENSORFLOW_IGNITE_", "IGNITE_DATASET_", "TF_CONFIG")
    env = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    # Of a node or a quickstart that the test starts.
    env["TENSORFLOW_IGNITE_TASKS_WARM_PROCESSES"] = "0"
    return env | ({"TENSORFLOW_IGNITE_ADDRESS": address} if address else {})


def await_job(handle: JobHandle, condition: Callable[[Job], bool]) -> Job:
    """Watches the job until the condition holds; the job's end, or LIMIT seconds, before that is an error."""
    for job in handle.watch(LIMIT):
        if condition(job):
            return job
    raise AssertionError(f"job {handle.id} was over before: {handle.status.to_dict()}")


def await_files(handle: JobHandle, *paths: Path) -> list[str]:
    """Waits until the job's tasks have made all these files; gives what is in them."""
    deadline = time.monotonic() + LIMIT
    while True:
        is_over = handle.refresh().is_over
        missing = [path.name for path in paths if not (path.exists() and path.stat().st_size)]
        if not missing:
            break
        assert not is_over, f"{missing} did not come: {handle.status.cause}"
        assert time.monotonic() < deadline, f"{missing} did not come"
        # No event reports that a file appears.
        time.sleep(0.05)
    return [path.read_text() for path in paths]


def read(folder: Path, name: str) -> Any:
    """The JSON that a task left in a file."""
    return json.loads((folder / name).read_text())


def kill_at_once(cluster: LocalCluster, nodes: Sequence[LocalNode]) -> None:
    """They are frozen before they are killed, so that none takes over from the other."""
    for node in nodes:
        cluster.suspend_node(node)
    for node in nodes:
        cluster.kill_node(node)
    cluster.await_settled()


def partition_of(cache: str, partitions: int, address: str) -> dict[int, int]:
    """The partition of each id, asked of the cluster one by one."""
    found = {}
    for partition in range(partitions):
        plan = make_plan(
            make_request(
                RowArguments(cache, columns=["id"], partitions=[partition], options=ReadOptions(address=address))
            )
        )
        for endpoint in plan.endpoints:
            for batch in flight.BatchStream(endpoint, plan.subject):
                found.update(dict.fromkeys(batch.column("id").to_pylist(), partition))
    return found


def workers(job: Job) -> list[tuple[int, ...]]:
    assert job.attempt is not None
    return [task.partitions for task in job.attempt.tasks if task.role == "worker"]


def await_gone(pids: set[int], seconds: float) -> float:
    """Waits for the end of processes that are not children; gives the seconds it took."""
    begin = time.monotonic()
    while left := {pid for pid in pids if is_alive(pid)}:
        assert time.monotonic() - begin < seconds, f"processes {left} are there after {seconds:g} s"
        time.sleep(0.02)
    return time.monotonic() - begin
