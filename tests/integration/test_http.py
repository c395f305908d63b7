"""The HTTP port of nodes: TensorFlow Serving's REST API and gRPC services, and metrics, with real models."""

from __future__ import annotations

import functools
import json
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from node_metrics import HTTP_PORT, metric
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.patience import patiently

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

SECONDS = patiently(60.0)
SOCKET_BYTES = 107
SOCKET = "/node-0/work/tensorflow-ignite/127.0.0.1_12345/agent/models/1/socket"


class Words(tf.Module):  # type: ignore[misc]
    """A model of several signatures: strings, examples, and one that fails."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "word")])  # type: ignore[untyped-decorator]
    def lengths(self, word: Any) -> dict[str, Any]:
        return {"length": tf.strings.length(word), "upper_bytes": tf.strings.upper(word)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "examples")])  # type: ignore[untyped-decorator]
    def classified(self, examples: Any) -> dict[str, Any]:
        rows = tf.io.parse_example(examples, {"x": tf.io.FixedLenFeature([1], tf.float32)})["x"]
        names = tf.tile([["low", "high"]], [tf.shape(rows)[0], 1])
        return {"classes": names, "scores": tf.concat([1 - rows, rows], 1), "outputs": 2 * rows}


@pytest.fixture(scope="module")
def nodes(tolerant: Path) -> Iterator[LocalCluster]:
    """Two nodes with an HTTP port, whose models have sockets of the longest paths that Linux takes: Java does not."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        directory = Path(folder, "x" * (SOCKET_BYTES - len(f"{folder}/{SOCKET}")))
        with LocalCluster(2, config=tolerant, directory=directory, environment=HTTP_PORT) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def client(nodes: LocalCluster) -> Iterator[tfi.Client]:
    with tfi.connect(nodes.address) as connected:
        yield connected


@pytest.fixture(scope="module")
def model(client: tfi.Client, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model of Keras that is served as double, and words."""
    folder = tmp_path_factory.mktemp("models")
    made = keras.Sequential([keras.Input([3], name="x"), keras.layers.Dense(2, name="y")])
    made.save(folder / "double.keras")
    client.models.add("double", folder / "double.keras", label="canary")
    words = Words()
    tf.saved_model.save(
        words, str(folder / "words"), signatures={"serving_default": words.lengths, "classified": words.classified}
    )
    client.models.add("words", folder / "words")
    client.models.deploy("double")
    client.models.deploy("words")
    return made


def address(client: tfi.Client, number: int = 0) -> str:
    return client.nodes()[number].http_address


def call(url: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    """The status, and the JSON of the answer."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers or {})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def test_each_node_predicts_rows_and_columns_as_the_model_does(client: tfi.Client, model: Any) -> None:
    rows = np.random.default_rng(1).normal(size=[5, 3])
    expected = model.predict(rows, verbose=0)
    for number in range(2):
        url = f"http://{address(client, number)}/v1/models/double"
        status, found = call(f"{url}:predict", {"instances": rows.tolist()})
        assert status == 200, found
        np.testing.assert_allclose(found["predictions"], expected, rtol=1e-4, atol=1e-6)
        status, found = call(f"{url}/versions/1:predict", {"inputs": {"x": rows.tolist()}})
        np.testing.assert_allclose(found["outputs"], expected, rtol=1e-4, atol=1e-6)
        status, found = call(f"{url}/labels/canary:predict", {"instances": [{"x": row} for row in rows.tolist()]})
        np.testing.assert_allclose(found["predictions"], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.full
def test_examples_are_classified_and_regressed(client: tfi.Client, model: Any) -> None:
    url = f"http://{address(client)}/v1/models/words"
    body = {"signature_name": "classified", "examples": [{"x": 0.25}, {"x": 1.0}]}
    assert call(f"{url}:classify", body) == (
        200,
        {"results": [[["low", 0.75], ["high", 0.25]], [["low", 0.0], ["high", 1.0]]]},
    )
    assert call(f"{url}:regress", body) == (200, {"results": [0.5, 2.0]})
    status, found = call(f"http://{address(client)}/v1/models/double:classify", {"examples": [{"x": 0.25}]})
    assert (status, "takes no examples" in found["error"]) == (400, True)


@pytest.mark.parametrize(
    ("path", "body", "code", "text"),
    [
        ("none:predict", {"instances": [1]}, 404, "Servable not found for request: Latest(none)"),
        ("double/versions/7:predict", {"instances": [1]}, 404, "Servable not found for request: Specific(double, 7)"),
        ("double/labels/no:predict", {"instances": [1]}, 404, "Unrecognized servable version label: no"),
        ("double:predict", {"instances": [[1, 2]]}, 400, "x"),
        ("double:predict", b'{"instances": [[1e999, 1, 1]]}', 400, "is not of expected type: float"),
        ("double:predict", b'{"instances": [' + b" " * (33 << 20) + b"1]}", 413, "A body has at most"),
    ],
)
def test_bad_requests_have_the_statuses_and_texts_of_serving(
    client: tfi.Client, model: Any, path: str, body: Any, code: int, text: str
) -> None:
    status, found = call(f"http://{address(client)}/v1/models/{path}", body)
    assert status == code, found
    assert text in found["error"]


def test_the_client_of_serving_predicts_over_grpc(client: tfi.Client, nodes: LocalCluster, model: Any) -> None:
    serving = pytest.importorskip("tensorflow_serving.apis.predict_pb2")
    from tensorflow_serving.apis import get_model_metadata_pb2, prediction_service_pb2_grpc

    rows = np.random.default_rng(2).normal(size=[4, 3]).astype("float32")
    with grpc.insecure_channel(nodes.address) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        request = serving.PredictRequest()
        request.model_spec.name = "double"
        request.inputs["x"].CopyFrom(tf.make_tensor_proto(rows))
        answer = stub.Predict(request, timeout=SECONDS)
        (output,) = answer.outputs.values()
        np.testing.assert_allclose(tf.make_ndarray(output), model.predict(rows, verbose=0), rtol=1e-4, atol=1e-6)
        assert answer.model_spec.version.value == 1
        metadata = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
        metadata.model_spec.name = "double"
        found = get_model_metadata_pb2.SignatureDefMap()
        stub.GetModelMetadata(metadata, timeout=SECONDS).metadata["signature_def"].Unpack(found)
        assert found.signature_def["serving_default"].inputs["x"].tensor_shape.dim[1].size == 3
        request.inputs["x"].CopyFrom(tf.make_tensor_proto(rows[:, :2]))
        with pytest.raises(grpc.RpcError) as failed:
            stub.Predict(request, timeout=SECONDS)
        assert failed.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_metrics_count_requests_batches_and_versions(client: tfi.Client, model: Any) -> None:
    url = f"http://{address(client)}"
    value = functools.partial(metric, address(client))
    answered = 'tensorflow_ignite_predict_requests_total{code="OK",model="double",version="1"}'
    before = value(answered)
    for _ in range(3):
        assert call(f"{url}/v1/models/double:predict", {"instances": [[1, 2, 3]]})[0] == 200
    assert value(answered) == before + 3
    assert value('tensorflow_ignite_model_serving{model="double",version="1"}') == 1
    batches = 'tensorflow_ignite_predict_batch_rows_count{model="double",version="1"}'
    await_true(lambda: value(batches) >= 1, "no batch is counted")
