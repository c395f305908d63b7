"""How fast rows are predicted: in bulk by hand, as a job and by Ray Data, in turns; online by nodes and by Ray Serve.

Writes build/bench/predict.json and prints a table. All contenders have one model, the same rows and all processors of
the machine. A figure is the median of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pyignite import Client as ThinClient

import goals
import predict_model
import tensorflow_ignite as tfi
from contender import Contender
from predict_model import ID, IMAGE
from processes import own_seconds
from read import BUILD, ENVIRONMENT, PEERS, RAY_PYTHON, thin_port
from record import Passes, machine
from recovery import await_spares, commit, program, versions
from tensorflow_ignite.jobs.client import Client
from tensorflow_ignite.testing import LocalCluster

# As in servers: the second compiler, and a heap that has its size from the start.
JVM = ("-XX:TieredStopAtLevel=4", "-XX:+UseG1GC", "-Xms1g", "-Xmx1g")
LOAD_JVM = ("-Xms256m", "-Xmx256m", "-XX:+UseSerialGC")
PARTITIONS = 48
REGION_BYTES = 2 << 30
CACHE = "images"
MODEL = "scorer"
# More than are ever in work at this rate, unless the server stands still for so long that it shows anyway.
OPEN_CONNECTIONS = 32
SECONDS_TO_PREDICT = 600.0
SECONDS_TO_DEPLOY = 300.0
# Of results whose greatest scores are equal but for rounding, contenders may choose different ones.
MOST_DIFFERENT = 1e-3
_PREDICTED = re.compile(r"^([0-9,]+) rows of .* predicted by .* in ([0-9.]+) s$")
_BODIES = "bodies"
# In which the figures are shown.
ORDER = (
    *("batch_rows", "by_hand_rows", "ray_data_rows", "batch_whole_rows", "by_hand_whole_rows", "by_hand_all_rows"),
    *("node_cpu_microseconds", "by_hand_cpu_microseconds"),
    *("online_p50_ms", "online_p99_ms", "online_peak", "ray_serve_p50_ms", "ray_serve_p99_ms", "ray_serve_peak"),
    *("rollover_failed", "rollover_p99_ms", "rollover_before_p99_ms", "rollover_seconds"),
)


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        rounds: Predictions in bulk of each contender, and windows of each online.
        rows: Of the cache.
        rate: Requests in a second, at which latencies are measured.
        seconds: Of a window of latencies.
        peak_seconds: Of a window of the most requests.
        connections: Callers that send all they can, of which the best number counts.
        warm: Seconds of requests before the first window.
        warm_jobs: Jobs before the first that counts: the compilers of the node's JVM are busy for so long.
        rollovers: New versions that are deployed under load.
    """

    rounds: int = 5
    rows: int = 400_000
    rate: float = 200.0
    seconds: float = 10.0
    peak_seconds: float = 4.0
    connections: Sequence[int] = (16, 64, 256)
    warm: float = 15.0
    warm_jobs: int = 4
    rollovers: int = 3


QUICK = Sizes(
    rounds=1, rows=5_000, rate=50, seconds=1, peak_seconds=0.5, connections=(8,), warm=0.5, warm_jobs=0, rollovers=1
)


@dataclass
class Found(Passes):
    """What was measured.

    Attributes:
        restarts: Of all jobs: what these lost is in their figures.
    """

    restarts: int = 0


@dataclass(frozen=True)
class Place:
    """What all contenders share.

    Attributes:
        cluster: One node.
        client: Of the cluster.
        model: The model as a file of Keras.
        folder: For files, in memory.
        sizes: How much is measured.
        ray: The interpreter that has Ray; None: it does not take part.
        logs: The folder for what programs print.
    """

    cluster: LocalCluster
    client: Client
    model: Path
    folder: Path
    sizes: Sizes
    ray: Path | None
    logs: Path

    def destroy(self, cache: str) -> None:
        """Removes a cache of results: later rounds need its memory."""
        client = ThinClient(timeout=60)
        with client.connect("127.0.0.1", thin_port(self.cluster.nodes[0].pid)):
            client.get_cache(cache).destroy()


class Bulk:
    """Predictions in bulk, whose results are compared."""

    def __init__(self, place: Place, found: Found) -> None:
        """Loads the rows."""
        self._place = place
        self._found = found
        self._rows = place.sizes.rows
        self._classes: int | None = None
        self._number = 0
        columns = {ID: np.arange(self._rows), IMAGE: predict_model.images(self._rows)}
        tfi.load(CACHE, columns, key=ID, partitions=PARTITIONS, address=place.cluster.address)

    def warm(self) -> None:
        """Jobs that do not count."""
        for _ in range(self._place.sizes.warm_jobs):
            self._job(Found())

    def round(self) -> None:
        """Each contender once."""
        self._by_hand()
        self._job(self._found)
        self._ray_data()

    def _by_hand(self) -> None:
        with tempfile.TemporaryDirectory(dir=self._place.folder) as folder:
            output = Path(folder, "scores.parquet")

            def step(name: str, **options: object) -> dict[str, Any]:
                command = [sys.executable, str(PEERS / "by_hand_predict.py"), name, f"--folder={folder}"]
                command += [f"--{option}={value}" for option, value in {"output": output, **options}.items()]
                return program("by_hand_predict", command, self._place.logs)

            address = self._place.cluster.address
            exported = step("export", address=address, cache=CACHE)["seconds"]
            started = time.monotonic()
            predicted = step("predict", model=self._place.model)
            whole = time.monotonic() - started
            self._check("by hand", predicted["rows"], predicted["classes"])
            loaded = step("load", address=address, cache="by_hand")["seconds"]
            self._place.destroy("by_hand")
        self._found.add("by_hand_rows", self._rows / predicted["seconds"])
        self._found.add("by_hand_whole_rows", self._rows / whole)
        self._found.add("by_hand_all_rows", self._rows / (exported + predicted["seconds"] + loaded))
        self._found.add("by_hand_cpu_microseconds", predicted["cpu_seconds"] / self._rows * 1e6)

    def _job(self, found: Found) -> None:
        await_spares(self._place.client)
        self._number += 1
        into, node = f"predicted_{self._number}", self._place.cluster.nodes[0].pid
        used, started = own_seconds([node]), time.monotonic()
        job = self._place.client.predict(MODEL, cache=CACHE, into=into)
        found.restarts += len(job.wait(SECONDS_TO_PREDICT).attempts) - 1
        whole = time.monotonic() - started
        used = own_seconds([node]) - used
        (predicted,) = filter(None, (_PREDICTED.match(line.text) for line in job.logs()))
        rows, seconds = int(predicted[1].replace(",", "")), float(predicted[2])
        results = tfi.read_table(into, options=tfi.ReadOptions(address=self._place.cluster.address))
        (scores,) = [column for column in results.columns if column.type.num_fields]
        values = scores.combine_chunks().flatten().to_numpy().reshape(len(results), -1)
        self._check("the job", min(rows, len(results)), int(values.argmax(axis=1).sum()))
        self._place.destroy(into)
        job.remove()
        found.add("batch_rows", rows / seconds)
        found.add("batch_whole_rows", rows / whole)
        found.add("node_cpu_microseconds", used / rows * 1e6)
        # The start of the next spare is not to be in the time of the next contender.
        await_spares(self._place.client)

    def _ray_data(self) -> None:
        if self._place.ray is None:
            return
        with tempfile.TemporaryDirectory(dir=self._place.folder) as folder:
            command = [str(self._place.ray), str(PEERS / "ray_data_predict.py"), str(self._rows)]
            command += [f"--model={self._place.model}", f"--output={folder}"]
            # Without this it writes a token into the home directory.
            found = program("ray_data_predict", command, self._place.logs, {"RAY_AUTH_MODE": "disabled"})
        self._check("Ray Data", found["rows"], found["classes"])
        self._found.add("ray_data_rows", self._rows / found["seconds"])

    def _check(self, name: str, rows: int, classes: int) -> None:
        """Each row has the result that it has by hand."""
        if rows != self._rows:
            raise RuntimeError(f"{name} predicted {rows} of {self._rows} rows")
        if self._classes is None:
            self._classes = classes
        if abs(classes - self._classes) > MOST_DIFFERENT * self._classes:
            raise RuntimeError(f"the classes of {name} have the sum {classes}, and those of the first {self._classes}")


@dataclass(frozen=True)
class Server:
    """What answers requests.

    Attributes:
        name: How the names of its figures begin.
        port: Of HTTP, on this host.
        path: Of the model.
    """

    name: str
    port: int
    path: str


class Callers:
    """The program that sends requests; a context manager that ends it."""

    def __init__(self, place: Place) -> None:
        """Starts it, with its requests."""
        bodies = place.folder / _BODIES
        bodies.write_text("\n".join(predict_model.bodies()) + "\n")
        self._sizes = place.sizes
        command = ["java", *LOAD_JVM, str(PEERS / "HttpLoad.java"), str(bodies)]
        self._program = Contender("HttpLoad", command, ENVIRONMENT, place.logs)

    def __enter__(self) -> Callers:
        """Returns itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Ends it."""
        self._program.end()

    def latencies(self, server: Server, seconds: float) -> dict[str, Any]:
        """Sends requests at a steady rate: their latencies in milliseconds, when they began, and how many failed."""
        line = f"open {server.port} {server.path} {self._sizes.rate} {seconds} {OPEN_CONNECTIONS}"
        return self._program.answer(line)

    def most(self, server: Server, connections: int, seconds: float) -> float:
        """Requests a second of callers that wait for nothing but their answers.

        Raises:
            RuntimeError: Some failed.
        """
        found = self._program.answer(f"closed {server.port} {server.path} {connections} {seconds}")
        if found["failed"]:
            raise RuntimeError(f"{found['failed']} requests to {server.name} failed: see the log of HttpLoad")
        return float(found["answered"] / found["seconds"])


def part(latencies: Sequence[float], percent: float) -> float:
    """The least latency that this percentage does not exceed."""
    return float(np.percentile(latencies, percent, method="inverted_cdf"))


def online_round(callers: Callers, server: Server, sizes: Sizes, found: Found) -> None:
    """Latencies at a steady rate, and the most requests.

    Raises:
        RuntimeError: Some failed.
    """
    answered = callers.latencies(server, sizes.seconds)
    if answered["failed"]:
        raise RuntimeError(f"{answered['failed']} requests to {server.name} failed: see the log of HttpLoad")
    for percent in (50, 99):
        found.add(f"{server.name}_p{percent}_ms", part(answered["latencies_ms"], percent))
    most = max(callers.most(server, number, sizes.peak_seconds) for number in sizes.connections)
    found.add(f"{server.name}_peak", most)


def rollover(callers: Callers, server: Server, place: Place, found: Found) -> None:
    """Deploys a new version under requests at a steady rate."""
    version = place.client.models.add(MODEL, place.model)
    before = callers.latencies(server, place.sizes.seconds)
    windows = []
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        deploying = pool.submit(place.client.models.deploy, version.reference, timeout=SECONDS_TO_DEPLOY)
        while not deploying.done():
            windows.append(callers.latencies(server, place.sizes.seconds / 4))
        deploying.result()
        found.add("rollover_seconds", time.monotonic() - began)
    # Those of the version before end, and their process too.
    windows.append(callers.latencies(server, place.sizes.seconds / 4))
    found.add("rollover_failed", sum(window["failed"] for window in windows))
    found.add("rollover_p99_ms", part([each for window in windows for each in window["latencies_ms"]], 99))
    found.add("rollover_before_p99_ms", part(before["latencies_ms"], 99))


def ray_serve(place: Place, ends: ExitStack) -> list[Server]:
    """Starts Ray Serve, if it takes part."""
    if place.ray is None:
        return []
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(place.ray), str(PEERS / "ray_serve_predict.py"), str(port), f"--model={place.model}"]
    ends.enter_context(
        Contender("ray_serve", command, {**ENVIRONMENT, "RAY_AUTH_MODE": "disabled"}, place.logs),
    )
    return [Server("ray_serve", port, "/")]


def measure_online(place: Place, found: Found, keep: Callable[[], None]) -> None:
    """Nodes and Ray Serve in turns, then new versions."""
    sizes = place.sizes
    place.client.models.deploy(MODEL, timeout=SECONDS_TO_DEPLOY)
    port = int(place.client.nodes()[0].http_address.rpartition(":")[2])
    own = Server("online", port, f"/v1/models/{MODEL}:predict")
    with Callers(place) as callers:
        with ExitStack() as ends:
            servers = [own, *ray_serve(place, ends)]
            for server in servers:
                callers.most(server, min(sizes.connections), sizes.warm)
            for number in range(1, sizes.rounds + 1):
                for server in servers:
                    online_round(callers, server, sizes, found)
                keep()
                print(f"round {number} of {sizes.rounds}: online", file=sys.stderr, flush=True)
        for number in range(1, sizes.rollovers + 1):
            rollover(callers, own, place, found)
            keep()
            print(f"round {number} of {sizes.rollovers}: rollover", file=sys.stderr, flush=True)


PARTS = ("bulk", "online")


def measure(
    sizes: Sizes, ray: Path | None, jvm: Sequence[str], logs: Path, parts: Sequence[str], keep: Callable[[Found], None]
) -> Found:
    """All contenders; what was found is kept after each round."""
    found = Found()
    # Tasks have the priority of the other contenders: other programs of the machine take as much from each.
    environment = {
        "TENSORFLOW_IGNITE_TASKS_NICE": "0",
        "TENSORFLOW_IGNITE_HTTP_PORT": "0",
        # As by default, whatever this process has.
        "TENSORFLOW_IGNITE_TASKS_WARM_PROCESSES": "1",
    }
    with ExitStack() as ends:
        folder = Path(
            ends.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm", prefix="tensorflow-ignite-bench-"))
        )
        cluster = ends.enter_context(
            LocalCluster(1, jvm_args=jvm, data_region_bytes=REGION_BYTES, environment={**ENVIRONMENT, **environment})
        )
        client = ends.enter_context(tfi.connect(cluster.address))
        place = Place(cluster, client, predict_model.save(folder), folder, sizes, ray, logs)
        client.models.add(MODEL, place.model)
        if "bulk" in parts:
            bulk = Bulk(place, found)
            bulk.warm()
            for number in range(1, sizes.rounds + 1):
                bulk.round()
                keep(found)
                print(f"round {number} of {sizes.rounds}: in bulk", file=sys.stderr, flush=True)
        if "online" in parts:
            measure_online(place, found, lambda: keep(found))
    return found


def figures_of(found: Found) -> dict[str, float]:
    """Medians, in the order in which they are shown; of failures the sum."""
    figures = {name: statistics.median(found.passes[name]) for name in ORDER if name in found.passes}
    if "rollover_failed" in figures:
        figures["rollover_failed"] = float(sum(found.passes["rollover_failed"]))
    return figures


def main() -> None:
    """Runs everything."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--rounds", type=int, help=f"rounds that count; else {Sizes.rounds}")
    options.add_argument("--rows", type=int, help=f"rows of the cache; else {Sizes.rows:,}")
    options.add_argument("--part", action="append", choices=PARTS, help="only this part; may be repeated")
    options.add_argument("--quick", action="store_true", help="few rows, one round, no Ray: shows that it works")
    options.add_argument("--ray-python", type=Path, default=RAY_PYTHON, help="interpreter that has ray[data,serve]")
    options.add_argument("--output", type=Path, default=BUILD / "predict.json")
    given = options.parse_args()
    if not given.quick and not given.ray_python.exists():
        raise SystemExit(f"{given.ray_python} is missing. Ray is one of the contenders. Install it: make bench-predict")
    ray = None if given.quick else given.ray_python
    sizes = QUICK if given.quick else Sizes()
    sizes = replace(sizes, rounds=given.rounds or sizes.rounds, rows=given.rows or sizes.rows)
    logs = given.output.parent / "logs" / "predict"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    load, measured = os.getloadavg()[0], versions(ray)

    def keep(found: Found) -> None:
        figures = figures_of(found)
        written = {
            **figures,
            "goals": [
                *goals.verdicts(figures, goals.PREDICT_GOALS),
                *goals.limit_verdicts(figures, goals.PREDICT_LIMITS),
            ],
            "passes": found.passes,
            "restarts": found.restarts,
            "rows": sizes.rows,
            "versions": measured,
            "commit": commit(),
            "machine": {**machine(load), "load_after": os.getloadavg()[0]},
        }
        given.output.write_text(json.dumps(written, indent=2) + "\n")

    found = measure(sizes, ray, () if given.quick else JVM, logs, given.part or PARTS, keep)
    figures = figures_of(found)
    print(goals.limit_table(figures, found.passes, goals.PREDICT_LIMITS))
    for verdict in goals.verdicts(figures, goals.PREDICT_GOALS):
        print(
            f"{verdict['figure']}: {verdict['ratio']:.2f} x {verdict['of']}, of at least {verdict['factor']:g}: "
            f"{'reached' if verdict['reached'] else 'missed'}"
        )
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
