"""Models of the cluster, with real models: versions made by jobs and by hand, and what they return."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import LIMIT, cli

import tensorflow_ignite as tfi
from tensorflow_ignite.errors import InvalidRequestError, ModelNotFoundError, ModelUnusableError
from tensorflow_ignite.kinds import JobKind
from tensorflow_ignite.models import loading
from tensorflow_ignite.models.registry import Models
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

TRAINED = """
import os, sys
from pathlib import Path
import tensorflow_ignite as tfi
library, outcome, folder = sys.argv[1:]
here = tfi.train.context()
strategy = tfi.train.strategy()
if library == "keras":
    import keras
else:
    import tf_keras as keras
with strategy.scope():
    ones = {"kernel_initializer": "ones"}
    model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1, **ones), keras.layers.BatchNormalization()])
tfi.train.export(model, "exported_" + outcome)
if outcome == "restarts" and here.attempt == 1:
    # A part of an attempt that fails.
    if here.index == 0:
        model.layers[0].set_weights([w * 7 for w in model.layers[0].get_weights()])
        tfi.train.export(model, "exported_restarts")
    os._exit(1)
if outcome == "fails":
    sys.exit(3)
"""


def load(models: Models, reference: str, folder: Path) -> loading.LoadedModel:
    """A version as a process that predicts loads it."""
    version = models.get(reference)
    models.download(version, folder / version.reference)
    loaded = loading.load(folder / version.reference, version.format, f"model {version.reference}")
    assert dict(loaded.signatures) == dict(version.signatures)
    return loaded


@pytest.mark.parametrize(("library", "kind"), [("keras", "multi-worker-mirrored"), ("tf_keras", "one")])
def test_a_job_makes_one_version_by_the_attempt_that_succeeds(
    cluster: LocalCluster, client: tfi.Client, numbered: str, tmp_path: Path, library: str, kind: JobKind
) -> None:
    pytest.importorskip(library)
    script = tmp_path / "trained.py"
    script.write_text(TRAINED)
    models = client.models
    before = models.newest("exported_restarts") or 0
    job = client.submit(script, cache=numbered, strategy=kind, args=[library, "restarts", str(tmp_path)])
    assert job.wait(LIMIT).state == "succeeded"
    assert len(job.status.attempts) == 2
    # It is there as soon as the job is over.
    version = models.get("exported_restarts")
    assert (version.number, version.job) == (before + 1, job.id)
    (name,) = (spec.name for spec in version.signature().inputs)
    found = load(models, version.reference, tmp_path).predict({name: np.array([[1.0, 2.0], [3.0, 4.0]])})
    (values,) = found.values()
    np.testing.assert_allclose(values[:, 0], [3, 7], rtol=1e-2)


@pytest.mark.parametrize("end", ["fails", "is_stopped"])
def test_a_job_that_does_not_succeed_makes_no_version(
    cluster: LocalCluster, client: tfi.Client, numbered: str, tmp_path: Path, end: str
) -> None:
    script = tmp_path / "trained.py"
    script.write_text(TRAINED + ("while True: tfi.train.report(1)\n" if end == "is_stopped" else ""))
    arguments = ["keras", end, str(tmp_path)]
    job = client.submit(script, cache=numbered, strategy="one", args=arguments, restart=tfi.Restart(max_crashes=0))
    exported = f"/models/exported_{end}"
    if end == "is_stopped":
        for _ in job.watch(LIMIT):
            if job.files().exists(f"{exported}/.exported-{job.id}"):
                break
        assert job.files().exists(f"{exported}/.exported-{job.id}")
        assert job.stop(timeout=LIMIT).state == "stopped"
    else:
        with pytest.raises(tfi.errors.JobFailedError):
            job.wait(LIMIT)
    with pytest.raises(ModelNotFoundError):
        client.models.get(f"exported_{end}")
    assert job.files().list(exported) == []


def test_a_continuous_job_exports_nothing(client: tfi.Client, numbered: str, tmp_path: Path) -> None:
    script = tmp_path / "exports.py"
    script.write_text("import tensorflow_ignite as tfi\ntfi.train.export(None, 'never')\n")
    job = client.submit(script, cache=numbered, restart=tfi.Restart(max_crashes=0), rounds=tfi.Rounds())
    with pytest.raises(tfi.errors.JobFailedError, match="a continuous job exports no model never"):
        job.wait(LIMIT)


def two_inputs(structure: str) -> Any:
    """A model with the outputs a + 2 b and a - b."""
    a, b = keras.Input([2], name="a"), keras.Input([2], name="b")
    added = keras.layers.Add(name="added")([a, keras.layers.Rescaling(2.0)(b)])
    subtracted = keras.layers.Subtract(name="subtracted")([a, b])
    if structure == "dict":
        return keras.Model({"b": b, "a": a}, {"added": added, "subtracted": subtracted})
    return keras.Model([b, a], [added, subtracted])


@pytest.mark.parametrize("structure", ["dict", "list"])
@pytest.mark.parametrize("form", ["keras", "saved_model"])
def test_inputs_and_outputs_have_their_names_in_each_format(
    cluster: LocalCluster, client: tfi.Client, tmp_path: Path, structure: str, form: str
) -> None:
    model, path = two_inputs(structure), tmp_path / ("model.keras" if form == "keras" else "model")
    model.save(path) if form == "keras" else model.export(path, verbose=False)
    version = client.models.add("two_inputs", path)
    assert version.format == form
    a, b = np.array([[1, 2]]), np.array([[10, 20.0]])
    found = load(client.models, version.reference, tmp_path).predict({"a": a, "b": b})
    assert sorted(array.tolist() for array in found.values()) == [[[-9, -18]], [[21, 42]]]
    if structure == "dict" or form == "keras":
        assert set(found) == {"added", "subtracted"}


def test_a_module_with_strings_and_several_signatures_is_exported(
    cluster: LocalCluster, client: tfi.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Words(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "word")])
        def length(self, word: Any) -> dict[str, Any]:
            return {"length": tf.strings.length(word), "upper": tf.strings.upper(word)}

        @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64, "x")])
        def total(self, x: Any) -> dict[str, Any]:
            return {"total": tf.reduce_sum(x, axis=1)}

    module = Words()
    monkeypatch.setenv("TENSORFLOW_IGNITE_ADDRESS", cluster.address)
    with pytest.raises(ModelUnusableError, match="has no signature"):
        tfi.train.export(module, "words")
    version = tfi.train.export(module, "words", signatures={"serving_default": module.length, "total": module.total})
    assert version is not None
    assert list(version.signatures) == ["serving_default", "total"]
    loaded = load(client.models, version.reference, tmp_path)
    found = loaded.predict({"word": np.array(["pig", "Zebra"], object)})
    assert found["length"].tolist() == [3, 5]
    assert found["upper"].tolist() == [b"PIG", b"ZEBRA"]
    assert loaded.predict({"x": np.ones((2, 5), np.float32)}, "total")["total"].tolist() == [5, 5]
    with pytest.raises(
        InvalidRequestError, match=r"has no signature 'other'\. Its signatures are serving_default, total"
    ):
        loaded.predict({}, "other")
    with pytest.raises(InvalidRequestError, match=r"float64\. The model takes word: string"):
        loaded.predict({"word": np.ones(2)})


def test_a_model_that_cannot_be_loaded_is_refused_with_the_reason(
    cluster: LocalCluster, client: tfi.Client, tmp_path: Path
) -> None:
    class Unknown(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x

    keras.Sequential([keras.Input([2]), Unknown()]).save(tmp_path / "unknown.keras")
    with pytest.raises(ModelUnusableError, match="Unknown"):
        client.models.add("unloadable", tmp_path / "unknown.keras")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "saved_model.pb").write_bytes(b"\x0f\xff\xff")
    with pytest.raises(ModelUnusableError, match="cannot be loaded"):
        client.models.add("unloadable", tmp_path / "broken")
    model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
    model.export(tmp_path / "absent", verbose=False)
    graph = tmp_path / "absent" / "saved_model.pb"
    # An operation that this TensorFlow does not have.
    graph.write_bytes(graph.read_bytes().replace(b"MatMul", b"MutMal"))
    version = client.models.add("unloadable", tmp_path / "absent")
    with pytest.raises(ModelUnusableError, match="MutMal"):
        load(client.models, version.reference, tmp_path)


def test_the_command_line_adds_lists_describes_labels_and_removes(cluster: LocalCluster, tmp_path: Path) -> None:
    def run(*arguments: str, code: int = 0) -> str:
        done = cli("model", *arguments, address=cluster.address)
        assert done.returncode == code, done.stderr
        return done.stderr if code else done.stdout

    keras.Sequential([keras.Input([2], name="x"), keras.layers.Dense(1)]).save(tmp_path / "m.keras")
    assert run("add", "by_hand", str(tmp_path / "m.keras")).startswith("by_hand:1 (")
    assert run("add", "by_hand", "ignite:///models/by_hand/1", "--label", "stable").endswith(", labelled stable\n")
    assert run("label", "by_hand:1", "canary") == "by_hand@canary is by_hand:1\n"
    listed = run("ls", "by_hand").splitlines()
    assert [line.split()[:3] for line in listed] == [
        ["MODEL", "LABELS", "FORMAT"],
        ["by_hand:2", "stable", "keras"],
        ["by_hand:1", "canary", "keras"],
    ]
    assert "  takes:    x: float32[?, 2]" in run("describe", "by_hand").splitlines()
    found = json.loads(run("describe", "by_hand@canary", "--json"))
    assert (found["number"], found["labels"]) == (1, ["canary"])
    assert found["signatures"]["serving_default"]["inputs"] == [{"name": "x", "dtype": "float32", "shape": [None, 2]}]
    assert "has the label canary" in run("rm", "by_hand:1", code=1)
    assert run("label", "by_hand", "canary", "--remove") == "by_hand@canary is removed\n"
    assert run("rm", "by_hand:1") == "by_hand:1 is removed\n"
    assert "there is no model by_hand:1. Model by_hand has the versions 2" in run("describe", "by_hand:1", code=1)
    assert run("rm", "by_hand") == "by_hand is removed\n"
    assert "there is no model by_hand." in run("ls", "by_hand", code=1)
