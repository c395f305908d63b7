"""What a model process does with batches and before them, without a process and without nodes."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from model_files import Doubler, write
from tensorflow_ignite.errors import InvalidRequestError, ModelUnusableError
from tensorflow_ignite.models import loading, tensors
from tensorflow_ignite.models.loading import LoadedModel
from tensorflow_ignite.serving import warming
from tensorflow_ignite.v1 import predict_pb2

pytestmark = pytest.mark.full


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "int64", "bool", "float16", "bfloat16"])
def test_arrays_of_every_type_come_back_as_they_were(dtype: str) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]], tf.dtypes.as_dtype(dtype).as_numpy_dtype)
    back = tensors.to_arrays([tensors.to_tensor("x", array)])["x"]
    assert back.dtype == array.dtype
    assert back.tolist() == array.tolist()


def test_strings_are_bytes_in_the_shape_of_the_array() -> None:
    array = np.array([[b"a\0", "\u00fc"], [b"", b"\xff"]], dtype=object)
    assert tensors.to_arrays([tensors.to_tensor("x", array)])["x"].tolist() == [[b"a\0", b"\xc3\xbc"], [b"", b"\xff"]]


def test_tensors_without_all_their_elements_are_refused() -> None:
    for tensor in (
        predict_pb2.Tensor(name="x", dtype="float32", shape=[2], data=b"1234"),
        predict_pb2.Tensor(name="x", dtype="string", shape=[2], strings=[b"1"]),
        predict_pb2.Tensor(name="x", dtype="float128", shape=[0]),
    ):
        with pytest.raises(InvalidRequestError, match="input 'x' has"):
            tensors.to_arrays([tensor])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    module = Doubler()
    return write(module, module.double, tmp_path_factory.mktemp("warm"))


def record(files: Path, *inputs: dict[str, object]) -> LoadedModel:
    """Writes requests as TensorFlow Serving records them, and loads the model."""
    path = files / warming.RECORDED
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for values in inputs:
            request = predict_pb2.RecordedRequest(
                model=predict_pb2.RecordedModel(signature="serving_default"),
                inputs={name: tf.make_tensor_proto(value).SerializeToString() for name, value in values.items()},
            )
            log = predict_pb2.RecordedLog(predict=predict_pb2.RecordedPredict(request=request))
            writer.write(log.SerializeToString())
    return loading.load(files, "saved_model", "model doubler:1")


def test_a_model_is_called_with_its_recorded_requests(files: Path) -> None:
    called = []
    model = record(files, {"x": np.float32([1])}, {"x": np.float32([1, 2, 3])})
    model._functions = {"serving_default": lambda arrays: called.append(arrays["x"].tolist()) or {}}
    assert warming.warm(model, files) == 2
    assert called == [[1], [1, 2, 3]]


def test_a_model_that_does_not_take_its_recorded_requests_is_refused(files: Path) -> None:
    with pytest.raises(InvalidRequestError, match="the inputs"):
        warming.warm(record(files, {"z": np.float32([1])}), files)
    many = [{"x": np.float32([1])}] * (warming.MAX_RECORDED + 1)
    model = record(files, *many)
    model._functions = {"serving_default": lambda arrays: {}}
    with pytest.raises(ModelUnusableError, match="more than 1000 requests"):
        warming.warm(model, files)


def test_without_recorded_requests_of_predict_a_model_is_called_with_zeros(files: Path, tmp_path: Path) -> None:
    called = []
    # A record of another method, such as classify, has no inputs of predict.
    model = record(files, {})
    model._functions = {"serving_default": lambda arrays: called.append(arrays["x"].tolist()) or {}}
    assert [warming.warm(model, directory) for directory in (tmp_path, files)] == [1, 1]
    assert called == [[0], [0]]


@pytest.mark.parametrize("library", ["keras", "tf_keras"])
def test_a_model_without_an_input_takes_any_number_of_rows_and_one_with_states_its_own(
    library: str, tmp_path: Path
) -> None:
    package = pytest.importorskip(library)
    plain = package.Sequential([package.layers.Dense(2)])
    plain(np.zeros([32, 3], np.float32))
    states = package.Sequential([package.layers.Input(batch_shape=(2, 5, 3)), package.layers.LSTM(1, stateful=True)])
    for model, rows in ((plain, None), (states, 2)):
        model.save(tmp_path / "model.keras")
        (signature,) = loading.read_signatures(tmp_path / "model.keras", "keras").values()
        assert [spec.shape[0] for spec in (*signature.inputs, *signature.outputs) if spec.shape] == [rows, rows]
    plain.save(tmp_path / "model.keras")
    loaded = loading.load(tmp_path, "keras", "m")
    (spec,) = loaded.signatures["serving_default"].inputs
    (found,) = loaded.predict({spec.name: np.ones([5, 3])}).values()
    assert found.shape == (5, 2)
