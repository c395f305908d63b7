"""Runs the phases of `make test`, or those of `make test-all`, and says at the end what failed and why.

    python tests/gate/run.py test
    python tests/gate/run.py all
    python tests/gate/run.py security faults
    python tests/gate/run.py six

The exit code is 0 if nothing failed but up to two flaky tests: tests that failed with an error of their own, and passed
when they ran again, alone in a new process.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import repeat
from phases import GRADLE, PARTS, PYTEST, REPORTS, ROOT, TEST, Command, Phase
from results import Result, of_gradle, of_pytest, shortened
from summary import Flake, PhaseFigures, Summary

# `make test` ends after so many failures: what follows mostly fails for the same reason.
MOST_FAILURES = 5
# More flaky tests than that are no accident.
MOST_FLAKES = 2
# How often `make test-all` runs a failed test again.
REPEATS_OF_ALL = 3
_SECONDS_BETWEEN_LOADS = 5.0
_GRADLE_RESULTS = ROOT / "build/test-results"
_PHASES = {"test": TEST, "all": tuple(phase for part in PARTS.values() for phase in part), **PARTS}


def main() -> int:
    """Runs what the arguments name; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lanes", nargs="+", choices=[*_PHASES, "six"], metavar="LANE")
    lanes = parser.parse_args().lanes
    os.chdir(ROOT)
    # What has been started is ended, and the summary written.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if lanes == ["six"]:
        return repeat.run()
    phases = [phase for lane in lanes for phase in _PHASES[lane]]
    targets = ["test" if lane == "test" else f"test-{lane}" for lane in lanes]
    return Run(f"make {' '.join(targets)}", keeps_going=lanes != ["test"]).run(phases)


class Run:
    """One run of several phases."""

    def __init__(self, command: str, *, keeps_going: bool) -> None:
        """Begins with empty reports; ``command`` is what the user called."""
        self._keeps_going = keeps_going
        self._summary = Summary(command, MOST_FLAKES)
        shutil.rmtree(REPORTS, ignore_errors=True)
        REPORTS.mkdir(parents=True)

    def run(self, phases: Sequence[Phase]) -> int:
        """Runs the phases, the failed tests again, and writes the summary."""
        try:
            for phase in phases:
                self._run_phase(phase)
                if len(self._summary.failures) >= MOST_FAILURES and not self._keeps_going:
                    self._summary.ended_early = phase is not phases[-1]
                    break
        except KeyboardInterrupt:
            self._summary.ended_early = True
        self._summary.write(REPORTS)
        return 0 if self._summary.passed else 1

    def _run_phase(self, phase: Phase) -> None:
        print(f"== {phase.name}", flush=True)
        begin, processor = time.monotonic(), _processor_seconds()
        with _Loads() as loads:
            running = [_Running(command, self._limited(command), len(phase.commands) > 1) for command in phase.commands]
            try:
                results = [result for each in running for result in each.results()]
            except BaseException:
                for each in running:
                    each.end()
                raise
        self._summary.add(results)
        for failure in [result for result in results if result.may_be_flaky]:
            self._run_again(failure, loads.mean)
        seconds, processor_seconds = time.monotonic() - begin, _processor_seconds() - processor
        self._summary.phases.append(PhaseFigures(phase.name, seconds, processor_seconds, loads.mean, len(results)))

    def _limited(self, command: Command) -> tuple[str, ...]:
        if command.tool != "pytest" or self._keeps_going:
            return command.arguments
        return (*command.arguments, f"--maxfail={max(1, MOST_FAILURES - len(self._summary.failures))}")

    def _run_again(self, failure: Result, load: float) -> None:
        repeats = REPEATS_OF_ALL if self._keeps_going else 1
        passed = sum(self._passes_alone(failure, number) for number in range(repeats))
        print(f"== again, alone: {failure.test}: passed {passed} of {repeats}", flush=True)
        if passed == repeats:
            self._summary.mark_flaky(Flake(failure, load))

    def _passes_alone(self, failure: Result, number: int) -> bool:
        name = f"again-{len(self._summary.flakes)}-{number}"
        if failure.tool == "pytest":
            command = Command(name, (*PYTEST, failure.test), "pytest")
        else:
            task = "test" if "Test." in failure.test else "integrationTest"
            command = Command(name, (*GRADLE, task, "-Pfull=any", "--tests", failure.test.partition("[")[0]), "gradle")
        results = _Running(command, command.arguments, hides_output=True).results()
        return any(result.outcome == "passed" for result in results) and all(
            result.outcome != "failed" for result in results
        )


class _Running:
    """A command that has been started."""

    def __init__(self, command: Command, arguments: tuple[str, ...], hides_output: bool) -> None:
        self._command = command
        self._report = REPORTS / f"{command.name}.xml"
        self._log = REPORTS / f"{command.name}.log"
        if command.tool == "pytest":
            arguments = (*arguments, f"--junitxml={self._report}")
        if command.tool == "gradle":
            # Gradle keeps the reports of earlier runs, and runs no test again whose report is there.
            shutil.rmtree(_GRADLE_RESULTS, ignore_errors=True)
        self._hides_output = hides_output
        self._begin = time.monotonic()
        self._process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self._copier = threading.Thread(target=self._copy_output, daemon=True)
        self._copier.start()

    def _copy_output(self) -> None:
        assert self._process.stdout is not None
        with self._log.open("wb") as log:
            while piece := os.read(self._process.stdout.fileno(), 1 << 16):
                log.write(piece)
                log.flush()
                if not self._hides_output:
                    sys.stdout.buffer.write(piece)
                    sys.stdout.flush()

    def results(self) -> list[Result]:
        """Waits for the end of the command."""
        code = self._process.wait()
        self._copier.join()
        seconds = time.monotonic() - self._begin
        results: list[Result] = []
        if self._command.tool == "pytest" and self._report.exists():
            results = list(of_pytest(self._report))
        elif self._command.tool == "gradle":
            for folder in sorted(path for path in _GRADLE_RESULTS.glob("*") if path.is_dir()):
                shutil.copytree(folder, REPORTS / self._command.name / folder.name, dirs_exist_ok=True)
                results += of_gradle(folder)
        # pytest exits with 5 if it has selected no test.
        nothing_selected = self._command.tool == "pytest" and code == 5
        failed = code != 0 and not nothing_selected
        if self._command.tool == "command" or (failed and all(result.outcome != "failed" for result in results)):
            reason = f"exit code {code}: {shortened(self._last_line())}" if failed else ""
            outcome = "failed" if failed else "passed"
            results.append(Result(self._command.name, "command", outcome, seconds, "command", reason))
        if failed and self._hides_output:
            print(self._log.read_text(errors="replace"), flush=True)
        return results

    def _last_line(self) -> str:
        lines = [line.strip() for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        return (errors or lines or ["no output"])[-1]

    def end(self) -> None:
        """Asks the command to end, as Ctrl-C does, and waits for it."""
        self._process.terminate()
        self._process.wait()


class _Loads:
    """The mean of the machine's load while it is entered."""

    def __enter__(self) -> _Loads:
        self._samples = [os.getloadavg()[0]]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def _sample(self) -> None:
        while not self._ended.wait(_SECONDS_BETWEEN_LOADS):
            self._samples.append(os.getloadavg()[0])

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def mean(self) -> float:
        return sum(self._samples) / len(self._samples)


def _processor_seconds() -> float:
    """Of all processes that have been started here and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
