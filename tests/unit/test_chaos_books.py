"""The checks of `make chaos` find what they are for: attempts at the same time, wrong rows, missing output."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "chaos"))
import books
from books import Read, Shown

sys.path.pop(0)


def shown(*lines: tuple[int, int]) -> Shown:
    """Numbered lines, each with the bytes that are missing before it."""
    made = Shown()
    for number, dropped in lines:
        made.add(f"line {number}", dropped)
    return made


def test_attempts_that_ran_at_the_same_time_are_found() -> None:
    assert books.overlaps({1: (0.0, 5.0), 2: (5.1, 9.0), 3: (9.1, 9.2)}) == []
    assert books.overlaps({1: (0.0, 5.0), 2: (4.5, 9.0)}) == ["attempt 1 ran until 0.50 s after attempt 2 had begun"]
    # The first attempt wakes up when the second is long over.
    assert len(books.overlaps({1: (0.0, 20.0), 2: (5.0, 9.0), 3: (10.0, 11.0)})) == 2


def test_ticks_are_gathered_by_attempt_and_a_cut_line_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "ticks").mkdir()
    (tmp_path / "ticks" / "1-worker-0-0").write_text("1.5\n2.5\n")
    (tmp_path / "ticks" / "1-worker-1-0").write_text("1.0\n2.0\n99")
    (tmp_path / "ticks" / "2-worker-0-0").write_text("3.0\n")
    (tmp_path / "ticks" / "2-worker-1-0").write_text("")
    assert books.ticks(tmp_path) == {1: (1.0, 2.5), 2: (3.0, 3.0)}
    assert len(books.running(tmp_path)) == 4
    os.utime(tmp_path / "ticks" / "2-worker-0-0", (0, 0))
    assert sorted(books.running(tmp_path)) == ["1-worker-0-0", "1-worker-1-0", "2-worker-1-0"]


def test_an_attempt_that_two_sides_start_under_one_number_is_found(tmp_path: Path) -> None:
    (tmp_path / "ticks").mkdir()
    for name in ("1-worker-0-0-11", "1-worker-1-0-12", "1-worker-1-1-13", "1-worker-0-0-child", "2-worker-0-0-11"):
        (tmp_path / "ticks" / name).write_text("1.0\n")
    assert books.twice(tmp_path) == []
    (tmp_path / "ticks" / "2-worker-0-0-21").write_text("1.0\n")
    assert books.twice(tmp_path) == ["2-worker-0-0 ran as 2 processes"]


def test_rows_that_are_read_twice_or_not_at_all_are_found() -> None:
    right = [Read(1, "0", "worker-0", [0, 2]), Read(1, "0", "worker-1", [1, 3])]
    assert books.wrong_rows(right, 4, {1: 2}) == []
    twice = [*right, Read(1, "1", "worker-0", [0, 2]), Read(1, "1", "worker-1", [1, 2, 3])]
    assert books.wrong_rows(twice, 4, {1: 2}) == ["epoch 1 of attempt 1: 1 rows were read twice"]
    missing = [*right, Read(1, "1", "worker-0", [0]), Read(1, "1", "worker-1", [1, 3])]
    assert books.wrong_rows(missing, 4, {1: 2}) == ["epoch 1 of attempt 1: 1 rows are missing or not of the cache"]


def test_an_epoch_that_an_attempt_left_unfinished_is_right_but_not_in_the_last_attempt() -> None:
    entries = [Read(1, "0", "worker-0", [0]), Read(2, "0", "worker-0", [0, 1])]
    assert books.wrong_rows(entries, 2, {1: 2, 2: 1}) == []
    assert books.wrong_rows(entries[:1], 2, {1: 2}) == ["no epoch of attempt 1 was read by all its 2 readers"]


def test_lines_that_are_missing_without_a_word_are_found() -> None:
    assert books.wrong_output(3, shown((1, 0), (2, 0), (3, 0)), may_lack_its_end=False) == []
    assert books.wrong_output(4, shown((1, 0), (4, 7)), may_lack_its_end=False) == []
    silent = books.wrong_output(4, shown((1, 0), (4, 0)), may_lack_its_end=False)
    assert silent == ["lines 2 to 3 are missing, and nothing says so"]
    assert books.wrong_output(2, shown((1, 0), (2, 0), (2, 0)), may_lack_its_end=False) == ["line 2 comes after line 2"]


def test_an_end_that_is_missing_is_found_unless_the_job_says_so() -> None:
    assert books.wrong_output(3, shown((1, 0)), may_lack_its_end=True) == []
    expected = ["lines 2 to 3 are missing at the end, and nothing says so"]
    assert books.wrong_output(3, shown((1, 0)), may_lack_its_end=False) == expected
    said = shown((1, 0))
    said.add("", 14)
    assert books.wrong_output(3, said, may_lack_its_end=False) == []
    assert books.wrong_output(1, Shown(), may_lack_its_end=False) == [
        "lines 1 to 1 are missing at the end, and nothing says so"
    ]


def test_processes_of_an_attempt_are_noticed_from_their_start_to_their_end(tmp_path: Path) -> None:
    watch = books.Watch(tmp_path)

    def await_true(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    try:
        begin = time.monotonic()
        mark = f"{tmp_path}/node-0/work:7f3a/2/ps/0/0"
        with subprocess.Popen(["sleep", "60"], env={"TENSORFLOW_IGNITE_TASK": mark}) as process:
            await_true(lambda: 2 in watch.attempts("7f3a"))
            process.kill()
            # Not waited for yet: a zombie is no running process.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            samples = watch.samples
            # The sample that is being taken may have seen it run.
            await_true(lambda: watch.samples >= samples + 1)
            first, last = watch.attempts("7f3a")[2]
            await_true(lambda: watch.samples >= samples + 6)
        assert begin <= first <= last
        assert watch.attempts("7f3a")[2] == (first, last)
        assert watch.attempts("other") == {}
        assert watch.twice("7f3a") == []
        other = f"{tmp_path}/node-1/work:7f3a/2/ps/0/0"
        with subprocess.Popen(["sleep", "60"], env={"TENSORFLOW_IGNITE_TASK": other}) as process:
            await_true(lambda: watch.twice("7f3a") == ["7f3a/2/ps/0/0 ran on 2 nodes"])
            process.kill()
    finally:
        watch.close()
