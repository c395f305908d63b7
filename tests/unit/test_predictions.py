"""What a caller of deployed models gets from nodes that are slow, mute, or lose an answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from tensorflow_ignite.errors import (
    InvalidRequestError,
    ModelNotFoundError,
    ModelNotServedError,
    RequestTimeoutError,
)
from tensorflow_ignite.models.deployments import BatchRule, Deployments
from tensorflow_ignite.models.predictions import Predictions
from tensorflow_ignite.v1 import job_pb2, job_pb2_grpc, predict_pb2, predict_pb2_grpc


class _Node(predict_pb2_grpc.ModelServiceServicer):
    """A node whose predictions take some seconds."""

    def __init__(self, seconds: float = 0) -> None:
        self.seconds = seconds
        self.calls = 0
        self.deployed = True
        self.loses_an_answer = False
        self.deployments: list[Any] = []
        self.ends = threading.Event()

    def Predict(self, request: Any, context: Any) -> Any:
        self.calls += 1
        self.ends.wait(self.seconds)
        return predict_pb2.PredictResponse(outputs=request.inputs)

    def DeployModel(self, request: Any, context: Any) -> Any:
        self.deployments.append(request)
        return predict_pb2.DeployModelResponse()

    def UndeployModel(self, request: Any, context: Any) -> Any:
        if not self.deployed:
            context.abort(grpc.StatusCode.NOT_FOUND, "The model m is not deployed. [code=MODEL_NOT_FOUND]")
        self.deployed = False
        if self.loses_an_answer:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the node ends")
        return predict_pb2.UndeployModelResponse()

    def ListDeployments(self, request: Any, context: Any) -> Any:
        return predict_pb2.ListDeploymentsResponse()


@contextmanager
def _served(node: _Node) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(4))
    predict_pb2_grpc.add_ModelServiceServicer_to_server(node, server)  # type: ignore[no-untyped-call]
    if isinstance(node, job_pb2_grpc.NodeApiServiceServicer):
        job_pb2_grpc.add_NodeApiServiceServicer_to_server(node, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        node.ends.set()
        server.stop(None).wait(10)


@pytest.mark.parametrize(
    ("inputs", "text"), [([[1.0, 2.0]], "m are list. They are arrays by"), ({"x": [[1], [1, 2]]}, "'x' are no array")]
)
def test_inputs_without_names_or_of_different_lengths_are_refused_before_a_call(inputs: Any, text: str) -> None:
    with pytest.raises(InvalidRequestError, match=text):
        Predictions(("127.0.0.1:1",)).predict("m", inputs, "", 1.0)


@pytest.fixture
def mute() -> Iterator[str]:
    """The address of a host that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.full
def test_a_node_that_is_reached_may_take_all_the_time_of_a_prediction(mute: str) -> None:
    node = _Node(seconds=2)
    with _served(node) as address:
        predictions = Predictions((mute, address, address))
        outputs = predictions.predict("m", {"x": [1, 2]}, "", timeout=40)
        assert outputs["x"].tolist() == [1, 2]
        node.seconds = 3600
        with pytest.raises(
            RequestTimeoutError, match=r"model m:1 has not predicted within 1 s. .*Wait longer \(timeout=\)"
        ):
            predictions.predict("m:1", {"x": [1]}, "", timeout=1)
        predictions.close()
    # On a busy machine the second one is over before the node has taken it.
    assert node.calls in (1, 2)


def test_a_node_that_was_late_is_not_asked_first_again() -> None:
    with _served(_Node(seconds=60)) as late, _served(_Node()) as ready:
        predictions = Predictions((late, ready))
        with pytest.raises(RequestTimeoutError):
            predictions.predict("m", {"x": [1]}, "", timeout=1)
        assert predictions.predict("m", {"x": [1]}, "", timeout=30)["x"].tolist() == [1]
        predictions.close()


def test_a_deployment_sends_only_the_options_that_it_names() -> None:
    node = _Node()
    with _served(node) as address:
        deployments = Deployments((address,))
        deployments.deploy("m", 1, timeout=None)
        deployments.deploy("m", 2, replicas=0, memory=0, batches=BatchRule(max_rows=64), timeout=None)
        deployments.deploy("m", 3, batches=BatchRule(max_delay_millis=0), timeout=None)
    first, second, third = node.deployments
    assert not any(first.HasField(name) for name in ("replicas", "memory_bytes", "batches"))
    assert all(second.HasField(name) for name in ("replicas", "memory_bytes"))
    assert second.batches == predict_pb2.BatchRule(max_rows=64)
    assert third.batches.HasField("max_delay")
    assert not third.batches.max_rows


def test_a_model_is_undeployed_although_the_answer_was_lost() -> None:
    node = _Node()
    node.loses_an_answer = True
    with _served(node) as address:
        Deployments((address,)).undeploy("m")
        with pytest.raises(ModelNotFoundError):
            Deployments((address,)).undeploy("m")


class _Nodes(_Node, job_pb2_grpc.NodeApiServiceServicer):
    """A node that has accepted a deployment, and lists the nodes of its cluster."""

    def __init__(self, *nodes: job_pb2.Node) -> None:
        super().__init__()
        self.nodes = nodes
        self.is_permitted = True
        self.row = predict_pb2.ModelDeployment(name="m", target=4)

    def DeployModel(self, request: Any, context: Any) -> Any:
        return predict_pb2.DeployModelResponse(deployment=self.row)

    def ListDeployments(self, request: Any, context: Any) -> Any:
        return predict_pb2.ListDeploymentsResponse(deployments=[self.row])

    def ListNodes(self, request: Any, context: Any) -> Any:
        if not self.is_permitted:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "You lack watch. [code=PERMISSION_DENIED]")
        return job_pb2.ListNodesResponse(nodes=self.nodes)


def _listed(node_id: str, availability: job_pb2.NodeAvailability | None = None, **agent: Any) -> job_pb2.Node:
    found = job_pb2.AgentInfo(**{"pid": 7, "python": "/usr/bin/python3", "tensorflow_version": "2.16.1", **agent})
    return job_pb2.Node(id=node_id, serves_models=True, availability=availability, agent=found)


_UNABLE = (
    _listed("1f6d20a3-1", job_pb2.NODE_AVAILABILITY_DRAINED),
    _listed("9b0ca4c8-2", tensorflow_version=""),
    _listed("77aa0011-3", pid=0, tensorflow_version="", error="its Python was not found."),
    _listed("55aa0011-4", job_pb2.NODE_AVAILABILITY_STOPPING),
    job_pb2.Node(id="33aa0011-5", plugin_version="0.1"),
)


@pytest.mark.parametrize("timeout", [3600, 0.1])
def test_a_deployment_that_no_node_can_serve_is_refused_with_the_reason_of_each_node(timeout: float) -> None:
    with _served(_Nodes(*_UNABLE)) as address, pytest.raises(ModelNotServedError) as raised:
        Deployments((address,)).deploy("m", 4, timeout=timeout)
    for text in (
        "model m:4 is not loaded, since no node can serve models: ",
        "node 1f6d20a3 is drained (undo it: tensorflow-ignite drain 1f6d20a3 --undo)",
        "node 9b0ca4c8 has no TensorFlow for /usr/bin/python3",
        "node 77aa0011 has no agent: its Python was not found;",
        "node 55aa0011 is being stopped",
        "node 33aa0011 runs tensorflow-ignite 0.1, which serves no models",
    ):
        assert text in str(raised.value)


@pytest.mark.parametrize(
    ("able", "is_permitted"),
    [(_listed("2f"), True), (_listed("2f", pid=0, tensorflow_version=""), True), (None, False)],
    ids=["able", "starts", "not-permitted"],
)
def test_a_deployment_that_a_node_can_serve_or_that_cannot_be_seen_is_waited_for(
    able: job_pb2.Node | None, is_permitted: bool
) -> None:
    node = _Nodes(*_UNABLE, *filter(None, [able]))
    node.is_permitted = is_permitted
    with _served(node) as address, pytest.raises(RequestTimeoutError, match="The nodes go on"):
        Deployments((address,)).deploy("m", 4, timeout=2.5)
