"""Epochs of a cache that is written meanwhile: which rows they have, and what they read.

Promise (rows): A refreshed snapshot has the present rows.
Promise (rows): Workers of a mirrored job take equal steps, and none leaves out the same rows twice in a row.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import LIMIT, SCRIPTS, await_files, cli, read
from meanwhile import repeating
from thin_client import thin_client
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.data import identified, pyfunc
from tensorflow_ignite.data.epoch_readers import readers
from tensorflow_ignite.data.open_readers import HANDLE_NUMBERS
from tensorflow_ignite.data.options import RowArguments
from tensorflow_ignite.data.request import make_request
from tensorflow_ignite.data.transport import moved_partitions
from tensorflow_ignite.testing import LocalCluster

ROWS = 3_000
PARTITIONS = 32
VERSIONS = 1_000_000


class Rows:
    """The ids of epochs, as a graph reads them, and how many rows the nodes have sent."""

    def __init__(self, cache: str, address: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        arguments: dict[str, Any] = {"columns": ["id"], "snapshot": "refresh", **options}
        reading = tfi.ReadOptions(address=address, batch_bytes=4000)
        self.request = make_request(RowArguments(cache, options=reading, **arguments))
        self.received = 0
        received = identified.IdentifiedStream.__iter__

        def counted(stream: identified.IdentifiedStream) -> Iterator[Any]:
            for batch in received(stream):
                self.received += batch.num_rows
                yield batch

        monkeypatch.setattr(identified.IdentifiedStream, "__iter__", counted)

    def epoch(self) -> list[int]:
        """The ids of the next epoch, and counts from 0 what the nodes send for it."""
        self.received = 0
        text = self.request.to_json().encode()
        handle, offset, found = np.zeros(HANDLE_NUMBERS, np.int64), np.int64(0), []
        while True:
            handle, following, ids = pyfunc.read_batch(text, handle, offset)
            if following < 0:
                return found
            offset = following
            found += ids.tolist()

    def close(self) -> None:
        """As when the dataset is collected."""
        readers.forget(self.request.name)


def made(cluster: LocalCluster, name: str, rows: int = ROWS, **options: Any) -> str:
    """A cache with the ids from 0 on, also as keys."""
    ids = np.arange(rows)
    data = {"key": ids, "id": ids, "text": [f"row {number}" for number in ids]}
    tfi.load(name, data, key="key", address=cluster.address, **{"partitions": PARTITIONS, "backups": 1, **options})
    return name


def put(cluster: LocalCluster, cache: str, rows: dict[int, int]) -> None:
    data = {
        "key": np.array(list(rows), np.int64),
        "id": np.array(list(rows.values()), np.int64),
        "text": ["changed"] * len(rows),
    }
    tfi.load(cache, data, key="key", if_exists="append", address=cluster.address)


def settle(rows: Rows) -> None:
    """Reads epochs until one needs no row again: now all nodes know all later changes."""

    def needs_nothing() -> bool:
        rows.epoch()
        return rows.received == 0

    await_true(needs_nothing, "each epoch reads rows again", LIMIT)


def test_each_epoch_of_a_refreshed_snapshot_has_the_rows_of_now(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = made(cluster, "refreshed")
    rows = Rows(cache, cluster.address, monkeypatch)
    settle(rows)
    assert sorted(rows.epoch()) == list(range(ROWS))
    assert rows.received == 0
    chance, present = random.Random(3), {number: number for number in range(ROWS)}
    with thin_client(cluster.nodes[0].pid) as client:
        for number in range(1, 6):
            changed = {chance.randrange(ROWS + 300): number * 100_000 + each for each in range(60)}
            put(cluster, cache, changed)
            present |= changed
            removed = chance.sample(sorted(present), 20)
            client.get_cache(cache).remove_keys(removed)
            for key in removed:
                del present[key]
            assert sorted(rows.epoch()) == sorted(present.values())
            assert rows.received <= len(changed)
        client.get_cache(cache).clear()
    put(cluster, cache, {1: 7, 2: 8})
    await_true(lambda: sorted(rows.epoch()) == [7, 8], "an epoch has other rows")
    rows.close()


def test_rows_of_joined_tables_follow_changes_of_each_table(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, segments = made(cluster, "joined", 50), "factors"
    data = {"name": np.arange(50), "factor": np.ones(50, np.int64)}
    tfi.load(segments, data, key="name", replicated=True, address=cluster.address)
    select = "SELECT j.id * f.factor AS id FROM Joined j JOIN Factors f ON j.id = f.name"
    rows = Rows(cache, cluster.address, monkeypatch, sql=select, columns=None)
    assert sorted(rows.epoch()) == list(range(50))
    changed = {"name": np.array([7]), "factor": np.array([100])}
    tfi.load(segments, changed, key="name", if_exists="append", address=cluster.address)
    assert sorted(rows.epoch()) == sorted([*range(7), *range(8, 50), 700])
    rows.close()


def test_without_a_snapshot_each_epoch_has_the_rows_that_exist_and_exact_ones_refuse_others(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = made(cluster, "more_rows", 100)
    rows = Rows(cache, cluster.address, monkeypatch, snapshot=False)
    exact = Rows(cache, cluster.address, monkeypatch, snapshot=False, exact=True)
    assert (rows.request.rows, exact.request.rows) == (-1, 100)
    assert sorted(rows.epoch()) == sorted(exact.epoch()) == list(range(100))
    put(cluster, cache, {100: 100})
    assert sorted(rows.epoch()) == list(range(101))
    with pytest.raises(errors.RowMismatchError, match="101 rows arrived, 100 were expected"):
        exact.epoch()
    rows.close()
    exact.close()


@pytest.mark.full
def test_epochs_have_the_newest_values_while_rows_are_put_and_nodes_come_and_go(
    nodes: LocalCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cache = f"moved_{tmp_path.name}"
    ids = np.arange(ROWS)
    data = {"key": ids, "id": ids * VERSIONS, "text": ["new"] * ROWS}
    tfi.load(cache, data, key="key", backups=1, partitions=PARTITIONS, address=nodes.address)
    rows = Rows(cache, nodes.address, monkeypatch)
    settle(rows)
    # Of each key: the version that is stored at least, and the one that was read.
    stored, seen = dict.fromkeys(range(ROWS), 0), dict.fromkeys(range(ROWS), 0)
    chance, versions = random.Random(9), itertools.count(1)

    def write() -> None:
        version, keys = next(versions), chance.sample(range(ROWS), 50)
        put(nodes, cache, {key: key * VERSIONS + version for key in keys})
        stored.update(dict.fromkeys(keys, version))

    def reads_only_changes() -> bool:
        nonlocal seen
        before = dict(stored)
        epoch = rows.epoch()
        found = dict(divmod(number, VERSIONS) for number in epoch)
        assert len(epoch) == len(found) == ROWS
        assert all(found[key] >= before[key] and found[key] >= seen[key] for key in found)
        seen = found
        return rows.received < ROWS

    with repeating(write):
        assert reads_only_changes()
        for change in (nodes.start_node, lambda: nodes.stop_node(nodes.nodes[-1])):
            change()
            # Those of partitions that have moved are read whole, and later again what has changed alone.
            for _ in range(4):
                reads_only_changes()
            await_true(reads_only_changes, "each epoch reads all rows", LIMIT)
    rows.close()


@pytest.mark.full
@pytest.mark.parametrize(
    ("uneven", "snapshot"),
    [("drop", "refresh"), ("repeat", "none")],
)
def test_workers_agree_on_each_epoch_while_rows_are_put_and_leave_out_none_twice(
    cluster: LocalCluster, client: tfi.Client, tmp_path: Path, uneven: str, snapshot: str
) -> None:
    # With few partitions, one worker may have more than twice the rows of another: one epoch does not make up for that.
    cache, epochs = made(cluster, f"agreed_{uneven}", 1_000, partitions=512), 6
    job = client.submit(
        SCRIPTS / "read_changing.py", cache=cache, args=[str(tmp_path), cache, str(epochs), uneven, snapshot]
    )
    present = [set(range(1_000))]
    found: list[list[list[int]]] = []
    for epoch in range(epochs):
        (tmp_path / f"go-{epoch}").touch()
        more = range(1_000 + 100 * epoch, 1_000 + 100 * (epoch + 1))
        if epoch % 2:
            # While the epoch is read.
            put(cluster, cache, {number: number for number in more})
        await_files(job, *(tmp_path / f"{worker}-{epoch}.json" for worker in range(3)))
        if not epoch % 2:
            put(cluster, cache, {number: number for number in more})
        present.append(present[-1] | set(more))
        found.append([read(tmp_path, f"{worker}-{epoch}.json") for worker in range(3)])
    attempt = job.wait(LIMIT).attempt
    assert attempt is not None
    assert attempt.number == 1
    for task in attempt.tasks:
        assert task.status.progress is not None
        last = task.status.progress.epochs[-1]
        assert (last.cache, last.epoch) == (cache, epochs - 1)
        assert last.rows - last.left_out + last.filled == len(found[-1][task.index])
    assert f"worker 0, epoch {epochs - 1} of '{cache}'" in cli("describe", job.id, address=cluster.address).stdout
    missed_before: set[int] = set()
    for epoch, shares in enumerate(found):
        assert len({len(ids) for ids in shares}) == 1
        missed = present[epoch].difference(*shares)
        if uneven == "drop":
            # Of those that one epoch has left out, the next one has all.
            assert not missed & missed_before
            for share in shares:
                assert len(set(share)) == len(share)
        else:
            assert not missed
        missed_before = missed
    assert len(found[-1][0]) > len(found[0][0])


@pytest.mark.full
@pytest.mark.parametrize("partitions", [2 * PARTITIONS, PARTITIONS // 2])
def test_a_cache_that_was_created_again_with_other_partitions_is_read_whole(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, partitions: int
) -> None:
    cache = made(cluster, f"created_again_{partitions}", 300)
    rows = Rows(cache, cluster.address, monkeypatch)
    settle(rows)
    rows.epoch()
    with thin_client(cluster.nodes[0].pid) as client:
        client.get_cache(cache).destroy()
    ids = np.arange(500, 700)
    data = {"key": ids, "id": ids, "text": ["again"] * len(ids)}
    tfi.load(cache, data, key="key", partitions=partitions, address=cluster.address)
    for _ in range(2):
        assert sorted(rows.epoch()) == ids.tolist()
    rows.close()


@pytest.mark.full
def test_an_epoch_right_after_an_owner_was_killed_has_all_rows(
    nodes: LocalCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cache = made(nodes, f"killed_{tmp_path.name}", 300)
    rows = Rows(cache, nodes.address, monkeypatch)
    settle(rows)
    put(nodes, cache, {5: 500})
    expected = [*range(5), *range(6, 300), 500]
    assert sorted(rows.epoch()) == expected
    # The others do not know it yet, and the plan of the last refresh names it.
    monkeypatch.setattr(moved_partitions, "SECONDS_TO_SETTLE", 90.0)
    nodes.kill_node(nodes.nodes[-1])
    assert sorted(rows.epoch()) == expected
    rows.close()
