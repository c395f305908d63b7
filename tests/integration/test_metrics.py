"""The metrics of nodes while a job trains, and after one of its tasks was killed."""

from __future__ import annotations

import os
import re
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from jobs import SCRIPTS, await_job
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.patience import patiently

pytest.importorskip("tensorflow")

pytestmark = pytest.mark.full

CACHE = "points_of_metrics"


@pytest.fixture(scope="module")
def nodes(tolerant: Path) -> Iterator[LocalCluster]:
    """Two nodes with an HTTP port."""
    with LocalCluster(2, config=tolerant, environment={"TENSORFLOW_IGNITE_HTTP_PORT": "0"}) as cluster:
        yield cluster


class Scrape:
    """One answer of each node.

    Attributes:
        nodes: The values of each node, by the names of metrics with their labels.
    """

    def __init__(self, client: tfi.Client) -> None:
        self.nodes: list[dict[str, float]] = []
        for node in client.nodes():
            with urllib.request.urlopen(f"http://{node.http_address}/metrics", timeout=patiently(60.0)) as answer:
                lines = answer.read().decode().splitlines()
            assert lines[-1] == "# EOF"
            samples = [re.fullmatch(r"tensorflow_ignite_(.+) (\S+)", line) for line in lines if line[0] != "#"]
            self.nodes.append({sample[1]: float(sample[2]) for sample in samples if sample})

    def values(self, name: str) -> list[float]:
        """The value of each node that has one."""
        return [values[name] for values in self.nodes if name in values]


def test_a_job_that_trains_and_restarts_has_metrics(nodes: LocalCluster) -> None:
    x = np.random.default_rng(0).random(2_000, np.float32)
    tfi.load(CACHE, {"x": x, "y": 2 * x + 1}, partitions=24, address=nodes.address)
    with tfi.connect(nodes.address) as client:
        job = client.submit(SCRIPTS / "train_until_stopped.py", cache=CACHE, strategy="one", name='a "job"')
        labels = f'{{job_id="{job.id}",job_name="a \\"job\\""}}'
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
        assert sum(sum(values) for values in read) >= len(x)
        assert all(used > 0 for used in found.values("files_memory_used_bytes"))

        attempt = job.refresh().attempt
        assert attempt is not None
        pid = attempt.tasks[0].status.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await_job(job, lambda seen: seen.attempt is not None and seen.attempt.number == 2 and seen.state == "running")
        await_true(
            lambda: sum(Scrape(client).values('job_restarts_total{cause="crash"}')) == 1,
            "the restart is not counted",
        )
        await_true(lambda: Scrape(client).values(f"job_attempts{labels}") == [2], "the attempt is not counted")
        job.stop()
        await_true(lambda: Scrape(client).values(f"job_running{labels}") == [], "the job's metrics do not end")
        await_true(lambda: Scrape(client).values('jobs{state="stopped"}') == [1, 1], "the end is not counted")
