"""What a job beside an application costs it: the latency of gets and puts without a job, and while a job trains.

Writes build/bench/live.json and prints a table. An application does gets and puts by the thin client's protocol, at a
steady rate, on three nodes. In turns, a job that reads each epoch anew pauses or trains. The same is measured on
nodes that do not yield: with the priority of the node for tasks, and without a bound of reading.

A training follows the rows that another application puts at a steady rate: how old is a row when a step has used it,
and how many rows does the application put without it.

Each part below measures some figures of its own, and adds them to what was found.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import goals
import live_follow
import live_refresh
import live_training
import tensorflow_ignite as tfi
from contender import Contender
from live_training import READ, TRAIN
from read import BUILD, ENVIRONMENT, PEERS, thin_port
from recovery import program
from tensorflow_ignite.jobs.client import Client
from tensorflow_ignite.jobs.handle import JobHandle
from tensorflow_ignite.node.runtime import JARS
from tensorflow_ignite.testing import LocalCluster, node_configuration

NODES = 3
# As in servers: the second compiler, and a heap that has its size from the start.
JVM = ("-XX:TieredStopAtLevel=4", "-XX:+UseG1GC", "-Xms512m", "-Xmx512m")
CLIENT_JVM = ("-XX:+UseSerialGC", "-Xms128m", "-Xmx128m")
PARTITIONS = 48
# Bean properties of nodes whose tasks and streams take what they get.
UNLIMITED = {"tasks": {"nice": 0}, "rows": {"readRate": "unlimited"}}
KEYS = 20_000
VALUE_BYTES = 200
THREADS = 16
FIRST_STEPS = 20
# The cache that Puts.java fills, the rows that it puts at once, and its threads.
EVENTS = "events"
PUT_ROWS = 100
PUT_THREADS = 4
FIRST_ROWS = 5_000
SECONDS_TO_TRAIN = 240.0
_POLL_SECONDS = 0.05
_PAUSE = re.compile(r"Pause .* ([0-9.]+)ms$", re.MULTILINE)
# How the names of the threads begin that serve an application, as the system shows them.
SERVING = ("sys-stripe-", "client-connecto", "grid-nio-worker")
_NANOSECONDS = 1e9

# In which the figures are shown.
ORDER = (
    *("oltp_p50_idle_ms", "oltp_p50_training_ms", "oltp_p50_reading_ms", "oltp_p50_unlimited_ms"),
    "oltp_p50_unlimited_reading_ms",
    *("oltp_p99_idle_ms", "oltp_p99_training_ms", "oltp_p99_reading_ms", "oltp_p99_unlimited_ms"),
    "oltp_p99_unlimited_reading_ms",
    *("training_share", "reading_share", "unlimited_share", "unlimited_reading_share"),
    *("training_steps_per_second", "reading_steps_per_second", "unlimited_steps_per_second"),
    "unlimited_reading_steps_per_second",
    *("put_to_step_p50_seconds", "put_to_step_p99_seconds", "writer_rate", "writer_rate_alone", "writer_share"),
    *("writer_most_alone", "writer_most_share"),
    *("full_epoch_seconds", "refresh_1_percent_seconds", "refresh_nothing_seconds", "refreshed_epoch_seconds"),
)


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        rows: Of the cache that the job reads.
        rate: Operations of the application in a second.
        rounds: Windows without the job, and as many with it.
        seconds: Of a window.
        settle: Seconds between a change and the next window.
        puts: Rows that an application puts in a second, which a training follows.
        unlimited: Whether nodes that do not yield are measured too.
        changing_rows: Of the cache of which a part changes.
        warm: Seconds of the application before the first window: the compilers of the JVMs are busy for so long.
    """

    rows: int = 60_000
    rate: float = 500.0
    rounds: int = 5
    seconds: float = 10.0
    settle: float = 2.0
    warm: float = 30.0
    changing_rows: int = 1_000_000
    puts: float = 10_000.0
    unlimited: bool = True


QUICK = Sizes(
    rows=6_000,
    rate=100.0,
    rounds=1,
    seconds=2.0,
    settle=0.5,
    warm=1.0,
    changing_rows=10_000,
    puts=500.0,
    unlimited=False,
)


@dataclass
class Found:
    """What was measured.

    Attributes:
        passes: All samples of each figure.
        windows: What was observed in each window, by the name of what went on in it.
    """

    passes: dict[str, list[float]] = field(default_factory=dict)
    windows: dict[str, list[dict[str, float]]] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """One more sample of a figure."""
        self.passes.setdefault(name, []).append(value)


def thin_client(name: str, cluster: LocalCluster, numbers: Sequence[int], logs: Path) -> Contender:
    """Starts a Java program of the folder peers with the addresses of the nodes, and these numbers."""
    nodes = ",".join(f"127.0.0.1:{thin_port(node.pid)}" for node in cluster.nodes)
    opens = (JARS / "add-opens.txt").read_text().split()
    program = ["java", *opens, *CLIENT_JVM, "-cp", f"{JARS}/*", str(PEERS / f"{name}.java")]
    return Contender(name, [*program, nodes, *map(str, numbers)], ENVIRONMENT, logs)


class Application:
    """A client that does gets and puts at a steady rate; a context manager."""

    def __init__(self, cluster: LocalCluster, sizes: Sizes, logs: Path) -> None:
        """Starts the client, and fills its cache."""
        self._rate = sizes.rate
        self._client = thin_client("OpenLoop", cluster, (KEYS, VALUE_BYTES, THREADS), logs)

    def work(self, seconds: float) -> dict[str, Any]:
        """Does gets and puts; returns their latencies.

        Raises:
            RuntimeError: Some of them failed.
        """
        measured = self._client.answer(f"{self._rate} {seconds}")
        if measured["failed"]:
            raise RuntimeError(f"{measured['failed']} of {measured['operations']} operations of the application failed")
        return measured

    @property
    def cpu_seconds(self) -> float:
        """The processor time of the client so far."""
        times = psutil.Process(self._client.pid).cpu_times()
        return times.user + times.system

    def end(self) -> None:
        """Ends the client."""
        self._client.end()


class Training:
    """A job whose workers pause, or train."""

    def __init__(self, client: Client, work: str, control: Path) -> None:
        """Starts the job, and waits for its first steps.

        Raises:
            RuntimeError: The job has ended, or takes too long.
        """
        control.write_bytes(bytes(16))
        self._numbers = np.memmap(control, np.int64, "r+", shape=(2,))
        self.job: JobHandle = client.submit(
            live_training.__file__,
            cache=live_training.CACHE,
            args=[work, str(control)],
            restart=tfi.Restart(max_crashes=0),
        )
        deadline = time.monotonic() + SECONDS_TO_TRAIN
        while self.steps < FIRST_STEPS:
            if self.job.refresh().is_over or time.monotonic() > deadline:
                raise RuntimeError(f"the job does not train: {self.job.status.cause or 'it takes too long'}")
            time.sleep(_POLL_SECONDS)
        tasks = self.job.refresh().attempts[-1].tasks
        self._pids = [task.status.pid for task in tasks if task.status.pid is not None]

    @property
    def steps(self) -> int:
        """The steps so far."""
        return int(self._numbers[live_training.STEPS])

    @property
    def cpu_seconds(self) -> float:
        """The processor time of the scripts so far."""
        times = [psutil.Process(pid).cpu_times() for pid in self._pids]
        return sum(time.user + time.system for time in times)

    def pause(self) -> None:
        """Makes all workers pause after their step, until `go_on`."""
        self._numbers[live_training.PAUSE] = 1

    def go_on(self) -> None:
        """Lets the workers train again."""
        self._numbers[live_training.PAUSE] = 0

    def end(self) -> None:
        """Ends the job, and removes it.

        Raises:
            RuntimeError: The job has ended by itself: what was measured was not beside a training.
        """
        if self.job.refresh().is_over:
            raise RuntimeError(f"the job has ended: {self.job.status.cause}\n{self.job.status.traceback}")
        self.job.stop(timeout=60)
        self.job.remove()


class Observation:
    """What the nodes and the machine do meanwhile: where a latency comes from."""

    def __init__(self, cluster: LocalCluster, logs: Sequence[Path]) -> None:
        """Begins now."""
        self._cluster = cluster
        self._logs = logs
        self._begin = self._sample()
        self._log_bytes = [log.stat().st_size for log in logs]
        self._at = time.monotonic()

    def _sample(self) -> dict[str, float]:
        found = {"ran": 0.0, "waited": 0.0}
        for node in self._cluster.nodes:
            for thread in Path(f"/proc/{node.pid}/task").iterdir():
                # A thread may end meanwhile.
                with suppress(OSError):
                    if (thread / "comm").read_text().startswith(SERVING):
                        ran, waited, _ = map(int, (thread / "schedstat").read_text().split())
                        found["ran"] += ran / _NANOSECONDS
                        found["waited"] += waited / _NANOSECONDS
        times = psutil.cpu_times()
        return {
            **found,
            "nodes": sum(sum(psutil.Process(node.pid).cpu_times()[:2]) for node in self._cluster.nodes),
            "idle": times.idle + times.iowait,
            "steal": times.steal,
        }

    def end(self) -> dict[str, float]:
        """Returns numbers for each second: of the nodes' threads that serve, of the machine, and of pauses."""
        lasted = time.monotonic() - self._at
        end = self._sample()
        pauses: list[float] = []
        for log, position in zip(self._logs, self._log_bytes, strict=True):
            with log.open("rb") as opened:
                opened.seek(position)
                pauses += [float(pause) for pause in _PAUSE.findall(opened.read().decode("utf-8", "replace"))]
        rates = {f"{name}_per_second": (end[name] - self._begin[name]) / lasted for name in end}
        return {**rates, "pauses_per_second": len(pauses) / lasted, "longest_pause_ms": max(pauses, default=0.0)}


@contextmanager
def running_cluster(sizes: Sizes, jvm: Sequence[str], **service: Any) -> Iterator[tuple[LocalCluster, list[Path]]]:
    """A cluster with the rows of the training, and the logs of its garbage collections."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "node.xml"
        config.write_text(node_configuration(**service))
        log = f"-Xlog:gc:file={folder}/gc-%p.log:uptime"
        with LocalCluster(nodes=NODES, config=config, jvm_args=[*jvm, log]) as cluster:
            random = np.random.default_rng(0)
            rows = {
                "pixels": random.random((sizes.rows, live_training.PIXELS), np.float32),
                "label": random.integers(0, live_training.CLASSES, sizes.rows, np.int32),
            }
            tfi.load(live_training.CACHE, rows, partitions=PARTITIONS, address=cluster.address)
            yield cluster, [Path(folder) / f"gc-{node.pid}.log" for node in cluster.nodes]


def measure_application(sizes: Sizes, jvm: Sequence[str], logs: Path, found: Found) -> None:
    """The latency of the application: without the job, with it, and with it on nodes that do not yield."""
    kinds: dict[str, dict[str, Any]] = {"": {}, **({"unlimited": UNLIMITED} if sizes.unlimited else {})}
    for prefix, service in kinds.items():
        with (
            running_cluster(sizes, jvm, **service) as (cluster, pauses),
            tfi.connect(cluster.address) as client,
            tempfile.TemporaryDirectory() as folder,
            ExitStack() as ends,
        ):
            application = Application(cluster, sizes, logs)
            ends.callback(application.end)
            application.work(sizes.warm)
            for work, noun in ((TRAIN, "training"), (READ, "reading")):
                training = Training(client, work, Path(folder) / work)
                names = {"": noun, "unlimited": "unlimited" if work == TRAIN else "unlimited_reading"}
                try:
                    _rounds(sizes, cluster, pauses, application, training, names[prefix], prefix, found)
                finally:
                    training.end()
                print(f"measured: {names[prefix]}", file=sys.stderr, flush=True)


def _rounds(
    sizes: Sizes,
    cluster: LocalCluster,
    pauses: Sequence[Path],
    application: Application,
    training: Training,
    name: str,
    prefix: str,
    found: Found,
) -> None:
    idle = f"{prefix}_idle" if prefix else "idle"
    for _ in range(sizes.rounds):
        training.pause()
        alone = _window(sizes, cluster, pauses, application, training, idle, found)
        free = (os.cpu_count() or 1) - alone["nodes_per_second"] - alone["application_per_second"]
        training.go_on()
        window = _window(sizes, cluster, pauses, application, training, name, found)
        found.add(f"{name}_share", window["training_per_second"] / free)
        found.add(f"{name}_steps_per_second", window["steps_per_second"])


def _window(
    sizes: Sizes,
    cluster: LocalCluster,
    pauses: Sequence[Path],
    application: Application,
    training: Training,
    name: str,
    found: Found,
) -> dict[str, float]:
    application.work(sizes.settle)
    observed = Observation(cluster, pauses)
    begin, used, steps, own = time.monotonic(), training.cpu_seconds, training.steps, application.cpu_seconds
    latency = application.work(sizes.seconds)
    lasted = time.monotonic() - begin
    window = {
        **latency,
        **observed.end(),
        "application_per_second": (application.cpu_seconds - own) / lasted,
        "training_per_second": (training.cpu_seconds - used) / lasted,
        "steps_per_second": (training.steps - steps) / lasted,
    }
    found.windows.setdefault(name, []).append(window)
    if name != "unlimited_idle":
        found.add(f"oltp_p50_{name}_ms", latency["p50_ms"])
        found.add(f"oltp_p99_{name}_ms", latency["p99_ms"])
    return window


def measure_refresh(sizes: Sizes, jvm: Sequence[str], logs: Path, found: Found) -> None:
    """An epoch of all rows, and the refresh of a snapshot after 1 % of the rows has changed."""
    with LocalCluster(nodes=NODES, jvm_args=jvm) as cluster:
        command = [live_refresh.__file__, cluster.address, str(sizes.changing_rows), str(sizes.rounds)]
        for name, values in program("live_refresh", [sys.executable, *command], logs).items():
            for value in values:
                found.add(name, value)


class FollowedTraining:
    """A training outside a job that follows the rows that are put; a context manager."""

    def __init__(self, address: str, control: Path, logs: Path) -> None:
        """Starts it.

        Args:
            address: Of a node.
            control: A file that is made.
            logs: The folder for what it prints.
        """
        control.write_bytes(bytes(8 * live_follow.NUMBERS))
        self._numbers = np.memmap(control, np.int64, "r+", shape=(live_follow.NUMBERS,))
        self._log = (logs / "live_follow.log").open("wb")
        command = [sys.executable, live_follow.__file__, address, EVENTS, str(control)]
        self._process = subprocess.Popen(command, env={**os.environ, **ENVIRONMENT}, stdout=self._log, stderr=self._log)

    def __enter__(self) -> FollowedTraining:
        """Returns itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Ends the training."""
        self._process.kill()
        self._process.wait()
        self._log.close()

    def trains(self) -> bool:
        """Whether it has used rows.

        Raises:
            RuntimeError: It has ended.
        """
        if self._process.poll() is not None:
            raise RuntimeError(f"the training has ended: {self._log.name}")
        return bool(self._numbers[0] > FIRST_ROWS)

    def begin(self) -> None:
        """Forgets the rows so far."""
        self._numbers[:] = 0

    def ages(self, parts: Sequence[float]) -> list[float]:
        """Percentiles of the seconds from a put to the end of the step that has used the row."""
        counts = np.cumsum(self._numbers[1:])
        return [
            float(np.searchsorted(counts, part * counts[-1]) + 1) * live_follow.BUCKET_MILLIS / 1e3 for part in parts
        ]


def measure_follow(sizes: Sizes, jvm: Sequence[str], logs: Path, found: Found) -> None:
    """Rows that are put at a steady rate, and as fast as possible, without a training that follows them and with it."""
    with (
        LocalCluster(nodes=NODES, jvm_args=jvm) as cluster,
        tempfile.TemporaryDirectory() as folder,
        ExitStack() as ends,
    ):
        writer = thin_client("Puts", cluster, (KEYS, PUT_ROWS, PUT_THREADS), logs)
        ends.callback(writer.end)

        def put(rate: float, seconds: float) -> float:
            measured = writer.answer(f"{rate} {seconds}")
            if measured["failed"]:
                raise RuntimeError(f"{measured['failed']} batches of rows were not put")
            return float(measured["rows_per_second"])

        put(sizes.puts, sizes.warm)
        for _ in range(sizes.rounds):
            alone, most = put(sizes.puts, sizes.seconds), put(0, sizes.seconds)
            with FollowedTraining(cluster.address, Path(folder) / "control", logs) as training:
                deadline = time.monotonic() + SECONDS_TO_TRAIN
                while not training.trains():
                    put(sizes.puts, sizes.settle)
                    if time.monotonic() > deadline:
                        raise RuntimeError("the training gets no rows")
                put(sizes.puts, 2 * sizes.settle)
                training.begin()
                rate = put(sizes.puts, sizes.seconds)
                for name, age in zip(("p50", "p99"), training.ages((0.5, 0.99)), strict=True):
                    found.add(f"put_to_step_{name}_seconds", age)
                share = put(0, sizes.seconds) / most
            for name, value in {
                "writer_rate": rate,
                "writer_rate_alone": alone,
                "writer_share": rate / alone,
                "writer_most_alone": most,
                "writer_most_share": share,
            }.items():
                found.add(name, value)
            print("measured: rows that are followed", file=sys.stderr, flush=True)


# Each measures some figures: the sizes, options of the nodes' JVMs, a folder for logs, and where its samples go.
Part = Callable[[Sizes, Sequence[str], Path, Found], None]
PARTS: Mapping[str, Part] = {
    "application": measure_application,
    "follow": measure_follow,
    "refresh": measure_refresh,
}


def main() -> None:
    """Measures the parts one after the other."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--quick", action="store_true", help="few rows, one round: shows that it works")
    options.add_argument("--rounds", type=int, help=f"windows of each kind; else {Sizes.rounds}")
    options.add_argument("--rate", type=float, help=f"operations in a second; else {Sizes.rate:g}")
    options.add_argument("--part", action="append", choices=list(PARTS), help="only this part; may be repeated")
    options.add_argument("--output", type=Path, default=BUILD / "live.json")
    given = options.parse_args()
    sizes = QUICK if given.quick else Sizes()
    sizes = replace(sizes, rate=given.rate or sizes.rate, rounds=given.rounds or sizes.rounds)
    logs = given.output.parent / "live-logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    found = Found()
    load = os.getloadavg()[0]
    for part in given.part or PARTS:
        PARTS[part](sizes, () if given.quick else JVM, logs, found)
    figures = {name: statistics.median(found.passes[name]) for name in ORDER if name in found.passes}
    least = [
        {"figure": name, "least": share, "reached": figures[name] >= share}
        for name, share in goals.LIVE_LEAST.items()
        if name in figures
    ]
    written = {
        **figures,
        "goals": goals.limit_verdicts(figures, goals.LIVE_LIMITS),
        "least": least,
        "passes": found.passes,
        "windows": found.windows,
        "processors": os.cpu_count(),
        "operations_per_second": sizes.rate,
        "load_before": load,
    }
    given.output.write_text(json.dumps(written, indent=2) + "\n")
    print(goals.limit_table(figures, found.passes, goals.LIVE_LIMITS))
    for goal in least:
        print(f"{goal['figure']}: at least {goal['least']}: {'reached' if goal['reached'] else 'missed'}")
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
