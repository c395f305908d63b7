"""Results of tests, read from the JUnit XML that pytest and Gradle write."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

Outcome = Literal["passed", "skipped", "failed"]
# What a failure is: an assertion or another exception of the test itself; a time-out; the end of the process that ran
# the test; an exception of a fixture; a command such as a linter that failed without a test.
Kind = Literal["test", "time-out", "crash", "fixture", "command"]

_TIME_OUT = re.compile(r"^(Failed: Timeout|[\w.]*(Timeout(Error|Expired|Exception)?|TestTimedOut\w*)\b)")
_CRASH = re.compile(r"worker '\w+' crashed|Process .*Gradle Test Executor.* finished with non-zero exit value")
# pytest-xdist appends the group of a test to its name.
_GROUP = re.compile(r"@(steady|shaken|test_\w+)$")
_REASON_CHARACTERS = 200


@dataclasses.dataclass(frozen=True)
class Result:
    """One test, or one command that has no tests.

    Attributes:
        test: The name by which its tool selects it: a pytest node id, or `Class.method` of Java.
        tool: pytest, gradle, or command.
        outcome: passed, skipped or failed.
        seconds: Wall-clock time, fixtures included.
        kind: What a failure is; "test" unless it failed.
        reason: The first line of the failure.
    """

    test: str
    tool: Literal["pytest", "gradle", "command"]
    outcome: Outcome
    seconds: float = 0.0
    kind: Kind = "test"
    reason: str = ""

    @property
    def may_be_flaky(self) -> bool:
        """Whether the failure is one that a second run may tell more about."""
        return self.outcome == "failed" and self.kind == "test" and self.tool != "command"


def of_pytest(report: Path) -> Iterator[Result]:
    """Reads the report that pytest writes with `junit_family=xunit1`.

    A test that fails in its body and in its fixture's end has two entries; both are given.
    """
    for case in ET.parse(report).iter("testcase"):
        module = case.get("file", "")
        name = _GROUP.sub("", case.get("name", ""))
        classes = case.get("classname", "").removeprefix(module.removesuffix(".py").replace("/", "."))
        test = "::".join(filter(None, [module, *classes.split("."), name]))
        yield _result(case, test if module else case.get("classname", "") or name, "pytest")


def of_gradle(folder: Path) -> Iterator[Result]:
    """Reads the reports that Gradle writes, one for each class."""
    for report in sorted(folder.glob("TEST-*.xml")):
        for case in ET.parse(report).iter("testcase"):
            yield _result(case, f"{case.get('classname')}.{case.get('name')}", "gradle")


def _result(case: ET.Element, test: str, tool: Literal["pytest", "gradle"]) -> Result:
    seconds = float(case.get("time") or 0)
    for tag in ("failure", "error"):
        if (found := case.find(tag)) is not None:
            lines = (found.get("message") or found.text or "").strip().splitlines() or ["without a message"]
            kind: Kind = "test"
            if _CRASH.search(lines[0]):
                kind = "crash"
            elif _TIME_OUT.search(lines[0]):
                kind = "time-out"
            elif tag == "error":
                kind = "fixture"
            return Result(test, tool, "failed", seconds, kind, shortened(lines[0]))
    return Result(test, tool, "passed" if case.find("skipped") is None else "skipped", seconds)


def shortened(line: str) -> str:
    """A reason of one line with a limited length."""
    return line if len(line) <= _REASON_CHARACTERS else line[: _REASON_CHARACTERS - 1] + "…"
