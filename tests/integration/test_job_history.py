"""A job whose worker is replaced, as its history, its description and its output report it."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest
from jobs import await_job

import tensorflow_ignite
from tensorflow_ignite.cli import main
from tensorflow_ignite.spec import Event, Job
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.patience import patiently

pytestmark = pytest.mark.full

TIMEOUT = patiently(120)
# The coordinator does nothing until the test releases it; the workers are TensorFlow's servers.
SCRIPT = """
import os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
print("released")
"""


@pytest.fixture(scope="module")
def cache(cluster: LocalCluster) -> str:
    tensorflow_ignite.load("history", {"x": list(range(300))}, address=cluster.address)
    return "history"


def test_history_description_and_output_show_a_replaced_worker(
    cluster: LocalCluster, cache: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, go = tmp_path / "train.py", tmp_path / "go"
    script.write_text(SCRIPT)
    with tensorflow_ignite.connect(cluster.address) as client:
        job = client.submit(script, cache=cache, strategy="parameter-server", args=[str(go)])
        followed: list[Event] = []
        follower = threading.Thread(target=lambda: followed.extend(job.events(follow=True)))
        follower.start()
        lines = []
        try:
            for line in job.logs(follow=True, role="worker", index=0):
                lines.append(line)
                if "worker 0 serves at" in line.text and line.incarnation == 0:
                    # Before all tasks run, the end of a worker ends the attempt.
                    running = await_job(job, lambda status: status.state == "running")
                    os.kill(_pid_of_worker(running), signal.SIGKILL)
                elif "worker 0 serves at" in line.text:
                    go.touch()
        finally:
            go.touch()
            over = job.wait(TIMEOUT, raise_on_failure=False)
            follower.join(TIMEOUT)
        assert over.state == "succeeded", over.cause
        assert followed == list(over.events)
        assert any("worker 0 is started again at its address" in event.text for event in followed)
        assert len(over.attempts) == 1
        assert {line.incarnation for line in lines} == {0, 1}
        assert list(job.logs(role="worker", index=0)) == lines
    assert main(["--address", cluster.address, "describe", job.id]) == 0
    out = capsys.readouterr().out
    assert "worker 0 (incarnation 1)" in out
    assert main(["--address", cluster.address, "events", "--json", job.id]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["text"] for event in printed] == [event.text for event in over.events]


def _pid_of_worker(job: Job) -> int:
    assert job.attempt is not None
    (pid,) = (task.status.pid for task in job.attempt.tasks if task.name == "worker 0")
    assert pid is not None
    return pid
