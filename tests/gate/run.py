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
import contextlib
import dataclasses
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Sequence

import repeat
from phases import GRADLE, PARTS, PYTEST, REPORTS, ROOT, TEST, Command, Phase
from results import Outcome, Result, may_be_flaky, of_gradle, of_pytest, shortened
from summary import Flake, PhaseFigures, Summary

# `make test` ends after this number of failures: what follows mostly fails for the same reason.
MOST_FAILURES = 5
# More flaky tests than that are no accident.
MOST_FLAKES = 2
# How often `make test-all` runs a failed test again.
REPEATS_OF_ALL = 3
_SECONDS_BETWEEN_LOADS = 5.0
# How long a command may take to end when it is asked to, and how long its output may stay open after its end.
_SECONDS_TO_END = 60.0
_SECONDS_OF_OUTPUT = 10.0
_GRADLE_RESULTS = ROOT / "build/test-results"
# What pytest and Gradle say if something else than a test has failed; an error of a compiler.
_STOPPED = re.compile(r"^!+ (?!.*(?:stopping after| during collection))(?:[\w.]+: )?(.+?) !+$", re.MULTILINE)
_NO_TEST = re.compile(r"^\* What went wrong:\n(?!.*\n> There were failing tests)(.*(?:\n> .*)?)", re.MULTILINE)
_ERROR_IN_LINE = re.compile(r"^\S+:\d+:.*\berror\b.*", re.MULTILINE)
_PHASES = {"test": TEST, "all": tuple(phase for part in PARTS.values() for phase in part), **PARTS}


def main() -> int:
    """Runs what the arguments name; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lanes", nargs="+", choices=[*_PHASES, "six"], metavar="LANE")
    lanes = parser.parse_args().lanes
    os.chdir(ROOT)
    # What has been started is ended, and the summary written. With nohup, the end of the terminal means nothing.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
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
        self._repeated = 0
        self._summary = Summary(command, MOST_FLAKES)
        shutil.rmtree(REPORTS, ignore_errors=True)
        REPORTS.mkdir(parents=True)

    def run(self, phases: Sequence[Phase]) -> int:
        """Runs the phases, the failed tests again, and writes the summary."""
        self._summary.ended_early = True
        try:
            for phase in phases:
                self._run_phase(phase)
                if len(self._summary.failures) >= MOST_FAILURES and not self._keeps_going:
                    self._summary.ended_early = phase is not phases[-1]
                    break
            else:
                self._summary.ended_early = False
        except KeyboardInterrupt:
            print("== interrupted", flush=True)
        except Exception:
            traceback.print_exc()
        self._summary.write(REPORTS)
        return 0 if self._summary.passed else 1

    def _run_phase(self, phase: Phase) -> None:
        print(f"== {phase.name}", flush=True)
        begin, processor = time.monotonic(), _processor_seconds()
        running: list[_Running] = []
        results: list[tuple[Command, list[Result]]] = []
        loads = _Loads()
        # An interrupted phase is in the summary, too.
        try:
            try:
                with loads:
                    for command in phase.commands:
                        running.append(_Running(command, self._limited(command), hides_output=len(phase.commands) > 1))
                    for each in running:
                        each.wait()
            finally:
                _end(running)
                for each in running:
                    results.append((each.command, each.results()))
                    self._summary.add(results[-1][1])
            for command, of_command in results:
                for failure in may_be_flaky(of_command):
                    self._run_again(command, failure, loads.mean)
        finally:
            seconds, processor_seconds = time.monotonic() - begin, _processor_seconds() - processor
            tests = sum(len(of_command) for _, of_command in results)
            self._summary.phases.append(PhaseFigures(phase.name, seconds, processor_seconds, loads.mean, tests))

    def _limited(self, command: Command) -> tuple[str, ...]:
        if command.tool != "pytest" or self._keeps_going:
            return command.arguments
        return (*command.arguments, f"--maxfail={max(1, MOST_FAILURES - len(self._summary.failures))}")

    def _run_again(self, command: Command, failure: Result, load: float) -> None:
        repeats = REPEATS_OF_ALL if self._keeps_going else 1
        passed = sum(self._passes_alone(command, failure) for _ in range(repeats))
        print(f"== again, alone: {failure.test}: passed {passed} of {repeats}", flush=True)
        if passed == repeats:
            self._summary.mark_flaky(Flake(failure, load))

    def _passes_alone(self, command: Command, failure: Result) -> bool:
        self._repeated += 1
        if failure.tool == "pytest":
            arguments = (*PYTEST, failure.test)
        else:
            method = failure.test.partition("[")[0]
            task = "test" if "Test." in method else "integrationTest"
            arguments = (*GRADLE, task, "-Pfull=any", "--tests", method)
        again = dataclasses.replace(command, name=f"again-{self._repeated}")
        running = _Running(again, arguments, hides_output=True)
        try:
            running.wait()
        finally:
            _end([running])
        results = running.results()
        return any(result.outcome == "passed" for result in results) and all(
            result.outcome != "failed" for result in results
        )


class _Running:
    """A command that has been started, with a session of its own, and is ended by `_end`."""

    def __init__(self, command: Command, arguments: tuple[str, ...], *, hides_output: bool) -> None:
        self.command = command
        self._report = REPORTS / f"{command.name}.xml"
        self._log = REPORTS / f"{command.name}.log"
        if command.tool == "pytest":
            arguments = (*arguments, f"--junitxml={self._report}")
        if command.tool == "gradle":
            # Gradle keeps the reports of earlier runs, and runs no test again whose report is there.
            shutil.rmtree(_GRADLE_RESULTS, ignore_errors=True)
        self._hides_output = hides_output
        self._seconds = 0.0
        self._begin = time.monotonic()
        # The terminal's Ctrl-C reaches this process alone, which asks the command once to end, and waits for it.
        self._process = subprocess.Popen(
            ("env", *command.environment, *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._copier = threading.Thread(target=self._copy_output, daemon=True)
        self._copier.start()

    def _copy_output(self) -> None:
        assert self._process.stdout is not None
        with self._log.open("wb") as log:
            while piece := os.read(self._process.stdout.fileno(), 1 << 16):
                log.write(piece)
                log.flush()
                if not self._hides_output:
                    # The reader of our output may have ended; the command shall go on writing.
                    with contextlib.suppress(OSError):
                        sys.stdout.buffer.write(piece)
                        sys.stdout.flush()

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def wait(self, most: float | None = None) -> None:
        """Waits for its end, at most ``most`` seconds."""
        self._process.wait(most)
        self._seconds = time.monotonic() - self._begin

    def signal(self, number: int) -> None:
        """Sends a signal to it and to what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def clear(self) -> None:
        """Kills it and what it has left behind, which may have its output open."""
        self.signal(signal.SIGKILL)
        self._process.wait()
        self._copier.join(_SECONDS_OF_OUTPUT)

    def results(self) -> list[Result]:
        """What the command has reported, after its end."""
        results: list[Result] = []
        if self.command.tool == "pytest" and self._report.exists():
            results = list(of_pytest(self._report))
        elif self.command.tool == "gradle":
            for folder in sorted(path for path in _GRADLE_RESULTS.glob("*") if path.is_dir()):
                shutil.copytree(folder, REPORTS / self.command.name / folder.name, dirs_exist_ok=True)
                results += of_gradle(folder)
        reason = self._reason(results)
        if reason or self.command.tool == "command":
            outcome: Outcome = "failed" if reason else "passed"
            results.append(Result(self.command.name, "command", outcome, self._seconds, "command", shortened(reason)))
        if self._process.returncode and self._hides_output:
            print(self._log.read_text(errors="replace"), flush=True)
        return results

    def _reason(self, results: list[Result]) -> str:
        """Why the command has failed, if not by the tests that its reports name as failed alone; else empty."""
        code, tool = self._process.returncode, self.command.tool
        if code == 0:
            ran = tool == "command" or any(result.outcome != "skipped" for result in results)
            return "" if ran else "all tests were skipped" if results else "no test ran"
        output = self._log.read_text(errors="replace")
        reasons = (_STOPPED if tool == "pytest" else _NO_TEST).findall(output)
        # pytest exits with 2 if it ends before the last test, also after the most failures.
        of_tests = code == 1 or (tool == "pytest" and code == 2)
        if of_tests and not reasons and any(result.outcome == "failed" for result in results):
            return ""
        if tool != "pytest":
            reasons = _ERROR_IN_LINE.findall(output) or reasons
        # make adds that it has failed.
        lines = [
            line.strip() for line in output.splitlines() if line.strip() and not re.match(r"make(\[\d+\])?: ", line)
        ]
        errors = [line for line in lines if "error" in line.lower()]
        reason = (reasons or errors[-1:] or lines[-1:] or ["no output"])[0]
        return f"exit code {code}: {' '.join(reason.split())}"


def _end(running: Sequence[_Running]) -> None:
    """Ends commands as Ctrl-C does; what has not ended after a while, or at a second Ctrl-C, is killed."""
    for number in (signal.SIGINT, signal.SIGTERM):
        asked = [each for each in running if each.runs]
        for each in asked:
            each.signal(number)
        for each in asked:
            with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
                each.wait(_SECONDS_TO_END)
    for each in running:
        each.clear()


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
