"""The checks of `make chaos` find what they are for: attempts at the same time, wrong rows, missing output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "chaos"))
import books
from books import Read, Shown

from agent_harness import eventually

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


def test_processes_of_an_attempt_are_noticed_from_their_start_to_their_end(tmp_path: Path) -> None:
    def process(node: int) -> subprocess.Popen[bytes]:
        mark = f"{tmp_path}/node-{node}/work:7f3a/2/ps/0/0"
        return subprocess.Popen(["sleep", "600"], env={"TENSORFLOW_IGNITE_TASK": mark})

    watch = books.Watch(tmp_path)
    try:
        begin = time.monotonic()
        with process(node=0) as watched:
            eventually(lambda: 2 in watch.attempts("7f3a"))
            watched.kill()
            # Not waited for yet: a zombie is no running process.
            os.waitid(os.P_PID, watched.pid, os.WEXITED | os.WNOWAIT)
            samples = watch.samples
            # The sample that is being taken may have seen it run.
            eventually(lambda: watch.samples >= samples + 1)
            first, last = watch.attempts("7f3a")[2]
            eventually(lambda: watch.samples >= samples + 6)
        assert begin <= first <= last
        assert watch.attempts("7f3a") == {2: (first, last)}
        assert watch.twice("7f3a") == []
        with process(node=1) as watched:
            eventually(lambda: watch.twice("7f3a") == ["7f3a/2/ps/0/0 ran on 2 nodes"])
            watched.kill()
    finally:
        watch.close()


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        # Step 2 was done again, with another number of workers, and epoch 1 begins in step 3.
        ({"1-a": {1: [0, 1], 2: [2]}, "1-b": {1: [2], 2: [3]}, "2-a": {2: [3], 3: [3, 0]}}, ""),
        ({"1-a": {1: [0, 1]}, "2-a": {2: [0], 3: [3]}}, "step 2 of attempt 2: 1 rows, such as 0, came again too early"),
        ({"1-a": {1: [0, 1, 2, 3, 4]}}, "no step was written down, or a row that does not exist"),
        ({"1-a": {}}, "no step was written down, or a row that does not exist"),
    ],
    ids=["each once", "twice", "unknown", "none"],
)
def test_rows_that_come_again_before_others_have_come_are_found(
    tmp_path: Path, steps: dict[str, dict[int, list[int]]], fault: str
) -> None:
    (tmp_path / "steps").mkdir()
    for name, lines in steps.items():
        text = "".join(
            json.dumps({"attempt": int(name[0]), "step": step, "keys": keys}) + "\n" for step, keys in lines.items()
        )
        (tmp_path / "steps" / name).write_text(text + '{"a cut line')
    assert books.wrong_epochs(tmp_path, 4) == ([fault] if fault else [])
