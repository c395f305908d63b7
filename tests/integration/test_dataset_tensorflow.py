"""TensorFlow over caches that are served by real Arrow Flight servers, in this process and in many."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from flight_cluster import BecomeTask, Cluster, tasks  # noqa: E402
from forks import TensorFlowForks  # noqa: E402
from train_tasks import Task, free_addresses  # noqa: E402

import tensorflow_ignite as tfi  # noqa: E402
from tensorflow_ignite import errors  # noqa: E402
from tensorflow_ignite.data import pyfunc  # noqa: E402
from tensorflow_ignite.data.loading.columns import table_of  # noqa: E402

ROWS = 1000
EXAMPLES = Path(__file__).parents[2] / "examples"
ASSIGNED_ROWS = [str(Path(__file__).with_name("scripts") / "with_assigned_rows.py")]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Three nodes with the cache ``numbers``."""
    cluster = Cluster.start(3)
    numbers = np.arange(ROWS)
    cluster.add(
        "numbers",
        table_of(
            {
                "pixels": np.repeat(numbers, 12).astype(np.float32).reshape(ROWS, 3, 4),
                "label": numbers.astype(np.int32),
                "name": [f"row {number}" for number in numbers],
                "words": [["w"] * (number % 3) for number in numbers],
                "even": numbers % 2 == 0,
            }
        ),
    )
    yield cluster
    cluster.stop()
    gc.collect()
    assert pyfunc.open_readers() == 0


@pytest.fixture(autouse=True)
def task(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BecomeTask]:
    """Makes this process a task of a mirrored job on ``numbers``."""
    with tasks(cluster, "numbers", tmp_path, monkeypatch) as become:
        yield become


def labels(dataset: Any) -> list[int]:
    """The column ``label`` of rows."""
    return [int(row["label"]) for row in dataset]


def test_each_row_comes_once_with_every_column_in_its_place(cluster: Cluster) -> None:
    dataset = tfi.dataset("numbers", address=cluster.address, key=True, batch_bytes=2048, exact=True)
    assert int(dataset.cardinality()) == ROWS
    assert dataset.element_spec["pixels"] == tf.TensorSpec([3, 4], tf.float32)
    assert dataset.element_spec["label"] == tf.TensorSpec([], tf.int32)
    seen = []
    for row in dataset.as_numpy_iterator():
        number = int(row["_key"])
        seen.append(number)
        assert (row["pixels"] == number).all()
        assert (row["label"], row["name"], row["even"]) == (number, f"row {number}".encode(), number % 2 == 0)
        assert row["words"].tolist() == [b"w"] * (number % 3)
    assert sorted(seen) == list(range(ROWS))


def test_lists_of_any_length_are_ragged_in_batches(cluster: Cluster) -> None:
    batch = next(iter(tfi.dataset("numbers", columns=["words"], address=cluster.address).batch(50)))
    assert isinstance(batch["words"], tf.RaggedTensor)
    assert batch["words"].shape == [50, None]


@pytest.mark.full
def test_only_the_requested_columns_are_read_in_their_order(cluster: Cluster) -> None:
    dataset = tfi.dataset("numbers", columns=["even", "label"], address=cluster.address)
    assert list(dataset.element_spec) == ["even", "label"]


@pytest.mark.full
def test_every_epoch_and_every_iterator_reads_anew(cluster: Cluster) -> None:
    dataset = tfi.dataset("numbers", columns=["label"], address=cluster.address, batch_bytes=64)
    first, second = iter(dataset), iter(dataset)
    mixed = [int(next(iterator)["label"]) for _ in range(100) for iterator in (first, second)]
    assert mixed[::2] == mixed[1::2]
    assert labels(dataset) == labels(dataset)
    assert Counter(labels(dataset.repeat(2))) == Counter(list(range(ROWS)) * 2)


def test_it_runs_inside_a_function_and_under_fit(cluster: Cluster) -> None:
    @tf.function
    def total() -> Any:
        dataset = tfi.dataset("numbers", columns=["label"], address=cluster.address)
        return dataset.reduce(tf.constant(0), lambda sum_, row: sum_ + row["label"])

    assert int(total()) == int(total()) == ROWS * (ROWS - 1) // 2

    import keras

    model = keras.Sequential([keras.Input([3, 4]), keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    rows = tfi.dataset("numbers", address=cluster.address).map(lambda row: (row["pixels"] / ROWS, row["even"]))
    history = model.fit(rows.batch(100), epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2


def test_tensors_that_are_kept_do_not_change(cluster: Cluster) -> None:
    dataset = tfi.dataset("numbers", address=cluster.address, batch_bytes=512)
    kept, cached = list(dataset.batch(7)), dataset.cache()
    list(cached)
    for _ in range(3):
        list(dataset)
    for batch in kept:
        assert (batch["pixels"].numpy() == batch["label"].numpy()[:, None, None]).all()
    for row in cached:
        assert (row["pixels"].numpy() == row["label"].numpy()).all()


@pytest.mark.full
def test_an_iterator_that_is_dropped_early_ends_its_streams(cluster: Cluster) -> None:
    # More than the buffers of all connections hold, so that some stream sends for as long as nobody takes its batches.
    cluster.add("large", table_of({"x": np.zeros((4000, 40_000), np.uint8)}))
    iterator = iter(tfi.dataset("large", address=cluster.address, batch_bytes=100_000).prefetch(2))
    next(iterator)
    assert cluster.wait_until_begun(6)
    assert not cluster.wait_for_streams(0, 0)
    del iterator
    assert _streams_end(cluster)
    assert pyfunc.open_readers() == 0


def _streams_end(cluster: Cluster) -> bool:
    gc.collect()
    # What TensorFlow was fetching when its iterator went, it lets go when it runs something next.
    return any(tf.zeros([]) == 0 and cluster.wait_for_streams(0, 0.5) for _ in range(20))


@pytest.mark.full
def test_an_iterator_goes_on_from_a_checkpoint(cluster: Cluster, tmp_path: Path) -> None:
    dataset = tfi.dataset("numbers", columns=["label"], address=cluster.address, batch_bytes=64)
    whole = labels(dataset)
    iterator = iter(dataset)
    begun = [int(next(iterator)["label"]) for _ in range(123)]
    path = tf.train.Checkpoint(iterator=iterator).save(tmp_path / "c")
    next(iterator)
    resumed = iter(dataset)
    tf.train.Checkpoint(iterator=resumed).restore(path)
    # Both go on from one place; then the first is dropped, with all that it opened.
    begun += [int(next(resumed)["label"]) for _ in range(300) if next(iterator) is not None]
    del iterator
    gc.collect()
    assert begun + labels(resumed) == whole


@pytest.mark.full
def test_an_iterator_that_went_on_and_is_dropped_ends_its_streams(cluster: Cluster, tmp_path: Path) -> None:
    cluster.add("large", table_of({"x": np.zeros((4000, 40_000), np.uint8)}))
    dataset = tfi.dataset("large", address=cluster.address, batch_bytes=100_000).prefetch(2)
    iterator = iter(dataset)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(tmp_path / "c")
    del iterator
    assert _streams_end(cluster)
    begun = cluster.begun
    resumed = iter(dataset)
    tf.train.Checkpoint(iterator=resumed).restore(path)
    # The first rows are in the checkpoint, as many as TensorFlow had read ahead.
    while cluster.wait_for_streams(0, 0.01):
        next(resumed)
    assert cluster.wait_until_begun(begun + 6)
    assert not cluster.wait_for_streams(0, 0)
    del resumed
    assert _streams_end(cluster)
    assert pyfunc.open_readers() == 0


READ_AHEAD = """
import sys
import tensorflow_ignite as tfi
rows = tfi.dataset("numbers", address=sys.argv[1], batch_bytes=2_000).repeat().batch(5).prefetch(100_000)
iterators = [iter(rows) for _ in range(3)]
for iterator in iterators:
    next(iterator)
print("ends while TensorFlow reads ahead")
"""


@pytest.mark.full
def test_a_process_ends_while_tensorflow_reads_ahead(cluster: Cluster) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", READ_AHEAD, cluster.address], capture_output=True, text=True, timeout=240
    )
    assert (ended.returncode, ended.stdout) == (0, "ends while TensorFlow reads ahead\n"), ended.stderr


@pytest.mark.full
def test_an_empty_cache_is_an_empty_dataset(cluster: Cluster) -> None:
    cluster.add("empty", table_of({"x": np.zeros((0, 3), np.float32), "s": np.zeros(0, "U1")}))
    dataset = tfi.dataset("empty", address=cluster.address, exact=True)
    assert int(dataset.cardinality()) == 0
    assert dataset.element_spec["x"] == tf.TensorSpec([3], tf.float32)
    assert list(dataset) == []


@pytest.mark.full
def test_rows_that_get_lost_are_an_error_and_not_a_shorter_epoch(cluster: Cluster) -> None:
    dataset = tfi.dataset("numbers", address=cluster.address, exact=True)
    cluster.missing_rows = 1
    with pytest.raises(tf.errors.OpError, match=r"994 rows arrived, 1000 were expected"):
        list(dataset)


@pytest.mark.full
def test_errors_of_nodes_come_as_their_classes_and_later_with_their_text(cluster: Cluster) -> None:
    with pytest.raises(errors.CacheNotFoundError, match="cache 'nope' does not exist"):
        tfi.dataset("nope", address=cluster.address)
    with pytest.raises(errors.ColumnNotFoundError, match="no column 'nope'"):
        tfi.dataset("numbers", columns=["nope"], address=cluster.address)
    dataset = tfi.dataset("numbers", address=cluster.address, exact=True)
    del cluster.caches["numbers"]
    with pytest.raises(tf.errors.OpError, match="cache 'numbers' does not exist"):
        list(dataset)
    cluster.stop()
    with pytest.raises(errors.ConnectionFailedError, match="no node answers"):
        tfi.dataset("numbers", address=cluster.address)


@pytest.mark.full
def test_partitions_may_be_chosen(cluster: Cluster) -> None:
    dataset = tfi.dataset("numbers", columns=["label"], partitions=[1, 2], address=cluster.address, exact=True)
    assert sorted(labels(dataset)) == [number for number in range(ROWS) if number % 8 in (1, 2)]
    assert int(dataset.cardinality()) == ROWS // 4


@pytest.mark.full
def test_outside_a_job_the_environment_names_cache_and_address(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, port = cluster.nodes[1].address.split(":")
    monkeypatch.setenv("IGNITE_DATASET_HOST", host)
    monkeypatch.setenv("IGNITE_DATASET_PORT", port)
    monkeypatch.setenv("IGNITE_DATASET_CACHE_NAME", "numbers")
    assert len(labels(tfi.dataset("another"))) == ROWS
    monkeypatch.setenv("IGNITE_DATASET_LOCAL", "true")
    assert sorted(labels(tfi.dataset("another"))) == [number for number in range(ROWS) if number % 8 % 3 == 1]
    monkeypatch.setenv("IGNITE_DATASET_PART", "0,7")
    assert sorted(labels(tfi.dataset("another"))) == [number for number in range(ROWS) if number % 8 in (0, 7)]


def test_in_a_task_the_jobs_cache_is_its_own_partitions_and_any_other_is_whole(
    cluster: Cluster, task: BecomeTask
) -> None:
    cluster.add("other", table_of({"label": np.arange(10)}))
    task(1)
    own = tfi.dataset("numbers", columns=["label"], address="ignored:1", exact=True)
    assert sorted(labels(own)) == [number for number in range(ROWS) if number % 8 in (1, 4, 7)]
    assert int(own.cardinality()) == 375
    assert sorted(labels(tfi.dataset("other"))) == list(range(10))
    assert len(labels(tfi.dataset("numbers", partitions="all"))) == ROWS


@pytest.mark.full
def test_a_client_process_has_no_rows_of_its_own_and_says_so(cluster: Cluster, task: BecomeTask) -> None:
    task(0, "CLIENT")
    dataset = tfi.dataset("numbers")
    assert int(dataset.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    with pytest.raises(tf.errors.OpError, match="client 0 of job 7f3a has no partitions of cache 'numbers'"):
        list(dataset)
    assert len(labels(tfi.dataset("numbers", partitions="all"))) == ROWS


@pytest.mark.full
def test_steps_outside_a_job_come_from_the_rows_of_the_cluster(cluster: Cluster) -> None:
    context = tfi.train.context(cache="numbers", address=cluster.address)
    assert context.steps_per_epoch(300) == 4
    assert tfi.train.strategy() is tf.distribute.get_strategy()


def test_loaded_rows_are_read_back(cluster: Cluster) -> None:
    images = np.random.default_rng(0).integers(0, 255, (50, 28, 28), dtype=np.uint8)
    data = {"id": np.arange(100, 150), "image": images, "text": [f"ä{number}" for number in range(50)]}
    assert tfi.load("images", data, key="id", address=cluster.address, partitions=3) == 50
    rows = {int(row["_key"]): row for row in tfi.dataset("images", key=True, address=cluster.address)}
    assert sorted(rows) == list(range(100, 150))
    assert list(rows[100]) == ["_key", "image", "text"]
    for key, row in rows.items():
        np.testing.assert_array_equal(row["image"], images[key - 100])
        assert row["text"].numpy().decode() == f"ä{key - 100}"


@pytest.mark.full
def test_loading_again_fails_replaces_or_appends_after_the_highest_key(cluster: Cluster) -> None:
    def keys() -> list[int]:
        return sorted(int(row["_key"]) for row in tfi.dataset("c", key=True, address=cluster.address))

    data = {"x": np.arange(5)}
    assert tfi.load("c", data, address=cluster.address, if_exists="append") == 5
    with pytest.raises(errors.CacheExistsError, match="cache 'c' exists"):
        tfi.load("c", data, address=cluster.address)
    assert tfi.load("c", data, address=cluster.address, if_exists="append") == 5
    assert keys() == list(range(10))
    assert tfi.load("c", {"x": np.arange(3)}, address=cluster.address, if_exists="replace") == 3
    assert keys() == [0, 1, 2]


# Several processes


class Processes:
    """The tasks of a job on a cluster, as processes with what a job would give them."""

    def __init__(self, forks: TensorFlowForks, cluster: Cluster, cache: str, kind: str, folder: Path) -> None:
        self.forks, self.cluster, self.cache, self.kind, self.folder = forks, cluster, cache, kind, folder
        self.tasks: list[Task] = []

    def start(self, command: list[str], role: str, index: int, addresses: dict[str, list[str]]) -> Task:
        """Starts one task."""
        name = f"{role}{index}".lower()
        context = self.cluster.write_context(self.folder / f"{name}.json", self.cache, role, index, self.kind)
        environment = {
            "TENSORFLOW_IGNITE_CONTEXT": str(context),
            "TENSORFLOW_IGNITE_PROGRESS": str(self.folder / f"{name}.progress"),
            "TF_CONFIG": json.dumps(
                {"cluster": addresses, "task": {"type": "chief" if role == "CLIENT" else role.lower(), "index": index}}
            ),
        }
        self.tasks.append(Task(self.forks, command, environment, self.folder / f"{name}.log"))
        return self.tasks[-1]


Start = Callable[[str], Processes]


@pytest.fixture
def processes(forks: TensorFlowForks, digits: Cluster, tmp_path: Path) -> Iterator[Start]:
    """Starts a kind of job on the digits; its tasks are ended at the end."""
    started: list[Processes] = []

    def start(kind: str) -> Processes:
        started.append(Processes(forks, digits, "digits", kind, tmp_path))
        return started[-1]

    yield start
    for job in started:
        for task in job.tasks:
            task.close()


@pytest.fixture
def digits() -> Iterator[Cluster]:
    """Two nodes with the caches ``digits`` and ``digits_test``; their parts differ in number of rows."""
    datasets = pytest.importorskip("sklearn.datasets")
    pixels, label = datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(label))
    cluster = Cluster.start(2)
    for name, rows in {"digits": order[:1437], "digits_test": order[1437:]}.items():
        cluster.add(name, table_of({"pixels": pixels[rows].astype(np.uint8), "label": label[rows]}), partitions=5)
    yield cluster
    cluster.stop()


@pytest.mark.full
def test_mirrored_workers_train_each_on_its_own_rows(processes: Start, tmp_path: Path) -> None:
    addresses = {"worker": free_addresses(2)}
    job = processes("MULTI_WORKER_MIRRORED")
    for index in range(2):
        job.start([*ASSIGNED_ROWS, str(EXAMPLES / "digits.py"), "--epochs", "12"], "WORKER", index, addresses)
    outputs = [task.finish() for task in job.tasks]
    accuracy = re.search(r"^test accuracy=(0\.\d+|1\.0)", outputs[0], re.MULTILINE)
    assert accuracy
    assert float(accuracy[1]) >= 0.9
    # ceil(rows of 3 of 5 partitions / 48) steps an epoch, on both.
    progress = [json.loads((tmp_path / f"worker{index}.progress").read_text()) for index in range(2)]
    assert [one["step"] for one in progress] == [one["totalSteps"] for one in progress] == [str(12 * 18)] * 2


DRAIN = """
import json, sys
import tensorflow_ignite as tfi
strategy = tfi.train.strategy()
import tensorflow as tf
context = tfi.train.context()
assert strategy is tfi.train.strategy() and strategy.num_replicas_in_sync == 2
rows = tfi.dataset(context.cache, columns=["label"], key=True).repeat().batch(10)
iterator = iter(strategy.experimental_distribute_dataset(rows))
steps = context.steps_per_epoch(10)
@tf.function
def step():
    return strategy.run(lambda row: row["_key"], args=(next(iterator),))
keys = [key for _ in range(steps) for key in step().numpy().tolist()]
print(json.dumps([steps, len(keys) // steps, keys]))
"""


@pytest.mark.full
def test_mirrored_workers_read_every_row_of_theirs_and_repeat_the_missing(processes: Start, tmp_path: Path) -> None:
    addresses = {"worker": free_addresses(2)}
    script = tmp_path / "drain.py"
    script.write_text(DRAIN)
    job = processes("MULTI_WORKER_MIRRORED")
    for index in range(2):
        job.start([*ASSIGNED_ROWS, str(script)], "WORKER", index, addresses)
    outputs = [json.loads(task.finish()) for task in job.tasks]
    own = [{key for key in range(1437) if key % 5 % 2 == index} for index in range(2)]
    for (steps, rows_a_step, keys), expected in zip(outputs, own, strict=True):
        assert rows_a_step == 5
        assert steps == -(-len(own[0]) // 5)
        assert set(keys) == expected
    # The larger share is read once, but for what fills the last batch.
    assert len(outputs[0][2]) - len(own[0]) < 5


LINGER = """
import time, signal
import tensorflow_ignite as tfi
tfi.train.strategy()
assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
print("ready", flush=True)
signal.pause()
"""


@pytest.mark.full
def test_a_mirrored_worker_ends_on_sigterm(processes: Start) -> None:
    task = processes("MULTI_WORKER_MIRRORED").start(["-c", LINGER], "WORKER", 0, {"worker": free_addresses(1)})
    task.until("^ready$")
    task.process.send_signal(signal.SIGTERM)
    assert task.process.wait() == -signal.SIGTERM


TOO_LATE = """
import tensorflow as tf
tf.constant(1) + 1
import tensorflow_ignite as tfi
try:
    tfi.train.strategy()
except tfi.errors.TensorFlowIgniteError as error:
    print(error)
"""


@pytest.mark.full
def test_a_strategy_that_is_made_too_late_is_an_error(processes: Start) -> None:
    task = processes("MULTI_WORKER_MIRRORED").start(["-c", TOO_LATE], "WORKER", 0, {"worker": free_addresses(1)})
    assert "Call tfi.train.strategy() at the top of the script" in task.finish()


SERVER = """
from tensorflow_ignite.data import pyfunc
pyfunc.register()
import tensorflow as tf
here = tf.distribute.cluster_resolver.TFConfigClusterResolver()
tf.distribute.Server(here.cluster_spec(), job_name=here.task_type, task_index=here.task_id, protocol="grpc").join()
"""


@pytest.mark.full
def test_workers_of_parameter_servers_read_their_own_rows(processes: Start, digits: Cluster) -> None:
    chief, ps, *workers = free_addresses(4)
    addresses = {"chief": [chief], "ps": [ps], "worker": workers}
    job = processes("PARAMETER_SERVER")
    job.start(["-c", SERVER], "PS", 0, addresses)
    for index in range(2):
        job.start(["-c", SERVER], "WORKER", index, addresses)
    output = job.start([str(EXAMPLES / "digits_ps.py"), "--epochs", "6"], "CLIENT", 0, addresses).finish()
    accuracy = re.search(r"^test accuracy=(0\.\d+|1\.0)", output, re.MULTILINE)
    assert accuracy
    assert float(accuracy[1]) >= 0.9
    # A node refuses partitions that are not its own, so these were read beside the workers that own them.
    assert {partition for cache, partition in digits.sent if cache == "digits"} == set(range(5))


@pytest.mark.full
def test_the_same_script_runs_outside_a_job(digits: Cluster) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "digits.py"), "--epochs", "8"],
        env={**os.environ, "TENSORFLOW_IGNITE_ADDRESS": digits.address},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^test accuracy=(0\.9|1\.0)", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.full
def test_the_part_of_a_distributed_iterator_on_a_device_has_no_autotuner() -> None:
    rows = tf.data.Dataset.range(4).batch(2)
    iterator = iter(tf.distribute.MirroredStrategy(["CPU:0"]).experimental_distribute_dataset(rows))
    parts = [part for worker in iterator._iterators for part in worker._iterator._device_iterators]
    assert parts
    assert [part._dataset.options().autotune.enabled for part in parts] == [False] * len(parts)
    assert [batch.numpy().tolist() for batch in iterator] == [[0, 1], [2, 3]]
