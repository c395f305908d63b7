"""How fast the same model trains on the same rows: by hand, as a job of the cluster, and by Ray Train, in turns.

Writes build/bench/training.json and prints a table. Each contender trains a few epochs with three workers; by hand and
with Ray the rows are exported from the cluster to files before. A figure is the median of the rounds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import goals
import tensorflow_ignite as tfi
import training_fit
from processes import own_seconds
from read import BUILD, HERE, PEERS, RAY_PYTHON
from record import Passes, machine
from recovery import await_spares, commit, program, versions
from tensorflow_ignite.jobs.client import Client
from tensorflow_ignite.testing import LocalCluster
from training_fit import WORKLOADS

# As in servers: the second compiler, and a heap that has its size from the start.
JVM = ("-XX:TieredStopAtLevel=4", "-XX:+UseG1GC", "-Xms512m", "-Xmx512m")
PARTITIONS = 48
# How the names of the figures of a workload end.
SUFFIXES = {"dense": "", "images": "_images", "table": "_table"}
SECONDS_TO_TRAIN = 600.0
# In which the figures are shown.
ORDER = tuple(
    f"{name}{suffix}"
    for suffix in SUFFIXES.values()
    for name in (
        *("by_hand_epoch", "job_epoch", "ray_epoch"),
        *("by_hand_first", "by_hand_files_first", "job_first", "ray_first"),
        *("by_hand_total", "job_total", "ray_total"),
        *("by_hand_cpu", "job_cpu", "ray_cpu", "nodes_cpu"),
    )
)


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        rounds: Trainings of each contender with each workload.
        workers: Of each training, and nodes of the cluster.
        epochs: Of each training.
        rows: The most rows of a workload; 0: all.
        workloads: Those that are measured.
        spares: The number of spares of each node, as an environment variable; empty: as by default.
    """

    rounds: int = 5
    workers: int = 3
    epochs: int = 4
    rows: int = 0
    workloads: Sequence[str] = tuple(WORKLOADS)
    spares: str = ""

    def rows_of(self, workload: str) -> int:
        """The rows of a workload, of which at least two steps can be made."""
        found = WORKLOADS[workload]
        return min(found.rows, max(self.rows, 2 * found.batch)) if self.rows else found.rows


QUICK = Sizes(rounds=1, workers=1, epochs=2, rows=1_000, workloads=("images", "table"), spares="0")


@dataclass
class Found(Passes):
    """What was measured.

    Attributes:
        losses: Of each contender and workload: the loss after each epoch, of the last round.
        restarts: Of all jobs: what these lost is in their figures.
    """

    losses: dict[str, list[float]] = field(default_factory=dict)
    restarts: int = 0


@dataclass(frozen=True)
class Place:
    """What all contenders share in a round.

    Attributes:
        client: Of the cluster.
        nodes: Processes of its nodes.
        sizes: How much is measured.
        ray: The interpreter that has Ray; None: it does not take part.
        logs: The folder for what programs print.
    """

    client: Client
    nodes: Sequence[int]
    sizes: Sizes
    ray: Path | None
    logs: Path


class Training:
    """One training of one contender; a context manager that removes its files."""

    def __init__(self, place: Place, workload: str) -> None:
        """Makes folders for rows, in memory, and for what the workers write."""
        self._place = place
        self._workload = workload
        self._rows = tempfile.TemporaryDirectory(dir="/dev/shm", prefix="tensorflow-ignite-bench-")
        self._written = tempfile.TemporaryDirectory()

    def __enter__(self) -> Training:
        """Returns itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Removes the files."""
        self._rows.cleanup()
        self._written.cleanup()

    @property
    def arguments(self) -> list[str]:
        """Of the programs that train."""
        sizes = self._place.sizes
        return [self._workload, str(sizes.rows_of(self._workload)), str(sizes.epochs), self._written.name]

    def export(self, kind: str) -> float:
        """Exports the rows to files; returns the seconds."""
        command = [sys.executable, str(HERE / "training_export.py"), kind, f"--address={self._place.client.address}"]
        command += [f"--workload={self._workload}", f"--folder={self._rows.name}"]
        seconds = program("training_export", [*command, *self._workers], self._place.logs)["seconds"]
        return float(seconds)

    def peer(self, python: str, name: str, environment: dict[str, str] | None = None) -> dict[str, Any]:
        """Runs a program that trains on these files."""
        command = [python, str(PEERS / f"{name}.py"), *self.arguments, f"--files={self._rows.name}", *self._workers]
        return program(name, command, self._place.logs, environment)

    def measure(self, name: str, started: float, exported: float, found: Found) -> None:
        """Adds the figures of the training; each moment is that of the slowest worker.

        Args:
            name: Of the contender.
            started: When the program was started, or the job submitted.
            exported: Seconds that the rows needed to where the workers read them from.
            found: Gets the figures.
        """
        workers = [json.loads(file.read_text()) for file in sorted(Path(self._written.name).glob("*.json"))]
        sizes, suffix = self._place.sizes, SUFFIXES[self._workload]
        if {len(worker["losses"]) for worker in workers} != {sizes.epochs} or len(workers) != sizes.workers:
            raise RuntimeError(f"{name} trained {workers}, not {sizes.epochs} epochs of {sizes.workers} workers")
        moments = [max(each) for each in zip(*(worker["moments"] for worker in workers), strict=True)]
        processor = [sum(each) for each in zip(*(worker["processor"] for worker in workers), strict=True)]
        found.add(f"{name}_epoch{suffix}", _median_step(moments[1:]))
        found.add(f"{name}_first{suffix}", exported + moments[1] - moments[0])
        found.add(f"{name}_total{suffix}", exported + moments[-1] - started)
        if name == "by_hand":
            found.add(f"{name}_files_first{suffix}", moments[1] - moments[0])
        found.add(f"{name}_cpu{suffix}", _median_step(processor[1:]))
        found.losses[f"{name}{suffix}"] = workers[0]["losses"]

    @property
    def _workers(self) -> list[str]:
        return [f"--workers={self._place.sizes.workers}"]


def _median_step(values: Sequence[float]) -> float:
    return statistics.median(after - before for before, after in itertools.pairwise(values))


def by_hand(place: Place, workload: str, found: Found) -> None:
    """Exports to TFRecord files, and starts workers with TF_CONFIG."""
    with Training(place, workload) as training:
        exported = training.export("tfrecord")
        started = training.peer(sys.executable, "by_hand_training")["started"]
        training.measure("by_hand", started, exported, found)


def job(place: Place, workload: str, found: Found) -> None:
    """Submits a job."""
    if place.sizes.spares != "0":
        await_spares(place.client)
    with Training(place, workload) as training:
        used, started = own_seconds(place.nodes), time.monotonic()
        submitted = place.client.submit(training_fit.__file__, cache=workload, args=training.arguments)
        found.restarts += len(submitted.wait(SECONDS_TO_TRAIN).attempts) - 1
        training.measure("job", started, 0.0, found)
        found.add(f"nodes_cpu{SUFFIXES[workload]}", own_seconds(place.nodes) - used)
        submitted.remove()
    if place.sizes.spares != "0":
        # Their start is not to be in the time of the next contender.
        await_spares(place.client)


def ray_train(place: Place, workload: str, found: Found) -> None:
    """Exports to files, from which Ray Data fills its object store, and runs Ray Train."""
    if place.ray is None:
        return
    with Training(place, workload) as training:
        exported = training.export("npy")
        # Without this it writes a token into the home directory.
        answer = training.peer(str(place.ray), "ray_training", {"RAY_AUTH_MODE": "disabled"})
        training.measure("ray", answer["started"], exported + answer["loaded_seconds"], found)


def measure(
    sizes: Sizes,
    ray: Path | None,
    jvm: Sequence[str],
    logs: Path,
    keep: Callable[[Found], None],
) -> Found:
    """All contenders in turn, for each workload; what was found is kept after each."""
    found = Found()
    # Tasks have the priority of the other contenders: other programs of the machine take as much from each.
    environment = {"TENSORFLOW_IGNITE_TASKS_WARM_PROCESSES": sizes.spares, "TENSORFLOW_IGNITE_TASKS_NICE": "0"}
    with ExitStack() as ends:
        cluster = ends.enter_context(LocalCluster(sizes.workers, jvm_args=jvm, environment=environment))
        client = ends.enter_context(tfi.connect(cluster.address))
        for workload in sizes.workloads:
            rows = WORKLOADS[workload].columns(sizes.rows_of(workload))
            tfi.load(workload, rows, partitions=PARTITIONS, address=cluster.address)
        place = Place(client, [node.pid for node in cluster.nodes], sizes, ray, logs)
        for number in range(1, sizes.rounds + 1):
            for workload in sizes.workloads:
                for contender in (by_hand, job, ray_train):
                    contender(place, workload, found)
                keep(found)
                print(f"round {number} of {sizes.rounds}: {workload}", file=sys.stderr, flush=True)
    return found


def figures_of(found: Found) -> dict[str, float]:
    """Medians, in the order in which they are shown."""
    return {name: statistics.median(found.passes[name]) for name in ORDER if name in found.passes}


def main() -> None:
    """Runs everything."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--rounds", type=int, help=f"trainings of each contender that count; else {Sizes.rounds}")
    options.add_argument("--rows", type=int, help="the most rows of a workload")
    options.add_argument("--workload", action="append", choices=list(WORKLOADS), help="only this; may be repeated")
    options.add_argument("--quick", action="store_true", help="few rows, one round, no Ray: shows that it works")
    options.add_argument("--ray-python", type=Path, default=RAY_PYTHON, help="interpreter that has ray[data,train]")
    options.add_argument("--output", type=Path, default=BUILD / "training.json")
    given = options.parse_args()
    if not given.quick and not given.ray_python.exists():
        raise SystemExit(
            f"{given.ray_python} is missing. Ray Train is one of the contenders. Install it: make bench-training"
        )
    ray = None if given.quick else given.ray_python
    sizes = QUICK if given.quick else Sizes()
    sizes = replace(
        sizes,
        rounds=given.rounds or sizes.rounds,
        rows=given.rows or sizes.rows,
        workloads=given.workload or sizes.workloads,
    )
    logs = given.output.parent / "logs" / "training"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    load, measured = os.getloadavg()[0], versions(ray)

    def keep(found: Found) -> None:
        figures = figures_of(found)
        written = {
            **figures,
            "goals": goals.limit_verdicts(figures, goals.TRAINING_LIMITS),
            "passes": found.passes,
            "losses": found.losses,
            "restarts": found.restarts,
            "rows": {name: sizes.rows_of(name) for name in sizes.workloads},
            "versions": measured,
            "commit": commit(),
            "machine": {**machine(load), "load_after": os.getloadavg()[0]},
        }
        given.output.write_text(json.dumps(written, indent=2) + "\n")

    found = measure(sizes, ray, () if given.quick else JVM, logs, keep)
    print(goals.limit_table(figures_of(found), found.passes, goals.TRAINING_LIMITS))
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
