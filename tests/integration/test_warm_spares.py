"""Tasks of jobs take over spares: of two jobs in a row, and of an attempt that follows a crash."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from jobs import LIMIT
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

pytest.importorskip("tensorflow")

SCRIPT = """
import sys
import tensorflow as tf
import tensorflow_ignite as tfi
context = tfi.train.context()
strategy = tfi.train.strategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Input((1,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
rows = tfi.dataset("line", columns=["x", "y"]).map(lambda row: (row["x"], row["y"])).batch(8)
model.fit(rows, epochs=1, verbose=0)
tfi.train.report(1)
if "crash" in sys.argv and context.attempt == 1:
    import os, time
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.1)
    raise RuntimeError("a crash after the first step")
"""


@pytest.fixture(scope="module")
def warm(tolerant: Path) -> Iterator[LocalCluster]:
    """Two nodes with the number of spares that nodes have by default."""
    with LocalCluster(nodes=2, config=tolerant, environment={"TENSORFLOW_IGNITE_TASKS_WARM_PROCESSES": ""}) as started:
        rows = np.arange(64, dtype="float32")
        tfi.load("line", {"x": rows[:, None], "y": rows}, partitions=16, address=started.address)
        yield started


@pytest.fixture
def client(warm: LocalCluster) -> Iterator[tfi.Client]:
    with tfi.connect(warm.address) as connected:
        yield connected


def spare_of(agent: int) -> psutil.Process | None:
    """The process below an agent that has not become a task; its keeper, which has the same command, is its parent."""
    found = None
    for process in psutil.Process(agent).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if any(argument.endswith("spare_process.py") for argument in process.cmdline()):
                found = process
    return found


def await_spares(client: tfi.Client) -> list[int]:
    """Waits until each node has its spare, for which a task waits if it still imports; returns the pids of the agents.

    What nodes report of their spares is some seconds old.
    """
    agents = [node.agent.pid for node in client.nodes()]
    await_true(lambda: all(spare_of(agent) for agent in agents), "a node has no spare", LIMIT)
    return agents


def test_the_tasks_of_two_jobs_in_a_row_and_of_the_attempt_after_a_crash_are_spares(
    client: tfi.Client, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    spares_are_ready = tmp_path / "spares"
    for args in ([], ["crash", str(spares_are_ready)]):
        await_spares(client)
        job = client.submit(script, cache="line", args=args)
        if args:
            for status in job.watch(LIMIT):
                if status.progress and status.progress.step == 1:
                    break
            await_spares(client)
            spares_are_ready.touch()
        job.wait(LIMIT)
        final = job.refresh()
        assert [task.status.warm for attempt in final.attempts for task in attempt.tasks] == [True] * 2 * len(
            final.attempts
        )
        assert len(final.attempts) == (2 if args else 1), [attempt.cause for attempt in final.attempts]
        assert "spare" not in "".join(line.text for line in job.logs())
