"""An epoch has each row once, whatever restarts: the script writes a book of the keys of each step."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, await_job
from pyignite.datatypes import LongObject
from thin_client import thin_client
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster

tf = pytest.importorskip("tensorflow")

from tensorflow.python.data.experimental.ops import distribute  # noqa: E402

from tensorflow_ignite.train.training_input import rows_of_parts  # noqa: E402

ROWS = 200

Keys = dict[int, dict[int, list[list[int]]]]


def load(cluster: LocalCluster, cache: str, rows: int = ROWS, partitions: int = 64) -> None:
    numbers = np.arange(rows)
    columns = {"id": numbers, "x": numbers.astype(np.float32), "y": numbers.astype(np.float32)}
    tfi.load(cache, columns, key="id", if_exists="replace", backups=1, partitions=partitions, address=cluster.address)


def saved_step(job: Job) -> int:
    """The step of the newest checkpoint of the present attempt."""
    tasks = job.attempt.tasks if job.attempt else ()
    return max([task.status.progress.checkpoint_step or 0 for task in tasks if task.status.progress], default=0)


class Training:
    """A job of the script, and its books."""

    def __init__(self, client: tfi.Client, folder: Path, options: dict[str, Any], **job: Any) -> None:
        folder.mkdir()
        self.folder = folder
        crashes = options.get("crashes", {})
        self.handle = client.submit(
            SCRIPTS / "book_of_rows.py",
            cache=options["cache"],
            args=[str(folder), json.dumps({"crashes": {}, **options})],
            **{"restart": tfi.Restart(max_crashes=len(crashes)), **job},
        )

    def end(self, attempts: int | None = None) -> Job:
        found = self.handle.wait(LIMIT)
        assert str(found.state) == "succeeded", self.handle.status.to_dict()
        if attempts is not None:
            assert len(found.attempts) == attempts
        return found

    def steps(self) -> Keys:
        """The keys of each step of each epoch, one list a worker: those of the last attempt that made the step."""
        found: dict[int, dict[int, list[tuple[int, list[int]]]]] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            attempt, worker = map(int, path.stem.split("-"))
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                of_step = found.setdefault(entry["step"], {})
                of_step.setdefault(attempt, []).append((worker, [entry["epoch"], *entry["keys"]]))
        kept: Keys = {}
        for step, attempts in sorted(found.items()):
            lines = [keys for _, keys in sorted(attempts[max(attempts)])]
            kept.setdefault(lines[0][0], {})[step] = [keys for _, *keys in lines]
        return kept

    def epochs(self) -> list[list[int]]:
        """The keys of each epoch, in their order."""
        return [[key for lines in steps.values() for keys in lines for key in keys] for steps in self.steps().values()]


@pytest.fixture
def training(tmp_path: Path, client: tfi.Client) -> Callable[..., Training]:
    def new(name: str, options: dict[str, Any], **job: Any) -> Training:
        return Training(client, tmp_path / name, options, **job)

    return new


def assert_each_once(epochs: list[list[int]], rows: int = ROWS, count: int = 3) -> None:
    assert len(epochs) == count
    for epoch in epochs:
        assert sorted(epoch) == list(range(rows))
    assert len({tuple(epoch) for epoch in epochs}) == count


def test_an_epoch_has_each_row_once_and_layers_learn_once_although_a_worker_ends_within_an_epoch(
    cluster: LocalCluster, training: Callable[..., Training]
) -> None:
    load(cluster, "booked")
    reading = {"shuffle": True, "seed": 7, "uneven": "pad"}
    options = {"cache": "booked", "batch": 30, "epochs": 3, "reading": reading, "crashes": {1: 4}, "worker": 1}
    crashed = training("crashed", {**options, "adapt": True})
    crashed.end(attempts=2)
    assert_each_once(crashed.epochs())
    lines = [[line.text for line in crashed.handle.logs(attempt=attempt)] for attempt in (1, 2)]
    # All workers have the mean of all rows.
    assert [each.count(f"mean: {(ROWS - 1) / 2:.3f}") for each in lines] == [3, 3]
    assert [sum("has what attempt 1 of job" in line for line in each) for each in lines] == [0, 1]


@pytest.mark.full
@pytest.mark.parametrize(("replicas", "own"), [(2, 1), (3, 1), (4, 2), (6, 2)])
@pytest.mark.parametrize("total", [0, 1, 5, 29, 30, 31, 64, 95])
def test_the_rows_of_steps_are_those_that_tensorflow_gives_a_worker(total: int, replicas: int, own: int) -> None:
    for rows in (4, 10, 30, 32):
        elements = tf.data.Dataset.range(total).batch(rows)
        sizes = [len(part) for part in distribute._LegacyRebatchDataset(elements, replicas).as_numpy_iterator()]
        for step in range(1, -(-len(sizes) // own) + 1):
            assert rows_of_parts(rows, step, total, replicas=replicas, own=own) == sum(sizes[: step * own])


SINGLE = {"shuffle": True, "seed": 7}
BY_ONE: dict[str, dict[str, Any]] = {
    "keras": {"reading": SINGLE},
    "tf_keras": {"reading": SINGLE, "keras": "tf_keras"},
    "no-snapshot": {"reading": {**SINGLE, "shuffle": 17, "snapshot": False}},
    "no-seed": {"reading": {"shuffle": True}},
    "held-out": {"reading": {**SINGLE, "hold_out": [0.3, "training"]}},
    "other-methods": {"reading": SINGLE, "filters": True},
    "continuous": {"reading": SINGLE, "steps": 20},
    "continuous-tf_keras": {"reading": SINGLE, "steps": 20, "keras": "tf_keras"},
    "planned": {"reading": {**SINGLE, "exact": True}, "plans": True},
    "planned-tf_keras": {"reading": {**SINGLE, "exact": True}, "plans": True, "keras": "tf_keras"},
    "loop": {"reading": SINGLE, "steps": 20, "loop": "tensorflow"},
    "batches": {"reading": SINGLE, "loop": "batches"},
}
# At the end of an epoch, and in the middle of one.
ENDS = {"batch": 10, "epochs": 3, "ends": [20, 33]}
# After the last step of an epoch, within the parts of a batch.
PLANNED = {"reading": {**SINGLE, "uneven": "pad"}, "plans": True, "steps": 7, "ends": [3, 7, 14]}
# 32 rows of three workers: steps of 11, 11 and 10 rows.
BY_THREE: dict[str, dict[str, Any]] = {
    f"{uneven}-{keras}": {"reading": {"shuffle": 50, "seed": 7, "uneven": uneven}, "keras": keras}
    for uneven, keras in (("repeat", "keras"), ("pad", "keras"), ("pad", "tf_keras"))
} | {
    "loop": {"reading": {**SINGLE, "uneven": "pad"}, "loop": "tensorflow", "steps": 7},
    # Within the parts of the last batch of an epoch, and behind them.
    "loop-epochs": {"reading": {**SINGLE, "uneven": "pad"}, "loop": "epochs", "steps": 9, "ends": [7, 8, 9, 17]},
    "planned": PLANNED,
    "planned-tf_keras": {**PLANNED, "keras": "tf_keras"},
    "drop-unshuffled": {"reading": {"uneven": "drop"}},
    "all": {"reading": {"shuffle": True, "partitions": "all"}},
}
ENDS_OF_THREE = {"batch": 32, "epochs": 3, "ends": [3, 10]}

Ways = dict[str, list[dict[str, dict[str, list[int]]]]]


def in_ways(client: tfi.Client, folder: Path, cache: str, ways: dict[str, Any], **job: Any) -> Ways:
    """Runs one job that trains in each way; what each worker has noted."""
    options = {"cache": cache, "ways": ways}
    script = SCRIPTS / "book_of_rows.py"
    handle = client.submit(
        script, cache=cache, args=[str(folder), json.dumps(options)], restart=tfi.Restart(max_crashes=0), **job
    )
    # Many trainings, each of which saves after each step.
    assert str(handle.wait(3 * LIMIT).state) == "succeeded", handle.status.to_dict()
    return {name: [json.loads(path.read_text()) for path in sorted(folder.glob(f"{name}-?.json"))] for name in ways}


@pytest.fixture(scope="module")
def by_one(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Ways:
    load(cluster, "booked_by_one")
    ways = {name: {**ENDS, **way} for name, way in BY_ONE.items()}
    with tfi.connect(cluster.address) as client:
        return in_ways(client, tmp_path_factory.mktemp("one"), "booked_by_one", ways, strategy="one")


@pytest.fixture(scope="module")
def by_three(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Ways:
    load(cluster, "booked_by_three")
    ways = {name: {**ENDS_OF_THREE, **way} for name, way in BY_THREE.items()}
    with tfi.connect(cluster.address) as client:
        return in_ways(client, tmp_path_factory.mktemp("three"), "booked_by_three", ways)


def epochs_of(workers: list[dict[str, list[int]]]) -> list[list[int]]:
    """The keys of each epoch, in the order of steps."""
    found: dict[int, list[int]] = {}
    for step in sorted({int(step) for steps in workers for step in steps}):
        for steps in workers:
            epoch, *keys = steps[str(step)]
            found.setdefault(epoch, []).extend(keys)
    return list(found.values())


def assert_equal_logs(found: dict[str, Any], way: str) -> None:
    """Those of an epoch of Keras 3 have all its steps."""
    calm, ended = found["calm-logs"], found["ended-logs"]
    if "tf_keras" not in way:
        assert {name: pytest.approx(logs, rel=1e-5) for name, logs in calm.items()} == ended


@pytest.mark.full
@pytest.mark.parametrize("way", BY_ONE)
def test_the_batches_of_one_process_are_those_without_restarts(by_one: Ways, way: str) -> None:
    (found,) = by_one[way]
    if way == "no-seed":
        assert_each_once(epochs_of([found["ended"]]))
        return
    assert found["ended"] == found["calm"]
    assert_equal_logs(found, way)
    if BY_ONE[way].get("loop") == "tensorflow":
        # All steps of one iterator, in one epoch of the script.
        (keys,) = epochs_of([found["calm"]])
        assert_each_once([keys[begin : begin + ROWS] for begin in range(0, 3 * ROWS, ROWS)])
    elif way == "held-out":
        assert len({tuple(sorted(epoch)) for epoch in epochs_of([found["calm"]])}) == 1
    else:
        assert_each_once(epochs_of([found["calm"]]))


@pytest.mark.full
@pytest.mark.parametrize("way", BY_THREE)
def test_the_batches_of_three_workers_are_those_without_restarts(by_three: Ways, way: str) -> None:
    workers = by_three[way]
    assert len(workers) == 3
    if way == "all":
        # Each worker reads all rows in an order of its own.
        for worker in workers:
            assert_each_once(epochs_of([worker["ended"]]))
        return
    assert [worker["ended"] for worker in workers] == [worker["calm"] for worker in workers]
    for worker in workers:
        assert_equal_logs(worker, way)
    if way.startswith("pad"):
        assert_each_once(epochs_of([worker["calm"] for worker in workers]))


@pytest.fixture
def changing(nodes: LocalCluster) -> Iterator[str]:
    """A cache whose rows above ROWS come and go, and whose others get new values, all the time."""
    cache = "booked_while_it_changes"
    load(nodes, cache)
    ended, begun = threading.Event(), threading.Event()

    def write() -> None:
        number = 0
        with thin_client(nodes.nodes[0].pid) as client:
            of_thin = client.get_cache(cache)
            while not ended.is_set():
                numbers = np.array([number % ROWS, ROWS + number % 97])
                columns = {"id": numbers, "x": numbers.astype(np.float32), "y": numbers.astype(np.float32)}
                tfi.load(cache, columns, key="id", if_exists="append", address=nodes.address)
                of_thin.remove_key(ROWS + (number + 50) % 97, key_hint=LongObject)
                number += 1
                begun.set()

    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(write)
        try:
            await_true(lambda: begun.is_set() or writing.done(), "no row was written", LIMIT)
            yield cache
        finally:
            ended.set()
        writing.result(LIMIT)


@pytest.mark.full
@pytest.mark.parametrize(("shuffle", "snapshot"), [(None, False), (40, True)], ids=["plain", "shuffled snapshot"])
def test_an_epoch_goes_on_with_the_rows_of_a_dead_node_while_rows_change(
    nodes: LocalCluster, changing: str, tmp_path: Path, shuffle: int | None, snapshot: bool
) -> None:
    reading = {"shuffle": shuffle, "seed": 7, "uneven": "pad", "snapshot": snapshot}
    options = {"cache": changing, "batch": 12, "epochs": 3, "reading": reading, "seconds": 0.3}
    with tfi.connect(nodes.address) as client:
        running = Training(client, tmp_path / "books", options)
        # The second node dies within the second epoch.
        for attempt, step in ((1, 5), (2, 22)):
            await_job(running.handle, lambda job: len(job.attempts) >= attempt and saved_step(job) >= step)  # noqa: B023
            nodes.kill_node(nodes.nodes[-1])
            nodes.start_node()
        job = running.end()
        assert len(job.attempts) >= 3
    assert_once_what_stays(running.epochs())


def assert_once_what_stays(epochs: list[list[int]]) -> None:
    """Each epoch has each row once that exists throughout; other rows come and go."""
    for epoch in epochs:
        counts = Counter(key for key in epoch if key < ROWS)
        assert set(counts) == set(range(ROWS))
        assert set(counts.values()) == {1}


@pytest.mark.full
def test_an_epoch_goes_on_between_the_parts_of_a_batch_while_rows_change(
    nodes: LocalCluster, changing: str, tmp_path: Path
) -> None:
    reading = {"uneven": "pad", "snapshot": False}
    # A batch has a part for each of three steps.
    options = {"cache": changing, "batch": 12, "epochs": 2, "reading": reading, "seconds": 0.2, "crashes": {1: 4, 2: 8}}
    with tfi.connect(nodes.address) as client:
        running = Training(client, tmp_path / "books", options)
        running.end(attempts=3)
    assert_once_what_stays(running.epochs())


@pytest.mark.full
def test_a_position_within_an_epoch_of_other_rows_is_an_error_that_says_what_to_do(
    cluster: LocalCluster, training: Callable[..., Training], client: tfi.Client
) -> None:
    load(cluster, "booked")
    options = {"cache": "booked", "batch": 10, "epochs": 3, "reading": SINGLE, "crashes": {1: 4}}
    # No crash is forgiven, so that the checkpoint stays within the epoch.
    first = training(
        "first",
        options,
        strategy="one",
        restart=tfi.Restart(max_crashes=0),
        checkpoint_directory="ignite:///booked-elsewhere",
    )
    assert str(first.handle.wait(LIMIT, raise_on_failure=False).state) == "failed"
    other = {**options, "reading": {**SINGLE, "where": "x < 50"}, "crashes": {}}
    second = training("second", other, strategy="one", checkpoint_directory="ignite:///booked-elsewhere")
    assert str(second.handle.wait(LIMIT, raise_on_failure=False).state) == "failed"
    text = "\n".join(line.text for line in second.handle.logs())
    assert "the position was saved within epoch 0 of other rows of cache 'booked'" in text
    assert "or give another checkpoint directory" in text
