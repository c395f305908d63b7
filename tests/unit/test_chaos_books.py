"""The checks of `make chaos` find what they are for: attempts at the same time, wrong rows, missing output."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "chaos"))
import books
from books import Read, Shown

sys.path.pop(0)

pytestmark = pytest.mark.full


def test_attempts_that_ran_at_the_same_time_and_tasks_that_ran_twice_are_found(tmp_path: Path) -> None:
    (tmp_path / "ticks").mkdir()
    for name, ticks in (
        ("1-worker-0-0-11", "1.5\n2.5\n"),
        # The last line is not complete.
        ("1-worker-1-0-12", "1.0\n2.0\n99"),
        ("1-worker-0-0-child", "1.0\n"),
        ("2-worker-0-0-11", "3.0\n"),
    ):
        (tmp_path / "ticks" / name).write_text(ticks)
    assert books.ticks(tmp_path) == {1: (1.0, 2.5), 2: (3.0, 3.0)}
    assert books.overlaps(books.ticks(tmp_path)) == books.twice(tmp_path) == []
    assert books.overlaps({1: (0.0, 5.0), 2: (4.5, 9.0)}) == ["attempt 1 ran until 0.50 s after attempt 2 had begun"]
    # The first attempt wakes up when the second is long over.
    assert len(books.overlaps({1: (0.0, 20.0), 2: (5.0, 9.0), 3: (10.0, 11.0)})) == 2
    os.utime(tmp_path / "ticks" / "2-worker-0-0-11", (0, 0))
    assert len(books.running(tmp_path)) == 3
    (tmp_path / "ticks" / "2-worker-0-0-21").write_text("1.0\n")
    assert books.twice(tmp_path) == ["2-worker-0-0 ran as 2 processes"]


FIRST_EPOCH = [Read(1, "0", "worker-0", [0, 2]), Read(1, "0", "worker-1", [1, 3])]


@pytest.mark.parametrize(
    ("later", "faults"),
    [
        ([], []),
        # An attempt that is not the last one may leave an epoch unfinished.
        ([Read(2, "0", "worker-0", [0, 1]), Read(2, "0", "worker-1", [2, 3]), Read(1, "1", "worker-0", [0])], []),
        (
            [Read(1, "1", "worker-0", [0, 2]), Read(1, "1", "worker-1", [1, 2, 3])],
            ["epoch 1 of attempt 1: 1 rows were read twice"],
        ),
        (
            [Read(1, "1", "worker-0", [0]), Read(1, "1", "worker-1", [1, 3])],
            ["epoch 1 of attempt 1: 1 rows are missing or not of the cache"],
        ),
        ([Read(2, "0", "worker-0", [0, 1])], ["no epoch of attempt 2 was read by all its 2 readers"]),
    ],
)
def test_rows_that_are_read_twice_or_not_at_all_are_found(later: list[Read], faults: list[str]) -> None:
    assert books.wrong_rows([*FIRST_EPOCH, *later], 4, {read.attempt: 2 for read in [*FIRST_EPOCH, *later]}) == faults


@pytest.mark.parametrize(
    ("lines", "faults"),
    [
        ([("line 1", 0), ("line 3", 7)], []),
        ([("line 1", 0), ("", 14)], []),
        ([("line 1", 0), ("line 3", 0)], ["lines 2 to 2 are missing, and nothing says so"]),
        ([("line 1", 0), ("line 2", 0), ("line 2", 0), ("line 3", 0)], ["line 2 comes after line 2"]),
        ([("line 1", 0)], ["lines 2 to 3 are missing at the end, and nothing says so"]),
    ],
)
def test_lines_that_are_missing_without_a_word_are_found(lines: list[tuple[str, int]], faults: list[str]) -> None:
    shown = Shown()
    for text, dropped in lines:
        shown.add(text, dropped)
    assert books.wrong_output(3, shown, may_lack_its_end=False) == faults
    at_the_end = any("at the end" in fault for fault in faults)
    assert books.wrong_output(3, shown, may_lack_its_end=True) == ([] if at_the_end else faults)


def test_the_line_that_a_full_disk_has_cut_is_no_fault_at_the_end_only() -> None:
    assert books.wrong_output(420, Shown([*range(1, 421), 42]), may_lack_its_end=False) == []
    assert books.wrong_output(420, Shown([*range(1, 421), 41]), may_lack_its_end=False) != []
    assert books.wrong_output(422, Shown([*range(1, 421), 42, 422]), may_lack_its_end=False) != []
