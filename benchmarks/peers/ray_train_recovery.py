"""Ray Train: from the submission to the first step, and from the kill of a worker to the next step; two workers.

Prints one JSON object: ``ray_submit_to_step_seconds``, ``ray_recover_seconds``. The start of Ray itself is not counted.
Needs an environment with ray[train] 2.60 and tensorflow.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import ray
import ray.train
import ray_start
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.tensorflow import TensorflowTrainer

import first_step

WORKERS = 2
STEPS = 120
STORE_BYTES = 1 << 30


def train(config: dict[str, Any]) -> None:
    """What each worker runs."""
    import first_step

    first_step.train(config["marks"], ray.train.get_context().get_world_rank(), steps=STEPS)


class Killer(threading.Thread):
    """Kills the worker of a rank after a step, once."""

    def __init__(self, marks: Path, rank: int, step: int) -> None:
        """Waits for that step."""
        super().__init__(daemon=True)
        self._marks = marks
        self._rank = rank
        self._step = f"step:{step}"
        self.killed_at: float | None = None

    def run(self) -> None:
        """Polls the marks."""
        while self.killed_at is None:
            time.sleep(0.02)
            for mark in first_step.read(self._marks):
                if (mark.name, mark.rank) == (self._step, self._rank) and self.killed_at is None:
                    self.killed_at = time.monotonic()
                    os.kill(mark.pid, signal.SIGKILL)


def main() -> None:
    """Runs one training, and kills one worker of it."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--marks", type=Path, required=True, help="a file that does not exist")
    options.add_argument("--step", type=int, required=True, help="after which worker 1 is killed")
    given = options.parse_args()
    with ray_start.started(STORE_BYTES) as folder:
        begin = time.monotonic()
        killer = Killer(given.marks, 1, given.step)
        killer.start()
        TensorflowTrainer(
            train,
            train_loop_config={"marks": str(given.marks)},
            scaling_config=ScalingConfig(num_workers=WORKERS),
            run_config=RunConfig(failure_config=FailureConfig(max_failures=2), storage_path=str(folder / "storage")),
        ).fit()
    if killer.killed_at is None:
        raise RuntimeError(f"worker 1 did not do step {given.step}")
    marks = [mark for mark in first_step.read(given.marks) if mark.name == first_step.FIRST]
    before = [mark.at - begin for mark in marks if mark.at < killer.killed_at]
    after = [mark.at - killer.killed_at for mark in marks if mark.at > killer.killed_at]
    if (len(before), len(after)) != (WORKERS, WORKERS):
        raise RuntimeError(f"{len(before)} workers began before the kill, and {len(after)} after it")
    print(json.dumps({"ray_submit_to_step_seconds": max(before), "ray_recover_seconds": max(after)}))


if __name__ == "__main__":
    main()
