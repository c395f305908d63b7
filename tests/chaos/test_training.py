"""TensorFlow goes on training through every loss, in both kinds of job: `make chaos`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from digits import training
from tensorflow_ignite.spec import JobKind
from tensorflow_ignite.testing import LocalCluster

KINDS: list[JobKind] = ["multi-worker-mirrored", "parameter-server"]


@pytest.fixture
def own() -> Iterator[LocalCluster]:
    with LocalCluster(nodes=3) as cluster:
        yield cluster


def test_mirrored_training_resumes_after_its_worker_dies(own: LocalCluster) -> None:
    with training(own, "multi-worker-mirrored") as job:
        job.until_saved()
        job.kill("worker", 1)
        assert job.succeeds(attempts=2).attempts[1].resumed_from_step


@pytest.mark.parametrize("kind", KINDS)
def test_training_resumes_after_an_agent_dies(own: LocalCluster, kind: JobKind) -> None:
    with training(own, kind) as job:
        job.until_saved()
        os.kill(job.client.nodes()[-1].agent.pid, signal.SIGKILL)
        job.succeeds(attempts=len(job.until(lambda status: status.outcome is not None).attempts))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("of_service", [False, True])
def test_training_resumes_after_a_node_dies(own: LocalCluster, kind: JobKind, of_service: bool) -> None:
    with training(own, kind) as job:
        status = job.until_saved()
        own.kill_node(next(node for node in own.nodes if (node.node_id == status.service_node_id) == of_service))
        assert job.succeeds(attempts=2).attempts[1].resumed_from_step


def test_parameter_server_training_replaces_worker_and_client_and_restarts_for_a_lost_server(own: LocalCluster) -> None:
    with training(own, "parameter-server", "--epochs", "40") as job:
        job.until_saved()
        job.kill("worker", 1)
        job.until_replaced("worker", 1)
        job.kill("client")
        job.until_replaced("client", 0)
        job.kill("ps")
        end = job.succeeds(attempts=2)
        assert end.attempts[0].cause_kind == "crash"
        assert end.attempts[1].resumed_from_step
