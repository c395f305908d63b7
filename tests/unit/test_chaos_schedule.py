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

pytestmark = pytest.mark.full


def test_a_seed_has_the_same_schedule_in_every_process_and_another_seed_another_one() -> None:
    code = "from schedule import schedule, text; print(text(7, schedule(7, 30)))"
    command = [sys.executable, "-c", code]
    other = {"PYTHONHASHSEED": "1"}
    printed = subprocess.run(command, cwd=CHAOS, env=other, capture_output=True, text=True, check=True).stdout
    assert printed == text(7, schedule(7, 30)) + "\n"
    assert printed.startswith("make chaos SEED=7 FAULTS=30\n")
    assert text(0, schedule(7, 30)) != text(0, schedule(8, 30))


def test_a_schedule_has_every_family_and_training_and_no_fault_twice() -> None:
    seen = set()
    for seed in range(40):
        steps = schedule(seed, 30)
        assert [step.number for step in steps] == list(range(1, 31))
        faults = {step.fault for step in steps}
        assert len(faults) == 30
        assert Counter(fault.training for fault in faults) == {"steps": 20, "mirrored": 5, "servers": 5}
        families = Counter(fault.family for fault in faults)
        assert families.keys() == {fault.family for fault in FAULTS}
        assert min(families.values()) >= 2
        seen |= faults
    assert seen == set(FAULTS)
