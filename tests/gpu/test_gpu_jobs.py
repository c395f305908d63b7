"""Jobs on a real node whose workers compute on its GPUs, with JAX and PyTorch; no two processes share a GPU."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import numpy as np
import psutil
import pytest

import tensorflow_ignite as tfi
from local_nodes import agent_of
from tensorflow_ignite.agent.gpus import find_gpus
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.leaks import marked_processes
from tensorflow_ignite.testing.patience import patiently

FOUND = find_gpus()
pytestmark = pytest.mark.skipif(not FOUND, reason="this machine has no GPU: the driver (nvidia-smi) lists none")

PROJECT = Path(__file__).parents[2]
EXAMPLE = PROJECT / "examples" / "jax_digits.py"
SECONDS = patiently(180.0)
# JAX allocates three quarters of the memory of each GPU: two processes on one GPU fail.
COMPUTES = """
import time
import jax, jax.numpy as jnp
import tensorflow_ignite as tfi

here = tfi.train.context()
assert {device.platform for device in jax.devices()} == {"gpu"}
print("sum", float(jnp.sum(jnp.ones((64, 64)) @ jnp.ones((64, 64)))), flush=True)
tfi.train.report(here.attempt)
while here.attempt < 3:
    time.sleep(1)
"""

# After the loop of the docs.
EVALUATES = """
test = tfi.batches("digits_test", batch_size=360, columns=["pixels", "label"], label="label")
[(features, label)] = test
pixels = torch.from_numpy(features["pixels"] / 16)
for device in ("cpu", "cuda"):
    correct = model.to(device)(pixels.to(device)).argmax(1).cpu().numpy() == label
    print(f"accuracy {device}={correct.mean()}", flush=True)
"""


def test_a_job_trains_on_its_gpus_while_the_next_one_waits_for_them() -> None:
    pytest.importorskip("jax")
    with LocalCluster(nodes=1) as cluster, tfi.connect(cluster.addresses[0]) as client:
        load_digits(cluster.addresses[0])
        first, second = (
            client.submit(
                EXAMPLE,
                cache="digits",
                strategy="custom",
                workers=tfi.Workers(gpus=len(FOUND)),
                restart=tfi.Restart(max_restarts=0),
            )
            for _ in range(2)
        )
        seen: list[Job] = list(first.watch(SECONDS))
        assert seen[-1].state == "succeeded", seen[-1].cause
        # Of a GPU that nothing else uses: CUDA itself takes more.
        assert max(used(job) for job in seen) > 1 << 28
        waited = second.wait(SECONDS)
        assert waited.state == "succeeded", waited.cause
        ended, started = (job.attempt.tasks[0].status for job in (seen[-1], waited))
        assert started.started_at >= ended.finished_at
        for job in (first, second):
            lines = [line.text for line in job.logs()]
            assert f"{len(FOUND)} devices" in lines
            [accuracy] = [float(line.partition("=")[2]) for line in lines if line.startswith("test accuracy=")]
            assert accuracy > 0.9


def test_the_loop_of_pytorch_in_the_docs_trains_in_a_job(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    blocks = re.findall(r"```py\n(.*?)```", (PROJECT / "docs" / "data.md").read_text(), re.DOTALL)
    [loop] = [block for block in blocks if "import torch" in block]
    script = tmp_path / "loop.py"
    script.write_text("import tensorflow_ignite as tfi\n" + loop + EVALUATES)
    with LocalCluster(nodes=1) as cluster, tfi.connect(cluster.addresses[0]) as client:
        load_digits(cluster.addresses[0])
        handle = client.submit(
            script, cache="digits", strategy="custom", workers=tfi.Workers(gpus=1), restart=tfi.Restart(max_restarts=0)
        )
        job = handle.wait(SECONDS)
        assert job.state == "succeeded", job.cause
        accuracies = [line.text for line in handle.logs() if line.text.startswith("accuracy ")]
        assert [line.partition("=")[0] for line in accuracies] == ["accuracy cpu", "accuracy cuda"]
        assert min(float(line.partition("=")[2]) for line in accuracies) > 0.9


def load_digits(address: str) -> None:
    """Puts 1,437 digits into the cache digits, and 360 others into digits_test."""
    pixels, label = pytest.importorskip("sklearn.datasets").load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(label))
    for name, rows in {"digits": order[:1437], "digits_test": order[1437:]}.items():
        columns = {"id": np.arange(len(rows)), "pixels": pixels[rows].astype("f4"), "label": label[rows]}
        tfi.load(name, columns, address=address)


def used(job: Job) -> int:
    """Bytes of GPU memory that the job's worker uses."""
    return sum(task.status.device_memory_bytes for task in job.attempt.tasks) if job.attempt else 0


def test_the_next_attempt_computes_on_the_gpus_of_killed_processes(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    script = tmp_path / "computes.py"
    script.write_text(COMPUTES)
    with LocalCluster(nodes=1) as cluster, tfi.connect(cluster.addresses[0]) as client:
        tfi.load("rows", {"id": np.arange(64)}, address=cluster.addresses[0])
        handle = client.submit(
            script,
            cache="rows",
            strategy="custom",
            workers=tfi.Workers(gpus=len(FOUND)),
            restart=tfi.Restart(max_crashes=1),
        )
        for attempt, kill in ((1, kill_the_task), (2, kill_the_agent)):
            for job in handle.watch(SECONDS):
                if job.attempt and job.attempt.number == attempt and job.progress and job.progress.step == attempt:
                    break
            kill(cluster)
        job = handle.wait(SECONDS)
        assert [attempt.cause_kind for attempt in job.attempts] == ["crash", "node-failed", "done"]
        assert [line.text for line in handle.logs() if line.text.startswith("sum")] == [f"sum {64.0**3}"] * 3


def kill_the_task(cluster: LocalCluster) -> None:
    # The process of the script has more memory than its keeper.
    pids = [process.pid for process in marked_processes(cluster.directory) if process.task]
    os.kill(max(pids, key=lambda pid: psutil.Process(pid).memory_info().rss), signal.SIGKILL)


def kill_the_agent(cluster: LocalCluster) -> None:
    agent_of(cluster.nodes[0]).kill()
