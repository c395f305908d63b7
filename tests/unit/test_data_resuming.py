"""The position from which a worker goes on: its own, or what all workers together have used of an epoch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorflow_ignite.data import resuming
from tensorflow_ignite.data.epoch_readers import EpochReaders
from tensorflow_ignite.data.epoch_source import BegunEpoch
from tensorflow_ignite.data.epochs.used_rows import UsedRows
from tensorflow_ignite.data.input_position import InputPosition
from tensorflow_ignite.data.open_readers import HANDLE_NUMBERS
from tensorflow_ignite.data.request import ALL, ASSIGNED, Request
from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.task import Task, WorkerAssignment

WORKERS = (WorkerAssignment(0, "a", (0, 2), 5), WorkerAssignment(1, "b", (1, 3), 7))


def reading(partitions: Any) -> Request:
    return Request("digits", (), False, partitions, None, 0)


def used(request: Request, rows: int, epoch: int = 1) -> InputPosition:
    """The position of a worker that has used a number of rows; its seed is that number."""
    return InputPosition("digits", request.selection, epoch, rows, -1, 0, rows=rows)


@pytest.fixture
def going_on(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Where the second of two workers goes on, and the positions whose rows it leaves out."""
    found: list[Any] = []
    here = Task(in_job=True, role="worker", index=1, cache="digits", assignment=WORKERS, num_workers=2)
    monkeypatch.setattr(resuming, "current", lambda: here)
    monkeypatch.setattr(EpochReaders, "resume", lambda _, request, own, others: found.extend((own, others)))

    def resume(request: Request, *workers: InputPosition) -> list[Any]:
        resuming.resume(request, workers)
        return found

    return resume


def test_a_worker_leaves_out_what_all_have_used_of_the_rows_that_they_share(going_on: Any) -> None:
    shared = reading(ASSIGNED)
    own, others = going_on(shared, used(shared, 4), used(shared, 5))
    assert (own.rows, [each.rows for each in others]) == (5, [4, 5])


def test_a_worker_that_reads_all_rows_leaves_out_only_what_it_has_used(going_on: Any) -> None:
    all_rows = reading(ALL)
    own, others = going_on(all_rows, used(all_rows, 4, epoch=2), used(all_rows, 5))
    assert (own.rows, [each.rows for each in others]) == (5, [5])


def test_one_more_worker_that_reads_all_rows_goes_on_where_another_has_stood(going_on: Any) -> None:
    all_rows = reading(ALL)
    own, others = going_on(all_rows, used(all_rows, 4))
    assert (own.rows, [each.rows for each in others]) == (4, [4])


def test_workers_that_name_their_partitions_go_on_and_refuse_other_ones(going_on: Any) -> None:
    first, second = reading((0, 1)), reading((2, 3))
    own, _ = going_on(second, used(first, 4), used(second, 5))
    assert own.rows == 5
    with pytest.raises(InvalidRequestError, match="other rows of cache 'digits'"):
        going_on(second, used(second, 5), used(first, 4))


@pytest.mark.parametrize(("rows", "ends"), [(1, False), (4, False), (6, False), (7, True)])
def test_an_epoch_that_goes_on_is_over_if_it_has_too_few_rows_for_an_element(
    rows: int, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, readers = reading(ALL), EpochReaders()
    position = used(request, 0)
    begun = [np.ones(HANDLE_NUMBERS, np.int64)]
    # Six rows in two batches; the call after them is the end.
    following = {0: 4, 4: 6, 6: -1}
    monkeypatch.setattr(readers, "read", lambda _, handle, offset: [*begun, following[offset]])
    readers.resume(request, position, [])
    readers._datasets[request.name].begun[1] = BegunEpoch(position, resumed=(position, ()))
    assert readers.has_ended(request, rows) == ends
    # It begins again, unless it is over.
    assert (1 in readers._datasets[request.name].begun) == ends


def test_a_batch_with_rows_of_two_epochs_is_read_again_from_the_first_one() -> None:
    request = reading(ASSIGNED)
    before = replace(used(request, 64, epoch=0), elements=1, used=(UsedRows(listed={0: np.arange(64)}),))
    behind = replace(used(request, 5), used=(UsedRows(listed={0: np.arange(5)}),), aligned=before)
    assert behind.with_whole_batch() is before
    within = replace(behind, epoch=0, rows=75)
    assert within.with_whole_batch() == replace(before, used=within.used, lead=11)
