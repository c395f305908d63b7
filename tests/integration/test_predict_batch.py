"""Prediction in bulk on real nodes: results beside the rows, once for each key, whatever fails meanwhile.

Promise (prediction): A prediction in bulk has one result for each key.
Promise (prediction): No finished partition is predicted again unless its results are lost.
Promise (prediction): Results are beside their rows, or their output cache is refused.
"""

from __future__ import annotations

import json
import os
import signal
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pytest
from jobs import LIMIT, SCRIPTS, await_job, cli
from thin_client import thin_client

import tensorflow_ignite as tfi
from local_nodes import agent_of, read_at
from tensorflow_ignite import errors
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.spec import Job
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.leaks import marked_processes
from tensorflow_ignite.testing.node_process import LocalNode

keras = pytest.importorskip("keras")

ROWS, PARTITIONS = 900, 48
IMAGES = "images_to_predict"
TWICE = "def predict(batch):\n    return {'twice': 2 * batch['id']}\n"
# Of the tests that kill: of each node some batches, and then it waits. Each node has more rows than that: by the ids of
# nodes, one has fewer in one of 10^7 clusters.
KILLED_ROWS, KILLED_PARTITIONS = 1800, 96
BATCH, UNTIL = 10, 150


@pytest.fixture(scope="module")
def model(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model that the registry has as ``digits_in_bulk:1``, whose input has another name than the column."""
    keras.utils.set_random_seed(1)
    made = keras.Sequential(
        [keras.Input((8, 8), name="image"), keras.layers.Flatten(), keras.layers.Dense(10, activation="softmax")]
    )
    path = tmp_path_factory.mktemp("model") / "digits.keras"
    made.save(path)
    with tfi.connect(cluster.address) as client:
        client.models.add("digits_in_bulk", path)
    return made


@pytest.fixture(scope="module")
def images(cluster: LocalCluster) -> dict[str, Any]:
    """The columns of a cache of images."""
    rng = np.random.default_rng(2)
    columns = {
        "id": np.arange(ROWS) * 7,
        "pixels": rng.integers(0, 17, (ROWS, 64)).astype(np.float64),
        "label": rng.integers(0, 10, ROWS),
    }
    tfi.load(IMAGES, columns, key="id", backups=1, partitions=PARTITIONS, address=cluster.address)
    return columns


def script(folder: Path, text: str = TWICE, name: str = "score.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def results(cache: str, address: str, **options: Any) -> pa.Table:
    return tfi.read_table(cache, key=True, options=tfi.ReadOptions(address=address), **options).sort_by("_key")


def numbered(name: str, address: str, rows: int = ROWS, **options: Any) -> str:
    """A new cache with the keys and ids 0 to rows - 1."""
    options = {"backups": 1, "partitions": PARTITIONS} | options
    tfi.load(name, {"id": np.arange(rows)}, address=address, **options)
    return name


def succeeded(handle: JobHandle) -> Job:
    job = handle.wait(LIMIT)
    assert job.state == "succeeded"
    return job


def test_results_are_those_of_the_model_by_key_and_sql_joins_them_with_the_rows(
    client: tfi.Client, model: Any, images: dict[str, Any]
) -> None:
    job = succeeded(client.predict("digits_in_bulk", cache=IMAGES, into="digits_scored", keep=["label"]))
    assert job.spec.strategy.kind == "predict"
    assert job.spec.prediction is not None
    assert (job.spec.prediction.model, job.spec.prediction.output_cache) == ("digits_in_bulk:1", "digits_scored")
    assert job.attempt is not None
    assert sum(task.status.progress.step for task in job.attempt.tasks) == ROWS
    assert sum(task.status.progress.metrics["partitions"] for task in job.attempt.tasks) == PARTITIONS
    found = results("digits_scored", client.address)
    assert found.column_names == ["_key", "label", "output_0", "model_version", "predicted_at"]
    assert found["_key"].to_pylist() == images["id"].tolist()
    assert found["label"].to_pylist() == images["label"].tolist()
    expected = model.predict(images["pixels"].reshape(-1, 8, 8), verbose=0)
    np.testing.assert_allclose(np.stack(found["output_0"].to_numpy()), expected, rtol=1e-4, atol=1e-6)
    assert set(found["model_version"].to_pylist()) == {"digits_in_bulk:1"}
    joined = tfi.read_table(
        IMAGES,
        sql="SELECT i.id, i.label AS label, o.label AS kept FROM ImagesToPredict i JOIN DigitsScored o "
        "ON o.id = i.id WHERE i.label < 3",
        options=read_at(client),
    )
    assert joined.num_rows == (images["label"] < 3).sum()
    assert joined["label"].to_pylist() == joined["kept"].to_pylist()


@pytest.mark.full
def test_the_command_predicts_rows_that_meet_a_condition(
    client: tfi.Client, model: Any, images: dict[str, Any]
) -> None:
    done = cli(
        *("predict", "digits_in_bulk:1", "--cache", IMAGES, "--into", "some_predicted", "--columns", "pixels"),
        *("--keep", "label,id", "--where", "label < 3", "--batch-size", "100"),
        address=client.address,
    )
    # The column id is the key, which the cache has as a column of SQL only.
    assert done.returncode == 1
    assert "no column id" in done.stderr
    done = cli(
        *("predict", "digits_in_bulk:1", "--cache", IMAGES, "--into", "some_predicted", "--columns", "pixels"),
        *("--keep", "label", "--where", "label < 3", "--batch-size", "100"),
        address=client.address,
    )
    assert done.returncode == 0, done.stderr
    found = results("some_predicted", client.address)
    assert found["_key"].to_pylist() == images["id"][images["label"] < 3].tolist()
    described = cli("describe", client.jobs(limit=1)[0].id, address=client.address).stdout
    assert "digits_in_bulk:1" in described
    assert "some_predicted" in described


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "columns", "options"),
    [
        ("texts", {"k": [f"key {number}" for number in range(ROWS)]}, {"key": "k"}),
        ("shorts", {"k": np.arange(ROWS, dtype=np.int16)}, {"key": "k"}),
        ("uuids", {"k": pa.array([uuid.uuid4().bytes for _ in range(ROWS)], pa.uuid())}, {"key": "k"}),
        ("objects", {"k": np.arange(ROWS), "owner": np.arange(ROWS) % 50}, {"key": "k", "affinity": "owner"}),
        ("everywhere", {}, {"replicated": True, "backups": 0}),
    ],
)
def test_results_have_the_keys_of_the_rows_and_are_beside_them(
    client: tfi.Client, tmp_path: Path, name: str, columns: dict[str, Any], options: dict[str, Any]
) -> None:
    rows, into = f"rows_by_{name}", f"twice_by_{name}"
    options = {"backups": 1, "partitions": PARTITIONS} | options
    data = {**columns, "id": np.arange(ROWS)}
    tfi.load(rows, pa.table(data), address=client.address, **options)
    succeeded(client.predict(cache=rows, into=into, script=script(tmp_path), columns=["id"], keep=["id"]))

    def by_key(cache: str, column: str) -> dict[str, tuple[Any, int]]:
        """Each key with its value and its partition."""
        found = {}
        for partition in range(options["partitions"]):
            table = tfi.read_table(cache, key=True, columns=[column], partitions=[partition], options=read_at(client))
            keys = map(str, table["_key"].to_pylist())
            found.update(zip(keys, ((value, partition) for value in table[column].to_pylist()), strict=True))
        return found

    expected, found = by_key(rows, "id"), by_key(into, "twice")
    assert len(expected) == ROWS
    assert found == {key: (2 * value, partition) for key, (value, partition) in expected.items()}


@pytest.mark.full
@pytest.mark.parametrize(
    ("table", "columns", "options", "condition"),
    [
        ("SoldByNumber", "id INT PRIMARY KEY, price DOUBLE", "", "p.id = r.id"),
        (
            "SoldByShop",
            "id INT, shop VARCHAR, price DOUBLE, PRIMARY KEY (id, shop)",
            "AFFINITY_KEY=shop,",
            "p.id = r.id AND p.shop = r.shop",
        ),
        # Without an affinity key, SQL cannot join objects beside the rows.
        ("SoldByCode", "code UUID, id INT, shop VARCHAR, price DOUBLE, PRIMARY KEY (code, shop, id)", "", ""),
    ],
)
def test_results_of_a_table_of_sql_have_its_keys_and_are_joined_by_them(
    cluster: LocalCluster, client: tfi.Client, tmp_path: Path, table: str, columns: str, options: str, condition: str
) -> None:
    cache, into, count = table.lower(), f"priced_{table.lower()}", 60
    names = [name for name in ("code", "id", "shop", "price") if f"{name} " in columns]
    values = {
        "code": "'00000000-0000-0000-0000-{code:012}'",
        "id": "{number}",
        "shop": "'shop {shop}'",
        "price": "{number}.5",
    }
    with thin_client(cluster.nodes[0].pid) as thin:
        thin.sql(f'CREATE TABLE {table} ({columns}) WITH "{options}CACHE_NAME={cache},BACKUPS=1"')
        for number in range(count):
            row = ", ".join(values[name].format(number=number, code=number % 9, shop=number % 7) for name in names)
            thin.sql(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({row})")
    double = script(tmp_path, "def predict(batch):\n    return {'twice': 2 * batch['PRICE']}\n")
    # A table may be named as SQL does.
    succeeded(client.predict(cache=table, into=into, script=double, columns=["PRICE"], keep=["PRICE"]))
    found = results(into, client.address)
    rows = results(cache, client.address)
    assert found["_key"].to_pylist() == rows["_key"].to_pylist()
    assert found["twice"].to_pylist() == [2 * price for price in rows["PRICE"].to_pylist()]
    assert found["PRICE"].to_pylist() == rows["PRICE"].to_pylist()
    if condition:
        joined = tfi.read_table(
            cache,
            sql=f"SELECT r.price, p.twice FROM {table} r JOIN Priced{table.lower()} p ON {condition}",
            options=read_at(client),
        )
        assert joined.num_rows == count


@pytest.mark.full
def test_rows_without_a_result_cost_nothing_and_nodes_without_partitions_get_no_task(
    client: tfi.Client, tmp_path: Path
) -> None:
    numbered("one_partition", client.address, rows=10, partitions=1, backups=0)
    job = succeeded(client.predict(cache="one_partition", into="of_one_partition", script=script(tmp_path)))
    assert job.attempt is not None
    assert len(job.attempt.tasks) == 1
    assert results("of_one_partition", client.address)["twice"].to_pylist() == list(range(0, 20, 2))
    job = succeeded(
        client.predict(
            cache="one_partition", into="of_no_row", script=script(tmp_path), where="id > ?", parameters=[99]
        )
    )
    assert "of_no_row" not in client.caches()


@pytest.mark.full
@pytest.mark.parametrize(
    ("arguments", "options", "error", "text"),
    [
        (["digits_in_bulk"], {"into": IMAGES}, errors.InvalidRequestError, "is the cache of the rows"),
        (["unknown"], {}, errors.ModelNotFoundError, "unknown"),
        (["digits_in_bulk:9"], {}, errors.ModelNotFoundError, "digits_in_bulk:9"),
        (["digits_in_bulk"], {"cache": "no_cache"}, errors.CacheNotFoundError, "no_cache"),
        (["digits_in_bulk"], {"columns": ["colour"]}, errors.ColumnNotFoundError, "colour"),
        (["digits_in_bulk"], {"keep": ["colour"]}, errors.ColumnNotFoundError, "colour"),
        (["digits_in_bulk"], {"columns": ["label"]}, errors.InvalidRequestError, r"image: float32\[\?, 8, 8\]"),
        (["digits_in_bulk"], {"signature": "other"}, errors.InvalidRequestError, "no signature 'other'"),
        (["digits_in_bulk"], {"where": "colour = 3"}, errors.TensorFlowIgniteError, "(?i)colour"),
        (["digits_in_bulk"], {"batch_size": 0}, errors.InvalidRequestError, "batch_size"),
        (["digits_in_bulk"], {"script": "score.py"}, errors.InvalidRequestError, "Name one"),
        ([], {}, errors.InvalidRequestError, "Name one"),
    ],
)
def test_what_cannot_be_predicted_is_refused_before_anything_is_written(
    client: tfi.Client,
    model: Any,
    images: dict[str, Any],
    arguments: list[str],
    options: dict[str, Any],
    error: type[Exception],
    text: str,
) -> None:
    before = len(client.jobs())
    with pytest.raises(error, match=text):
        client.predict(*arguments, **{"cache": IMAGES, "into": "never_made"} | options)
    assert len(client.jobs()) == before
    assert "never_made" not in client.caches()


@pytest.mark.full
def test_a_script_without_the_function_is_refused_and_one_that_returns_no_arrays_fails(
    client: tfi.Client, tmp_path: Path
) -> None:
    numbered("for_bad_scripts", client.address, rows=100)
    with pytest.raises(errors.CodeInvalidError, match="no function predict"):
        client.predict(cache="for_bad_scripts", into="of_bad", script=script(tmp_path, "def score(batch): ..."))
    for text, reason in (("return [1]", "has returned list"), ("return {'a': batch['id'][:1]}", "for .* rows")):
        bad = script(tmp_path, f"def predict(batch):\n    {text}\n")
        with pytest.raises(errors.JobFailedError, match=reason):
            client.predict(cache="for_bad_scripts", into="of_bad", script=bad, restart=tfi.Restart(max_crashes=0)).wait(
                LIMIT
            )


@pytest.mark.full
def test_a_null_ends_the_job_at_the_second_exception_and_a_condition_leaves_it_out(
    client: tfi.Client, tmp_path: Path
) -> None:
    rows = pa.table({"id": list(range(ROWS)), "fare": pa.array([*range(ROWS - 1), None], pa.float32())})
    tfi.load("with_a_null", rows, key="id", partitions=PARTITIONS, address=client.address)
    score = script(tmp_path, "def predict(batch):\n    return {'twice': 2 * batch['fare']}\n")
    request: dict[str, Any] = {"cache": "with_a_null", "into": "without_nulls", "script": score, "columns": ["fare"]}
    handle = client.predict(**request)
    with pytest.raises(errors.JobFailedError, match=r"same exception 2 times in a row; .*--where 'fare IS NOT NULL'"):
        handle.wait(LIMIT)
    succeeded(client.predict(**request, where="fare IS NOT NULL"))
    assert results("without_nulls", client.address)["_key"].to_pylist() == list(range(ROWS - 1))


@pytest.mark.full
def test_keys_that_results_cannot_have_are_refused(cluster: LocalCluster, client: tfi.Client, tmp_path: Path) -> None:
    with thin_client(cluster.nodes[0].pid) as thin:
        thin.sql('CREATE TABLE ByDay (day DATE, id INT, n INT, PRIMARY KEY (day, id)) WITH "CACHE_NAME=byday"')
        thin.sql("INSERT INTO ByDay VALUES (DATE '2026-01-02', 1, 1)")
    with pytest.raises(errors.UnsupportedTypeError, match=r"column _key is of type .*DAY: Date"):
        client.predict(cache="byday", into="of_days", script=script(tmp_path), columns=["N"])
    assert "of_days" not in client.caches()


@pytest.mark.full
def test_a_cache_of_results_that_does_not_fit_is_refused(
    client: tfi.Client, model: Any, images: dict[str, Any], tmp_path: Path
) -> None:
    row = {
        "output_0": np.zeros((1, 10), np.float32),
        "model_version": ["x"],
        "predicted_at": pa.array([0], pa.timestamp("us", "UTC")),
    }
    fits = pa.table({"k": [1], **{name: pa.array(list(v)) if name == "output_0" else v for name, v in row.items()}})
    fits = fits.set_column(1, "output_0", fits["output_0"].cast(pa.list_(pa.float32(), 10)))
    bad = {
        "with_fewer_partitions": (fits, {"key": "k", "partitions": PARTITIONS // 2}, "number of partitions"),
        "with_keys_of_text": (fits.set_column(0, "k", pa.array(["a"])), {"key": "k", "partitions": PARTITIONS}, "keys"),
        "with_other_columns": (fits.drop_columns("model_version"), {"key": "k", "partitions": PARTITIONS}, "columns"),
        "on_every_node": (fits, {"key": "k", "partitions": PARTITIONS, "replicated": True}, "mode"),
    }
    for name, (table, options, text) in bad.items():
        tfi.load(name, table, address=client.address, **options)
        with pytest.raises(errors.RowMismatchError, match=text):
            client.predict("digits_in_bulk", cache=IMAGES, into=name)
    tfi.load("that_fits", fits, key="k", partitions=PARTITIONS, backups=1, address=client.address)
    succeeded(client.predict("digits_in_bulk", cache=IMAGES, into="that_fits"))
    assert results("that_fits", client.address).num_rows == ROWS + 1


@pytest.mark.full
def test_tasks_write_into_a_cache_whose_maker_has_not_stored_its_schema_yet(
    cluster: LocalCluster, client: tfi.Client, tmp_path: Path
) -> None:
    source = numbered("rows_for_two_tasks", client.address, 10)
    # The names differ in case only.
    into = source.upper()
    succeeded(client.predict(cache=source, into=into, script=script(tmp_path)))
    with thin_client(cluster.nodes[0].pid) as thin:
        # The task that makes a cache stores the schema afterwards; another task may come between.
        assert thin.get_cache("tensorflow-ignite-schemas").remove_key(into)
    done = succeeded(client.predict(cache=source, into=into, script=script(tmp_path)))
    assert done.attempt is not None
    assert {task.incarnation for task in done.attempt.tasks} == {0}
    assert results(into, client.address, columns=["twice"])["twice"].to_pylist() == list(range(0, 20, 2))


def finished_of(job: Job, address: str) -> set[int]:
    """The partitions that the tasks of a job have recorded as finished."""
    files = Files.at((address,))
    found: set[int] = set()
    for info in files.list(f"/jobs/{job.id}/finished"):
        with files.open_reader(info.path) as reader:
            found |= {int(number) for number in json.loads(bytes(reader.read(0, reader.bytes)))}
    return found


def task_processes(node: LocalNode) -> set[int]:
    """The processes of the tasks of a node, their keepers first."""
    marks = ((process.pid, process.task) for process in marked_processes(node.directory.parent))
    return {pid for pid, mark in marks if mark and mark.startswith(f"{node.task_directory}/")}


def kill_a_task(cluster: LocalCluster) -> None:
    # The script's process has more memory than its keeper.
    largest = max(task_processes(cluster.nodes[1]), key=lambda pid: psutil.Process(pid).memory_info().rss)
    os.kill(largest, signal.SIGKILL)


def kill_an_agent(cluster: LocalCluster) -> None:
    agent_of(cluster.nodes[1]).kill()


def kill_a_node(cluster: LocalCluster) -> None:
    cluster.kill_node(cluster.nodes[1])


def begin_prediction(client: tfi.Client, cache: str, into: str, folder: Path) -> tuple[JobHandle, Job]:
    """Predicts until each node has finished a partition and waits for the file `go`."""
    handle = client.predict(
        cache=cache,
        into=into,
        script=SCRIPTS / "score_until.py",
        batch_size=BATCH,
        environment=tfi.Environment(variables={"FOLDER": str(folder), "ROWS": str(UNTIL)}),
    )

    def waits(job: Job) -> bool:
        tasks = [] if job.attempt is None else job.attempt.tasks
        return len(tasks) == 3 and all(
            task.status.progress and task.status.progress.metrics.get("partitions") for task in tasks
        )

    return handle, await_job(handle, waits)


@pytest.mark.parametrize("kill", [pytest.param(kill_a_node, marks=pytest.mark.full), kill_a_task])
def test_each_key_has_one_result_after_a_kill_and_finished_partitions_are_not_predicted_again(
    nodes: LocalCluster, tmp_path: Path, kill: Any
) -> None:
    address = nodes.nodes[0].address
    name = kill.__name__
    numbered(f"before_{name}", address, rows=KILLED_ROWS, partitions=KILLED_PARTITIONS)
    with tfi.connect(address) as client:
        handle, job = begin_prediction(client, f"before_{name}", f"after_{name}", tmp_path)
        finished = finished_of(job, address)
        assert finished
        assert len(finished) < KILLED_PARTITIONS
        early = results(f"after_{name}", address, partitions=sorted(finished))
        before_kill = {path.name for path in tmp_path.glob("*.ids")}
        kill(nodes)
        (tmp_path / "go").touch()
        done = succeeded(handle)
    found = results(f"after_{name}", address)
    assert found["_key"].to_pylist() == list(range(KILLED_ROWS))
    assert found["twice"].to_pylist() == list(range(0, 2 * KILLED_ROWS, 2))
    # The same moment: nobody has predicted these rows again.
    late = results(f"after_{name}", address, partitions=sorted(finished))
    assert late["_key"].to_pylist() == early["_key"].to_pylist()
    assert late["predicted_at"].to_pylist() == early["predicted_at"].to_pylist()
    calls = Counter(int(line) for path in tmp_path.glob("*.ids") for line in path.read_text().split())
    assert {calls[key] for key in early["_key"].to_pylist()} == {1}
    assert done.attempt is not None
    assert len(before_kill) == 3
    if kill is kill_a_task:
        # The others have gone on.
        assert len(done.attempts) == 1
        assert sorted(task.incarnation for task in done.attempt.tasks) == [0, 0, 1]
    else:
        assert len(done.attempts) > 1


@pytest.mark.full
def test_partitions_whose_results_are_lost_are_predicted_again(nodes: LocalCluster, tmp_path: Path) -> None:
    address = nodes.nodes[0].address
    numbered("before_a_loss", address, rows=KILLED_ROWS, partitions=KILLED_PARTITIONS, backups=2)
    with tfi.connect(address) as client:
        handle, job = begin_prediction(client, "before_a_loss", "after_a_loss", tmp_path)
        assert finished_of(job, address)
        # Whatever has emptied the partitions: here a load that replaces the cache by one with another row.
        early = results("after_a_loss", address)
        other = pa.table({"k": [-1], **{name: early[name][:1] for name in early.column_names if name != "_key"}})
        options = {"partitions": KILLED_PARTITIONS, "backups": 2, "if_exists": "replace"}
        tfi.load("after_a_loss", other, key="k", address=address, **options)
        kill_an_agent(nodes)
        (tmp_path / "go").touch()
        succeeded(handle)
    assert results("after_a_loss", address)["_key"].to_pylist() == [-1, *range(KILLED_ROWS)]
