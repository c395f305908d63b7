"""What `make test` says of its results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
import run
from phases import Command, Phase
from results import may_be_flaky, of_gradle, of_pytest
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
    flaky = may_be_flaky(results)
    assert [result in flaky for result in results] == [False, True, kind == "test", False, False]


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


def test_a_test_that_has_also_failed_in_a_fixture_is_not_flaky(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    case = '<testcase classname="tests.test_a" name="{}"><{} message="x"/></testcase>'
    cases = [case.format("test_x", "failure"), case.format("test_x", "error"), case.format("test_y", "failure")]
    report.write_text(f"<testsuite>{''.join(cases)}</testsuite>")
    assert [failure.test for failure in may_be_flaky(list(of_pytest(report)))] == ["tests/test_a.py::test_y"]


# Scripts write the report that their last argument, or Gradle's folder, names.
TO_PYTEST = "cat > ${!##--junitxml=} <<< '<testsuite>%s</testsuite>'; "
TO_GRADLE = "mkdir -p $RESULTS/test; cat > $RESULTS/test/TEST-A.xml <<< '<testsuite>%s</testsuite>'; "
OK = '<testcase classname="io.test_a" name="a"/>'
SKIPPED = '<testcase classname="io.test_a" name="s"><skipped/></testcase>'
FAILS = '<testcase classname="io.test_a" name="b"><failure message="no"/></testcase>'
WENT_WRONG = "echo '* What went wrong:'; echo Execution failed for task {}.; echo '> {}'; "
TESTS_FAILED = WENT_WRONG.format(":test", "There were failing tests. See the report at: x")
FLAKY_OF_PYTEST, FLAKY_OF_GRADLE = "io/test_a.py::b: no", "io.test_a.b: no"


@pytest.mark.parametrize(
    ("tool", "script", "flaky", "failed"),
    [
        ("pytest", TO_PYTEST % FAILS + "exit 1", [FLAKY_OF_PYTEST], []),
        ("pytest", TO_PYTEST % FAILS + "echo '!! D.Interrupted: stopping after 1 failures !!'; exit 2", ["*"], []),
        (
            "pytest",
            TO_PYTEST % FAILS + "echo '!!! KeyboardInterrupt !!!'; exit 2",
            [FLAKY_OF_PYTEST],
            ["phase: exit code 2: KeyboardInterrupt (command)"],
        ),
        ("pytest", TO_PYTEST % "" + "echo no tests ran; exit 5", [], ["phase: exit code 5: no tests ran (command)"]),
        ("pytest", "exit 0", [], ["phase: no test ran (command)"]),
        ("pytest", TO_PYTEST % SKIPPED, [], ["phase: all tests were skipped (command)"]),
        ("pytest", "no-such-program", [], ["phase: exit code 127: *"]),
        ("pytest", TO_PYTEST % "<testcase", [], ["phase.xml: the report is not complete: *"]),
        ("gradle", TO_GRADLE % FAILS + TESTS_FAILED + "exit 1", [FLAKY_OF_GRADLE], []),
        (
            "gradle",
            TO_GRADLE % FAILS + WENT_WRONG.format(":format", "A.java") + TESTS_FAILED + "exit 1",
            [FLAKY_OF_GRADLE],
            ["phase: exit code 1: Execution failed for task :format. > A.java (command)"],
        ),
        ("gradle", "exit 0", [], ["phase: no test ran (command)"]),
        ("gradle", "echo 'A.java:3: error: no;'; exit 1", [], ["phase: exit code 1: A.java:3: error: no; (command)"]),
        (
            "command",
            "echo a.py:1: error: bad type; echo Found 1 error; echo 'make: *** [lint] Error 1'; exit 2",
            [],
            ["phase: exit code 2: a.py:1: error: bad type (command)"],
        ),
        (
            "command",
            "echo Found 1 error; echo 'make[1]: *** [lint] Error 1'; exit 2",
            [],
            ["phase: exit code 2: Found 1 error (command)"],
        ),
        ("command", "sleep 60 & exit 0", [], []),
    ],
)
def test_a_run_is_green_only_if_nothing_but_flaky_tests_has_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tool: str, script: str, flaky: list[str], failed: list[str]
) -> None:
    for name, path in {"REPORTS": tmp_path / "reports", "_GRADLE_RESULTS": tmp_path / "results"}.items():
        monkeypatch.setattr(run, name, path)
    monkeypatch.setenv("RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(run, "PYTEST", ("bash", "-c", TO_PYTEST % OK, "pytest"))
    monkeypatch.setattr(run, "GRADLE", ("bash", "-c", TO_GRADLE % OK, "gradle"))
    phase = Phase("phase", (Command("phase", ("bash", "-c", script, tool), tool),))
    assert run.Run("make test", keeps_going=False).run([phase]) == bool(failed)
    lines = (tmp_path / "reports/summary.txt").read_text().splitlines()
    assert _fit([line.removeprefix("FLAKY ") for line in lines if line.startswith("FLAKY ")], [f"{f}*" for f in flaky])
    assert _fit([line.removeprefix("FAILED ") for line in lines if line.startswith("FAILED ")], failed)
    assert lines[-1].startswith("make test: FAILED" if failed else "make test: ok")


def _fit(lines: list[str], patterns: list[str]) -> bool:
    return len(lines) == len(patterns) and all(
        line.startswith(pattern.partition("*")[0]) for line, pattern in zip(lines, patterns, strict=True)
    )


INTERRUPTED = """
import os, sys
from collections.abc import Callable
from pathlib import Path
sys.path.insert(0, {gate!r})
import run
from phases import Command, Phase
run.REPORTS = Path("reports")
# When its neighbour has been started, it interrupts the run, and needs its time to end.
script = "trap 'sleep 0.2; touch ended; exit 3' INT; until [ -e begun ]; do sleep 0.01; done; kill -INT $PPID; "
script += "for _ in {{1..600}}; do sleep 0.1; done"
first = Phase("first", (Command("x", ("bash", "-c", script)), Command("neighbour", ("touch", "begun"))))
other = Phase("other", (Command("other", ("touch", "other")),))
sys.exit(run.Run("make test", keeps_going=False).run([first, other]))
"""


def test_an_interrupted_run_ends_what_it_has_started_and_writes_its_summary(tmp_path: Path) -> None:
    code = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(gate=str(Path(run.__file__).parent))], cwd=tmp_path
    ).returncode
    assert code == 1
    assert (tmp_path / "ended").exists()
    assert not (tmp_path / "other").exists()
    lines = (tmp_path / "reports/summary.txt").read_text().splitlines()
    assert lines[2].startswith("first ")
    assert lines[-2:] == [
        "FAILED x: exit code 3: no output (command)",
        "make test: FAILED, 1 failed, ended early; see build/reports",
    ]
