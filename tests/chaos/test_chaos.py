"""Trainings under the faults of a schedule: `make chaos SEED=n FAULTS=n`."""

from __future__ import annotations

from pathlib import Path

import trial
from schedule import Step
from shared_cluster import SharedCluster


def test_a_training_survives_the_fault_and_its_books_are_right(
    shared: SharedCluster, step: Step, tmp_path: Path, evidence: Path
) -> None:
    trial.run(shared, step.fault, step.choice, tmp_path / "ledger", evidence)
