"""The agreement of workers on the rows that are left at the end of an epoch, while some of them do not come there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tensorflow_ignite.data import agreement
from tensorflow_ignite.data.epoch_source import DatasetState
from tensorflow_ignite.data.input_position import InputPosition
from tensorflow_ignite.data.request import Request
from tensorflow_ignite.errors import CacheEmptyError
from tensorflow_ignite.task import Task, WorkerAssignment


class Cluster:
    """Nodes that keep the numbers of two workers, and a clock that runs while a worker waits."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.known: dict[int, int] = {}
        self.other_at = float("inf")

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def numbers(self, name: str, number: int, rows: int, others: Sequence[int]) -> list[int]:
        if self.seconds >= self.other_at:
            self.known.setdefault(1, 7)
        self.known.setdefault(0, rows)
        for worker, of_worker in enumerate(others):
            self.known.setdefault(worker, of_worker)
        return [self.known[0], self.known[1]] if len(self.known) == 2 else []


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(agreement, "_numbers", made.numbers)
    monkeypatch.setattr(agreement, "time", made)

    class Here:
        assignment = (None, None)

    monkeypatch.setattr(agreement.task, "current", Here)
    return made


def further(cluster: Cluster, *, is_awaited: bool = True, is_alone: bool = False) -> list[int]:
    return agreement.further(
        "name", 0, 3, cluster.sleep, lambda: is_awaited, is_alone=is_alone, subject="epoch 2 of cache 'c'"
    )


def test_a_worker_that_computes_waits_for_the_others_without_a_limit(cluster: Cluster) -> None:
    cluster.other_at = 5_000
    assert further(cluster, is_awaited=False) == [3, 7]


def test_a_worker_that_does_not_come_has_no_rows_left_after_30_s_and_the_log_says_so(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.other_at = 35
    assert further(cluster) == [3, 0]
    assert 30 <= cluster.seconds < 31
    assert "epoch 2 of cache 'c' ends, although other workers have not read it to its end" in caplog.text


def test_a_worker_without_which_the_epoch_began_is_not_awaited(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    assert further(cluster, is_alone=True) == [3, 0]
    assert cluster.seconds == 0
    assert not caplog.text


def test_workers_that_go_back_to_an_earlier_position_agree_on_the_rows_that_are_left_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the same attempt, whose earlier numbers the nodes keep."""
    kept: dict[tuple[str, int], list[int]] = {}

    def numbers(name: str, number: int, rows: int, others: Sequence[int]) -> list[int]:
        return kept.setdefault((name, number), [rows, 7])

    monkeypatch.setattr(agreement, "_numbers", numbers)
    workers = tuple(WorkerAssignment(number, "", (number,), 40) for number in range(2))
    monkeypatch.setattr(agreement.task, "current", lambda: Task(in_job=True, assignment=workers))
    request = Request("c", (), False, "assigned", None, 0, agreement="name")
    position = InputPosition("c", request.selection, 3, 0, -1, 0, rows=25)
    state = DatasetState()
    assert state.agree(request, 3, False, 40, lambda _: None).rows == 40
    for left in (15, 30):
        state.resume(position, (position,))
        assert state.agree(request, 3, True, left, lambda _: None).rows == left
        # The same epoch begins again, since its first reader was closed.
        assert state.agree(request, 3, True, left, lambda _: None).rows == left
        assert state.agree(request, 4, False, 39, lambda _: None).rows == 39
    assert len(kept) == 5


@pytest.mark.parametrize(("uneven", "rows"), [("repeat", 7), ("drop", 0), ("pad", 7)])
def test_a_worker_that_has_used_all_of_its_rows_before_a_restart_is_no_worker_without_rows(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, uneven: Any, rows: int
) -> None:
    """At the end of an epoch some workers repeat rows, or leave some out."""
    cluster.other_at = 0
    workers = tuple(WorkerAssignment(number, "", (number,), 40) for number in range(2))
    monkeypatch.setattr(agreement.task, "current", lambda: Task(in_job=True, assignment=workers))
    request = Request("c", (), False, "assigned", None, 0, uneven=uneven, agreement="name")
    assert DatasetState().agree(request, 3, True, 0, cluster.sleep).rows == rows
    if uneven != "pad":
        with pytest.raises(CacheEmptyError, match=r"worker 0 has no row of cache 'c'"):
            DatasetState().agree(request, 4, False, 0, cluster.sleep)


@pytest.mark.parametrize(("part", "continues"), [({"where": "id < 9"}, False), ({"keys": (0, 9)}, False), ({}, True)])
def test_a_worker_that_is_late_makes_no_epoch_of_all_rows_of_its_partitions(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, part: dict[str, Any], continues: bool
) -> None:
    workers = tuple(WorkerAssignment(number, "", (number,), 10_000) for number in range(2))
    monkeypatch.setattr(agreement.task, "current", lambda: Task(in_job=True, assignment=workers))
    request = Request("c", (), False, "assigned", None, 0, agreement="name", **part)
    state = DatasetState()
    assert state.agree(request, 3, continues, 12, cluster.sleep).rows == 12
    # What it has beyond that comes at the end of the epoch.
    cluster.known.clear()
    cluster.other_at = cluster.seconds
    assert state.extend(request, 3, 0, 0, cluster.sleep, lambda: True) == 7
