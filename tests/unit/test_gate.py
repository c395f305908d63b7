"""What `make test` says of its results."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
from results import of_gradle, of_pytest
from summary import Flake, Summary

PYTEST = """<testsuites><testsuite>
<testcase classname="tests.unit.test_a" name="test_x[1]@test_a" file="tests/unit/test_a.py" time="1.5"/>
<testcase classname="tests.unit.test_a.TestB" name="test_y" file="tests/unit/test_a.py" time="2">
  <failure message="AssertionError: assert 1 == 2&#10; +  where">text</failure></testcase>
<testcase classname="tests.unit.test_a" name="test_z" file="tests/unit/test_a.py" time="3">
  <failure message="{message}"/></testcase>
<testcase classname="tests.unit.test_a" name="test_u" file="tests/unit/test_a.py" time="0">
  <error message="failed on setup with &quot;OSError&quot;"/></testcase>
<testcase classname="tests.unit.test_a" name="test_s" file="tests/unit/test_a.py" time="0"><skipped/></testcase>
</testsuite></testsuites>"""
GRADLE = """<testsuite><testcase classname="io.ItA" name="reads" time="0.5"/>
<testcase classname="io.ItA" name="writes" time="1"><failure message="java.lang.Error: no"/></testcase>
</testsuite>"""


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Failed: Timeout (&gt;1200.0s) from pytest-timeout.", "time-out"),
        ("TimeoutError: no agent after 150 s", "time-out"),
        ("subprocess.TimeoutExpired: Command", "time-out"),
        ("tensorflow_ignite.errors.RequestTimeoutError: late", "time-out"),
        ("worker 'gw0' crashed while running 'x'", "crash"),
        ("ValueError: Timeout must be positive", "test"),
    ],
)
def test_a_report_of_pytest_has_node_ids_and_kinds_of_failures(tmp_path: Path, message: str, kind: str) -> None:
    report = tmp_path / "report.xml"
    report.write_text(PYTEST.format(message=message))
    results = list(of_pytest(report))
    assert [(result.test, result.outcome, result.kind) for result in results] == [
        ("tests/unit/test_a.py::test_x[1]", "passed", "test"),
        ("tests/unit/test_a.py::TestB::test_y", "failed", "test"),
        ("tests/unit/test_a.py::test_z", "failed", kind),
        ("tests/unit/test_a.py::test_u", "failed", "fixture"),
        ("tests/unit/test_a.py::test_s", "skipped", "test"),
    ]
    assert results[1].reason == "AssertionError: assert 1 == 2"
    assert [result.may_be_flaky for result in results] == [False, True, kind == "test", False, False]


def test_a_report_of_gradle_names_class_and_method(tmp_path: Path) -> None:
    (tmp_path / "TEST-io.ItA.xml").write_text(GRADLE)
    assert [(result.test, result.outcome) for result in of_gradle(tmp_path)] == [
        ("io.ItA.reads", "passed"),
        ("io.ItA.writes", "failed"),
    ]


def test_the_last_lines_name_each_failed_test_with_its_reason(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(PYTEST.format(message="TimeoutError: late"))
    summary = Summary("make test", most_flakes=2)
    summary.add(list(of_pytest(report)))
    assert not summary.passed
    assert list(summary.lines())[-4:] == [
        "FAILED tests/unit/test_a.py::TestB::test_y: AssertionError: assert 1 == 2 (test)",
        "FAILED tests/unit/test_a.py::test_z: TimeoutError: late (time-out)",
        'FAILED tests/unit/test_a.py::test_u: failed on setup with "OSError" (fixture)',
        "make test: FAILED, 3 failed; see build/reports",
    ]


@pytest.mark.parametrize(("flakes", "passed"), [(2, True), (3, False)])
def test_up_to_two_flaky_tests_leave_the_run_green_and_are_recorded(tmp_path: Path, flakes: int, passed: bool) -> None:
    (tmp_path / "TEST-io.ItA.xml").write_text(GRADLE)
    failed = list(of_gradle(tmp_path))[1]
    summary = Summary("make test", most_flakes=2)
    summary.add([failed])
    for _ in range(flakes):
        summary.mark_flaky(Flake(failed, load=1.84))
    assert summary.passed == passed
    assert "FLAKY io.ItA.writes: java.lang.Error: no (load 1.8; passed alone)" in list(summary.lines())
    summary.write(tmp_path)
    entries = [json.loads(line) for line in (tmp_path / "flaky.jsonl").read_text().splitlines()]
    assert [(entry["test"], entry["load"]) for entry in entries] == [("io.ItA.writes", 1.8)] * flakes
    assert "1.0  io.ItA.writes" in (tmp_path / "slowest.txt").read_text()


def test_a_run_that_ended_early_is_not_green() -> None:
    summary = Summary("make test", most_flakes=2)
    summary.ended_early = True
    assert not summary.passed
    assert list(summary.lines())[-1] == "make test: FAILED, ended before the last phase; see build/reports"
