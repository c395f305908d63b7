"""The parts of a prediction in bulk that need no cluster: columns of models and results, units, finished partitions."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from file_server import FileServer

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.data.transport.service import ServiceReader
from tensorflow_ignite.models.signature import Signature, TensorSpec
from tensorflow_ignite.predict import outputs_file, planning, result_columns, task
from tensorflow_ignite.predict.finished_partitions import FinishedPartitions
from tensorflow_ignite.predict.input_columns import input_columns
from tensorflow_ignite.predict.prediction_request import PredictionRequest
from tensorflow_ignite.predict.units import MOST, THREADS, units_of
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.task import Task, WorkerAssignment
from tensorflow_ignite.v1 import data_pb2

PIXELS = pa.field("pixels", pa.list_(pa.uint8(), 64))
WORDS = pa.field("words", pa.list_(pa.float64()))
SCHEMA = pa.schema([PIXELS, WORDS, ("label", pa.int64()), ("name", pa.string()), ("price", pa.float64())])
NUMBER = pa.int64()
SUBJECT = "model m:1 and cache 'c'"
NOW = datetime(2026, 1, 2, tzinfo=timezone.utc)


def signature(*inputs: TensorSpec) -> Signature:
    return Signature(inputs, (TensorSpec("y", "float32", (None,)),))


def test_a_request_survives_the_arguments_of_a_script() -> None:
    request = PredictionRequest(
        into="-out",
        model="m:3",
        signature="classify",
        columns=("a", "--b"),
        keep=("c d",),
        where="x > ? AND y = '--'",
        parameters=(1, -2.5, "ü", None, True),
        batch_size=7,
    )
    assert PredictionRequest.from_arguments(list(request.to_arguments())) == request
    plain = PredictionRequest(into="out", script="score.py")
    assert PredictionRequest.from_arguments(list(plain.to_arguments())) == plain


@pytest.mark.parametrize(
    ("inputs", "columns", "chosen"),
    [
        # By name, among all columns, and of those that are named.
        ([("price", "float32", (None,)), ("label", "float32", (None,))], [], ["price", "label"]),
        ([("price", "float32", (None,))], ["price"], ["price"]),
        # The only input takes a column of another name: the one that is named, or the only one that fits.
        ([("x", "string", (None,))], [], ["name"]),
        ([("image", "float32", (None, 8, 8))], ["pixels"], ["pixels"]),
        ([("image", "float32", (None, 64))], ["pixels"], ["pixels"]),
        # A list of any length may have the length that the input needs.
        ([("vector", "float64", (None, 5))], ["words"], ["words"]),
        ([("anything", "float32", None)], ["pixels"], ["pixels"]),
        ([("digit", "uint8", (None,))], ["label"], ["label"]),
        ([("any_length", "float32", (None, None))], ["pixels"], ["pixels"]),
    ],
)
def test_columns_become_inputs_by_name_or_the_only_one(inputs: Any, columns: list[str], chosen: list[str]) -> None:
    specs = [TensorSpec(*each) for each in inputs]
    available = pa.schema([field for field in SCHEMA if not columns or field.name in columns])
    found = input_columns(signature(*specs), available, columns, [], SUBJECT)
    assert [column.column for column in found] == chosen
    assert {column.requested for column in found} == {pa.list_(pa.float64(), 5) if "words" in chosen else None}
    if specs[0].shape == (None, 8, 8):
        assert found[0].array(np.zeros((3, 64), np.uint8)).shape == (3, 8, 8)


@pytest.mark.parametrize(
    ("inputs", "columns", "text"),
    [
        ([("x", "float32", (None,))], [], r"of \[.*\], \['label', 'price'\] fit it"),
        ([("x", "float32", (None,)), ("y", "float32", (None,))], [], "differ"),
        ([("x", "float32", (None,))], ["label", "price"], "2 columns are given"),
        ([("x", "int32", (None,))], ["price"], r"price:float64 cannot become the input x: int32\[\?\]"),
        ([("x", "float32", (None,))], ["name"], "name:string cannot become"),
        (
            [("x", "float32", (None, 7, 8))],
            ["pixels"],
            r"pixels:uint8\[64\] cannot become the input x: float32\[\?, 7, 8\]",
        ),
        ([("x", "float32", (None, None))], ["words"], "cannot become"),
    ],
)
def test_columns_that_do_not_fit_are_refused_with_what_the_model_takes(
    inputs: Any, columns: list[str], text: str
) -> None:
    specs = [TensorSpec(*each) for each in inputs]
    available = pa.schema([field for field in SCHEMA if not columns or field.name in columns])
    with pytest.raises(errors.InvalidRequestError, match=text) as refused:
        input_columns(signature(*specs), available, columns, [], SUBJECT)
    assert f"The model takes {specs[0]}" in str(refused.value)


@pytest.mark.parametrize(
    ("dtype", "shape", "values", "kind"),
    [
        ("float32", (None,), np.float32([1, 2]), pa.float32()),
        ("float32", (None, 1), np.float32([[1], [2]]), pa.float32()),
        ("int32", (None, 2), np.int32([[1, 2], [3, 4]]), pa.list_(pa.int32(), 2)),
        ("float64", (None, 2, 2), np.arange(8.0).reshape(2, 2, 2), pa.list_(pa.float64(), 4)),
        ("int64", (None, None), np.arange(6).reshape(2, 3), pa.list_(pa.int64())),
        ("bool", (None,), np.array([True, False]), pa.bool_()),
        ("string", (None,), np.array([b"a", "ü".encode()], object), pa.string()),
        ("string", (None,), np.array(["a", "ü"]), pa.string()),
        ("uint8", (None,), np.uint8([1, 255]), pa.uint8()),
    ],
)
def test_an_output_becomes_a_column(dtype: str, shape: Any, values: Any, kind: pa.DataType) -> None:
    field = result_columns.output_field(TensorSpec("y", dtype, shape), SUBJECT)
    assert field.type == kind
    found = result_columns.output_array(values, field, 2, SUBJECT)
    assert found.type == kind
    flat = [
        item.decode() if isinstance(item, bytes) else item
        for item in np.asarray(values).reshape(2, -1).ravel().tolist()
    ]
    rows = found.to_pylist()
    assert [item for row in rows for item in (row if isinstance(row, list) else [row])] == flat
    # A batch without rows has columns too.
    assert len(result_columns.output_array(values[:0], field, 0, SUBJECT)) == 0


@pytest.mark.parametrize(
    "spec",
    [
        TensorSpec("y", "complex64", (None,)),
        TensorSpec("y", "uint64", (None,)),
        TensorSpec("y", "float32", None),
        TensorSpec("y", "float32", ()),
        TensorSpec("y", "float32", (None, None, 4)),
    ],
)
def test_an_output_without_a_column_is_refused(spec: TensorSpec) -> None:
    with pytest.raises(errors.UnsupportedTypeError, match="cannot become a column"):
        result_columns.output_field(spec, SUBJECT)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.float32(1), "for 2 rows"),
        (np.zeros((3, 2), np.float32), "for 2 rows"),
        (np.zeros((2, 3), np.float32), "a row has 3 elements, and not 2"),
        (np.array([["a", "b"]] * 2), "does not fit its column"),
    ],
)
def test_outputs_that_differ_from_those_before_are_an_error(values: Any, text: str) -> None:
    field = pa.field("y", pa.list_(pa.float32(), 2))
    with pytest.raises(errors.RowMismatchError, match=text):
        result_columns.output_array(values, field, 2, SUBJECT)


def results(keep: list[str], outputs: list[str], key: pa.DataType = NUMBER) -> result_columns.ResultColumns:
    rows = pa.schema([("_key", key), *SCHEMA])
    return result_columns.result_columns(rows, keep, [pa.field(name, pa.float32()) for name in outputs], SUBJECT)


def test_results_have_the_key_the_kept_columns_the_outputs_and_their_origin() -> None:
    columns = results(["label"], ["y"])
    rows = pa.record_batch({"_key": [1, 2], "label": [3, None], "price": [0.5, 0.5]})
    batch = columns.batch(rows, {"y": np.float32([0.25, 0.5])}, "m:1", NOW)
    assert batch.to_pylist() == [
        {"_key": 1, "label": 3, "y": 0.25, "model_version": "m:1", "predicted_at": NOW},
        {"_key": 2, "label": None, "y": 0.5, "model_version": "m:1", "predicted_at": NOW},
    ]
    with pytest.raises(errors.RowMismatchError, match=r"has predicted \['z'\], and before \['y'\]"):
        columns.batch(rows, {"z": np.float32([0, 0])}, "m:1", NOW)
    # A field of the key is kept with the key.
    assert results(["label", "price"], ["y"], pa.struct([("label", pa.int64())])).schema.names == [
        *("_key", "price", "y", "model_version", "predicted_at")
    ]


@pytest.mark.parametrize(
    ("keep", "outputs", "text"),
    [
        (["label"], ["Label"], "'Label' is a kept column and an output"),
        ([], ["predicted_at"], "is an output and a column of every result"),
        ([], ["y", "y"], "is an output and an output"),
    ],
)
def test_columns_of_results_have_different_names(keep: list[str], outputs: list[str], text: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match=text):
        results(keep, outputs)


@pytest.mark.parametrize(("count", "rows"), [(0, 0), (1, 10**9), (2, 0), (341, 133_000), (1024, 10**8), (5, 10**6)])
def test_units_have_each_partition_once_and_are_neither_few_nor_many(count: int, rows: int) -> None:
    partitions = list(range(0, 3 * count, 3))
    units = units_of(partitions, rows, 1000)
    assert [number for unit in units for number in unit] == partitions
    assert all(units)
    assert min(THREADS, count) <= len(units) <= MOST


@pytest.mark.parametrize(
    "source",
    [
        "def predict(batch): ...",
        "from lib import predict",
        "class predict: ...",
        "predict = print",
        "from lib import *",
    ],
)
def test_a_script_may_bind_the_function_in_any_way(source: str) -> None:
    planning.check_script("score.py", source.encode())
    with pytest.raises(errors.CodeInvalidError, match="no function predict"):
        planning.check_script("score.py", b"def main():\n    predict = 1\n")


def test_a_script_predicts_into_a_cache_that_exists_and_that_the_caller_may_only_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The caller's list of caches does not have it, and its columns differ from those before the first batch."""
    refusals: list[errors.TensorFlowIgniteError] = [
        errors.RowMismatchError("rows with columns [] do not fit cache scores"),
        errors.UnsupportedTypeError("cache scores cannot get rows with the keys of cache c"),
    ]
    commands: list[Any] = []

    def refuse(node: str, command: Any, *_: Any) -> None:
        commands.append(command)
        raise refusals.pop(0)

    columns = planning.RowColumns(pa.schema([("_key", NUMBER), ("label", NUMBER)]), (), ("label",))
    monkeypatch.setattr(planning, "read_columns", lambda *_: columns)
    monkeypatch.setattr(flight, "put", refuse)
    request = PredictionRequest(into="scores", script="score.py")
    planning.check(request, "c", None, "localhost:1", None)
    with pytest.raises(errors.UnsupportedTypeError, match="cannot get rows with the keys"):
        planning.check(request, "c", None, "localhost:1", None)
    assert [(command.cache, command.like, command.only_check) for command in commands] == [("scores", "c", True)] * 2


class EndlessStream:
    """A batch, and then nothing until it is cancelled, when it ends without an error, as those of nodes do."""

    def __init__(self, partitions: Sequence[int]) -> None:
        self._partitions = partitions
        self._cancelled = threading.Event()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"_key": list(self._partitions), "label": list(self._partitions)})
        assert self._cancelled.wait(30)

    def cancel(self) -> None:
        self._cancelled.set()


def test_partitions_whose_streams_were_cut_by_an_error_elsewhere_are_not_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = data_pb2.ReadCommand(partitions=range(6))
    described = flight.Description(SCHEMA, -1, (flight.Endpoint("localhost:1", command),))
    monkeypatch.setattr(ServiceReader, "describe", lambda *_: described)
    monkeypatch.setattr(
        ServiceReader, "moved_streams", lambda _, endpoint, *__, **___: [EndlessStream(endpoint.command.partitions)]
    )
    others = threading.Semaphore(0)

    class Scorer:
        def predict(self, batch: Mapping[str, Any]) -> Mapping[str, Any]:
            if 5 in batch["label"]:
                assert others.acquire(timeout=30)
                assert others.acquire(timeout=30)
                raise errors.RowMismatchError("broken on purpose")
            others.release()
            return {"y": np.float32(batch["label"])}

    class Output:
        rows: ClassVar[dict[int, int]] = {}
        is_ready = True

        def open(self, predicted: Any = None) -> tuple[result_columns.ResultColumns, Any]:
            return results([], ["y"]), self

        def write(self, batches: Iterable[pa.RecordBatch]) -> dict[int, int]:
            list(batches)
            return dict.fromkeys(range(6), 1)

    class Finished:
        added: ClassVar[list[Any]] = []

        def before(self, rows: Any) -> dict[int, int]:
            return {}

        def add(self, rows: Any) -> None:
            self.added.append(rows)

    here = Task(job_id="7f3a", cache="c", assignment=(WorkerAssignment(0, "n", tuple(range(6)), 60),))
    columns = planning.RowColumns(pa.schema([("_key", NUMBER), ("label", NUMBER)]), (), ("label",))
    request = PredictionRequest(into="out", script="score.py")
    prediction: Any = task.BulkPrediction
    with pytest.raises(errors.RowMismatchError, match="broken on purpose"):
        prediction(request, here, columns, Scorer(), Output(), Finished()).run()
    assert Finished.added == []


@pytest.fixture
def node() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


def finished(node: FileServer, **here: Any) -> FinishedPartitions:
    return FinishedPartitions(Files.at((node.address,), timeout=5.0), Task(job_id="7f3a", **here))


def test_a_partition_with_fewer_results_than_it_had_is_not_finished(node: FileServer) -> None:
    first = finished(node, attempt=1)
    assert first.before({1: 5}) == {}
    first.add({1: 5, 2: 0})
    first.add({3: 7})
    finished(node, attempt=1, index=1).add({4: 2})
    later = finished(node, attempt=2)
    assert later.before({1: 5, 2: 0, 3: 8, 4: 2}) == {1: 5, 2: 0, 3: 7, 4: 2}
    # Lost, not on this node, and with rows of others.
    assert later.before({1: 0, 3: 6, 4: 9}) == {4: 2}
    # The record of a later process counts.
    finished(node, attempt=9).add({1: 5})
    finished(node, attempt=10).add({1: 3})
    finished(node, attempt=10, incarnation=1).add({2: 3})
    assert finished(node, attempt=11).before({1: 3, 2: 3}) == {1: 3, 2: 3}


def test_the_outputs_of_a_script_are_those_of_its_first_batch(node: FileServer) -> None:
    files, here = Files.at((node.address,), timeout=5.0), Task(job_id="7f3a")
    assert outputs_file.read(files, here) is None
    outputs = (pa.field("y", pa.list_(pa.float32(), 4), False, {"tensorflow_ignite.shape": "[2, 2]"}),)
    outputs_file.write(files, here, outputs)
    assert outputs_file.read(files, here) == outputs
