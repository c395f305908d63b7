"""How fast rows are read, by this project and by others: side by side in one run, their passes taking turns.

Writes build/bench/read.json and prints a table. Every contender is a process that has its data and waits for its turn;
a figure is the median of its passes, after one that is not counted.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import psutil

import caches
import goals
import rows
from contender import Contender, Measurement
from record import machine
from tensorflow_ignite.node.runtime import JARS
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.ports import PortBlock

HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers"
BUILD = HERE.parent / "build" / "bench"
RAY_PYTHON = BUILD / "ray-venv" / "bin" / "python"
ROUNDS = 5
WARM_ROUNDS = 3
SWEEP = (1, 16, 256, 2_048)
THIN_PORTS = range(10_800, 10_901)
# Ignite brings rows of 1 MiB to the heap a hundred at a time; a young generation of less copies them, and so does a
# heap that has yet to grow.
JVM = ("-XX:TieredStopAtLevel=4", "-XX:+UseG1GC", "-Xms2g", "-Xmx2g", "-Xmn1400m")
# The bound is the best that can be had.
BOUND_HEAP = "-Xmx4g"
REGION_BYTES = 8 << 30
# Large rows lie in two caches, in a snapshot, in files and in an object store; and everything else takes memory too.
COPIES_OF_LARGE = 5.5
OTHER_BYTES = 10 << 30
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join([str(HERE), str(JARS.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]),
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "IGNITE_UPDATE_NOTIFIER": "false",
    # Where Ignite puts its dumps for diagnosis, whatever work directory a node has.
    "IGNITE_WORK_DIR": str(BUILD / "work"),
}


def thin_port(pid: int) -> int:
    """Where the node that is this process takes thin clients."""
    connections = psutil.Process(pid).net_connections("tcp")
    return next(
        connection.laddr.port
        for connection in connections
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port in THIN_PORTS
    )


def commands(
    cluster: LocalCluster,
    ports: PortBlock,
    large: int,
    small: int,
    sweep: Sequence[int],
    ray: Path | None,
    bound_jvm: Sequence[str],
) -> Iterator[tuple[str, list[str]]]:
    """The programs that take part."""
    size = [f"--large={large}", f"--small={small}"]
    thin = f"--port={thin_port(cluster.nodes[0].pid)}"

    def peer(name: str, *arguments: str) -> tuple[str, list[str]]:
        return name, [sys.executable, str(PEERS / f"{name}.py"), *size, *arguments]

    ways = [f"--address={cluster.address}", "--sweep", *(str(partitions) for partitions in sweep)]
    yield "dataset_read", [sys.executable, str(HERE / "dataset_read.py"), *size, *ways]
    opens = (JARS / "add-opens.txt").read_text().split()
    bound = ["java", *opens, *bound_jvm, "-cp", f"{JARS}/*", str(PEERS / "ScanBound.java")]
    yield "ScanBound", [*bound, str(large), str(small), str(ports.first)]
    if ray is not None:
        yield "ray_data_read", [str(ray), str(PEERS / "ray_data_read.py"), *size]
    yield peer("tfrecord_read")
    yield peer("pyignite_scan", thin)
    yield peer("thin_receive", thin)
    yield peer("tcp")
    yield peer("memcpy")


def check(name: str, found: Measurement, large: int, small: int) -> None:
    """Every byte was there and was summed.

    Raises:
        RuntimeError: It was not.
    """
    if found.sum is not None:
        row = rows.total(rows.large_row()) * found.rows
        right = row if "1mb" in name else rows.total(rows.small_rows(small)[0])
        if (found.sum - right) % 2**64:
            raise RuntimeError(f"{name}: the bytes of {found.rows} rows do not have the sum that they should have")
    if found.rows == 0:
        raise RuntimeError(f"{name} read no row of {large} large and {small} small ones")


def rate(name: str, found: Measurement) -> float:
    """In the unit of the figure."""
    return (found.rows if goals.unit(name) == goals.ROWS else found.bytes / 1e6) / found.seconds


def measure(
    contenders: Sequence[Contender], rounds: int, large: int, small: int, tidy: Callable[[], None]
) -> dict[str, list[float]]:
    """All passes of all contenders in turn, in each round after those that are not counted; tidies up after each."""
    found: dict[str, list[float]] = {}
    # One round counts for --quick; elsewhere compilers want more than one to warm up.
    for number in range(1 - min(rounds, WARM_ROUNDS), rounds + 1):
        for contender in contenders:
            for name in contender.passes:
                measured = contender.run(name)
                check(name, measured, large, small)
                if number > 0:
                    found.setdefault(name, []).append(rate(name, measured))
        tidy()
        print(f"round {number} of {rounds}", file=sys.stderr, flush=True)
    return found


def require_memory(large: int) -> None:
    """Swapping or being killed half-way would measure nothing.

    Raises:
        SystemExit: There is too little.
    """
    needed = int(COPIES_OF_LARGE * large * rows.LARGE_BYTES) + OTHER_BYTES
    available = psutil.virtual_memory().available
    if available < needed:
        raise SystemExit(
            f"{large} large rows need about {needed / 2**30:.0f} GiB of memory, and {available / 2**30:.0f} GiB are "
            f"available. Every contender holds its own copy. Choose fewer: --large=500"
        )


def report(passes: dict[str, list[float]], large: int, small: int) -> dict[str, object]:
    """Everything that is worth keeping of a run."""
    medians = {name: statistics.median(values) for name, values in passes.items()}
    figures = {name: median for name, median in medians.items() if not name.startswith("sweep_")}
    sweep = {name.removeprefix("sweep_"): median for name, median in medians.items() if name.startswith("sweep_")}
    return {
        **figures,
        "sweep": sweep,
        "goals": goals.verdicts(figures),
        "passes": passes,
        "rows": {"1mb": large, "small": small},
        "machine": machine(os.getloadavg()[0]),
    }


def main() -> None:
    """Runs everything."""
    options = rows.parser(__doc__)
    options.add_argument("--rounds", type=int, default=ROUNDS, help="passes of each contender that count")
    options.add_argument("--quick", action="store_true", help="a few rows, one round, no Ray: shows that it works")
    options.add_argument("--profile", action="store_true", help="record the node with Java Flight Recorder, node.jfr")
    options.add_argument("--ray-python", type=Path, default=RAY_PYTHON, help="interpreter that has ray[data]")
    options.add_argument("--output", type=Path, default=BUILD / "read.json")
    args = options.parse_args()
    ray: Path | None = args.ray_python
    sweep: Sequence[int] = SWEEP
    if args.quick:
        args.large, args.small, args.rounds, ray, sweep = 40, 1_024, 1, None, (1, 16)
    elif not args.ray_python.exists():
        raise SystemExit(
            f"{args.ray_python} is missing. Ray Data is one of the contenders. Install it: make bench-read"
        )
    require_memory(args.large)
    logs = args.output.parent / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    profile = args.output.parent.resolve() / "node.jfr"
    recording = ["-XX:StartFlightRecording=settings=profile"] if args.profile else []
    with ExitStack() as ends:
        config = Path(ends.enter_context(tempfile.TemporaryDirectory()), "node.xml")
        config.write_text(caches.configuration(sweep))
        # What only shows that it works needs no second compiler.
        jvm = [*(() if args.quick else JVM), *recording]
        bound_jvm = [BOUND_HEAP, *(["-XX:TieredStopAtLevel=1"] if args.quick else [])]
        cluster = ends.enter_context(LocalCluster(nodes=1, config=config, data_region_bytes=REGION_BYTES, jvm_args=jvm))
        thin = thin_port(cluster.nodes[0].pid)
        caches.fill(cluster.address, thin, args.large, args.small, sweep)
        ports = PortBlock()
        ends.callback(ports.release)
        contenders = [
            ends.enter_context(Contender(name, command, ENVIRONMENT, logs))
            for name, command in commands(cluster, ports, args.large, args.small, sweep, ray, bound_jvm)
        ]
        passes = measure(contenders, args.rounds, args.large, args.small, partial(caches.drop_written, thin))
        if args.profile:
            # A node ends without its JVM's own last acts; what it recorded is asked for before.
            subprocess.run(["jcmd", str(cluster.nodes[0].pid), "JFR.dump", f"filename={profile}"], check=True)
    found = report(passes, args.large, args.small)
    args.output.write_text(json.dumps(found, indent=2) + "\n")
    figures = {name: value for name, value in found.items() if isinstance(value, float)}
    print(goals.table(figures, passes))
    print(f"\npartitions, {goals.MEGABYTES} and {goals.ROWS}: " + json.dumps(found["sweep"]))
    print(f"\nwritten to {args.output}")


if __name__ == "__main__":
    main()
