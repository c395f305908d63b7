"""What needs a GPU: the agent finds it, and a task computes on the one that it was assigned, by each installed library.

``make gpu`` runs this. Without a GPU everything is skipped, and pytest says so.
"""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from agent_harness import Agent, archive, request
from tensorflow_ignite.agent.gpus import find_gpus

FOUND = find_gpus()
pytestmark = pytest.mark.skipif(not FOUND, reason="this machine has no GPU: the driver (nvidia-smi) lists none")

# Each has the number of its GPUs, and the sum of a product of matrices that was computed on the first one.
PROGRAMS = {
    "jax": """
import jax, jax.numpy as jnp
found = len([device for device in jax.devices() if device.platform == "gpu"])
product = float(jnp.sum(jnp.ones((64, 64)) @ jnp.ones((64, 64)))) if found else 0.0
""",
    "torch": """
import torch
found = torch.cuda.device_count()
product = float((torch.ones(64, 64, device="cuda") @ torch.ones(64, 64, device="cuda")).sum()) if found else 0.0
""",
    "tensorflow": """
import tensorflow as tf
found = len(tf.config.list_physical_devices("GPU"))
with tf.device("/GPU:0" if found else "/CPU:0"):
    product = float(tf.reduce_sum(tf.ones((64, 64)) @ tf.ones((64, 64)))) if found else 0.0
""",
}
REPORT = """
import os, time
print("result", found, product, repr(os.environ["CUDA_VISIBLE_DEVICES"]), flush=True)
time.sleep(120)
"""


def libraries() -> list[str]:
    """Those that are installed; of TensorFlow only a build for CUDA."""
    there = [name for name in PROGRAMS if importlib.util.find_spec(name) is not None]
    if "tensorflow" in there:
        import tensorflow as tf

        if not tf.test.is_built_with_cuda():
            there.remove("tensorflow")
    return there


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    started = Agent(tmp_path)
    yield started
    started.close()


def results(agent: Agent) -> list[list[str]]:
    """The results that tasks have printed."""
    return [line.split()[1:] for line in agent.output.splitlines() if line.startswith("result ")]


def test_the_agent_names_the_gpus_of_the_driver(agent: Agent) -> None:
    gpus = agent.ready.info.gpus
    assert list(gpus) == FOUND
    assert all(gpu.id.startswith("GPU-") and gpu.name and gpu.memory_bytes > 1 << 30 for gpu in gpus)


@pytest.mark.parametrize("library", libraries() if FOUND else ["none"])
def test_a_task_computes_on_its_own_gpu_and_one_without_sees_none(agent: Agent, tmp_path: Path, library: str) -> None:
    code = archive(tmp_path / "c.zip", {"main.py": PROGRAMS[library] + REPORT})
    first, without, later = (agent.key(index) for index in range(3))
    agent.reserve(first, without, later)
    with_gpu, second = request(first, code), request(later, code)
    with_gpu.gpus = second.gpus = len(FOUND)
    with agent.heartbeats():
        agent.call("StartTask", with_gpu)
        agent.call("StartTask", request(without, code))
        agent.await_events(lambda _: len(results(agent)) == 2, 120)
        ids = ",".join(gpu.id for gpu in FOUND)
        product = str(64.0**3)
        assert sorted(results(agent)) == sorted([["0", "0.0", "''"], [str(len(FOUND)), product, repr(ids)]])
        # The GPU is in use until nothing of its task is left.
        with pytest.raises(grpc.RpcError, match="are free"):
            agent.call("StartTask", second)
        os.kill(agent.script(first), signal.SIGKILL)
        agent.ended(first)
        agent.call("StartTask", second)
        agent.await_events(lambda _: len(results(agent)) == 3, 120)
        assert results(agent)[-1][:2] == [str(len(FOUND)), product]
