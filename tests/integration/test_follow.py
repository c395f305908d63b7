"""Rows that are followed: which ones come, while rows are put and removed, and nodes come and go.

Promise (rows): A follower misses no row.
"""

from __future__ import annotations

import contextlib
import gc
import random
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jobs import LIMIT
from meanwhile import repeating
from pyignite import GenericObjectMeta
from pyignite.datatypes import LongObject
from test_changing_rows import PARTITIONS, ROWS, Rows, made, put, settle
from thin_client import thin_client
from waiting import await_true

import tensorflow_ignite as tfi
from local_nodes import read_at
from tensorflow_ignite import errors
from tensorflow_ignite.data import cache_position, pyfunc
from tensorflow_ignite.data.cache_position import CachePosition
from tensorflow_ignite.data.epochs.changes import Position
from tensorflow_ignite.data.epochs.tensors import Array
from tensorflow_ignite.data.open_readers import HANDLE_NUMBERS
from tensorflow_ignite.data.options import RowArguments
from tensorflow_ignite.data.request import make_request
from tensorflow_ignite.testing import LocalCluster

WRITERS = 3
# A removed row, among versions.
REMOVED = -1
FOLLOW = tfi.Changes(follow=True)
VERSION: Any = GenericObjectMeta("Version", (), {}, schema=OrderedDict(id=LongObject))


class Followed:
    """What a graph gets of the changes of a cache."""

    def __init__(self, cache: str, address: str, transport: Any = "auto", **arguments: Any) -> None:
        options = tfi.ReadOptions(address=address, batch_bytes=4000, transport=transport)
        given = {"columns": ["id"], "key": True, "changes": FOLLOW, **arguments}
        self.request = make_request(RowArguments(cache, options=options, **given))
        self.text = self.request.to_json().encode()
        self.positions: Array = cache_position.decode(self.request.since)
        self._handle: Array = np.zeros(HANDLE_NUMBERS, np.int64)

    def take(self) -> list[tuple[int, ...]]:
        self._handle, self.positions, _, *arrays = pyfunc.read_changes(self.text, self._handle, self.positions)
        return list(zip(*(array.tolist() for array in arrays), strict=True))

    def until(self, rows: int) -> list[tuple[int, ...]]:
        """At least this number of rows."""
        found: list[tuple[int, ...]] = []
        while len(found) < rows:
            found += self.take()
        return found

    def again(self) -> Followed:
        """Another reader, which begins at the position of this one, as after a restore from a checkpoint."""
        other = Followed.__new__(Followed)
        other.request, other.text = self.request, self.text
        other.positions, other._handle = self.positions.copy(), np.zeros(HANDLE_NUMBERS, np.int64)
        return other


@pytest.fixture(autouse=True)
def no_reader_stays_open() -> Iterator[None]:
    yield
    # An error holds the frames that it went through, and with them the reader, until Python collects garbage.
    gc.collect()
    await_true(lambda: pyfunc.open_readers() == 0, "a reader is open")
    await_true(
        lambda: all(thread.name != "tensorflow-ignite-follower" for thread in threading.enumerate()),
        "a thread still follows",
    )


def test_all_rows_come_and_then_those_that_are_put(cluster: LocalCluster) -> None:
    cache = made(cluster, "followed")
    rows = Followed(cache, cluster.address)
    assert sorted(rows.until(ROWS)) == [(number, number) for number in range(ROWS)]
    for number in range(5):
        put(cluster, cache, {number: 100_000 + number, ROWS + number: number})
        assert sorted(rows.until(2)) == [(number, 100_000 + number), (ROWS + number, number)]


@pytest.mark.full
def test_only_what_is_put_after_a_position_comes(cluster: LocalCluster) -> None:
    cache = made(cluster, "after_position")
    position = tfi.position(cache, options=read_at(cluster))
    assert len(position.partitions) == PARTITIONS
    assert all(one.feed for one in position.partitions)
    put(cluster, cache, {7: 1, 8: 2, ROWS: 3})
    assert tfi.position(cache, options=read_at(cluster)).changes_since(position) == 3
    rows = Followed(
        cache,
        cluster.address,
        changes=tfi.Changes(since=CachePosition.from_json(position.to_json()), follow=True),
    )
    assert sorted(rows.until(3)) == [(7, 1), (8, 2), (ROWS, 3)]
    put(cluster, cache, {9: 4})
    assert rows.until(1) == [(9, 4)]


def test_an_epoch_since_a_position_has_each_changed_row_once(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = made(cluster, "epoch_since")
    position = tfi.position(cache, options=read_at(cluster))
    for options in ({}, {"snapshot": False}, {"snapshot": "frozen"}, {"shuffle": 50, "seed": 2}):
        changes = tfi.Changes(since=position)
        rows = Rows(cache, cluster.address, monkeypatch, changes=changes, **options)
        first = {number: number + 1 for number in range(100)}
        put(cluster, cache, first)
        put(cluster, cache, {5: 500})
        assert sorted(rows.epoch()) == sorted((first | {5: 500}).values())
        assert rows.received == 100
        put(cluster, cache, {200: 201, 5: 501})
        frozen = options.get("snapshot") == "frozen"
        assert sorted(rows.epoch()) == sorted((first | ({5: 500} if frozen else {5: 501, 200: 201})).values())
        rows.close()
        with thin_client(cluster.nodes[0].pid) as client:
            client.get_cache(cache).remove_keys([5, 200])
        later = Rows(cache, cluster.address, monkeypatch, changes=changes, snapshot=False)
        assert sorted(later.epoch()) == sorted(value for key, value in first.items() if key != 5)
        later.close()
        put(cluster, cache, {5: 5, 200: 200})
        position = tfi.position(cache, options=read_at(cluster))


@pytest.mark.full
def test_removed_rows_come_as_such_if_they_are_requested_and_rows_come_again_after_a_clear(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = made(cluster, "deletions")
    settled = Rows(cache, cluster.address, monkeypatch)
    settle(settled)
    settled.close()
    position = tfi.position(cache, options=read_at(cluster))
    rows = Followed(
        cache, cluster.address, changes=tfi.Changes(since=position, follow=True, deletions=True), nulls="default"
    )
    without = Followed(cache, cluster.address, changes=tfi.Changes(since=position, follow=True))
    removed = list(range(0, ROWS, 3))
    with thin_client(cluster.nodes[0].pid) as client:
        client.get_cache(cache).remove_keys(removed)
        put(cluster, cache, {1: 100})
        assert sorted(rows.until(len(removed) + 1)) == sorted([(key, 0, True) for key in removed] + [(1, 100, False)])
        assert without.until(1) == [(1, 100)]
        client.get_cache(cache).clear()
    put(cluster, cache, {5: 50, 7: 70})
    found: dict[int, int] = {}
    while len(found) < 2:
        found |= {key: number for key, number, is_removed in rows.take() if not is_removed}
    assert found == {5: 50, 7: 70}


@pytest.mark.full
def test_a_position_that_is_not_known_any_more_reads_partitions_whole_and_says_so(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cache = made(cluster, "unknown_position", 300)
    other = CachePosition(cache, (Position(5, 17),) * PARTITIONS)
    rows = Rows(cache, cluster.address, monkeypatch, changes=tfi.Changes(since=other), snapshot=False)
    assert sorted(rows.epoch()) == list(range(300))
    assert "are read whole, because their changes since the position are not known" in caplog.text
    rows.close()


@pytest.mark.full
def test_arguments_that_do_not_fit_are_refused(cluster: LocalCluster) -> None:
    cache, other = made(cluster, "refused", 10), made(cluster, "other_cache", 10)
    position = tfi.position(other, options=read_at(cluster))
    options: dict[str, Any]
    for options, text in (
        (
            {"changes": tfi.Changes(since=position, follow=True)},
            "the position of cache 'other_cache' is no position of cache 'refused'",
        ),
        ({"where": "id > 3"}, r"follow=True and where= or sql=.*filter"),
        ({"transport": "thin"}, "transport"),
        ({"shuffle": 5}, "Shuffle some of them"),
        ({"snapshot": "refresh"}, "no later epoch"),
        ({"exact": True}, "Remove exact="),
        ({"changes": tfi.Changes(follow=True, deletions=True)}, "needs a rule for nulls"),
        ({"changes": tfi.Changes(deletions=True)}, "needs a position"),
    ):
        with pytest.raises(errors.InvalidRequestError, match=text):
            Followed(cache, cluster.address, **options)
    with pytest.raises(errors.InvalidRequestError, match="is no name of a cache"):
        tfi.position(5)  # type: ignore[arg-type]
    with pytest.raises(errors.CacheNotFoundError):
        tfi.position("no such cache", options=read_at(cluster))
    with pytest.raises(errors.CacheNotFoundError):
        Followed("no such cache", cluster.address)


@pytest.mark.full
def test_a_cache_that_is_removed_is_an_error_and_one_that_is_created_again_is_followed_or_an_error(
    cluster: LocalCluster,
) -> None:
    cache = made(cluster, "removed_cache", 10)
    rows = Followed(cache, cluster.address)
    rows.until(10)
    with thin_client(cluster.nodes[0].pid) as client, ThreadPoolExecutor(1) as waiting:
        more = waiting.submit(rows.until, 1)
        client.get_cache(cache).destroy()
        with pytest.raises(errors.CacheNotFoundError, match=cache):
            more.result(LIMIT)
    for partitions in (PARTITIONS, 2 * PARTITIONS):
        cache = made(cluster, f"again_{partitions}", 10)
        rows = Followed(cache, cluster.address)
        rows.until(10)
        with thin_client(cluster.nodes[0].pid) as client:
            client.get_cache(cache).destroy()
        made(cluster, cache, 300, partitions=partitions)
        found: set[int] = set()
        try:
            while len(found) < 300:
                found |= {key for key, _ in rows.take()}
        except (errors.CacheNotFoundError, errors.AssignmentChangedError):
            pass


class Writer:
    """Puts about 1,000 rows a second under its own keys, and removes some; versions of a row grow."""

    KEYS = 2_000

    def __init__(self, client: Any, cache: str, number: int) -> None:
        self.stored: dict[int, int] = {}
        self.version = number
        self._keys = range(number * self.KEYS, (number + 1) * self.KEYS)
        self._chance = random.Random(number)
        self._cache = client.get_cache(cache)

    def write(self) -> None:
        self.version += WRITERS
        keys = self._chance.sample(self._keys, 50)
        self._cache.put_all({(key, LongObject): VERSION(id=self.version) for key in keys})
        self.stored |= dict.fromkeys(keys, self.version)
        if self._chance.random() < 0.1:
            gone = self._chance.sample(self._keys, 20)
            self._cache.remove_keys([(key, LongObject) for key in gone])
            self.stored |= dict.fromkeys(gone, REMOVED)
        time.sleep(0.05)


class Ledger:
    """What came: the newest version of each key, which never becomes older."""

    def __init__(self, writers: list[Writer]) -> None:
        self.seen: dict[int, int] = {}
        self.rows = 0
        self._writers = writers

    def add(self, rows: list[tuple[int, ...]]) -> None:
        self.rows += len(rows)
        for key, version, removed in rows:
            if removed:
                self.seen[key] = REMOVED
            else:
                assert version >= self.seen.get(key, 0), key
                self.seen[key] = version

    def is_complete(self) -> bool:
        """Whether the last version of each row that exists has come; call it when nobody writes."""
        stored = {key: version for writer in self._writers for key, version in writer.stored.items()}
        return all(self.seen.get(key) == version for key, version in stored.items() if version != REMOVED)


@pytest.mark.full
def test_no_row_is_missed_while_three_write_and_owners_die_and_partitions_move(
    nodes: LocalCluster, tmp_path: Path
) -> None:
    cache = f"ledger_{tmp_path.name}"
    ids = np.arange(10, dtype=np.int64)
    tfi.load(cache, {"key": ids - 100, "id": ids}, key="key", backups=1, partitions=PARTITIONS, address=nodes.address)
    rows = Followed(cache, nodes.address, changes=tfi.Changes(follow=True, deletions=True), nulls="default")
    changes = [nodes.start_node, lambda: nodes.kill_node(nodes.nodes[-1]), nodes.start_node]
    with contextlib.ExitStack() as clients, ThreadPoolExecutor(1) as changing:
        connected = [clients.enter_context(thin_client(nodes.nodes[0].pid)) for _ in range(WRITERS)]
        writers = [Writer(client, cache, number) for number, client in enumerate(connected)]
        ledger = Ledger(writers)
        with repeating(*(writer.write for writer in writers)):
            for change in [*changes, None]:
                enough = ledger.rows + 5_000
                while ledger.rows < enough:
                    ledger.add(rows.take())
                # As after a restore from a checkpoint: another reader goes on.
                rows = rows.again()
                changed = changing.submit(change) if change is not None else None
                while changed is not None and not changed.done():
                    ledger.add(rows.take())
                if changed is not None:
                    changed.result()

        def is_complete() -> bool:
            # A batch comes in any case.
            writers[0].version += 1
            connected[0].get_cache(cache).put(-1, VERSION(id=writers[0].version), key_hint=LongObject)
            ledger.add(rows.take())
            return ledger.is_complete()

        await_true(is_complete, "rows are missed", LIMIT)


@pytest.mark.full
def test_a_process_that_was_forked_after_a_call_gets_an_error_and_ends_as_any_other(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    cache = made(cluster, "before_fork", 10)
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\n"
        "import tensorflow_ignite as tfi\n"
        f"options = tfi.ReadOptions(address={cluster.address!r})\n"
        f"tfi.position({cache!r}, options=options)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    try:\n"
        f"        tfi.read_table({cache!r}, options=options)\n"
        "    except tfi.errors.InvalidRequestError as error:\n"
        "        print('was forked' in str(error), flush=True)\n"
        "    sys.exit()\n"
        "print(os.waitpid(child, 0)[1])\n"
    )
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=LIMIT, check=True)
    assert result.stdout == "True\n0\n", result.stderr
