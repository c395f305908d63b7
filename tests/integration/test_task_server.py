"""The servers of a parameter-server job, started by a real agent, with real TensorFlow."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_harness import Agent, archive, is_alive, request
from tensorflow_ignite.v1 import job_pb2

pytestmark = pytest.mark.full

pytest.importorskip("tensorflow")

COORDINATOR = """
import json, sys
import tensorflow as tf
tf.config.experimental_connect_to_cluster(tf.train.ClusterSpec(json.loads(sys.argv[1])))
for device in ("/job:ps/task:0", "/job:worker/task:0"):
    with tf.device(device):
        print(device, int(tf.reduce_sum(tf.range(5))), flush=True)
"""


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    running = Agent(tmp_path)
    yield running
    running.close()


def test_servers_take_over_the_ports_held_for_them_and_compute(agent: Agent) -> None:
    roles = {"worker": agent.key(role=job_pb2.ROLE_WORKER), "ps": agent.key(role=job_pb2.ROLE_PS)}
    cluster = {role: [f"127.0.0.1:{port}"] for role, port in zip(roles, agent.reserve(*roles.values()), strict=True)}
    code = archive(agent.directory / "code.zip", {"main.py": "raise SystemExit('servers do not run the script')"})
    for role, task in roles.items():
        message = request(task, code)
        message.is_server = True
        message.env["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": role, "index": 0}})
        agent.call("StartTask", message)
    with agent.heartbeats():
        for role, addresses in cluster.items():
            agent.printed(f"tensorflow_ignite: {role} 0 serves at {addresses[0]}", seconds=240)
        run = subprocess.run(
            [sys.executable, "-c", COORDINATOR, json.dumps(cluster)],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.splitlines() == ["/job:ps/task:0 10", "/job:worker/task:0 10"]
    pids = [event.status.pid for event in agent.events if event.status.pid]
    # A signal from outside asks the job for an end, and the server goes on until the client process has saved.
    os.kill(pids[0], signal.SIGTERM)
    agent.await_events(lambda events: [event for event in events if event.status.progress.end.terminated])
    assert all(map(is_alive, pids))
    agent.stop(grace="200s")
    for task in roles.values():
        status = agent.ended(task)
        # The first signal was enough: there is nothing to save in a server.
        assert (status.state, status.exit_code) == (job_pb2.TASK_STATE_STOPPED, -15)
    assert not any(map(is_alive, pids))
