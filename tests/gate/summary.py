"""What a run has shown: figures of its phases, the slowest tests, flaky tests, and failures with their reasons."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from results import Result

_SLOWEST = 10


@dataclasses.dataclass(frozen=True)
class PhaseFigures:
    """How long a phase took."""

    name: str
    seconds: float
    processor_seconds: float
    load: float
    tests: int


@dataclasses.dataclass(frozen=True)
class Flake:
    """A test that failed, and passed when it ran again alone."""

    result: Result
    load: float


class Summary:
    """The results of a run, as text and as files."""

    def __init__(self, command: str, most_flakes: int) -> None:
        """Is empty; ``command`` is what the user called."""
        self.ended_early = False
        self.flakes: list[Flake] = []
        self.failures: list[Result] = []
        self.phases: list[PhaseFigures] = []
        self._command = command
        self._most_flakes = most_flakes
        self._results: list[Result] = []

    @property
    def passed(self) -> bool:
        return not self.failures and not self.ended_early and len(self.flakes) <= self._most_flakes

    def add(self, results: list[Result]) -> None:
        """Adds what a phase has shown; a test that has ended several workers is one failure."""
        self._results += results
        for failure in [result for result in results if result.outcome == "failed"]:
            if (failure.test, failure.kind) not in {(known.test, known.kind) for known in self.failures}:
                self.failures.append(failure)

    def mark_flaky(self, flake: Flake) -> None:
        """A failure that did not repeat itself."""
        self.failures = [failure for failure in self.failures if failure.test != flake.result.test]
        self.flakes.append(flake)

    def write(self, folder: Path) -> None:
        """Prints the summary, and writes it with its parts into a folder."""
        text = "\n".join(self.lines()) + "\n"
        (folder / "summary.txt").write_text(text)
        (folder / "slowest.txt").write_text(
            "".join(f"{line}\n" for line in _slowest(self._results, len(self._results)))
        )
        commit = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False
        ).stdout.strip()
        with (folder / "flaky.jsonl").open("w") as ledger:
            for flake in self.flakes:
                entry = {
                    "commit": commit,
                    "test": flake.result.test,
                    "load": round(flake.load, 1),
                    "reason": flake.result.reason,
                    "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                }
                ledger.write(json.dumps(entry) + "\n")
        print(text, end="", flush=True)

    def lines(self) -> Iterator[str]:
        """The summary; the last line says whether the run is green, and what failed stands right before it."""
        yield ""
        yield f"{'phase':<14}{'minutes':>8}{'processor s':>13}{'load':>6}{'tests':>7}"
        for phase in self.phases:
            yield (
                f"{phase.name:<14}{_minutes(phase.seconds):>8}{phase.processor_seconds:>13.0f}{phase.load:>6.1f}"
                f"{phase.tests:>7}"
            )
        seconds = sum(phase.seconds for phase in self.phases)
        yield (
            f"{'all':<14}{_minutes(seconds):>8}{sum(phase.processor_seconds for phase in self.phases):>13.0f}"
            f"{'':>6}{sum(phase.tests for phase in self.phases):>7}"
        )
        yield ""
        yield "The slowest tests, in seconds:"
        yield from _slowest(self._results, _SLOWEST)
        yield ""
        for flake in self.flakes:
            yield f"FLAKY {flake.result.test}: {flake.result.reason} (load {flake.load:.1f}; passed alone)"
        for failure in self.failures:
            yield f"FAILED {failure.test}: {failure.reason} ({failure.kind})"
        yield self._verdict()

    def _verdict(self) -> str:
        counts = [f"{len(self.failures)} failed"] if self.failures else []
        if self.flakes:
            counts.append(f"{len(self.flakes)} flaky (at most {self._most_flakes} may be)")
        if self.ended_early:
            counts.append("ended early")
        if not counts:
            return f"{self._command}: ok"
        return f"{self._command}: {'ok' if self.passed else 'FAILED'}, {', '.join(counts)}; see build/reports"


def _slowest(results: list[Result], number: int) -> Iterator[str]:
    tests = [result for result in results if result.tool != "command"]
    for result in sorted(tests, key=lambda result: -result.seconds)[:number]:
        yield f"{result.seconds:8.1f}  {result.test}"


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
