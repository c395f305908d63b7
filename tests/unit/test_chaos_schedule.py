"""A run of `make chaos` can be repeated from its seed, and mixes its faults."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "chaos"))
from faults import FAULTS
from schedule import schedule, text

CHAOS = sys.path.pop(0)


def test_a_seed_has_the_same_schedule_in_every_process() -> None:
    code = "from schedule import schedule, text; print(text(7, schedule(7, 30)))"
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=CHAOS,
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert printed[0] == printed[1] == text(7, schedule(7, 30)) + "\n"
    assert printed[0].startswith("make chaos SEED=7 FAULTS=30\n")


def test_other_seeds_have_other_schedules() -> None:
    assert len({text(0, schedule(seed, 4)) for seed in range(20)}) == 20


@pytest.mark.parametrize("seed", range(20))
def test_a_schedule_has_every_family_and_training_and_no_fault_twice(seed: int) -> None:
    steps = schedule(seed, 30)
    assert [step.number for step in steps] == list(range(1, 31))
    faults = [step.fault for step in steps]
    assert len(set(faults)) == 30
    assert Counter(fault.training for fault in faults) == {"steps": 20, "mirrored": 5, "servers": 5}
    families = Counter(fault.family for fault in faults)
    assert families.keys() == {fault.family for fault in FAULTS}
    assert min(families.values()) >= 2


def test_every_fault_is_in_the_schedule_of_some_seed() -> None:
    assert {step.fault for seed in range(40) for step in schedule(seed, 30)} == set(FAULTS)


def test_a_long_schedule_repeats_faults_only_after_all_others_of_their_training() -> None:
    counts = Counter(step.fault for step in schedule(3, 300))
    for training in ("steps", "mirrored", "servers"):
        numbers = [counts[fault] for fault in FAULTS if fault.training == training]
        assert max(numbers) - min(numbers) <= 1
