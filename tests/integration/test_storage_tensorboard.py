"""TensorBoard as installed shows what is in the cluster; asked over its HTTP API."""

from __future__ import annotations

import json
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from jobs import LIMIT, SCRIPTS
from python_process import START_SECONDS, lines_of, running

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorboard")

_END = 60.0
RUN = "jobs/7f3a/logs"
#: Starts the program of TensorBoard's package, just as its console script does.
TENSORBOARD = "from tensorboard.main import run_main; run_main()"
WITHOUT_TENSORFLOW = "import sys; sys.modules['tensorflow'] = None; "


@pytest.fixture(scope="module")
def writer(cluster: LocalCluster) -> Any:
    """Writes event files of a job; three steps are there."""
    writer = tf.summary.create_file_writer(f"ignite://{cluster.address}/{RUN}")
    write(writer, range(3))
    return writer


def write(writer: Any, steps: range) -> None:
    with writer.as_default():
        for step in steps:
            tf.summary.scalar("loss", float(step), step=step)
    writer.flush()


@contextmanager
def tensorboard(*command: str, address: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A TensorBoard that serves, and its URL."""
    with running(*command, TENSORFLOW_IGNITE_ADDRESS=address, TMPDIR=str(folder)) as process:
        last = lines_of(process, " at http://")[-1]
        yield process, last.partition(" at ")[2].split()[0].rstrip("/")


def ask(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=_END) as answer:
        return json.load(answer)


def scalars(url: str, run: str, count: int) -> list[float]:
    """The values of a run, once there are ``count`` of them."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if run in ask(f"{url}/data/runs"):
            tags = ask(f"{url}/data/plugin/scalars/tags").get(run, {})
            found = ask(f"{url}/data/plugin/scalars/scalars?run={run}&tag=loss") if "loss" in tags else []
            if len(found) >= count:
                return [value for _, _, value in found]
        time.sleep(0.2)
    pytest.fail(f"{count} values of {run} did not come; runs: {ask(f'{url}/data/runs')}")


@pytest.mark.parametrize("before", ["", WITHOUT_TENSORFLOW], ids=["with-tensorflow", "without-tensorflow"])
def test_the_installed_program_shows_what_is_in_the_cluster(
    cluster: LocalCluster, writer: Any, before: str, tmp_path: Path
) -> None:
    logdir = f"--logdir=ignite://{cluster.address}/jobs"
    with tensorboard("-c", before + TENSORBOARD, logdir, "--port=0", address="", folder=tmp_path) as (_, url):
        assert scalars(url, "7f3a/logs", 3)[:3] == [0.0, 1.0, 2.0]


def test_the_command_shows_all_jobs_and_what_is_written_meanwhile(
    cluster: LocalCluster, writer: Any, tmp_path: Path
) -> None:
    command = ["-m", "tensorflow_ignite.cli", "tensorboard", "--port", "0", "--", "--reload_interval=1"]
    with tensorboard(*command, address=cluster.address, folder=tmp_path) as (process, url):
        before = scalars(url, "7f3a/logs", 3)
        write(writer, range(len(before), len(before) + 2))
        assert scalars(url, "7f3a/logs", len(before) + 2) == [float(step) for step in range(len(before) + 2)]
        process.send_signal(signal.SIGINT)
        assert process.wait(_END) in (0, 130, -signal.SIGINT)


def test_the_command_shows_the_figures_that_all_attempts_of_a_job_report_as_one_line(
    cluster: LocalCluster, client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    job = client.submit(SCRIPTS / "curve.py", cache=numbered, name="curve")
    assert len(job.wait(LIMIT).attempts) == 2
    command = ["-m", "tensorflow_ignite.cli", "tensorboard", "curve", "--port", "0", "--reload_interval=1"]
    with tensorboard(*command, address=cluster.address, folder=tmp_path) as (_, url):
        assert scalars(url, "tensorboard/report", 8) == [1, 2, 3, 4, 50, 60, 70, 80]
