"""Promises of a real node: its secrets reach neither its agent nor a task, and limits hold for jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from jobs import LIMIT, SCRIPTS, read

import tensorflow_ignite as tfi
from local_nodes import agent_of
from tensorflow_ignite.testing import LocalCluster, node_configuration

pytestmark = pytest.mark.full

SECRETS = {
    "TENSORFLOW_IGNITE_PASSWORD": "hidden-1",
    "TENSORFLOW_IGNITE_TOKEN": "hidden-2",
    "TENSORFLOW_IGNITE_TLS_KEY_PASSWORD": "hidden-3",
    "IGNITE_DATASET_PASSWORD": "hidden-4",
    "AWS_SECRET_ACCESS_KEY": "hidden-5",
}
# TensorFlow is not imported by the scripts here.
LIMITS = {"memoryMegabytes": 512, "openFiles": 200, "processes": 3, "environment": "NAMED_*"}


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    config = tmp_path_factory.mktemp("limited") / "node.xml"
    config.write_text(node_configuration(tasks=LIMITS))
    with LocalCluster(nodes=1, config=config, environment={**SECRETS, "NAMED_BY_IT": "yes"}) as cluster:
        tfi.load("few", {"id": np.arange(10)}, partitions=2, address=cluster.address)
        yield cluster


def test_nodes_secrets_reach_neither_its_agent_nor_a_task(limited: LocalCluster, tmp_path: Path) -> None:
    [node] = limited.nodes
    agent = agent_of(node)
    assert SECRETS.items() <= psutil.Process(node.pid).environ().items()
    own = {name for name in SECRETS if not name.startswith("AWS")}
    assert not own & agent.environ().keys()
    with tfi.connect(limited.address) as client:
        assert client.submit(SCRIPTS / "project", cache="few", args=[str(tmp_path)]).wait(LIMIT).state == "succeeded"
    environment = read(tmp_path, "worker-0.json")["environment"]
    assert "hidden" not in str(environment)
    assert environment["NAMED_BY_IT"] == "yes"
    assert environment["PATH"] == psutil.Process(node.pid).environ()["PATH"]


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("held = bytearray(1 << 30)", "may use 0.50 GiB of memory (tasks.memoryMegabytes)"),
        ("held = [open('/dev/null') for _ in range(300)]", "may have 200 open files (tasks.openFiles)"),
        (
            "import subprocess, time\nfor _ in range(5): subprocess.Popen(['sleep', '600'])\ntime.sleep(600)",
            "may have 3 at a time (tasks.processes)",
        ),
    ],
)
def test_limits_of_the_configuration_hold_for_a_job_and_are_reported(
    limited: LocalCluster, tmp_path: Path, source: str, cause: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(source)
    with tfi.connect(limited.address) as client:
        job = client.submit(script, cache="few", restart=tfi.Restart(max_crashes=0)).wait(LIMIT, raise_on_failure=False)
    assert job.state == "failed"
    assert cause in job.cause
