"""The benchmarks see a goal that is missed, a row that is missing, and a program that fails."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import first_step  # noqa: E402
import goals  # noqa: E402
import rows  # noqa: E402
from contender import Contender  # noqa: E402

pytestmark = pytest.mark.full

PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
from answer import serve
print("[12:00:00] what a library prints")
serve({{"one": lambda: (3, 24, 7), "fails": lambda: 1 / 0}})
"""


def test_a_goal_is_a_multiple_but_no_more_than_its_cap() -> None:
    reached = {verdict["of"]: verdict for verdict in goals.verdicts({"remote_1mb": 1_100.0, "tcp": 6_000.0})}
    assert reached["tcp"]["required"] == 1_000
    assert reached["tcp"]["reached"]
    figures = {"remote_1mb": 700.0, "tcp": 2_000.0}
    slow = goals.verdicts(figures)
    assert slow[0]["required"] == 800
    assert not slow[0]["reached"]
    assert goals.table(figures, {"tcp": [1, 2_000, 3_000], "remote_1mb": [700]}).splitlines()[-1].endswith("missed")
    assert goals.verdicts({"later_1mb": 1.0}) == []


def test_a_limit_is_a_multiple_of_another_figure_and_an_addition() -> None:
    figures = {"idle_cpu_percent 3": 1.5, "stock_cpu_percent 3": 0.6, "packets_per_second 3": 100.0}
    (missed,) = goals.limit_verdicts(figures)
    assert (missed["of"], missed["factor"], missed["plus"], missed["reached"]) == (
        "stock_cpu_percent 3",
        1,
        0.85,
        False,
    )
    assert missed["most"] == pytest.approx(1.45)
    kept = goals.limit_verdicts({**figures, "packets_per_second 9": 375.0})
    assert [verdict["reached"] for verdict in kept] == [False, True]
    limits = goals.limit_table(figures, {name: [1.0, 200.0] for name in figures})
    assert limits.count("missed") == 1


def test_only_first_steps_after_a_kill_of_all_workers_count(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    assert first_step.read(marks) == []
    lines = ["1.0 begin 0 10", "2.0 step:0 0 10", "2.1 step:0 1 11", "2.5 step:1 0 10", "7.0 begin 0 12", ""]
    marks.write_text("\n".join(lines))
    assert first_step.await_first_steps(marks, 2, after=0.5)[0] == pytest.approx(1.6)
    marks.write_text("\n".join([*lines[:-1], "8.0 step:0 0 12", "8.2 step:0 1 1"]))
    assert first_step.first_steps(marks, 2, after=3.0) is None, "the last line has no end yet"
    marks.write_text("\n".join([*lines[:-1], "8.0 step:0 0 12", "8.2 step:0 1 13", ""]))
    seconds, own = first_step.await_first_steps(marks, 2, after=3.0)
    assert seconds == pytest.approx(5.2)
    assert [(mark.name, mark.pid) for mark in own] == [("begin", 12), ("step:0", 12), ("step:0", 13)]


def test_the_sum_of_rows_reveals_a_missing_or_repeated_row() -> None:
    pixels, labels = rows.small_rows(300)
    assert pixels.shape == (300, rows.SMALL_BYTES)
    assert labels.max() == rows.LABELS - 1
    right = rows.total(pixels)
    assert right != rows.total(pixels[1:])
    assert (right - sum(rows.total(row) for row in pixels)) % 2**64 == 0
    assert rows.total(rows.large_row()) != 0


def test_a_program_answers_pass_by_pass_and_ends_with_its_input(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM.format(folder=str(BENCHMARKS))]
    with Contender("program", command, {}, tmp_path) as contender:
        assert contender.passes == ["fails", "one"]
        found = contender.run("one")
        assert (found.rows, found.bytes, found.sum) == (3, 24, 7)
    with (
        Contender("program", command, {}, tmp_path) as contender,
        pytest.raises(RuntimeError, match=r"(?s)ended with exit code 1.*ZeroDivisionError"),
    ):
        contender.run("fails")
