"""The GPUs of a node: found, and each assigned to one task at a time.

Promise (processes): No GPU is assigned to two tasks, and a task sees no other GPU.
"""

from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path

import grpc
import pytest

from agent_harness import Agent, eventually, request
from tensorflow_ignite.agent import gpus, names
from tensorflow_ignite.agent.environment import environment
from tensorflow_ignite.agent.gpus import Gpus, find_gpus
from tensorflow_ignite.agent.rejection import RequestRejected
from tensorflow_ignite.v1 import agent_pb2, job_pb2
from tensorflow_ignite.v1.job_pb2 import Gpu

# It writes what it sees, and runs until it is ended.
SCRIPT = """
import os, time
print(repr(os.environ["CUDA_VISIBLE_DEVICES"]), os.environ["TF_FORCE_GPU_ALLOW_GROWTH"], flush=True)
time.sleep(600)
"""


def driver(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A program in the place of the driver's."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    for variable in (gpus.GPUS_VARIABLE, gpus.VISIBLE_VARIABLE):
        monkeypatch.delenv(variable, raising=False)


def test_gpus_are_those_that_the_driver_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    driver(tmp_path, monkeypatch, "echo 'GPU-1a, NVIDIA H100 80GB HBM3, 81559'; echo 'GPU-2b, NVIDIA, [N/A]'")
    assert find_gpus() == [
        Gpu(id="GPU-1a", name="NVIDIA H100 80GB HBM3", memory_bytes=81559 << 20),
        Gpu(id="GPU-2b", name="NVIDIA"),
    ]
    driver(tmp_path, monkeypatch, "echo 'NVIDIA-SMI has failed'; exit 9")
    assert find_gpus() == []
    assert "NVIDIA-SMI has failed" in caplog.text


@pytest.mark.parametrize(
    ("ours", "visible", "ids"),
    [("0, 1", "7", ["0", "1"]), ("", "7", []), (None, "GPU-1,GPU-2", ["GPU-1", "GPU-2"]), (None, "-1", [])],
)
def test_an_administrator_limits_the_gpus(
    ours: str | None,
    visible: str,
    ids: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver(tmp_path, monkeypatch, "echo 'GPU-9, NVIDIA, 1'")
    monkeypatch.setenv(gpus.VISIBLE_VARIABLE, visible)
    if ours is not None:
        monkeypatch.setenv(gpus.GPUS_VARIABLE, ours)
    assert [gpu.id for gpu in find_gpus()] == ids


def test_no_gpu_is_assigned_twice_and_too_few_are_named_with_who_has_them() -> None:
    node = Gpus([Gpu(id=name) for name in "abc"])
    assert node.assign("job/1/worker/0/0", 2) == ("a", "b")
    assert node.assign("job/1/ps/0/0", 0) == ()
    with pytest.raises(
        RequestRejected, match=r"needs 2 GPUs, and 1 of this node's 3 are free \(job/1/worker/0/0 has 2\)"
    ):
        node.assign("job/1/worker/1/0", 2)
    assert node.assign("job/1/worker/1/0", 1) == ("c",)
    node.release("job/1/worker/0/0")
    node.release("job/1/worker/0/0")
    assert node.assign("job/2/worker/0/0", 2) == ("a", "b")


def test_a_task_sees_its_own_gpus_alone_until_nothing_of_it_is_left(tmp_path: Path) -> None:
    with closing(Agent(tmp_path, env={gpus.GPUS_VARIABLE: "0,1"})) as agent:
        assert [gpu.id for gpu in agent.ready.info.gpus] == ["0", "1"]
        first, second, third, without = (agent.key(index) for index in range(4))
        # A file lies where its directory is to be made.
        in_the_way = agent.work / names.task_path(first)
        in_the_way.parent.mkdir(parents=True)
        in_the_way.touch()
        with pytest.raises(grpc.RpcError, match="File exists"):
            agent.start(SCRIPT, task=first, gpus=2)
        in_the_way.unlink()
        for key, count in ((first, 1), (second, 1), (without, 0)):
            agent.start(SCRIPT, task=key, gpus=count)
        eventually(lambda: agent.output.count("true") == 3)
        assert sorted(agent.output.split()) == ["''", "'0'", "'1'", "true", "true", "true"]
        with pytest.raises(grpc.RpcError, match="0 of this node's 2 are free") as refused:
            agent.start(SCRIPT, task=third, gpus=1)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        status = next(event.status for event in reversed(agent.events) if event.key == first and event.status.pid)
        assert list(status.gpus) == ["0"]
        os.kill(status.pid, signal.SIGKILL)
        agent.ended(first)
        agent.start(SCRIPT, task=third, gpus=1)
        eventually(lambda: agent.output.count("'0'") == 2)


@pytest.mark.parametrize(
    ("node", "user", "order"),
    [
        ({}, {}, "PCI_BUS_ID"),
        ({"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, {}, "FASTEST_FIRST"),
        ({}, {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, "FASTEST_FIRST"),
    ],
)
def test_a_task_counts_gpus_in_the_order_of_the_driver_unless_its_user_sets_another(
    node: dict[str, str], user: dict[str, str], order: str, tmp_path: Path
) -> None:
    message = request(agent_pb2.TaskKey(job_id="7f3a", attempt=1, role=job_pb2.ROLE_WORKER), tmp_path / "c.zip")
    message.spec.environment.variables.update(user)
    paths = [tmp_path / name for name in ("code", "context", "progress", "command", "temporary")]
    variables = environment(message, paths[0], "mark", *paths[1:], agents=node, gpus=("1",))
    assert (variables["CUDA_VISIBLE_DEVICES"], variables["CUDA_DEVICE_ORDER"]) == ("1", order)


def test_the_used_memory_of_gpus_is_that_of_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver(tmp_path, monkeypatch, 'test "$2" = GPU-1,GPU-2 && echo 512 && echo 1024')
    assert gpus.used_bytes(["GPU-1", "GPU-2"]) == 1536 << 20
    assert gpus.used_bytes(["GPU-3"]) == 0
    driver(tmp_path, monkeypatch, "echo '[N/A]'")
    assert gpus.used_bytes(["GPU-1"]) == 0
    monkeypatch.setenv("PATH", "")
    assert gpus.used_bytes(["GPU-1"]) == 0
