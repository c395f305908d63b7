"""How fast two jobs train that share a node: both at once, against one after the other.

Writes build/bench/shared_node.json and prints a table. Two jobs run the same training on one node. In turns, the second
one stands still or both run. One figure is the steps a second of both at once by those of the first one alone, the
other one the processor time of a step, which depends less on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

import tensorflow_ignite as tfi
import train_steps
from read import BUILD
from tensorflow_ignite.jobs.client import Client
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.testing import LocalCluster

THROUGHPUT = "shared_node_throughput_ratio"
COST = "shared_node_step_cost_ratio"
# The least throughput, and the highest cost.
GOALS = {THROUGHPUT: 0.9, COST: 1.1}
# As in servers: the second compiler, and a heap that has its size from the start.
JVM = ("-XX:TieredStopAtLevel=4", "-XX:+UseG1GC", "-Xms512m", "-Xmx512m")
PARTITIONS = 64
# After these steps the start is over: graphs are built, and buffers are full.
FIRST_STEPS = 100
SECONDS_TO_TRAIN = 180.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        rows: Of the cache.
        rounds: Windows with one job, and as many with both.
        seconds: Of a window.
        settle: Seconds between a change and the next window.
    """

    rows: int = 20_000
    rounds: int = 7
    seconds: float = 4.0
    settle: float = 0.5


QUICK = Sizes(rows=2_000, rounds=1, seconds=1.0)


class Training:
    """A job that trains; its steps are counted while it runs."""

    def __init__(self, client: Client, model: str, counter: Path, environment: Mapping[str, str]) -> None:
        """Starts the job, and waits for its first steps.

        Raises:
            RuntimeError: The job has ended, or takes too long.
        """
        counter.write_bytes(bytes(8))
        self._steps = np.memmap(counter, np.int64, "r", shape=(1,))
        self.job: JobHandle = client.submit(
            train_steps.__file__,
            cache=train_steps.CACHE,
            args=[model, str(counter)],
            environment=tfi.Environment(variables=dict(environment)),
        )
        deadline = time.monotonic() + SECONDS_TO_TRAIN
        while self.steps < FIRST_STEPS:
            if self.job.refresh().is_over or time.monotonic() > deadline:
                raise RuntimeError(f"the job does not train: {self.job.status.cause or 'it takes too long'}")
            time.sleep(_POLL_SECONDS)
        pid = self.job.refresh().attempts[-1].tasks[0].status.pid
        assert pid is not None
        self._pid = pid

    @property
    def steps(self) -> int:
        """The steps so far."""
        return int(self._steps[0])

    @property
    def cpu_seconds(self) -> float:
        """The processor time of the script so far."""
        times = psutil.Process(self._pid).cpu_times()
        return times.user + times.system

    def freeze(self) -> None:
        """Stops the process of the script, until `go_on`."""
        os.kill(self._pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Lets the process run again."""
        os.kill(self._pid, signal.SIGCONT)

    def end(self) -> None:
        """Ends the job, and removes it."""
        self.go_on()
        self.job.stop(timeout=60)
        self.job.remove()


def window(trainings: Sequence[Training], sizes: Sizes) -> tuple[float, float]:
    """The steps a second of some trainings together, and the processor time of one of their steps in seconds."""
    time.sleep(sizes.settle)
    begin, steps, used = time.monotonic(), _sum_of_steps(trainings), _sum_of_time(trainings)
    time.sleep(sizes.seconds)
    steps, used = _sum_of_steps(trainings) - steps, _sum_of_time(trainings) - used
    return steps / (time.monotonic() - begin), used / max(1, steps)


def _sum_of_steps(trainings: Sequence[Training]) -> int:
    return sum(training.steps for training in trainings)


def _sum_of_time(trainings: Sequence[Training]) -> float:
    return sum(training.cpu_seconds for training in trainings)


def measure(client: Client, model: str, sizes: Sizes, environment: Mapping[str, str]) -> dict[str, list[float]]:
    """One model: the ratios of each round."""
    found: dict[str, list[float]] = {THROUGHPUT: [], COST: []}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ends:
        trainings = []
        for number in range(2):
            training = Training(client, model, Path(folder) / str(number), environment)
            ends.callback(training.end)
            trainings.append(training)
        for _ in range(sizes.rounds):
            trainings[1].freeze()
            rate_alone, cost_alone = window(trainings[:1], sizes)
            trainings[1].go_on()
            rate, cost = window(trainings, sizes)
            if rate_alone and cost_alone:
                found[THROUGHPUT].append(rate / rate_alone)
                found[COST].append(cost / cost_alone)
    return found


def main() -> None:
    """Measures each model."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--quick", action="store_true", help="few rows, one round: shows that it works")
    options.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable of both jobs")
    options.add_argument("--output", type=Path, default=BUILD / "shared_node.json")
    given = options.parse_args()
    sizes, environment = QUICK if given.quick else Sizes(), dict(each.split("=", 1) for each in given.env)
    random = np.random.default_rng(0)
    rows = {
        "pixels": random.random((sizes.rows, train_steps.SIDE**2), np.float32),
        "label": random.integers(0, train_steps.CLASSES, sizes.rows, np.int32),
    }
    found = {}
    with LocalCluster(nodes=1, jvm_args=() if given.quick else JVM) as cluster, tfi.connect(cluster.address) as client:
        tfi.load(train_steps.CACHE, rows, partitions=PARTITIONS, address=cluster.address)
        for model in train_steps.MODELS:
            found[model] = measure(client, model, sizes, environment)
            print(f"measured: {model}", file=sys.stderr, flush=True)
    figures = {
        name: {model: statistics.median(passes[name]) for model, passes in found.items()} for name in (THROUGHPUT, COST)
    }
    written = {**figures, "passes": found, "processors": os.cpu_count(), "load": os.getloadavg()[0]}
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(written, indent=2) + "\n")
    print(f"{'figure':<42} {'median':>6} {'low':>6} {'high':>6} {'goal':>6}")
    for name, medians in figures.items():
        for model, median in medians.items():
            low, high, goal = min(found[model][name]), max(found[model][name]), GOALS[name]
            verdict = "reached" if (median >= goal if name == THROUGHPUT else median <= goal) else "missed"
            print(f"{name + ' ' + model:<42} {median:>6.2f} {low:>6.2f} {high:>6.2f} {goal:>6.2f} {verdict}")
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
