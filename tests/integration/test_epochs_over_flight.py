"""What a graph calls, without a graph: epochs over real Arrow Flight servers, in a job and outside."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flight_cluster import BecomeTask, Cluster, tasks

from tensorflow_ignite import errors
from tensorflow_ignite.data import pyfunc
from tensorflow_ignite.data.epoch_readers import readers
from tensorflow_ignite.data.loading.columns import table_of
from tensorflow_ignite.data.open_readers import HANDLE_NUMBERS
from tensorflow_ignite.data.request import make_request

ROWS = 1000

# Handle and offset, as an iterator keeps them.
State = tuple[Any, int]
BEGIN: State = (np.zeros(HANDLE_NUMBERS, np.int64), 0)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Three nodes with the cache ``numbers``: 375, 375 and 250 rows."""
    cluster = Cluster.start(3)
    cluster.add("numbers", table_of({"id": np.arange(ROWS), "low": (np.arange(ROWS) % 256).astype(np.uint8)}))
    yield cluster
    gc.collect()
    cluster.stop()
    assert pyfunc.open_readers() == 0


@pytest.fixture
def task(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BecomeTask]:
    """Makes this process a task of a mirrored job on ``numbers``."""
    with tasks(cluster, "numbers", tmp_path, monkeypatch) as become:
        yield become


class Dataset:
    """Calls as the graph of a dataset does."""

    def __init__(self, cluster: Cluster, **options: Any) -> None:
        arguments: dict[str, Any] = {"columns": ["id", "low"], "key": False, "partitions": None, "batch_bytes": 400}
        self.request = make_request("numbers", address=cluster.address, **{**arguments, **options})
        self._text = self.request.to_json().encode()

    def read(self, state: State = BEGIN, rows: int = 2**62) -> tuple[list[int], State]:
        """At least so many ids from a state on, without those of weight 0, and the state behind them."""
        found: list[int] = []
        handle, offset = state
        end = offset
        while end - offset < rows:
            handle, following, *arrays = pyfunc.read_batch(self._text, handle, np.int64(end))
            if following < 0:
                break
            end = int(following)
            real = arrays.pop(0) > 0 if self.request.weighted else np.ones(len(arrays[0]), np.bool_)
            ids, low = (array[real] for array in arrays)
            np.testing.assert_array_equal(low, ids % 256)
            found += ids.tolist()
        return found, (handle, end)

    def epoch(self) -> list[int]:
        """The ids of a whole epoch."""
        return self.read()[0]

    def close(self) -> None:
        """As when the dataset dies."""
        readers.forget(self.request.name)


def restored(state: State) -> State:
    """What a checkpoint makes of a state: numbers."""
    handle, offset = state
    return np.array(handle), offset


def own(index: int) -> set[int]:
    """Rows of a node."""
    return {number for number in range(ROWS) if number % 8 % 3 == index}


@pytest.mark.full
def test_a_snapshot_is_read_once_and_goes_with_its_dataset(cluster: Cluster) -> None:
    dataset = Dataset(cluster, snapshot="frozen")
    before = readers.snapshot_bytes()
    first = dataset.epoch()
    assert sorted(first) == list(range(ROWS))
    sent = len(cluster.sent)
    assert dataset.epoch() == dataset.epoch() == first
    assert len(cluster.sent) == sent
    # Arrow pads buffers.
    assert readers.snapshot_bytes() - before == pytest.approx(ROWS * 9, rel=0.02)
    dataset.close()
    assert readers.snapshot_bytes() == before


@pytest.mark.parametrize("kept", ["", "frozen", "refresh"], ids=["fresh", "frozen", "refreshed"])
@pytest.mark.parametrize("window", [None, 100, 0], ids=["plain", "window", "large"])
def test_an_epoch_goes_on_from_the_numbers_of_its_handle(cluster: Cluster, kept: str, window: int | None) -> None:
    made = [Dataset(cluster, window=window, seed=3, snapshot=kept) for _ in range(3)]
    epochs = [made[0].epoch() for _ in range(3)]
    assert all(sorted(epoch) == list(range(ROWS)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == (1 if window is None else 3)
    for _ in range(2):
        made[1].epoch()
    begun, state = made[1].read(rows=333)
    rest, _ = made[2].read(restored(state))
    assert begun + rest == epochs[2]
    # The epochs behind it go on counting.
    assert made[2].epoch() == made[0].epoch()
    other = Dataset(cluster, window=window, seed=4, snapshot=kept)
    with pytest.raises(errors.AssignmentChangedError, match="with other options"):
        other.read(restored(state))
    for dataset in made:
        dataset.close()


@pytest.mark.full
def test_an_epoch_that_could_not_begin_is_begun_again(cluster: Cluster) -> None:
    # A window as large as the cache wants all rows before it gives the first.
    dataset, other = (Dataset(cluster, window=ROWS, seed=3) for _ in range(2))
    cluster.nodes[2].shutdown()
    with pytest.raises(errors.ConnectionFailedError):
        dataset.read()
    assert pyfunc.open_readers() == 0
    cluster.nodes.pop()
    assert [dataset.epoch(), dataset.epoch()] == [other.epoch(), other.epoch()]


@pytest.mark.full
@pytest.mark.parametrize(("uneven", "rows"), [("repeat", 375), ("drop", 250), ("pad", 375)])
def test_workers_have_epochs_of_one_length(cluster: Cluster, task: BecomeTask, uneven: Any, rows: int) -> None:
    for index in range(3):
        task(index)
        dataset = Dataset(cluster, uneven=uneven, snapshot=None, exact=True)
        assert dataset.request.rows == rows
        for _ in range(2):
            ids, (_, end) = dataset.read()
            assert end == rows
            assert set(ids) <= own(index)
            if uneven == "pad":
                assert sorted(ids) == sorted(own(index))
            else:
                assert len(ids) == rows
        dataset.close()


@pytest.mark.full
def test_another_assignment_is_an_error_and_not_other_rows(cluster: Cluster, task: BecomeTask) -> None:
    task(0)
    before = Dataset(cluster)
    _, state = before.read(rows=50)
    task(1)
    with pytest.raises(errors.AssignmentChangedError, match="reads other partitions"):
        Dataset(cluster).read(restored(state))


def test_partitions_that_moved_are_read_from_their_owners(cluster: Cluster, task: BecomeTask) -> None:
    task(2)
    dataset = Dataset(cluster)
    gone = cluster.nodes.pop()
    try:
        assert set(dataset.epoch()) == own(2)
    finally:
        gone.shutdown()


@pytest.mark.full
def test_a_cache_that_is_written_is_warned_of_once_in_a_job(
    cluster: Cluster, task: BecomeTask, caplog: pytest.LogCaptureFixture
) -> None:
    task(0)
    dataset = Dataset(cluster)
    cluster.add("numbers", table_of({"id": np.arange(800), "low": (np.arange(800) % 256).astype(np.uint8)}))
    for _ in range(2):
        assert len(dataset.epoch()) == 375
    (warning,) = [record.message for record in caplog.records if "every worker" in record.message]
    assert "has 300 rows in epoch 0; an epoch has 375 on every worker, as agreed when it began: 75 are" in warning


@pytest.mark.full
def test_no_rows_are_counted_when_each_epoch_reads_them(cluster: Cluster) -> None:
    fresh, fixed = Dataset(cluster, snapshot=""), Dataset(cluster, exact=True)
    assert (fresh.request.rows, fixed.request.rows) == (-1, ROWS)
    cluster.add("numbers", table_of({"id": np.arange(7), "low": np.arange(7).astype(np.uint8)}))
    assert sorted(fresh.epoch()) == list(range(7))
    with pytest.raises(errors.RowMismatchError, match="7 rows arrived, 1000 were expected"):
        fixed.epoch()
