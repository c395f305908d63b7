"""Rows that are held out by their keys, and samples of rows that have not changed: chosen by the nodes.

Promise (rows): A key that is held out is always held out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from thin_client import thin_client

import tensorflow_ignite as tfi
from local_nodes import read_at
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full

ROWS = 2_000


def made(cluster: LocalCluster, name: str, **options: Any) -> str:
    """A cache with the ids from 0 on, also as keys."""
    ids = np.arange(ROWS)
    tfi.load(name, {"key": ids, "id": ids}, key="key", address=cluster.address, **{"partitions": 32, **options})
    return name


def put(cluster: LocalCluster, cache: str, keys: range) -> None:
    """Puts rows whose ids are their keys and a million."""
    keys_of_rows = np.array(keys)
    rows = {"key": keys_of_rows, "id": keys_of_rows + 1_000_000}
    tfi.load(cache, rows, key="key", if_exists="append", address=cluster.address)


def ids(cluster: LocalCluster, cache: str, **options: Any) -> list[int]:
    """The ids of an epoch, sorted."""
    rows = tfi.dataset(cache, columns=["id"], options=read_at(cluster), **options)
    return sorted(int(number) for batch in rows.batch(100) for number in batch["id"])


def subset(cluster: LocalCluster, cache: str, name: Any, **options: Any) -> list[int]:
    """The ids of one side of a split."""
    return ids(cluster, cache, hold_out=tfi.HoldOut(0.1, name), **options)


def test_a_row_keeps_its_side_whatever_happens_to_it_and_to_the_cache(cluster: LocalCluster) -> None:
    cache = made(cluster, "split")
    training, validation = subset(cluster, cache, "training"), subset(cluster, cache, "validation")
    assert sorted(training + validation) == list(range(ROWS))
    assert len(validation) == pytest.approx(ROWS / 10, rel=0.3)
    assert subset(cluster, made(cluster, "other_split", partitions=7), "validation") == validation
    assert subset(cluster, cache, "training", snapshot="refresh", shuffle=True) == training
    since = tfi.position(cache, options=read_at(cluster))
    put(cluster, cache, range(0, ROWS, 2))
    changed = [1_000_000 + number for number in validation if number % 2 == 0]
    assert subset(cluster, cache, "validation", changes=tfi.Changes(since=since)) == changed
    assert len(subset(cluster, cache, "training")) == len(training)


def test_a_row_keeps_its_side_in_each_cache_whose_keys_have_the_same_columns(cluster: LocalCluster) -> None:
    """The types of such keys have other names in each table, also in one that is created again."""
    days, places = (part.ravel() for part in np.meshgrid(range(20), range(20)))
    rows = {"day": days, "place": places, "id": 100 * days + places}
    sides = []
    for name in ("visits", "other_visits"):
        tfi.load(name, rows, key="day", affinity="place", address=cluster.address)
        sides.append(subset(cluster, name, "validation"))
    with thin_client(cluster.nodes[0].pid) as client:
        for _ in range(2):
            client.sql('CREATE TABLE Again ("day" BIGINT, "place" BIGINT, "id" BIGINT, PRIMARY KEY ("day", "place"))')
            values = ", ".join(
                f"({day}, {place}, {100 * day + place})" for day, place in zip(days, places, strict=True)
            )
            client.sql(f'INSERT INTO Again ("day", "place", "id") VALUES {values}')
            sides.append(subset(cluster, "SQL_PUBLIC_AGAIN", "validation"))
            client.sql("DROP TABLE Again")
    assert len(sides[0]) == pytest.approx(40, rel=0.5)
    assert all(side == sides[0] for side in sides)
    # Other numbers here mean that held-out rows of earlier versions would be trained on.
    assert sides[0][:6] == [111, 115, 205, 210, 214, 306]


def test_a_sample_of_old_rows_comes_with_the_new_ones_and_differs_from_dataset_to_dataset(
    cluster: LocalCluster,
) -> None:
    cache = made(cluster, "replayed")
    since = tfi.position(cache, options=read_at(cluster))
    assert ids(cluster, cache, changes=tfi.Changes(since=since, replay=0.5)) == []
    put(cluster, cache, range(ROWS, ROWS + 100))
    samples = []
    for _ in range(2):
        found = ids(cluster, cache, changes=tfi.Changes(since=since, replay=0.5))
        assert len(found) == len(set(found))
        samples.append({number for number in found if number < 1_000_000})
        assert len(found) - len(samples[-1]) == 100
        assert len(samples[-1]) == pytest.approx(100, rel=0.5)
    assert samples[0] != samples[1]
    held_out = set(subset(cluster, cache, "validation"))
    found = subset(cluster, cache, "training", changes=tfi.Changes(since=since, replay=0.9))
    assert not set(found) & held_out
    assert sum(number < 1_000_000 for number in found) == pytest.approx(9 * 90, rel=0.3)
