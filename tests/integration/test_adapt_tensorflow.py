"""Preprocessing layers learn from the rows of all workers, once for a job.

Promise (training): A layer learns once for a job: the same on each worker and in each attempt.
Promise (training): Workers with different states do not begin to train together.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, read

import tensorflow_ignite as tfi
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.kinds import JobKind
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.train import layer_state, row_steps

pytest.importorskip("tensorflow")
pytest.importorskip("keras")
pytest.importorskip("tf_keras")

CACHE, ROWS, WORDS = "rows_to_learn_from", 900, 451
# Whatever the order of rows is.
X = np.arange(ROWS, dtype=np.float32)


def load(cluster: LocalCluster, cache: str, x: np.ndarray[Any, Any]) -> None:
    """Rows whose mean and words differ from worker to worker."""
    columns = {"id": np.arange(ROWS), "x": x, "word": [f"w{i % WORDS}" for i in range(ROWS)], "y": X / ROWS}
    tfi.load(cache, columns, key="id", backups=1, partitions=64, if_exists="replace", address=cluster.address)


def submit(client: tfi.Client, folder: Path, library: str, case: str, **options: Any) -> JobHandle:
    arguments = [str(folder), library, case]
    return client.submit(
        SCRIPTS / "adapt_layers.py", cache=CACHE, args=arguments, restart=tfi.Restart(max_crashes=1), **options
    )


def run(
    client: tfi.Client, cluster: LocalCluster, folder: Path, library: str, case: str, **options: Any
) -> tuple[Job, list[str], list[list[dict[str, Any]]]]:
    """A job of the script, its output, and what each of its tasks has found in its first and its second run."""
    load(cluster, CACHE, X)
    handle = submit(client, folder, library, case, **options)
    job = handle.wait(timeout=LIMIT)
    found = [[read(folder, path.name) for path in sorted(folder.glob(f"*-{number}.json"))] for number in (1, 2)]
    return job, [line.text for line in handle.logs()], found


def require_all_rows(found: dict[str, Any]) -> None:
    """Layers have learned from each row once."""
    mean, variance = found["normal"]
    np.testing.assert_allclose(mean, X.mean(), rtol=1e-4)
    np.testing.assert_allclose(variance, X.var(), rtol=1e-3)
    # Those that come twice are before those that come once.
    vocabulary = found["words"][0]
    assert len(vocabulary) == 1 + WORDS
    assert set(vocabulary[:-2]) == {"[UNK]", *(f"w{i}" for i in range(ROWS - WORDS))}


@pytest.mark.full
def test_layers_learn_from_all_rows_and_are_equal_and_a_later_run_reads_none(
    client: tfi.Client, cluster: LocalCluster, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    options: dict[str, Any] = {"checkpoint_directory": "ignite:///adapted"}
    _, _, (first, _) = run(client, cluster, tmp_path / "first", "keras", "few", **options)
    assert len(first) == 3
    require_all_rows(first[0])
    # Two layers, on the first worker alone.
    assert [found.pop("read") for found in first] == [2 * ROWS, 0, 0]
    assert first[1:] == first[:1] * 2
    # In one process, which costs less; the other rows of now change nothing.
    load(cluster, CACHE, X + 1)
    handle = submit(client, tmp_path / "second", "keras", "few", strategy="one", **options)
    handle.wait(timeout=LIMIT)
    second = read(tmp_path / "second", "worker-0-1.json")
    assert second.pop("read") == 0
    assert second == first[0]
    output = [line.text for line in handle.logs()]
    assert sum("has what attempt 1 of job" in line and "reads no row" in line for line in output) == 2


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "library"),
    [
        ("multi-worker-mirrored", "keras"),
        ("parameter-server", "tf_keras"),
        ("one", "keras"),
    ],
)
def test_every_layer_learns_in_each_kind_of_job(
    client: tfi.Client, cluster: LocalCluster, tmp_path: Path, kind: JobKind, library: str
) -> None:
    # The evaluator of a job with one process.
    evaluates = tfi.Evaluator() if kind == "one" else None
    job, output, (first, second) = run(client, cluster, tmp_path, library, "many", strategy=kind, evaluator=evaluates)
    assert job.attempt is not None
    tasks = {"one": 2, "parameter-server": 1}.get(kind, 3)
    assert (len(first), len(second)) == (tasks, tasks)
    require_all_rows(first[0])
    boundaries = np.quantile(X, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(first[0]["bins"], boundaries, atol=ROWS / 50)
    # "w2" and "w1" come twice each; each row is a document.
    vocabulary, ((*_,),) = first[0]["idf"]
    assert sorted(vocabulary[1:]) == sorted(f"w{i}" for i in range(WORDS))
    # One mean, one unknown word, and each word.
    assert first[0]["space"][0] == 1 + 1 + WORDS
    for found in first + second:
        for name in ("normal", "words", "idf", "bins", "space"):
            assert found[name] == first[0][name], name
        assert "would learn without an end: its rows are repeated" in found["infinite"]
        assert "before its repeat()" in found["infinite"]
    # FeatureSpace looks at a batch of each feature, which may bring all of these few rows.
    learned, *others = sorted((found["read"] for found in first + second), reverse=True)
    assert learned >= 6 * ROWS
    assert max(others) <= 2 * (ROWS + 1)
    assert sum("reads no row" in line for line in output) == 6


@pytest.mark.full
@pytest.mark.parametrize("library", ["keras", "tf_keras"])
def test_workers_with_different_states_do_not_begin_to_train_and_the_error_names_what_differs(
    client: tfi.Client, cluster: LocalCluster, tmp_path: Path, library: str
) -> None:
    load(cluster, CACHE, X)
    client.submit(
        SCRIPTS / "differ.py", cache=CACHE, args=[str(tmp_path), library], restart=tfi.Restart(max_crashes=0)
    ).wait(timeout=LIMIT)
    found = [read(tmp_path, f"{index}.json") for index in range(3)]
    for errors in found:
        assert "layer 'of_one_worker' (Normalization) is not equal on all workers" in errors["mean"]
        assert "worker 0 differs from worker 1, worker 2" in errors["mean"]
        assert "layer 'other_words' (IntegerLookup) is not equal on all workers" in errors["vocabulary"]
        assert "differs from worker 1. All" in errors["vocabulary"]
        assert "counter" in errors["variable"]
        assert "is not equal on all workers" in errors["variable"]
        # That of the first worker.
        assert errors["shared"] == "3.0"
        # Of all rows.
        assert errors["maximum"] == f"{X.max()} {X.mean():.1f}"
        assert "with exact=True" in errors["exact"]
        assert "Give adapt the dataset before its cache()" in errors["cache"]
    assert [errors["order"][:60] for errors in (found[0], found[2])] == ["", ""]
    assert "All workers let the same layers learn, in the same order" in found[1]["order"]
    assert [errors["name"] for errors in (found[0], found[2])] == ["", ""]
    assert "lets layer 'second' learn as call 2 of adapt, and worker 0 layer 'first'" in found[1]["name"]
    assert [errors["column"] for errors in (found[0], found[2])] == ["", ""]
    assert "from other rows" in found[1]["column"]
    assert "[3,1]" in found[0]["failed"]
    for errors in found[1:]:
        assert errors["failed"].startswith("layer 'fails' could not learn on worker 0, which does so for all workers")
        assert "InvalidArgumentError" in errors["failed"]


@pytest.mark.full
def test_the_steps_before_adapt_are_the_same_in_each_process_and_others_for_other_rows() -> None:
    import tensorflow as tf

    elements = tf.data.Dataset.range(8).map(lambda x: {"a": x, "b": -x})
    rows = elements.batch(2)

    def of_column(name: str) -> list[str]:
        return row_steps.steps_of(rows.map(lambda row: tf.cast(row[name], tf.float32)[:, None]))

    def of_all(names: Sequence[str]) -> list[str]:
        # Python makes the operations in this order.
        return row_steps.steps_of(rows.map(lambda row: {name: row[name] * 2 for name in names}))

    assert of_column("a") == of_column("a") != of_column("b")
    assert of_all(["a", "b"]) == of_all(["b", "a"])
    base = row_steps.steps_of(rows)
    assert base == row_steps.steps_of(rows.prefetch(1)) == row_steps.steps_of(elements.batch(4))
    different: list[Any] = [rows.shard(2, 0), rows.shard(2, 1), rows.concatenate(rows)]
    different += [elements.batch(size).take(1) for size in (3, 4)]
    different += [rows.take(1), rows.take(2), rows.skip(1), rows.filter(lambda row: row["a"][0] > 3)]
    different += [rows.map(lambda row: row["a"][:1]), rows.map(lambda row: row["a"][1:])]
    texts = [base, *map(row_steps.steps_of, different)]
    assert len({str(text) for text in texts}) == len(texts)
    assert row_steps.steps_of(np.zeros(3)) == []


@pytest.mark.full
@pytest.mark.parametrize("library", ["keras", "tf_keras"])
def test_a_copy_of_a_layer_of_a_script_has_the_arguments_that_its_config_leaves_out(library: str) -> None:
    layers: Any = importlib.import_module(library).layers

    class WithPrefix(layers.StringLookup):  # type: ignore[misc]
        def __init__(self, prefix: str, **options: Any) -> None:
            super().__init__(**options)
            self.prefix = prefix

    made = WithPrefix("a", max_tokens=9)
    copied = layer_state.copy_of(made)
    assert (copied.prefix, copied.max_tokens, copied.name) == ("a", 9, made.name)
    assert layer_state.identity(made) == layer_state.identity(WithPrefix("a", max_tokens=9))
    assert layer_state.identity(made) != layer_state.identity(WithPrefix("b", max_tokens=9))
