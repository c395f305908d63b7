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
# What JUnit calls a failure of what all tests of a class share.
_OF_A_CLASS = {"classMethod", "initializationError"}
_REASON_CHARACTERS = 200


@dataclasses.dataclass(frozen=True)
class Result:
    """One test, or one command that has no tests."""

    test: str
    tool: Literal["pytest", "gradle", "command"]
    outcome: Outcome
    seconds: float = 0.0
    kind: Kind = "test"
    reason: str = ""


def of_pytest(report: Path) -> Iterator[Result]:
    """Reads the report that pytest writes with `junit_family=xunit1`.

    A test that fails in its body and in its fixture's end has two entries; both are given.
    """
    for case in _cases(report):
        yield case if isinstance(case, Result) else _result(case, _node_id(case), "pytest")


def of_gradle(folder: Path) -> Iterator[Result]:
    """Reads the reports that Gradle writes, one for each class."""
    for report in sorted(folder.glob("TEST-*.xml")):
        for case in _cases(report):
            if isinstance(case, Result):
                yield case
            else:
                yield _result(case, f"{case.get('classname')}.{case.get('name')}", "gradle")


def may_be_flaky(results: list[Result]) -> list[Result]:
    """The failed tests of which a second run may show more: those that have failed in no other way too."""
    failures = [result for result in results if result.outcome == "failed"]
    others = {failure.test for failure in failures if failure.kind != "test"}
    return [failure for failure in failures if failure.test not in others]


def _cases(report: Path) -> Iterator[ET.Element | Result]:
    """The entries of a report, or a failure if its writer was ended before it was complete."""
    try:
        yield from ET.parse(report).iter("testcase")
    except ET.ParseError as error:
        yield Result(report.name, "command", "failed", kind="command", reason=f"the report is not complete: {error}")


def _node_id(case: ET.Element) -> str:
    """By the name of the module: the entry's file is that of the code, which may be inherited from another module."""
    names = (case.get("classname") or case.get("name", "")).split(".")
    module = next((number for number, name in enumerate(names) if name.startswith("test_")), None)
    if module is None:
        return ".".join(names)
    test = [_GROUP.sub("", case.get("name", ""))] if case.get("classname") else []
    return "::".join(["/".join(names[: module + 1]) + ".py", *names[module + 1 :], *test])


def _result(case: ET.Element, test: str, tool: Literal["pytest", "gradle"]) -> Result:
    seconds = float(case.get("time") or 0)
    for tag in ("failure", "error"):
        if (found := case.find(tag)) is not None:
            reason = _reason(found)
            kind: Kind = "test"
            if _CRASH.search(reason):
                kind = "crash"
            elif _TIME_OUT.search(reason):
                kind = "time-out"
            elif tag == "error" or case.get("name") in _OF_A_CLASS:
                kind = "fixture"
            return Result(test, tool, "failed", seconds, kind, shortened(reason))
    return Result(test, tool, "passed" if case.find("skipped") is None else "skipped", seconds)


def _reason(failure: ET.Element) -> str:
    message, text = (failure.get("message") or "").strip(), (failure.text or "").strip()
    # pytest has the reason in the text alone if it could not collect a module.
    if message == "collection failure":
        errors = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
        return (errors or text.splitlines() or [message])[-1]
    first, *others = (message or text).splitlines() or ["without a message"]
    # The text of an assertion may begin in its second line.
    return f"{first.rstrip()} {others[0].strip()}" if others and first.rstrip().endswith(":") else first


def shortened(line: str) -> str:
    """A reason of one line with a limited length."""
    return line if len(line) <= _REASON_CHARACTERS else line[: _REASON_CHARACTERS - 1] + "…"
