"""Workers with no row, with one and with very many, under each `uneven` and in each kind of job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, partition_of, read, workers

import tensorflow_ignite as tfi
from tensorflow_ignite.data.options import ReadOptions, RowArguments
from tensorflow_ignite.data.plan import make_plan
from tensorflow_ignite.data.request import make_request
from tensorflow_ignite.kinds import JobKind
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

pytest.importorskip("tensorflow")

PARTITIONS, IDS, MANY = 64, 6000, 1500
ALONE = "rows_of_which_a_node_has_none"
TWO_PER_NODE: dict[str, Any] = {"workers": tfi.Workers(per_node=2)}


def load(cluster: LocalCluster, cache: str, ids: np.ndarray[Any, Any]) -> None:
    """A cache of these ids, each under itself as the key."""
    tfi.load(cache, {"key": ids, "id": ids}, key="key", partitions=PARTITIONS, address=cluster.address)


@pytest.fixture(scope="module")
def partitions(cluster: LocalCluster) -> dict[int, int]:
    """The partition of each id, in all caches with this number of partitions."""
    load(cluster, "ids_of_partitions", np.arange(IDS))
    return partition_of("ids_of_partitions", PARTITIONS, cluster.address)


@pytest.fixture(scope="module")
def none_one_many(cluster: LocalCluster, partitions: dict[int, int]) -> list[int]:
    """The ids of a cache of which one node has no row, one has a single one, and one has many."""
    request = make_request(
        RowArguments(
            "ids_of_partitions", columns=["id"], partitions="all", options=ReadOptions(address=cluster.address)
        )
    )
    shares = [set(endpoint.command.partitions) for endpoint in make_plan(request).endpoints]
    assert len(shares) == 3
    of_node = [[number for number in range(IDS) if partitions[number] in share] for share in shares]
    # Ignite spreads partitions by the nodes' random ids: one node has a third of the rows or more.
    of_node.sort(key=len)
    ids = [of_node[1][0], *of_node[2][:MANY]]
    load(cluster, ALONE, np.array(ids))
    return ids


def run(client: tfi.Client, folder: Path, cache: str, **options: Any) -> tuple[Job, list[dict[str, Any]]]:
    """A job of the script, and what each of its tasks has found."""
    job = client.submit(
        SCRIPTS / "train_uneven.py", cache=cache, args=[str(folder)], restart=tfi.Restart(max_crashes=0), **options
    ).wait(timeout=LIMIT)
    names = sorted(folder.glob("*.json"), key=lambda path: int(path.stem.rpartition("-")[2]))
    return job, [read(folder, path.name) for path in names]


@pytest.mark.parametrize("kind", ["one", "parameter-server"])
def test_where_no_worker_waits_for_another_each_row_comes_once_under_each_uneven(
    client: tfi.Client, none_one_many: list[int], tmp_path: Path, kind: JobKind
) -> None:
    _, (found,) = run(client, tmp_path, ALONE, strategy=kind)
    for uneven in ("repeat", "drop", "pad"):
        assert [sorted(ids) for ids in found[uneven]] == [sorted(none_one_many)] * 2, uneven


def test_of_workers_that_wait_for_each_other_one_without_a_row_needs_padding(
    client: tfi.Client, none_one_many: list[int], tmp_path: Path
) -> None:
    job, found = run(client, tmp_path, ALONE)
    assert sorted(len(worker["pad"][0]) for worker in found) == [0, 1, MANY]
    for epoch in range(2):
        assert sorted(number for worker in found for number in worker["pad"][epoch]) == sorted(none_one_many)
    for worker in found:
        for uneven, rule in {"repeat": "to repeat", "drop": "leaves none to any"}.items():
            assert f"has no row of cache '{ALONE}'" in worker[uneven]
            assert rule in worker[uneven]
            assert 'Use uneven="pad"' in worker[uneven]
    assert job.attempt is not None
    assert job.attempt.number == 1


def test_of_workers_that_wait_for_each_other_one_row_is_enough(
    client: tfi.Client, cluster: LocalCluster, partitions: dict[int, int], tmp_path: Path
) -> None:
    probe = client.submit(
        SCRIPTS / "show_task.py", cache="ids_of_partitions", args=[str(tmp_path)], strategy="custom", **TWO_PER_NODE
    ).wait(timeout=LIMIT)
    shares = workers(probe)
    assert len(shares) == 6
    of_worker = [[number for number in range(IDS) if partitions[number] in share] for share in shares]
    kept = [of_worker[0][: MANY // 3], *([ids[0]] for ids in of_worker[1:])]
    cache = "rows_of_which_workers_have_one"
    load(cluster, cache, np.concatenate(kept))
    (tmp_path / "uneven").mkdir()
    job, found = run(client, tmp_path / "uneven", cache, **TWO_PER_NODE)
    assert workers(job) == shares
    most = len(kept[0])
    for epoch in range(2):
        for worker, ids in zip(found, kept, strict=True):
            assert sorted(worker["pad"][epoch]) == ids
            assert sorted(worker["repeat"][epoch]) == (ids if len(ids) > 1 else ids * most)
            assert len(worker["drop"][epoch]) == 1
            assert set(worker["drop"][epoch]) <= set(ids)
    # What the first epoch has left out comes first in the next one.
    assert found[0]["drop"][0] != found[0]["drop"][1]
