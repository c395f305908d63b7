"""The schedule of this run, and the cluster that suffers it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))
import shared_cluster
from schedule import Step, schedule, text

SEED, FAULTS = int(os.environ.get("SEED", "1")), int(os.environ.get("FAULTS", "30"))
STEPS = schedule(SEED, FAULTS)
EVIDENCE = Path(__file__).parents[2] / "build" / "chaos" / f"seed-{SEED}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "step" in metafunc.fixturenames:
        metafunc.parametrize("step", STEPS, ids=[str(step).replace(" ", "-") for step in STEPS])


def pytest_report_header() -> str:
    return text(SEED, STEPS)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows how to repeat a run that has failed."""
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        terminalreporter.write_line(f"\nTo repeat it: make chaos SEED={SEED} FAULTS={FAULTS}; evidence: {EVIDENCE}")


@pytest.fixture(scope="module")
def shared() -> Iterator[shared_cluster.SharedCluster]:
    """The cluster, which the tests of all steps share."""
    shutil.rmtree(EVIDENCE, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder, shared_cluster.shared_cluster(Path(folder)) as started:
        yield started


@pytest.fixture
def evidence(step: Step) -> Path:
    return EVIDENCE / f"{step.number:02}"


@pytest.fixture(autouse=True)
def _leaves_nothing() -> None:
    """Replaces the check of other tests: nodes are started and killed here; each step has books of its own."""
