"""Model processes of a real agent: they serve real SavedModels, and end with it.

Promise (security): Only the user of the node can open the socket of a model process.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import grpc
import numpy as np
import psutil
import pytest

from agent_harness import Agent, eventually, is_alive
from model_files import Doubler, write
from tensorflow_ignite.models import tensors
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.v1 import agent_pb2, predict_pb2, predict_pb2_grpc

pytestmark = pytest.mark.full

KEY = predict_pb2.ModelKey(name="doubler", number=1)
SECONDS = patiently(240.0)


@pytest.fixture(scope="module")
def doubler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    module = Doubler()
    return write(module, module.double, tmp_path_factory.mktemp("doubler"))


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    running = Agent(tmp_path)
    try:
        yield running
    finally:
        running.close()


def start(agent: Agent, files: Path, memory: int = 0, nice: int = 0, load_seconds: float = 0.0) -> None:
    request = agent_pb2.StartModelRequest(key=KEY, directory=str(files), nice=nice)
    request.limits.memory_bytes = memory
    request.load_timeout.FromMilliseconds(int(1000 * load_seconds))
    agent.call("StartModel", request)


def state(agent: Agent, expected: int, restarts: int = 0) -> predict_pb2.ModelStatus:
    """Waits for a state of the model."""
    return agent.await_model(lambda status: status.state == expected and status.restarts >= restarts, SECONDS)


def predict(socket: str, **inputs: object) -> dict[str, np.ndarray]:
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        request = predict_pb2.PredictRequest(inputs=[tensors.to_tensor(n, np.asarray(v)) for n, v in inputs.items()])
        return tensors.to_arrays(predict_pb2_grpc.PredictServiceStub(channel).Predict(request, timeout=SECONDS).outputs)


def test_a_version_is_served_on_a_socket_of_its_user_alone_until_it_is_stopped(agent: Agent, doubler: Path) -> None:
    start(agent, doubler, nice=5)
    serving = state(agent, predict_pb2.MODEL_STATE_SERVING)
    assert stat.S_IMODE(os.stat(serving.socket).st_mode) == 0o600
    assert [(spec.name, spec.dtype, list(spec.shape)) for spec in serving.signatures[0].inputs] == [
        ("x", "float32", [-1])
    ]
    assert predict(serving.socket, x=np.float32([1, 2, 3]))["y"].tolist() == [2, 4, 6]
    with pytest.raises(grpc.RpcError, match=r"takes x: float32\[\?\]"):
        predict(serving.socket, z=np.float32([1]))
    # It yields to its node, and sees no GPU.
    process = psutil.Process(serving.pid)
    assert process.nice() == min(19, psutil.Process(agent.process.pid).nice() + 5)
    assert process.environ()["CUDA_VISIBLE_DEVICES"] == ""
    assert Path(f"/proc/{process.pid}/oom_score_adj").read_text() == "1000\n"
    agent.call("StopModel", agent_pb2.StopModelRequest(key=KEY))
    assert not is_alive(serving.pid)
    assert not os.path.exists(serving.socket)
    assert not agent.living(keepers=True)
    agent.call("StopModel", agent_pb2.StopModelRequest(key=KEY))


def test_a_model_that_is_not_loaded_in_time_is_ended_and_named(agent: Agent, doubler: Path) -> None:
    start(agent, doubler, load_seconds=0.3)
    failed = state(agent, predict_pb2.MODEL_STATE_FAILED)
    assert "was not loaded and called after 0.3 s" in failed.error
    assert not failed.unusable


def test_a_model_that_cannot_be_loaded_is_tried_again_after_its_pause(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    start(agent, tmp_path / "nothing")
    first = agent.await_model(lambda status: status.state == predict_pb2.MODEL_STATE_FAILED, SECONDS)
    assert first.unusable
    assert "metadata of model doubler:1 cannot be read" in first.error
    second = state(agent, predict_pb2.MODEL_STATE_FAILED, restarts=1)
    # One clock is the wall's.
    assert second.started_at.ToNanoseconds() >= first.retry_at.ToNanoseconds() - 0.2e9


def test_a_changed_file_is_not_served(agent: Agent, doubler: Path, tmp_path: Path) -> None:
    module = Doubler()
    files = write(module, module.double, tmp_path / "changed")
    (files / "assets").mkdir(exist_ok=True)
    (files / "assets" / "new").write_text("more")
    start(agent, files)
    failed = agent.await_model(lambda status: status.state == predict_pb2.MODEL_STATE_FAILED, SECONDS)
    assert "not those that were written" in failed.error


def test_a_killed_agent_takes_its_model_processes_with_it(agent: Agent, doubler: Path) -> None:
    start(agent, doubler)
    serving = psutil.Process(state(agent, predict_pb2.MODEL_STATE_SERVING).pid)
    agent.process.kill()
    eventually(lambda: not is_alive(serving.pid))
    eventually(lambda: not agent.living(keepers=True))
