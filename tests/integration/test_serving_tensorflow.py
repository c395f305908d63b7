"""Models that real nodes serve: batches of callers, versions that change, and processes that are killed.

Promise (prediction): A change of the version fails no request.
Promise (prediction): A bad request fails alone in its batch.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import psutil
import pytest
from jobs import cli
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.errors import InvalidRequestError, ModelNotFoundError, ModelUnusableError
from tensorflow_ignite.models import tensors
from tensorflow_ignite.models.deployments import Deployment, Deployments
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.v1 import predict_pb2, predict_pb2_grpc

tf = pytest.importorskip("tensorflow")

SECONDS = patiently(240.0)
# A node whose clock is first cancels the call at its deadline.
LATE = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)


class Times(tf.Module):  # type: ignore[misc]
    """Multiplies numbers; refuses 13."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = tf.Variable(factor, dtype=tf.float32)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x")])  # type: ignore[misc]
    def times(self, x: Any) -> dict[str, Any]:
        with tf.control_dependencies([tf.debugging.assert_none_equal(x, 13.0)]):
            return {"y": self.factor * x}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[float], Path]:
    def save(factor: float) -> Path:
        path = tmp_path_factory.mktemp("times") / "model"
        module = Times(factor)
        tf.saved_model.save(module, str(path), signatures={"serving_default": module.times})
        return path

    return save


class Service:
    """The nodes of a cluster, as callers of their models."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self.deployments = Deployments(tuple(cluster.addresses))
        self._channels: dict[str, grpc.Channel] = {}

    def predict(self, model: str, rows: list[list[float]], *, node: int = 0, seconds: float = SECONDS) -> Any:
        """The outputs, and the number of the version that has answered."""
        return self.call(model, np.array(rows, np.float32), node=node, seconds=seconds)

    def call(self, model: str, array: Any, *, node: int = 0, seconds: float = SECONDS) -> Any:
        address = self.cluster.addresses[node]
        if address not in self._channels:
            self._channels[address] = grpc.insecure_channel(address)
        stub = predict_pb2_grpc.ModelServiceStub(self._channels[address])
        request = predict_pb2.PredictRequest(model=model, inputs=[tensors.to_tensor("x", array)])
        answer = stub.Predict(request, timeout=seconds)
        return tensors.to_arrays(answer.outputs)["y"].tolist(), answer.number

    def predict_when_known(self, model: str, rows: list[list[float]], node: int) -> Any:
        """As ``predict``, on a node that may hear some moments after another one where the processes are."""
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                return self.predict(model, rows, node=node)
            except grpc.RpcError as error:
                if "code=MODEL_NOT_SERVED" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def when(self, name: str, condition: Callable[[Deployment], Any]) -> Deployment:
        """The deployment, as soon as it meets a condition."""
        deadline = time.monotonic() + SECONDS
        while True:
            deployment = self.deployments.get(name)
            if deployment is not None and condition(deployment):
                return deployment
            assert time.monotonic() < deadline, f"did not come: {deployment}"
            time.sleep(0.05)

    def close(self) -> None:
        for deployment in self.deployments.all():
            self.deployments.undeploy(deployment.name)
        await_true(
            lambda: not any("tensorflow_ignite.serving.process" in command for command in _commands(self.cluster)),
            "model processes are left",
            SECONDS,
        )
        for channel in self._channels.values():
            channel.close()


def _commands(cluster: LocalCluster) -> list[list[str]]:
    """The command lines of all processes below the nodes that have not ended."""
    found = []
    for node in cluster.nodes:
        for process in psutil.Process(node.pid).children(recursive=True):
            try:
                found.append(process.cmdline())
            except psutil.Error:
                continue
    return found


@pytest.fixture
def service(cluster: LocalCluster) -> Iterator[Service]:
    made = Service(cluster)
    yield made
    made.close()


@pytest.mark.full
def test_every_node_answers_although_one_alone_serves_and_a_bad_request_fails_alone_in_its_batch(
    service: Service, client: tfi.Client, saved: Callable[[float], Path]
) -> None:
    client.models.add("alone", saved(2))
    deployment = service.deployments.deploy("alone", 1, replicas=1)
    assert deployment.current == 1
    service.when("alone", lambda row: [process.state for process in row.processes] == ["serving"])
    for node in range(3):
        assert service.predict_when_known("alone", [[1, 2], [3, 4]], node) == ([[2, 4], [6, 8]], 1)
        assert service.predict("alone:1", [[5, 6]], node=node) == ([[10, 12]], 1)
    with pytest.raises(grpc.RpcError, match=r"takes x: float32\[\?, 2\].*code=INVALID_REQUEST"):
        service.call("alone", np.zeros([1, 3], np.float32), node=2)
    # Numbers of Python become those of the model.
    assert client.models.predict("alone", {"x": [[1, 2]]})["y"].tolist() == [[2, 4]]
    assert client.models.predict("alone", {"x": [[1.5, 2]]})["y"].tolist() == [[3, 4]]
    with pytest.raises(grpc.RpcError, match=r"version 2 of the model alone is not deployed"):
        service.predict("alone:2", [[1, 2]])
    with pytest.raises(grpc.RpcError, match=r"other is not deployed.*code=MODEL_NOT_FOUND"):
        service.predict("other", [[1, 2]])
    outcomes: dict[int, Any] = {}

    def call(number: int) -> None:
        try:
            outcomes[number] = service.predict("alone", [[13 if number % 5 == 0 else 100 + number, 1]])[0]
        except grpc.RpcError as error:
            outcomes[number] = error.code()

    threads = [threading.Thread(target=call, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(50):
        expected = grpc.StatusCode.FAILED_PRECONDITION if number % 5 == 0 else [[2 * (100 + number), 2]]
        assert outcomes[number] == expected


@pytest.mark.full
def test_a_new_version_replaces_the_old_one_and_no_request_fails(
    service: Service, client: tfi.Client, saved: Callable[[float], Path], tmp_path: Path
) -> None:
    client.models.add("rolling", saved(1))
    client.models.add("rolling", saved(2))
    service.deployments.deploy("rolling", 1)
    ended = threading.Event()
    failures: list[str] = []
    seen: list[int] = []

    def call(node: int) -> None:
        while not ended.is_set():
            try:
                outputs, number = service.predict("rolling", [[1, 1]], node=node)
                assert outputs == [[number, number]]
                seen.append(number)
            except Exception as error:
                failures.append(str(error))

    for node in range(3):
        service.predict_when_known("rolling", [[1, 1]], node)
    threads = [threading.Thread(target=call, args=(node,)) for node in range(3)]
    for thread in threads:
        thread.start()
    try:
        client.models.deploy("rolling:2")
        assert service.predict("rolling", [[1, 1]])[1] == 2
        assert client.models.get("rolling").number == 2
        # The version before is warm.
        client.models.label("rolling:1", "stable")
        assert service.predict("rolling", [[1, 1]])[1] == 1
        client.models.label("rolling:2", "stable")
        assert service.predict("rolling", [[1, 1]])[1] == 2
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert not failures
    assert set(seen) == {1, 2}
    # A version that cannot be loaded leaves the one before it.
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "saved_model.pb").write_bytes((saved(1) / "saved_model.pb").read_bytes())
    client.models.add("rolling", broken)
    with pytest.raises(ModelUnusableError, match="rolling:3 could not be served on node"):
        client.models.deploy("rolling:3")
    assert client.models.get("rolling").number == 2
    service.when("rolling", lambda row: {process.number for process in row.processes} == {2})
    assert service.predict("rolling", [[1, 1]]) == ([[2, 2]], 2)
    assert service.deployments.get("rolling").failed == 3  # type: ignore[union-attr]
    # A version that is kept answers by its number.
    service.deployments.deploy("rolling", 1, replicas=1)
    service.deployments.deploy("rolling", 2, replicas=1, keep_previous=True)
    assert service.predict("rolling", [[1, 1]]) == ([[2, 2]], 2)
    assert service.predict("rolling:1", [[1, 1]]) == ([[1, 1]], 1)


@pytest.mark.full
def test_a_model_is_served_although_all_nodes_are_drained(
    service: Service, client: tfi.Client, saved: Callable[[float], Path]
) -> None:
    client.models.add("drained", saved(2))
    (process,) = service.deployments.deploy("drained", 1, replicas=1).processes
    client.models.add("removed_later", saved(3))
    pids = [each.pid for each in service.deployments.deploy("removed_later", 1).processes]
    for node in range(3):
        service.predict_when_known("drained", [[1, 1]], node)
    try:
        # The one that serves last: no other node takes its place before.
        for node in sorted(client.nodes(), key=lambda node: node.id == process.node_id):
            client.drain(node.id)
        # A node that then ends the processes of another model has also seen that all are drained.
        service.deployments.undeploy("removed_later")
        await_true(lambda: not any(map(psutil.pid_exists, pids)), "processes of a removed model are left", SECONDS)
        assert [service.predict("drained", [[1, 1]], node=node) for node in range(3)] == 3 * [([[2, 2]], 1)]
    finally:
        for node in client.nodes():
            client.drain(node.id, undo=True)


def test_a_killed_process_is_named_and_its_model_serves_again(
    service: Service, client: tfi.Client, saved: Callable[[float], Path]
) -> None:
    client.models.add("killed", saved(2))
    service.deployments.deploy("killed", 1, replicas=1)
    (process,) = service.when("killed", lambda row: [process.pid for process in row.processes if process.pid]).processes
    os.kill(process.pid, signal.SIGKILL)
    service.when("killed", lambda row: "signal 9" in row.processes[0].error)
    # The requests wait for the next process, on each node.
    assert [service.predict("killed", [[1, 1]], node=node) for node in range(3)] == 3 * [([[2, 2]], 1)]
    (process,) = service.when("killed", lambda row: row.processes[0].state == "serving").processes
    assert process.restarts == 1
    assert "signal 9" in process.error


@pytest.mark.full
def test_the_command_line_deploys_describes_and_undeploys(
    service: Service, client: tfi.Client, saved: Callable[[float], Path]
) -> None:
    address = service.cluster.address
    client.models.add("commanded", saved(2))
    options = ("--replicas", "1", "--memory", "4GiB", "--max-batch-delay", "0.5")
    run = cli("model", "deploy", "commanded", *options, address=address)
    assert run.stdout == "commanded:1 serves on 1 node\n", run.stderr
    described = cli("model", "describe", "commanded", address=address).stdout
    assert "deployment commanded" in described
    assert "serving" in described
    assert "256 rows, 0.5 ms; 4,096 rows may wait" in described
    for option, value in (("--replicas", "0"), ("--memory", "many"), ("--max-batch-rows", "0")):
        refused = cli("model", "deploy", "commanded", option, value, address=address)
        assert refused.returncode != 0
        assert value in refused.stderr
    assert cli("model", "undeploy", "commanded", address=address).returncode == 0
    with pytest.raises(ModelNotFoundError, match="not deployed"):
        service.deployments.undeploy("commanded")


class Waits(tf.Module):  # type: ignore[misc]
    """Waits for a file to appear, when it gets a number above 0."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, "x")])  # type: ignore[misc]
    def wait(self, x: Any) -> dict[str, Any]:
        def is_missing(turn: Any) -> Any:
            # The path depends on the turn: else TensorFlow looks for the file once, before the loop.
            return tf.equal(tf.size(tf.io.matching_files(tf.gather([self.path], tf.minimum(turn, 0)))), 0)

        waits = tf.reduce_max(x) > 0
        (turns,) = tf.while_loop(lambda i: tf.logical_and(waits, is_missing(i)), lambda i: [i + 1], [tf.constant(0)])
        # Else TensorFlow leaves the loop out.
        return {"y": x + 0 * tf.cast(turns, tf.float32)}


@pytest.mark.full
def test_a_model_that_waits_forever_is_started_again_and_named(
    service: Service, client: tfi.Client, tmp_path: Path
) -> None:
    module = Waits(str(tmp_path / "never"))
    tf.saved_model.save(module, str(tmp_path / "waits"), signatures={"serving_default": module.wait})
    client.models.add("waiting", tmp_path / "waits")
    service.deployments.deploy("waiting", 1, replicas=1)
    for _ in range(2):
        with pytest.raises(grpc.RpcError) as late:
            service.predict("waiting", [[1, 1]], seconds=5)
        assert late.value.code() in LATE
    service.when("waiting", lambda row: "has not answered for 30 s" in row.processes[0].error)
    assert service.predict("waiting", [[0, 0]]) == ([[0, 0]], 1)
    assert service.deployments.get("waiting").processes[0].restarts == 1  # type: ignore[union-attr]


@pytest.mark.full
def test_a_caller_who_hangs_up_fails_no_other_request_of_its_batch(
    service: Service, client: tfi.Client, tmp_path: Path
) -> None:
    module = Waits(str(tmp_path / "go"))
    tf.saved_model.save(module, str(tmp_path / "shared"), signatures={"serving_default": module.wait})
    client.models.add("shared", tmp_path / "shared")
    address = service.cluster.addresses[0]
    row = predict_pb2.PredictRequest(model="shared", inputs=[tensors.to_tensor("x", np.float32([[1, 1]]))])
    with grpc.insecure_channel(address) as channel:
        stub = predict_pb2_grpc.ModelServiceStub(channel)
        rule = predict_pb2.BatchRule(max_rows=2)
        rule.max_delay.FromSeconds(10)
        stub.DeployModel(
            predict_pb2.DeployModelRequest(key=predict_pb2.ModelKey(name="shared", number=1), batches=rule),
            timeout=SECONDS,
        )
        service.when("shared", lambda row: row.current == 1)
        # Both are one batch.
        first, second = stub.Predict.future(row, timeout=SECONDS), stub.Predict.future(row, timeout=1.0)
        assert second.code() in LATE
        assert not first.done()
        (tmp_path / "go").touch()
        assert tensors.to_arrays(first.result().outputs)["y"].tolist() == [[1, 1]]


@pytest.mark.full
def test_files_of_a_served_version_stay_as_they_are(
    service: Service, client: tfi.Client, saved: Callable[[float], Path]
) -> None:
    client.models.add("fixed", saved(2))
    client.models.add("fixed", saved(3))
    service.deployments.deploy("fixed", 1, replicas=1)
    files = Files.at(tuple(service.cluster.addresses))
    for path in ("/models/fixed/1/saved_model.pb", "/models/fixed/1", "/models/fixed", "/models"):
        with pytest.raises(InvalidRequestError, match="the nodes serve the model fixed"):
            files.remove(path, recursive=True)
        with pytest.raises(InvalidRequestError, match="the nodes serve the model fixed"):
            files.rename(path, "/elsewhere", overwrite=True)
    with pytest.raises(InvalidRequestError, match="the nodes serve"), files.open_writer("/models/fixed/1/more") as more:
        more.write(b"more")
    files.remove("/models/fixed/2", recursive=True)
    assert service.predict("fixed", [[1, 1]]) == ([[2, 2]], 1)


@pytest.fixture
def changing(nodes: LocalCluster) -> Iterator[Service]:
    """Three nodes that a test may kill, without deployments."""
    made = Service(nodes)
    yield made
    made.close()


@pytest.mark.full
def test_calls_of_the_client_survive_the_kill_of_a_process_and_of_a_node(
    changing: Service, saved: Callable[[float], Path]
) -> None:
    cluster = changing.cluster
    ended = threading.Event()
    failures: list[str] = []
    counts = [0, 0, 0]
    with tfi.connect(",".join(cluster.addresses)) as client:
        client.models.add("surviving", saved(2))
        client.models.deploy("surviving")

        def call(caller: int) -> None:
            while not ended.is_set():
                try:
                    found = client.models.predict("surviving", {"x": np.float32([[caller, 1]])}, timeout=SECONDS)
                    assert found["y"].tolist() == [[2 * caller, 2]]
                    counts[caller] += 1
                except Exception as error:
                    failures.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=call, args=(caller,)) for caller in range(3)]
        for thread in threads:
            thread.start()
        try:
            row = changing.when("surviving", lambda row: [p.state for p in row.processes] == ["serving"] * 3)
            victim = next(process for process in row.processes if process.node_id == cluster.nodes[0].node_id)
            os.kill(victim.pid, signal.SIGKILL)
            changing.when("surviving", lambda row: any(p.restarts and p.state == "serving" for p in row.processes))
            killed = cluster.nodes[1]
            others = tuple(address for address in cluster.addresses if address != killed.address)
            cluster.kill_node(killed)
            changing.deployments = Deployments(others)
            before = list(counts)
            changing.when(
                "surviving", lambda row: all(now > then + 5 for now, then in zip(counts, before, strict=True))
            )
        finally:
            ended.set()
            for thread in threads:
                thread.join()
    assert failures == []
