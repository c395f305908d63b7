"""Examples, and the first script of README.md, as a reader of their docs runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from environments import ROOT, SECONDS, python_with
from jobs import cli

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

EXAMPLES = ROOT / "examples"
# A model that has learned nothing knows one digit in ten. Those of the examples know more than nine.
LEARNED = 0.8


@pytest.fixture(scope="module")
def digits(cluster: LocalCluster) -> str:
    """The caches of the examples, loaded as their README says."""
    load_digits = pytest.importorskip("sklearn.datasets").load_digits
    pixels, label = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(label))
    for name, rows in {"digits": order[:1437], "digits_test": order[1437:]}.items():
        columns = {"pixels": pixels[rows].astype("float32"), "label": label[rows]}
        tfi.load(name, columns, backups=1, address=cluster.address)
    return "digits"


def run(
    example: str | Path,
    cluster: LocalCluster | None = None,
    *arguments: str | Path,
    python: str | Path = sys.executable,
    **variables: str,
) -> list[str]:
    """The lines that an example prints; some start what they need."""
    env = {**os.environ, **({"TENSORFLOW_IGNITE_ADDRESS": cluster.address} if cluster else {}), **variables}
    done = subprocess.run(
        [python, EXAMPLES / example, *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def run_job(client: tfi.Client, example: str, cache: str, role: str = "worker", **options: Any) -> list[str]:
    """The lines that the first task of a role prints in a job that runs an example."""
    job = client.submit(EXAMPLES / example, cache=cache, **options)
    job.wait(SECONDS)
    return [line.text for line in job.logs(role=role, index=0)]


def accuracy_in(line: str) -> float:
    """The accuracy that a line names."""
    found = re.search(r"accuracy[= ](\d\.\d+)", line)
    assert found is not None, line
    return float(found[1])


def test_trips_loads_chooses_and_reads_rows(cluster: LocalCluster) -> None:
    lines = run("trips.py", cluster)
    assert lines[0] == "loaded 1000 rows"
    assert "rows in batches: [300, 300, 300, 100]" in lines
    assert "29 trips of driver 3 cost 200 or more, 224.75 on average" in lines
    assert "twice: [0.0, 0.5, 1.0]" in lines
    assert lines[-1] == "1000 rows, 200 without a rating; fares are decimal128(10, 2)"


def test_follow_reads_what_is_new_and_trains_on_rows_as_they_are_put(cluster: LocalCluster) -> None:
    assert run("follow.py", cluster) == ["new: 55 rows", "learned: 3.00"]


@pytest.mark.full
def test_load_files_loads_what_people_have(cluster: LocalCluster) -> None:
    lines = run("load_files.py", cluster)
    assert "prices: Artikel string, Preis double, Menge int64" in lines
    assert "  {'Artikel': 'Birnen', 'Preis': 1.5, 'Menge': None}" in lines
    assert "places: column_1 string, place_name string, zip string" in lines
    assert "  {'user': 1, 'at': {'x': 3, 'y': 4}, 'tags': ['a']}" in lines
    assert "orders: item string, price double" in lines


def test_customers_computes_features_of_three_tables_inside_the_cluster(cluster: LocalCluster) -> None:
    lines = run("customers.py", cluster)
    assert lines[0] == "features: customer, age, discount, payments, spent, largest"
    assert lines[1:3] == ["customers: 500", "equal to those of numpy: 500"]
    found, expected = re.findall(r"\d+", lines[3])[1:]
    assert found == expected != "0"


def test_duckdb_and_polars_read_a_cache_over_flight(cluster: LocalCluster) -> None:
    means = [(0, 24.0), (1, 24.5), (2, 25.0), (3, 25.5)]
    assert run("flight_clients.py", cluster) == [f"DuckDB: {means}", f"polars: {means}"]


def test_predict_digits_predicts_inside_the_cluster_and_sql_reads_the_results(
    cluster: LocalCluster, digits: str
) -> None:
    lines = run("predict_digits.py", cluster)
    assert lines[0] == "version: handwriting:1 takes pixels: float32[?, 64]"
    assert lines[1] == "job: succeeded"
    assert lines[2] == "columns: _key, label, digit, share, model_version, predicted_at"
    right = re.fullmatch(r"right: (\S+) of 360 rows", lines[3])
    assert right is not None, lines
    assert float(right[1]) > LEARNED
    assert lines[4].endswith("True")


def test_storage_writes_and_reads_files_in_the_cluster(cluster: LocalCluster) -> None:
    lines = run("storage.py", cluster)
    assert lines == [
        "1000 fares, 124.875 on average",
        "while it is written: False",
        "afterwards: b'first line\\nsecond line\\n'",
        "its bytes from 6 to 10: b'line'",
        "sum of the records: 4950",
        "restored: True from ignite:///examples/storage/checkpoints/ckpt-3",
        "kept: ignite:///examples/storage/best/ckpt-2.index ignite:///examples/storage/best/ckpt-3.index",
        "all there is: best notes.txt numbers.tfrecord trips",
    ]


def test_a_keras_script_trains_in_a_job_and_the_one_of_the_readme_also_outside(
    cluster: LocalCluster, client: tfi.Client, digits: str, tmp_path: Path
) -> None:
    job = client.submit(EXAMPLES / "digits_keras.py", cache=digits)
    script = re.search(r"```python\n(.*?)```", (EXAMPLES.parent / "README.md").read_text(), re.DOTALL)
    assert script is not None
    train = tmp_path / "train.py"
    train.write_text(script[1])
    assert any("Epoch 20/20" in line for line in run(train, cluster))
    job.wait(SECONDS)
    printed = " ".join(line.text for line in job.logs(role="worker", index=0))
    assert accuracy_in(printed[printed.index("test accuracy=") :]) > LEARNED
    # What is as it should be prints nothing that asks to be understood.
    assert "WARNING" not in printed
    assert [version.job for version in client.models.versions("digits")].count(job.id) == 1


@pytest.fixture(scope="module")
def jax_python() -> Path:
    return python_with("jax", alone=True)


def test_keras_on_jax_trains_on_two_devices_and_over_the_workers_of_a_job_without_tensorflow(
    cluster: LocalCluster, client: tfi.Client, digits: str, jax_python: Path
) -> None:
    devices = "--xla_force_host_platform_device_count=2"
    outside = run("jax_digits.py", cluster, python=jax_python, XLA_FLAGS=devices)
    inside = run_job(
        client, "jax_digits.py", digits, strategy="custom", environment=tfi.Environment(python=str(jax_python))
    )
    for number, lines in ((2, outside), (3, inside[-3:])):
        assert [lines[0], lines[2]] == [f"{number} devices", "TensorFlow is imported: False"]
        assert accuracy_in(lines[1]) > LEARNED


def test_a_ring_of_workers_that_know_only_their_addresses_has_one_model(
    cluster: LocalCluster, client: tfi.Client, digits: str
) -> None:
    job = client.submit(EXAMPLES / "ring.py", cache=digits, strategy="custom")
    alone = run("ring.py", cluster)
    job.wait(SECONDS)
    # The first worker prints two more lines. Before them, some workers say that they repeat rows.
    first, *others = [[line.text for line in job.logs(role="worker", index=index)] for index in range(3)]
    printed = [first[-3], *(lines[-1] for lines in others)]
    weights = [re.fullmatch(r"worker \d of 3: weights=(\w{16})", line) for line in printed]
    assert len({found[1] if found else line for found, line in zip(weights, printed, strict=True)}) == 1, printed
    assert all(weights), printed
    assert alone[0].startswith("worker 0 of 1: ")
    for accuracy, imported in (first[-2:], alone[-2:]):
        assert accuracy_in(accuracy) > LEARNED - 0.1
        assert imported == "TensorFlow is imported: False"


@pytest.mark.usefixtures("digits")
def test_a_job_file_submits_an_evaluator_which_reports_the_accuracy_on_other_rows(client: tfi.Client) -> None:
    submitted = cli("submit", "--detach", str(EXAMPLES / "evaluator.yaml"), address=client.address)
    job = client.job(submitted.stdout.strip())
    status = job.wait(SECONDS)
    assert status.spec.evaluator == tfi.Evaluator("digits_test")
    assert status.attempt.tasks[-1].name == "evaluator 0"
    evaluator = status.attempt.tasks[-1].status
    assert evaluator.state == "succeeded"
    assert evaluator.progress.step == status.attempt.tasks[0].status.progress.checkpoint_step
    printed = [line.text for line in job.logs(role="evaluator")]
    assert evaluator.progress.metrics["accuracy"] > LEARNED, printed
    assert printed[-1] == f"test accuracy={evaluator.progress.metrics['accuracy']:.4f}"
    curves = fsspec.filesystem("ignite", address=client.address).find(f"/jobs/{job.id}/tensorboard")
    assert any("/evaluation/" in path for path in curves)


def test_dtensor_splits_a_model_over_the_devices_of_a_process_and_over_the_workers_of_a_job(
    cluster: LocalCluster, client: tfi.Client, digits: str
) -> None:
    outside = run("dtensor_digits.py", cluster)
    inside = run_job(client, "dtensor_digits.py", digits, strategy="custom", args=["--devices", "1"])[-2:]
    assert outside[0] == "2 of 2 devices; each has 48 of 96 columns"
    assert inside[0] == "1 of 3 devices; each has 32 of 96 columns"
    assert min(accuracy_in(outside[1]), accuracy_in(inside[1])) > LEARNED


def test_serve_digits_serves_replaces_and_rolls_back(cluster: LocalCluster, digits: str) -> None:
    lines = run("serve_digits.py", cluster)
    assert float(lines[0].split()[1]) > 0.3
    assert lines[1].startswith("deployed: True and ")
    assert float(lines[1].split()[3]) > LEARNED
    assert lines[2] == "rolled back: True"


def test_a_study_of_optuna_stops_jobs_of_bad_trials_and_prints_the_best_parameters(
    cluster: LocalCluster, client: tfi.Client, digits: str
) -> None:
    before = {job.id for job in client.jobs()}
    *trials, best = run("optuna_trials.py", cluster, python=python_with("optuna"))
    states = dict(re.findall(r"(trial \d): (\w+)", "\n".join(trials)))
    assert sorted(states) == [f"trial {number}" for number in range(8)]
    assert set(states.values()) == {"succeeded", "stopped"}
    assert {job.spec.name: job.state for job in client.jobs() if job.id not in before} == states
    assert re.match(r"best: {'learning_rate': 0\.\d+, 'units': \d+}, accuracy=", best)
    assert accuracy_in(best) == max(accuracy_in(line) for line in trials if "succeeded" in line) > LEARNED


def test_sql_digits_trains_exports_deploys_and_predicts_by_sql() -> None:
    first, right, shares = run("sql_digits.py")
    assert re.fullmatch(r"first: \[\(1437, 2, \d\), \(1438, 3, \d\), \(1439, 4, \d\)\]", first)
    assert float(right.split()[1]) > LEARNED - 0.1
    assert shares == "shares: 10 with the sum 1.0"


def test_models_takes_a_model_out_and_writes_predictions_back(cluster: LocalCluster, digits: str) -> None:
    lines = run("models.py", cluster)
    assert re.fullmatch(r"added: digits:\d+, which takes pixels: float32\[\?, 64\]", lines[0])
    assert lines[1:4] == [
        "copied: ['model.keras']",
        "both predict the same: True",
        "predictions: 360",
    ]
    assert float(lines[4].removeprefix("right: ")) > LEARNED


def test_a_model_of_a_continuous_job_recovers_from_a_drift(cluster: LocalCluster) -> None:
    lines = run("drift.py", cluster)
    right = [float(re.findall(r"predicts (\S+) of the rows", line)[0]) for line in lines[:5]]
    assert right[0] > LEARNED
    assert min(right) < 0.7
    assert right[-1] > LEARNED
    assert lines[5].startswith("round 1: 2,000 rows; drift: published 1 (")
    assert lines[6].startswith("round 2: 500 changes; drift: kept 1 (")
    assert any("drift: published" in line for line in lines[7:])


def test_embeddings_on_parameter_servers_explain_rows_that_they_were_not_trained_on(
    cluster: LocalCluster, client: tfi.Client
) -> None:
    pytest.importorskip("tf_keras")
    pytest.importorskip("sklearn")
    assert run("embedding_ps.py", cluster, "--load") == ["loaded 442 rows"]
    servers, explained = run_job(client, "embedding_ps.py", "diabetes", "client", strategy="parameter-server")[-2:]
    assert servers == "on /job:ps/replica:0/task:0"
    # The mean of all rows explains nothing.
    assert float(explained.rpartition("=")[2]) > 0.1


def test_two_logical_devices_of_one_process_have_equal_copies_of_a_model(client: tfi.Client, digits: str) -> None:
    copies, equal, accuracy = run_job(client, "mirrored_cpus.py", digits, strategy="mirrored")[-3:]
    assert [copies, equal] == ["2 copies on CPU:0, CPU:1", "equal: True"]
    assert accuracy_in(accuracy) > LEARNED


def test_a_script_of_the_earlier_system_trains_in_a_job_and_with_its_variables_outside(
    cluster: LocalCluster, client: tfi.Client, digits: str
) -> None:
    inside = run_job(client, "earlier_system.py", digits)
    host, _, port = cluster.address.rpartition(":")
    outside = run("earlier_system.py", IGNITE_DATASET_HOST=host, IGNITE_DATASET_PORT=port, TENSORFLOW_IGNITE_ADDRESS="")
    assert any(line.startswith("TF_CLUSTER has 3 workers, TF_WORKERS [") for line in inside)
    assert min(accuracy_in(inside[-1]), accuracy_in(outside[-1])) > LEARNED


def test_the_notebook_trains_a_function_follows_its_output_and_predicts(cluster: LocalCluster) -> None:
    lines = run(Path(__file__).with_name("run_notebook.py"), cluster, EXAMPLES / "notebook.ipynb")
    assert lines[:2] == ["digits 1437", "digits_test 360"]
    shown = "\n".join(lines)
    assert "'pixels': TensorSpec(shape=(64,), dtype=tf.float32" in shown
    assert "(TensorShape([3, 64]), array([" in shown
    assert any(line.startswith("[worker 0] Epoch 5/5") for line in lines)
    assert '<b style="color:green">succeeded</b>' in shown
    assert '<progress value="' in shown
    assert accuracy_in(lines[-1]) > LEARNED - 0.1


def test_secured_starts_a_node_and_prints_what_each_caller_may_do() -> None:
    assert run("secured_node.py") == [
        "etl: load raw_trips: 100",
        "etl: load models: PermissionDeniedError",
        "etl: write a report: written",
        "analyst: read raw_trips: 100 rows",
        "analyst: load raw_trips: PermissionDeniedError",
        "analyst: read the report, mean fare: 12.375",
        "analyst: write a report: PermissionDeniedError",
        "somebody: read raw_trips with a token that nobody has: UnauthenticatedError",
        "somebody: read raw_trips without a token: UnauthenticatedError",
        "somebody: read raw_trips without TLS: ConnectionFailedError",
    ]
