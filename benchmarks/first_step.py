"""The training that every contender of the recovery benchmark runs, and the marks that its workers leave.

    usage: first_step.py MARKS [ignite]

A worker appends a line to the file MARKS when it begins, when TensorFlow is imported, when its strategy exists, and
after each step: the time of CLOCK_MONOTONIC, the mark, its rank and its process. All contenders are on one machine, so
these times compare with those of the benchmark. With ``ignite`` the script is that of a job.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BEGIN = "begin"
IMPORTED = "imported"
STRATEGY = "strategy"
FIRST = "step:0"
STEP_SECONDS = 0.05
SECONDS_TO_A_STEP = 180.0
_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Mark:
    """A line of the file.

    Attributes:
        at: Seconds of CLOCK_MONOTONIC.
        name: BEGIN, IMPORTED, STRATEGY, or ``step:`` and the number of the step, from 0 in each process.
        rank: The worker.
        pid: Its process.
    """

    at: float
    name: str
    rank: int
    pid: int


def mark(marks: str, name: str, rank: int) -> None:
    """Appends a line; one write, so that the lines of several processes do not mix."""
    with open(marks, "a") as file:
        file.write(f"{time.monotonic():.6f} {name} {rank} {os.getpid()}\n")


def read(marks: Path) -> list[Mark]:
    """All complete lines; none while there is no file."""
    text = marks.read_text() if marks.exists() else ""
    lines = [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]
    return [Mark(float(at), name, int(rank), int(pid)) for at, name, rank, pid in lines]


def first_steps(marks: Path, workers: int, after: float) -> list[Mark] | None:
    """The first step of each worker whose process did it after a moment; None: not all have done it."""
    steps = {mark.rank: mark for mark in read(marks) if mark.name == FIRST and mark.at > after}
    return [steps[rank] for rank in range(workers)] if steps.keys() >= set(range(workers)) else None


def await_first_steps(
    marks: Path, workers: int, after: float, check: Callable[[], None] = lambda: None
) -> tuple[float, list[Mark]]:
    """Waits until all workers have done their first step.

    Args:
        marks: The file.
        workers: How many there are.
        after: Steps before this moment are those of an earlier attempt.
        check: Called again and again; raises an error when the step will never come.

    Returns:
        The seconds from `after` to the first step of the last worker, and all marks of these processes.

    Raises:
        TimeoutError: They do not do it.
    """
    deadline = time.monotonic() + SECONDS_TO_A_STEP
    while (found := first_steps(marks, workers, after)) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{workers} workers have not done a step in {SECONDS_TO_A_STEP:.0f} s; see {marks}")
        check()
        time.sleep(_POLL_SECONDS)
    pids = {step.pid for step in found}
    return max(step.at for step in found) - after, [each for each in read(marks) if each.pid in pids]


def train(marks: str, rank: int, strategy_of: Callable[[], Any] | None = None, steps: int | None = None) -> None:
    """Trains a model of 100 weights, whose gradients are random numbers summed over the workers.

    Args:
        marks: The file of the marks.
        rank: Of this worker.
        strategy_of: Makes the strategy; None: as TensorFlow's own documents do.
        steps: The number of steps; None: until the process is ended.
    """
    mark(marks, BEGIN, rank)
    import tensorflow as tf

    mark(marks, IMPORTED, rank)
    strategy = strategy_of() if strategy_of else tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable(tf.zeros([10, 10]))
    mark(marks, STRATEGY, rank)

    @tf.function
    def step() -> None:
        def replica() -> None:
            gradient = tf.distribute.get_replica_context().all_reduce("sum", tf.random.normal([10, 10]))
            weights.assign_sub(0.01 * gradient)

        strategy.run(replica)

    for number in itertools.count() if steps is None else range(steps):
        step()
        mark(marks, f"step:{number}", rank)
        time.sleep(STEP_SECONDS)


def _strategy_of_job() -> Any:
    import tensorflow_ignite as tfi

    return tfi.train.strategy()


def main() -> None:
    """A worker that TF_CONFIG describes."""
    rank = int(json.loads(os.environ["TF_CONFIG"])["task"]["index"])
    train(sys.argv[1], rank, _strategy_of_job if "ignite" in sys.argv[2:] else None)


if __name__ == "__main__":
    main()
