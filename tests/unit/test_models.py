"""The models of a cluster against a file service on a real socket: versions, labels, and what is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_server import FileServer

from tensorflow_ignite.errors import (
    FileCorruptError,
    InvalidRequestError,
    ModelNotFoundError,
    StoredFileExistsError,
)
from tensorflow_ignite.models import loading, tensors
from tensorflow_ignite.models.deployments import BatchRule, Deployment, Deployments
from tensorflow_ignite.models.registry import Models
from tensorflow_ignite.models.signature import Signature, TensorSpec
from tensorflow_ignite.models.version import ModelReference, parse_reference
from tensorflow_ignite.storage.files import Files

SIGNATURES = {
    "serving_default": Signature((TensorSpec("x", "float32", (None, 3)),), (TensorSpec("y", "int64", (None,)),))
}


FILES = {
    "saved_model.pb": b"graph",
    "variables/variables.index": b"weights" * 1000,
    "assets/words.txt": b"words",
    "assets.extra/tf_serving_warmup_requests": b"warm",
}


@pytest.fixture
def node() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


@pytest.fixture
def models(node: FileServer, monkeypatch: pytest.MonkeyPatch) -> Models:
    monkeypatch.setattr(loading, "read_signatures", lambda path, model_format: SIGNATURES)
    # No node serves a model.
    monkeypatch.setattr(Deployments, "get", lambda deployments, name: None)
    return Models(Files.at((node.address,), timeout=5.0))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Files in the form of a SavedModel, some of which the registry sorts in another way than their names."""
    for name, data in FILES.items():
        path = tmp_path / "model" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "model"


def test_versions_are_numbered_from_one_and_never_change(models: Models, model: Path, tmp_path: Path) -> None:
    first = models.add("digits", model, job="7f3a")
    (model / "saved_model.pb").write_bytes(b"other graph")
    second = models.add("digits", model)
    assert (first.reference, second.reference) == ("digits:1", "digits:2")
    assert (first.bytes, first.job, first.format) == (sum(map(len, FILES.values())), "7f3a", "saved_model")
    assert first.digest != second.digest
    assert models.versions("digits") == [second, first]
    assert models.get("digits:1") == first
    assert models.get("digits").signature() == SIGNATURES["serving_default"]
    models.download(first, tmp_path / "copy")
    assert {name: (tmp_path / "copy" / name).read_bytes() for name in FILES} == FILES
    assert models.names() == ["digits"]


def test_a_name_means_its_stable_version_or_else_the_newest(models: Models, model: Path) -> None:
    for _ in range(3):
        models.add("digits", model)
    assert models.get("digits").number == 3
    assert models.label("digits:1", "stable").labels == ("stable",)
    assert models.get("digits").number == 1
    models.label("digits:1", "canary")
    assert models.label("digits:2", "stable").number == 2
    assert models.get("digits@stable").number == 2
    assert models.get("digits:1").labels == ("canary",)
    assert models.labels("digits") == {"canary": 1, "stable": 2}
    assert models.add("digits", model, label="stable").labels == ("stable",)
    assert models.get("digits").number == 4
    models.unlabel("digits", "stable")
    with pytest.raises(
        ModelNotFoundError, match=r"no model digits@stable\. .* 1, 2, 3, 4, and the labels: canary \(1\)"
    ):
        models.get("digits@stable")


class _Served:
    """What the nodes serve of a model, and the calls of `deploy`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, current: int, target: int) -> None:
        self.calls: list[tuple[str, int, dict[str, Any]]] = []
        self.deployment = Deployment(
            "digits", current, target, 0, (), 2, 1 << 30, BatchRule(max_rows=64), 0, "", processes=()
        )
        monkeypatch.setattr(Deployments, "get", lambda _, name: self.deployment)
        monkeypatch.setattr(Deployments, "deploy", lambda _, *key, **options: self.calls.append((*key, options)))


def test_a_rollback_gives_up_the_version_that_is_loaded(
    models: Models, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        models.add("digits", model)
    served = _Served(monkeypatch, current=3, target=4)
    assert models.label("digits:3", "stable").labels == ("stable",)
    # What is not named stays in the row: replicas, memory and the rule of batches.
    assert served.calls == [("digits", 3, {"timeout": None})]
    assert models.labels("digits") == {"stable": 3}
    served = _Served(monkeypatch, current=3, target=0)
    models.label("digits:3", "stable")
    assert served.calls == []
    models.label("digits:2", "stable")
    assert [call[:2] for call in served.calls] == [("digits", 2)]
    # The nodes move the label.
    assert models.labels("digits") == {"stable": 3}


def test_a_label_is_removed_only_from_the_version_that_is_named(models: Models, model: Path) -> None:
    for _ in range(2):
        models.add("digits", model)
    models.label("digits:2", "stable")
    models.label("digits:1", "canary")
    for reference in ("digits:1", "digits@canary"):
        with pytest.raises(
            InvalidRequestError,
            match=r"digits:1 does not have the label stable: model digits:2 has it\. .*digits:2 stable --remove",
        ):
            models.unlabel(reference, "stable")
    assert models.labels("digits") == {"canary": 1, "stable": 2}
    models.unlabel("digits:2", "stable")
    models.unlabel("digits", "canary")
    assert models.labels("digits") == {}
    with pytest.raises(ModelNotFoundError, match="no model digits@stable"):
        models.unlabel("digits", "stable")


def test_the_label_stable_of_a_deployed_model_is_not_removed(
    models: Models, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models.add("digits", model, label="stable")
    models.label("digits:1", "canary")
    _Served(monkeypatch, current=1, target=0)
    with pytest.raises(InvalidRequestError, match=r"the nodes serve the model\. .*model undeploy digits"):
        models.unlabel("digits", "stable")
    models.unlabel("digits", "canary")
    assert models.labels("digits") == {"stable": 1}


def test_the_number_of_a_removed_version_is_not_given_again(models: Models, model: Path) -> None:
    for _ in range(3):
        models.add("digits", model)
    models.label("digits:2", "stable")
    with pytest.raises(InvalidRequestError, match="digits:2 has the label stable"):
        models.remove("digits:2")
    models.remove("digits:3")
    assert models.newest("digits") == 2
    with pytest.raises(ModelNotFoundError, match="no model digits:3"):
        models.get("digits:3")
    assert models.add("digits", model).number == 4
    assert models.remove("digits") is None
    assert models.newest("digits") is None
    assert models.add("digits", model).number == 1


def test_callers_at_once_get_numbers_of_their_own(models: Models, model: Path) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(models.add("digits", model).number)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [1, 2, 3, 4, 5, 6]


def test_a_version_that_is_to_follow_another_one_follows_no_newer_one(models: Models, model: Path) -> None:
    assert models.add("digits", model, after=0).number == 1
    with pytest.raises(StoredFileExistsError, match="newest version of model digits is 1 now, and was none"):
        models.add("digits", model, after=0)
    assert models.add("digits", model, after=1).number == 2
    models.remove("digits:2")
    assert models.add("digits", model, after=1).number == 3


def test_an_add_that_fails_leaves_nothing(models: Models, model: Path, node: FileServer) -> None:
    (model / "link").symlink_to(model / "saved_model.pb")
    with pytest.raises(InvalidRequestError, match="is a link"):
        models.add("digits", model)
    assert models.names() == []
    (model / "link").unlink()
    models.add("digits", model)
    assert not [path for path in node.store.entries if ".adding-" in path]


def test_changed_files_of_a_version_are_found(models: Models, model: Path, node: FileServer, tmp_path: Path) -> None:
    version = models.add("digits", model)
    with Files.at((node.address,), timeout=5.0).open_writer(f"{version.path}/saved_model.pb") as writer:
        writer.write(b"grapH")
    with pytest.raises(FileCorruptError, match="digest differs"):
        models.download(version, tmp_path / "copy")


def test_what_an_export_has_written_is_no_version_yet(models: Models, model: Path, node: FileServer) -> None:
    models.export("digits", model, "7f3a", 1)
    models.export("digits", model, "7f3a", 2)
    with pytest.raises(ModelNotFoundError, match=r"no model digits\. The models of the cluster are: none"):
        models.get("digits")
    assert "/jobs/7f3a/exports/digits" in node.store.entries
    assert "/models/digits/.exported-7f3a/model.json" in node.store.entries


@pytest.mark.parametrize("name", ["", "a b", "a/b", "..", ".a", "-a", "a:1", "a@b", "x" * 201, "ä"])
def test_a_name_of_a_model_is_checked(models: Models, model: Path, name: str) -> None:
    with pytest.raises(InvalidRequestError, match="is no name of a model"):
        models.add(name, model)


@pytest.mark.parametrize("text", ["", "a:0", "a:01", "a:x", "a@", "a@1", "a:1@b", "a:-1", "a:99999999999999999999"])
def test_a_reference_is_read_as_it_is_written_and_checked(text: str) -> None:
    for reference in (ModelReference("a.b-c"), ModelReference("a", 3), ModelReference("a", label="canary")):
        assert parse_reference(str(reference)) == reference
    with pytest.raises(InvalidRequestError, match="names no model"):
        parse_reference(text)


def test_a_directory_that_is_no_version_is_named(models: Models, model: Path, node: FileServer) -> None:
    Files.at((node.address,), timeout=5.0).make_directory("/models/digits/7", parents=True)
    with pytest.raises(
        ModelNotFoundError, match=r"/models/digits/7 is no version .* model add digits ignite:///models"
    ):
        models.get("digits:7")
    assert models.add("digits", model).number == 8


def test_whatever_has_the_name_of_a_number_takes_it_and_hides_no_model(
    models: Models, model: Path, node: FileServer
) -> None:
    files = Files.at((node.address,), timeout=5.0)
    models.add("digits", model)
    for path in ("/models/digits/2", "/models/other/1/notes.txt", "/models/my model/1/model.json"):
        with files.open_writer(path, parents=True) as writer:
            writer.write(b"no model")
    assert models.add("digits", model).number == 3
    assert models.names() == ["digits"]
    with files.open_writer("/models/digits/1/model.json") as writer:
        writer.write(b"[]")
    with pytest.raises(FileCorruptError, match=r"digits:1 cannot be read .* Remove this version"):
        models.get("digits:1")
    models.remove("digits:1")
    assert models.get("digits").number == 3


def test_a_source_without_one_model_is_refused(models: Models, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="does not exist"):
        models.add("digits", tmp_path / "none")
    with pytest.raises(InvalidRequestError, match="there are 0"):
        models.add("digits", tmp_path)
    for name in ("a.keras", "b.keras"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(InvalidRequestError, match=r"there are 2 \(a\.keras, b\.keras\)"):
        models.add("digits", tmp_path)
    assert models.add("digits", tmp_path / "a.keras").url == "ignite:///models/digits/1/model.keras"


def test_inputs_are_converted_within_their_kind_and_otherwise_refused() -> None:
    signature = Signature((TensorSpec("x", "float32", (None, 2)), TensorSpec("s", "string", (None,))), ())
    words = np.array(["a", "b"], object)
    found = signature.converted({"x": [[1, 2], [3, 4]], "s": words}, "model m:1")
    assert found["x"].dtype == np.float32
    assert found["s"] is words
    for inputs, text in (
        ({"x": np.zeros((2, 2))}, r"\['s'\] differ. It takes x: float32\[\?, 2\], s: string\[\?\]"),
        ({"x": np.zeros((2, 3)), "s": words}, r"'x' of model m:1 has the shape \[2, 3\]"),
        ({"x": np.zeros((2, 2), complex), "s": words}, "elements of type complex128"),
        ({"x": np.zeros((3, 2)), "s": words}, r"different numbers of rows: \{'x': 3, 's': 2\}"),
        ({"x": np.zeros((2, 2)), "s": np.zeros(2)}, "elements of type float64"),
    ):
        with pytest.raises(InvalidRequestError, match=text):
            signature.converted(inputs, "model m:1")
    with pytest.raises(InvalidRequestError, match="elements of type float64"):
        TensorSpec("n", "int32", (None,)).converted(np.zeros(2), "model m:1")
    with pytest.raises(InvalidRequestError, match="integers that are too large for int32"):
        TensorSpec("n", "int32", (None,)).converted(np.array([1, 5_000_000_000]), "model m:1")
    assert TensorSpec("n", "int32", (None,)).converted(np.array([1, -5]), "model m:1").dtype == np.int32
    pixels = TensorSpec("n", "uint8", (None,))
    assert pixels.converted([0, 255], "model m:1").dtype == np.uint8
    for wrong in ([-1], [256]):
        with pytest.raises(InvalidRequestError, match="too large for uint8, or negative"):
            pixels.converted(wrong, "model m:1")
    with pytest.raises(InvalidRequestError, match=r"'n' are no array .* one length in all rows"):
        pixels.converted([[1, 2], [3]], "model m:1")


def test_arrays_of_another_byte_order_keep_their_values() -> None:
    for dtype in (">f4", ">i8", "<u2"):
        array = np.array([[0, 1], [2, 500]], dtype)
        assert tensors.to_arrays([tensors.to_tensor("x", array)])["x"].tolist() == array.tolist()
    with pytest.raises(InvalidRequestError, match="neither text nor bytes"):
        tensors.to_tensor("x", np.array(["a", None], object))
