"""Jobs that do not fit wait in the queue, say why, and start in their order; nodes have room for two tasks each."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, await_job

import tensorflow_ignite as tfi
from local_nodes import GIVES_UP_AFTER_A_MINUTE
from tensorflow_ignite import Credentials
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster, node_configuration

pytestmark = pytest.mark.full

# Runs until there is a file of its name.
_SCRIPT = """
import sys, time
from pathlib import Path
folder, name = Path(sys.argv[1]), sys.argv[2]
(folder / (name + "-runs")).touch()
while not (folder / (name + "-ends")).exists():
    time.sleep(0.05)
"""
TOKENS = {name: f"the-token-of-{name}-which-nobody-else-may-see" for name in ("alice", "bob")}


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Two nodes, with room for two tasks each; alice may have two tasks at a time."""
    config = tmp_path_factory.mktemp("narrow") / "node.xml"
    digests = {name: hashlib.sha256(token.encode()).hexdigest() for name, token in TOKENS.items()}
    config.write_text(
        node_configuration(
            node=GIVES_UP_AFTER_A_MINUTE,
            timeouts={"leaseSeconds": 20},
            jobs={"maxTasks": 2, "taskQuotas": {"alice": "2"}},
            security={"tokens": digests},
        )
    )
    bob = Credentials(token=TOKENS["bob"])
    with LocalCluster(nodes=2, config=config, credentials=bob) as cluster:
        tfi.load("rows", {"id": np.arange(100)}, partitions=64, address=cluster.address, credentials=bob)
        yield cluster


class Scene:
    """Jobs of users, by name."""

    def __init__(self, cluster: LocalCluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        (folder / "script.py").write_text(_SCRIPT)
        self.clients = {
            name: tfi.connect(cluster.address, credentials=Credentials(token=token)) for name, token in TOKENS.items()
        }
        self.jobs: dict[str, JobHandle] = {}

    def submit(self, name: str, user: str = "bob", **options: int) -> JobHandle:
        """Submits a job that runs until `end`."""
        self.jobs[name] = self.clients[user].submit(
            self.folder / "script.py",
            cache="rows",
            args=[str(self.folder), name],
            name=name,
            restart=tfi.Restart(max_crashes=0),
            **options,  # type: ignore[arg-type]
        )
        return self.jobs[name]

    def end(self, *names: str) -> None:
        for name in names:
            (self.folder / f"{name}-ends").touch()
        for name in names:
            assert self.jobs[name].wait(LIMIT).state == "succeeded"

    def await_running(self, *names: str) -> None:
        for name in names:
            await_job(self.jobs[name], lambda job: job.state == "running")

    def await_waiting(self, name: str, reason: str) -> Job:
        """Waits until a job waits in the queue for a reason."""
        deadline = time.monotonic() + LIMIT
        while reason not in (job := self.jobs[name].refresh()).waiting_for:
            assert time.monotonic() < deadline, job.to_dict()
            time.sleep(0.1)
        assert (job.state, job.attempts, job.admitted_at) == ("pending", (), None)
        return job

    def close(self) -> None:
        for job in self.jobs.values():
            if not job.refresh().is_over:
                job.stop()
        for client in self.clients.values():
            client.close()


@pytest.fixture
def scene(narrow: LocalCluster, tmp_path: Path) -> Iterator[Scene]:
    ready = Scene(narrow, tmp_path)
    yield ready
    ready.close()


def test_jobs_without_room_wait_and_start_by_priority_then_by_submission_or_are_stopped(scene: Scene) -> None:
    for name in ("one", "two"):
        scene.submit(name)
    scene.await_running("one", "two")
    scene.submit("three")
    scene.submit("four", priority=-1)
    scene.submit("five", priority=1)
    scene.submit("six")
    scene.await_waiting("six", "position 3")
    scene.await_waiting("four", "position 4")
    stopped = scene.jobs["six"].stop(timeout=LIMIT)
    assert (stopped.state, stopped.attempts) == ("stopped", ())
    assert scene.await_waiting("five", "position 1").queue_position == 1
    assert scene.await_waiting("three", "position 2").queue_position == 2
    waiting = scene.await_waiting("four", "position 3")
    assert "room on node" in waiting.waiting_for
    assert "(2 of 2 tasks, 1 more needed) and another node" in waiting.waiting_for
    [node, other] = scene.clients["bob"].nodes()
    assert (node.tasks, node.max_tasks, other.tasks, other.max_tasks) == (2, 2, 2, 2)
    listed = {job.spec.name: job for job in scene.clients["bob"].jobs()}
    assert [listed[name].queue_position for name in ("one", "five", "three", "four")] == [0, 1, 2, 3]
    assert [listed[name].spec.priority for name in ("five", "three", "four")] == [1, 0, -1]

    scene.end("two")
    scene.await_running("five")
    assert scene.await_waiting("three", "position 1").queue_position == 1
    scene.end("one")
    scene.await_running("three")
    scene.end("five", "three")
    scene.await_running("four")
    scene.end("four")
    assert scene.jobs["four"].refresh().admitted_at is not None


def test_the_quota_of_an_owner_holds_up_its_own_jobs_alone(scene: Scene) -> None:
    scene.submit("first", "alice")
    scene.await_running("first")
    scene.submit("second", "alice")
    waiting = scene.await_waiting("second", "quota")
    assert "the quota of 'alice' (2 of 2 tasks, 2 more needed)" in waiting.waiting_for
    scene.submit("other", "bob")
    scene.await_running("other")
    scene.end("first")
    scene.await_running("second")
    scene.end("second", "other")
