"""What `make test` says of its results."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
import run
from phases import Command, Phase

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
