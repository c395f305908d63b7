"""Promises of jobs about rows: each is read once an epoch, by the task that has its partition.

Promise (rows): The tasks of a job read each row once an epoch.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from jobs import LIMIT, PARTITIONS, ROWS, SCRIPTS, await_files, environment, partition_of, read, workers
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite.data.options import ReadOptions, RowArguments
from tensorflow_ignite.data.plan import make_plan
from tensorflow_ignite.data.request import make_request
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster


def assert_read_once(folder: Path, job: Job, epochs: int, owner: dict[int, int], rows: int = ROWS) -> None:
    """Every worker read just the rows of its partitions in each epoch, and together each row once."""
    shares = workers(job)
    assert len(shares) == 3
    for epoch in range(epochs):
        ids = [read(folder, f"worker-{index}-{epoch}.json") for index in range(len(shares))]
        assert sorted(number for share in ids for number in share) == list(range(rows))
        for index, share in enumerate(ids):
            assert {owner[number] for number in share} <= set(shares[index])


@pytest.mark.full
def test_a_mirrored_job_reads_each_row_once_an_epoch_and_the_same_script_does_outside_a_job(
    cluster: LocalCluster, client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    handle = client.submit(SCRIPTS / "train_mirrored.py", cache=numbered, args=[str(inside), numbered, "2"])
    job = handle.wait(LIMIT)
    assert_read_once(inside, job, 2, partition_of(numbered, PARTITIONS, cluster.address))
    printed = {line.text for line in handle.logs()}
    # A variable that all of them add to: they really trained together.
    assert {f"epoch 0: {ROWS} rows seen", f"epoch 1: {2 * ROWS} rows seen"} <= printed
    # A worker whose iterator waits for the autotuner at its end holds up all others.
    assert "autotuner: False" in printed

    done = subprocess.run(
        [sys.executable, SCRIPTS / "train_mirrored.py", outside, numbered, "2"],
        env=environment(cluster.addresses[1]),
        timeout=LIMIT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "autotuner: None" in done.stdout.splitlines()
    for epoch in range(2):
        assert sorted(read(outside, f"worker-0-{epoch}.json")) == list(range(ROWS))


def test_the_workers_of_a_parameter_server_job_read_each_row_once_and_only_their_own(
    cluster: LocalCluster, client: tfi.Client, numbered: str, tmp_path: Path
) -> None:
    handle = client.submit(
        SCRIPTS / "train_ps.py", cache=numbered, strategy="parameter-server", args=[str(tmp_path), numbered]
    )
    job = handle.wait(LIMIT)
    assert f"{ROWS} rows seen" in [line.text for line in handle.logs(role="client")]
    batches = read(tmp_path, "batches.json")
    assert sorted(number for batch in batches for number in batch) == list(range(ROWS))
    owner = partition_of(numbered, PARTITIONS, cluster.address)
    reader = {partition: index for index, share in enumerate(workers(job)) for partition in share}
    # A batch is one worker's: all its rows are in that worker's partitions. And all workers took part.
    of_worker = [{reader[owner[number]] for number in batch} for batch in batches]
    assert all(len(found) == 1 for found in of_worker)
    assert set.union(*of_worker) == {0, 1, 2}


def test_a_replicated_cache_is_split_by_its_primary_partitions(
    cluster: LocalCluster, client: tfi.Client, tmp_path: Path
) -> None:
    cache, partitions = "split", PARTITIONS
    tfi.load(cache, {"id": np.arange(ROWS)}, replicated=True, partitions=partitions, address=cluster.address)
    job = client.submit(SCRIPTS / "read_ids.py", cache=cache, args=[str(tmp_path), cache, "2"]).wait(LIMIT)
    assert sorted(partition for share in workers(job) for partition in share) == list(range(partitions))
    assert_read_once(tmp_path, job, 2, partition_of(cache, partitions, cluster.address))
    assert job.attempt is not None
    assert sum(task.status.rows for task in job.attempt.tasks) == ROWS


@pytest.mark.full
def test_a_job_that_ignores_joining_nodes_reads_its_partitions_where_they_have_moved(
    nodes: LocalCluster, tmp_path: Path
) -> None:
    cache, partitions = f"moved_{tmp_path.name}", PARTITIONS
    tfi.load(cache, {"id": np.arange(ROWS)}, backups=1, partitions=partitions, address=nodes.address)
    asked = make_request(
        RowArguments(cache, columns=["id"], partitions="all", options=ReadOptions(address=nodes.address))
    )
    with tfi.connect(nodes.address) as client:
        handle = client.submit(
            SCRIPTS / "read_ids.py",
            cache=cache,
            restart=tfi.Restart(on_join="ignore"),
            args=[str(tmp_path), cache, "2", "held"],
        )
        await_files(handle, *(tmp_path / f"worker-{index}-0.json" for index in range(3)))
        nodes.start_node()
        await_true(
            lambda: len({endpoint.address for endpoint in make_plan(asked).endpoints}) == 4,
            "no partition moved to the new node",
            LIMIT,
        )
        (tmp_path / "go").touch()
        job = handle.wait(LIMIT)
    assert job.attempt is not None
    assert job.attempt.number == 1
    assert_read_once(tmp_path, job, 2, partition_of(cache, partitions, nodes.address))
