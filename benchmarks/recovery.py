"""How long a job takes to its first step, and back to a step after a kill; and what nodes cost while nothing happens.

Writes build/bench/recovery.json and prints a table. The same training is started by this project, by hand and by Ray
Train, in turns; a figure is the median of its rounds. Then idle nodes are compared with those of a stock Ignite, and
the packets of a job that reports its steps are counted in clusters of several sizes.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import itertools
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

import first_step
import goals
import packets
import tensorflow_ignite as tfi
from first_step import BEGIN, FIRST, IMPORTED, STRATEGY, Mark
from processes import cpu_seconds
from read import BUILD, ENVIRONMENT, HERE, PEERS, RAY_PYTHON
from record import Passes, Samples, machine
from stock import StockCluster
from tensorflow_ignite.data.options import ReadOptions, RowArguments
from tensorflow_ignite.data.plan import Plan, make_plan
from tensorflow_ignite.data.request import make_request
from tensorflow_ignite.jobs.client import Client, connect
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.node.runtime import JARS
from tensorflow_ignite.spec import Attempt
from tensorflow_ignite.testing import LocalCluster

ROUNDS = 5
# As in servers: the second compiler, and a heap that has its size from the start.
JVM = ("-XX:TieredStopAtLevel=4", "-XX:+UseG1GC", "-Xms512m", "-Xmx512m")
CACHE = "rows"
PARTITIONS = 64
# The kill comes after this step of the process that is killed.
KILLED_AFTER = 50
SECONDS_TO_SETTLE = 120.0
SECONDS_TO_END = 60.0
_POLL_SECONDS = 0.05

# In which the figures are shown.
ORDER = (
    *("submit_to_step_seconds", "floor_seconds", "ray_submit_to_step_seconds"),
    *("recover_worker_seconds", "recover_node_seconds", "ray_recover_seconds"),
    *("idle_cpu_percent", "stock_cpu_percent", "report_cpu_percent", "running_job_cpu_percent"),
    *("packets_per_second", "idle_packets_per_second"),
)


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        rounds: Of all starts and recoveries.
        worker_killed: Nodes of the cluster in which workers are killed.
        node_killed: Nodes of the cluster in which nodes are killed.
        idle_nodes: Of the idle clusters, ours and the stock one.
        idle_windows: In which their processor time is measured.
        idle_seconds: Of each window.
        packet_nodes: Of the clusters whose packets are counted.
        packet_windows: Without a job, and as many with one.
        packet_seconds: Of each window.
        idle_settle: Seconds between the start of the idle clusters and the first window.
        packet_settle: The same for the other clusters, and for their job.
        spares: The number of spares of each node, as an environment variable; empty: as by default.
    """

    rounds: int = ROUNDS
    worker_killed: int = 2
    node_killed: int = 3
    idle_nodes: int = 3
    idle_windows: int = 5
    idle_seconds: float = 60.0
    packet_nodes: tuple[int, ...] = (3, 6, 9)
    packet_windows: int = 5
    packet_seconds: float = 10.0
    # The compilers of the JVMs are busy for so long.
    idle_settle: float = 150.0
    packet_settle: float = 30.0
    spares: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """Of the nodes of our clusters."""
        return {"TENSORFLOW_IGNITE_TASKS_WARM_PROCESSES": self.spares}


QUICK = Sizes(
    rounds=1,
    node_killed=2,
    idle_nodes=2,
    idle_windows=1,
    idle_seconds=5.0,
    packet_nodes=(2,),
    packet_windows=1,
    packet_seconds=3.0,
    idle_settle=2.0,
    packet_settle=2.0,
    spares="0",
)


@dataclass
class Found(Passes):
    """What was measured.

    Attributes:
        phases: Seconds of each phase of a start or a recovery, for each sample.
    """

    phases: dict[str, Samples] = field(default_factory=dict)

    def add_phases(self, name: str, moments: Sequence[tuple[str, float | None]]) -> None:
        """One more sample of the phases between moments, each with the phase that ends at it; None: not known."""
        known = [(phase, at) for phase, at in moments if at is not None]
        phases = self.phases.setdefault(name, {})
        for (_, before), (phase, at) in itertools.pairwise(known):
            phases.setdefault(phase, []).append(at - before)


def script_moments(marks: Sequence[Mark]) -> list[tuple[str, float | None]]:
    """The phases of the scripts themselves; each ends with the slowest worker."""
    last = {name: max(mark.at for mark in marks if mark.name == name) for name in (BEGIN, IMPORTED, STRATEGY, FIRST)}
    return [
        ("script begins", last[BEGIN]),
        ("TensorFlow imported", last[IMPORTED]),
        ("strategy created", last[STRATEGY]),
        ("first step", last[FIRST]),
    ]


def monotonic(at: datetime | None) -> float | None:
    """A time of a job's row on the clock of the marks."""
    return None if at is None else at.timestamp() - time.time() + time.monotonic()


def start_moments(attempt: Attempt) -> list[tuple[str, float | None]]:
    """The phases from the placement of an attempt to the start of its processes."""
    started = [at for task in attempt.tasks if (at := monotonic(task.status.started_at)) is not None]
    return [
        ("attempt placed", monotonic(attempt.started_at)),
        ("processes started", max(started, default=None)),
    ]


def end_moments(attempt: Attempt) -> list[tuple[str, float | None]]:
    """The phases from a kill to the end of the other processes; the placement that follows waits for its proof."""
    ended = [at for task in attempt.tasks if (at := monotonic(task.status.finished_at)) is not None]
    return [("end decided", monotonic(attempt.ending_at)), ("processes ended", max(ended, default=None))]


class Trainings:
    """Jobs of one cluster, one after the other.

    Attributes:
        found: Gets the samples.
    """

    def __init__(self, cluster: LocalCluster, folder: Path, sizes: Sizes) -> None:
        """Makes the cache whose partitions the workers have.

        Args:
            cluster: Running nodes; each has a worker.
            folder: For the marks.
            sizes: Say whether nodes have spares.
        """
        self._have_spares = sizes.spares != "0"
        self.found = Found()
        self._cluster = cluster
        self._nodes = len(cluster.nodes)
        self._folder = folder
        self._number = 0
        tfi.load(CACHE, {"id": np.arange(1_000)}, partitions=PARTITIONS, backups=1, address=cluster.address)

    def kill_a_worker(self) -> None:
        """A start, and a recovery from the kill of a script's process."""
        with self._client() as client:
            job, marks = self._start(client)
            pid = self._await_step(job, marks, 1)
            self.await_spares()
            killed = time.monotonic()
            os.kill(pid, signal.SIGKILL)
            self._recover("recover_worker_seconds", job, marks, killed, self._nodes)

    def kill_a_node(self) -> None:
        """A start, a recovery from the kill of the youngest node, and another node in its place."""
        with self._client() as client:
            job, marks = self._start(client)
            self._await_step(job, marks, 0)
            # Nodes that start together join in any order; a job of two nodes goes on only without the younger one.
            youngest = client.nodes()[-1].id
            node = next(node for node in self._cluster.nodes if node.node_id == youngest)
            self.await_spares()
            killed = time.monotonic()
            self._cluster.kill_node(node)
            self._recover("recover_node_seconds", job, marks, killed, self._nodes - 1)
        self._cluster.start_node()
        self._await_owners()

    def await_spares(self) -> None:
        """Waits until each node has its spare: a running cluster has had the time, also between two failures."""
        if self._have_spares:
            with self._client() as client:
                await_spares(client)

    def _client(self) -> Client:
        return connect(",".join(self._cluster.addresses))

    def _start(self, client: Client) -> tuple[JobHandle, Path]:
        """Submits a job, and measures the time to its first step."""
        self._number += 1
        marks = self._folder / f"marks-{self._nodes}-{self._number}"
        begin = time.monotonic()
        job = client.submit(first_step.__file__, cache=CACHE, args=[str(marks), "ignite"])
        submitted = time.monotonic()
        seconds, own = first_step.await_first_steps(marks, self._nodes, begin, running(job))
        name = f"submit_to_step_seconds {self._nodes}"
        self.found.add(name, seconds)
        moments = [("", begin), ("submitted", submitted), *start_moments(job.refresh().attempts[0])]
        self.found.add_phases(name, [*moments, *script_moments(own)])
        if len(job.status.attempts) != 1:
            raise RuntimeError(f"the job was restarted before its first step: {job.status.attempts[0].cause}")
        return job, marks

    def _await_step(self, job: JobHandle, marks: Path, rank: int) -> int:
        """Waits until a worker has done some steps; returns its process."""
        check = running(job)
        deadline = time.monotonic() + first_step.SECONDS_TO_A_STEP
        while time.monotonic() < deadline:
            for mark in first_step.read(marks):
                if (mark.name, mark.rank) == (f"step:{KILLED_AFTER}", rank):
                    return mark.pid
            check()
            time.sleep(_POLL_SECONDS)
        raise TimeoutError(f"worker {rank} did not do step {KILLED_AFTER}; see {marks}")

    def _recover(self, name: str, job: JobHandle, marks: Path, killed: float, workers: int) -> None:
        """Measures the time from a kill to the first step of the next attempt, and ends the job."""
        seconds, own = first_step.await_first_steps(marks, workers, killed, running(job))
        self.found.add(name, seconds)
        attempts = job.refresh().attempts
        moments = [("", killed), *end_moments(attempts[0]), *start_moments(attempts[-1]), *script_moments(own)]
        self.found.add_phases(name, moments)
        job.stop(timeout=60)
        job.remove()

    def _plan(self) -> Plan:
        request = make_request(RowArguments(CACHE, columns=["id"], options=ReadOptions(address=self._cluster.address)))
        return make_plan(request)

    def _await_owners(self) -> None:
        """Waits until each node owns partitions of the cache again."""
        deadline = time.monotonic() + SECONDS_TO_SETTLE
        while len(self._plan().endpoints) != self._nodes:
            if time.monotonic() > deadline:
                raise TimeoutError(f"not each of {self._nodes} nodes owns partitions after {SECONDS_TO_SETTLE:.0f} s")
            time.sleep(_POLL_SECONDS)


def await_spares(client: Client) -> None:
    """Waits until each node has its spare.

    Raises:
        TimeoutError: It takes too long.
    """
    deadline = time.monotonic() + SECONDS_TO_SETTLE
    while not all(node.agent.warm_processes for node in client.nodes()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not each node has a spare after {SECONDS_TO_SETTLE:.0f} s")
        time.sleep(_POLL_SECONDS)


def running(job: JobHandle) -> Callable[[], None]:
    """Raises an error if the job has ended; asks the node once a second."""
    asked = time.monotonic()

    def check() -> None:
        nonlocal asked
        if time.monotonic() - asked > 1:
            asked = time.monotonic()
            if job.refresh().is_over:
                raise RuntimeError(f"job {job.id} ended: {job.status.cause}")

    return check


def program(name: str, command: Sequence[str], logs: Path, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Runs a program, and returns the JSON object that it prints last.

    Raises:
        RuntimeError: It failed.
    """
    log = logs / f"{name}.log"
    with log.open("ab") as errors:
        ran = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **ENVIRONMENT, **(environment or {})},
            text=True,
        )
    try:
        printed, _ = ran.communicate()
    except BaseException:
        # It ends its own processes, and removes its files.
        ran.send_signal(signal.SIGINT)
        try:
            ran.communicate(timeout=SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            ran.kill()
            ran.wait()
        raise
    lines = [line for line in printed.splitlines() if line.startswith("{")]
    if ran.returncode != 0 or not lines:
        raise RuntimeError(
            f"{name} ended with exit code {ran.returncode}. It printed ({log}):\n{log.read_text()[-3_000:]}"
        )
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def by_hand(workers: int, folder: Path, logs: Path, found: Found) -> None:
    """The same workers without any of this project."""
    marks = Path(tempfile.mkdtemp(dir=folder)) / "marks"
    command = [sys.executable, str(PEERS / "by_hand_start.py"), f"--workers={workers}", f"--marks={marks}"]
    answer = program("by_hand_start", command, logs)
    name = f"floor_seconds {workers}"
    found.add(name, answer["seconds"])
    found.add_phases(
        name, [("", 0.0), *script_moments([Mark(at, mark, rank, 0) for at, mark, rank in answer["marks"]])]
    )


def ray_train(python: Path, folder: Path, logs: Path, found: Found) -> None:
    """The same training by Ray Train."""
    marks = Path(tempfile.mkdtemp(dir=folder)) / "marks"
    command = [str(python), str(PEERS / "ray_train_recovery.py"), f"--step={KILLED_AFTER}", f"--marks={marks}"]
    # Without this it writes a token into the home directory.
    for name, value in program("ray_train_recovery", command, logs, {"RAY_AUTH_MODE": "disabled"}).items():
        found.add(name, value)


def measure_starts(sizes: Sizes, ray: Path | None, jvm: Sequence[str], logs: Path, found: Found) -> None:
    """Starts and recoveries of all contenders in turn."""
    with ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))

        def cluster(nodes: int) -> LocalCluster:
            return LocalCluster(nodes=nodes, jvm_args=jvm, environment=sizes.environment)

        trainings = {
            nodes: Trainings(ends.enter_context(cluster(nodes)), folder, sizes)
            for nodes in sorted({sizes.worker_killed, sizes.node_killed})
        }

        def settle() -> None:
            for training in trainings.values():
                training.await_spares()

        # A job's first start on a node and the first import of TensorFlow on the machine take longer, and do not count.
        for number in range(0 if sizes.rounds > 1 else 1, sizes.rounds + 1):
            counted = found if number > 0 else Found()
            for workers, training in trainings.items():
                training.found = counted
                settle()
                by_hand(workers, folder, logs, counted)
            settle()
            trainings[sizes.worker_killed].kill_a_worker()
            settle()
            trainings[sizes.node_killed].kill_a_node()
            settle()
            if ray is not None:
                ray_train(ray, folder, logs, counted)
            print(f"round {number} of {sizes.rounds}", file=sys.stderr, flush=True)


def measure_idle(sizes: Sizes, jvm: Sequence[str], found: Found) -> None:
    """Idle nodes, ours and stock ones, in the same windows; percent of a core for each node."""
    nodes = sizes.idle_nodes
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(nodes=nodes, jvm_args=jvm, environment=sizes.environment) as ours,
        StockCluster(nodes, Path(folder), jvm) as stock,
    ):
        time.sleep(sizes.idle_settle)
        roots = {"idle_cpu_percent": [node.pid for node in ours.nodes], "stock_cpu_percent": stock.pids}
        for _ in range(sizes.idle_windows):
            begin, before = time.monotonic(), {name: cpu_seconds(pids) for name, pids in roots.items()}
            time.sleep(sizes.idle_seconds)
            lasted = time.monotonic() - begin
            for name, pids in roots.items():
                found.add(f"{name} {nodes}", 100 * (cpu_seconds(pids) - before[name]) / lasted / nodes)
            print("a window of idle nodes", file=sys.stderr, flush=True)


def measure_packets(sizes: Sizes, jvm: Sequence[str], logs: Path, found: Found) -> None:
    """Packets and processor time of a job that reports, above those of the same cluster without one."""
    arguments = [
        *("--nodes", *map(str, sizes.packet_nodes)),
        *(f"--settle={sizes.packet_settle}", f"--windows={sizes.packet_windows}", f"--seconds={sizes.packet_seconds}"),
        *(f"--jvm-arg={option}" for option in jvm),
    ]
    for nodes, measured in program("packets", packets.command(*arguments), logs).items():
        for figure, name in (("packets_per_second", "packets_per_second"), ("report_cpu_percent", "cpu_percent")):
            idle = statistics.median(measured["idle"][name])
            for value in measured["job"][name]:
                found.add(f"{figure} {nodes}", value - idle)
        idle = statistics.median(measured["idle"]["work_percent"])
        for value in measured["job"]["work_percent"]:
            found.add(f"running_job_cpu_percent {nodes}", (value - idle) / int(nodes))
        found.passes[f"idle_packets_per_second {nodes}"] = measured["idle"]["packets_per_second"]


def medians(passes: Samples) -> dict[str, float]:
    """The figures, in the order in which they are shown."""

    def position(key: str) -> tuple[int, int]:
        name, _, size = key.partition(" ")
        return ORDER.index(name), int(size or 0)

    return {name: statistics.median(passes[name]) for name in sorted(passes, key=position)}


def nested(figures: dict[str, float]) -> dict[str, Any]:
    """Figures of several sizes as objects by size."""
    found: dict[str, Any] = {}
    for key, value in figures.items():
        name, _, size = key.partition(" ")
        if size:
            found.setdefault(name, {})[size] = value
        else:
            found[name] = value
    return found


def commit() -> str | None:
    """The commit of this repository, with a plus if files have been changed; None outside a repository."""
    command = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+"]
    ran = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else None


def versions(ray: Path | None) -> dict[str, str | None]:
    """What was measured, by what."""
    (core,) = JARS.glob("ignite-core-*.jar")
    match = re.search(r"ignite-core-(.*)\.jar", core.name)
    found: dict[str, str | None] = {"ignite": match[1] if match else None, "python": platform.python_version()}
    for package in ("tensorflow-ignite", "tensorflow-cpu", "tensorflow"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    if ray is not None:
        code = "import importlib.metadata as m; print(m.version('ray'))"
        found["ray"] = subprocess.run([str(ray), "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    return found


def report(found: Found, sizes: Sizes, ray: Path | None, load: float) -> dict[str, object]:
    """Everything that is worth keeping of a run."""
    figures = medians(found.passes)
    return {
        **nested(figures),
        "goals": goals.limit_verdicts(figures),
        "passes": found.passes,
        "phases": found.phases,
        "rounds": sizes.rounds,
        "versions": versions(ray),
        "commit": commit(),
        "machine": machine(load),
    }


def phase_table(phases: dict[str, Samples]) -> str:
    """Where the seconds of starts and recoveries went, as text for people: medians, of the slowest worker."""
    lines = []
    for name, samples in phases.items():
        text = ", ".join(f"{phase} {statistics.median(seconds):.2f}" for phase, seconds in samples.items())
        lines += [f"{name}:", *(f"  {line}" for line in textwrap.wrap(text, 76))]
    return "\n".join(lines)


def main() -> None:
    """Runs everything."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument(
        "--rounds", type=int, default=ROUNDS, help="starts and recoveries of each contender that count"
    )
    options.add_argument("--quick", action="store_true", help="two nodes, one round, no Ray: shows that it works")
    options.add_argument("--ray-python", type=Path, default=RAY_PYTHON, help="interpreter that has ray[train]")
    options.add_argument("--output", type=Path, default=BUILD / "recovery.json")
    given = options.parse_args()
    ray: Path | None = given.ray_python
    if given.quick:
        ray = None
    elif not given.ray_python.exists():
        raise SystemExit(
            f"{given.ray_python} is missing. Ray Train is one of the contenders. Install it: make bench-recovery"
        )
    sizes = QUICK if given.quick else Sizes(rounds=given.rounds)
    # What only shows that it works needs no second compiler.
    jvm = () if given.quick else JVM
    packets.require_namespace()
    logs = given.output.parent / "logs" / "recovery"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    load, found = os.getloadavg()[0], Found()
    measure_starts(sizes, ray, jvm, logs, found)
    measure_idle(sizes, jvm, found)
    measure_packets(sizes, jvm, logs, found)
    written = report(found, sizes, ray, load)
    given.output.write_text(json.dumps(written, indent=2) + "\n")
    print(goals.limit_table(medians(found.passes), found.passes))
    print("\nseconds of each phase, to the slowest worker\n" + phase_table(found.phases))
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
