"""How fast checkpoints are saved into a cluster and restored, beside a local directory and raw puts and gets.

Writes build/bench/storage.json and prints a table. Two clusters, one without backups and one with one, and every way
take turns in one run; a figure is the median of its passes, after three rounds that are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import psutil

import goals
from contender import Contender
from read import BUILD, ENVIRONMENT, HERE, PEERS, thin_port
from record import machine
from tensorflow_ignite.testing import LocalCluster, node_configuration

BLOCK_BYTES = 2 << 20
BYTES = 1_000_000_000
NODES = 3
ROUNDS = 5
# Before those that count: a node's compilers take some gigabytes to warm up.
WARM_ROUNDS = 3
REGION_BYTES = 6 << 30
# A heap that has its size from the start, as servers have: one that grows costs more than what is measured.
JVM = ("-XX:TieredStopAtLevel=4", "-XX:+UseG1GC", "-Xms1g", "-Xmx1g")
# What stays in memory at the most, in checkpoints: the variables and those being restored, a local file's pages, and in
# each cluster a checkpoint, a file and pyignite's blocks, twice where there is a backup.
COPIES = 14
# Six nodes, TensorFlow, Python.
OTHER_BYTES = 6 << 30
MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs", "devtmpfs"}

# In each round: what is timed, and what must be done before and after it.
PASSES = (
    *("local_clean", "local_save", "spoil", "local_restore", "check", "settle"),
    *("clean", "save", "spoil", "restore", "check"),
    *("clean_backup", "save_backup", "spoil", "restore_backup", "check"),
    *("file_write", "file_read", "file_remove"),
    *("file_write_backup", "file_read_backup", "file_remove_backup"),
    *("pyignite_put", "pyignite_get", "pyignite_put_backup", "pyignite_get_backup"),
)
UNTIMED = {"spoil", "check", "settle", "local_clean", "clean", "clean_backup", "file_remove", "file_remove_backup"}


def start_cluster(ends: ExitStack, folder: Path, backups: int, nodes: int, jvm: Sequence[str]) -> LocalCluster:
    """A cluster whose files have this number of backups."""
    config = folder / f"backups-{backups}.xml"
    config.write_text(node_configuration(storage={"backups": backups}))
    return ends.enter_context(LocalCluster(nodes=nodes, config=config, data_region_bytes=REGION_BYTES, jvm_args=jvm))


def thin_ports(cluster: LocalCluster) -> list[str]:
    """Where its nodes take thin clients."""
    return [str(thin_port(node.pid)) for node in cluster.nodes]


def local_directory(given: Path) -> tuple[Path, str]:
    """A folder of ours on a file system that is a disk's, and what that is.

    Raises:
        SystemExit: It is one in memory.
    """
    given.mkdir(parents=True, exist_ok=True)
    mounts = [mount for mount in psutil.disk_partitions(all=True) if given.resolve().is_relative_to(mount.mountpoint)]
    mount = max(mounts, key=lambda mount: len(mount.mountpoint))
    if mount.fstype in MEMORY_FILE_SYSTEMS:
        raise SystemExit(
            f"{given} is on {mount.fstype}, in memory. Checkpoints are compared with those on a disk. "
            "Choose a directory on one: --local=FOLDER"
        )
    place = f"{given}, {mount.fstype} on {mount.device}"
    return Path(tempfile.mkdtemp(prefix="tensorflow-ignite-bench-", dir=given)), place


def measure(contenders: Sequence[Contender], rounds: int) -> dict[str, list[float]]:
    """The MB/s of all passes in turn, in each round after the rounds that are not counted."""
    by_pass = {name: contender for contender in contenders for name in contender.passes}
    found: dict[str, list[float]] = {}
    for number in range(1 - min(rounds, WARM_ROUNDS), rounds + 1):
        for name in PASSES:
            measured = by_pass[name].run(name)
            if number > 0 and name not in UNTIMED:
                found.setdefault(name, []).append(measured.bytes / 1e6 / measured.seconds)
        print(f"round {number} of {rounds}", file=sys.stderr, flush=True)
    return found


def measure_memory(contender: Contender) -> dict[str, int]:
    """The most memory above what the process had before, in bytes, for each way; measuring it costs time."""
    found = {}
    for name in PASSES:
        if f"memory_{name}" in contender.passes:
            found[name] = contender.run(f"memory_{name}").bytes
        elif name in contender.passes:
            contender.run(name)
    return found


def report(
    passes: dict[str, list[float]], memory: dict[str, int], count: int, nodes: int, place: str
) -> dict[str, object]:
    """Everything that is worth keeping of a run."""
    figures = {name: statistics.median(values) for name, values in passes.items()}
    return {
        **figures,
        "goals": goals.verdicts(figures, goals.STORAGE_GOALS),
        "passes": passes,
        "memory_bytes": memory,
        "checkpoint_bytes": count,
        "nodes": nodes,
        "local_directory": place,
        "machine": machine(os.getloadavg()[0]),
    }


def memory_table(memory: dict[str, int]) -> str:
    """Memory as text for people."""
    lines = [f"{'memory above what was there before':<40} {'MiB':>8} {'blocks':>8}"]
    lines += [f"{name:<40} {count / 2**20:>8.1f} {count / BLOCK_BYTES:>8.1f}" for name, count in memory.items()]
    return "\n".join(lines)


def main() -> None:
    """Runs everything."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--bytes", type=int, default=BYTES, help="of the checkpoint")
    options.add_argument("--rounds", type=int, default=ROUNDS, help="that count")
    options.add_argument("--nodes", type=int, default=NODES, help="of each of the two clusters")
    options.add_argument("--quick", action="store_true", help="8 MB, two nodes, one round: shows that it works")
    options.add_argument("--local", type=Path, default=BUILD / "local", help="where the local checkpoint goes")
    options.add_argument("--output", type=Path, default=BUILD / "storage.json")
    args = options.parse_args()
    if args.quick:
        args.bytes, args.nodes, args.rounds = 8_000_000, 2, 1
    needed, available = COPIES * args.bytes + OTHER_BYTES, psutil.virtual_memory().available
    if available < needed and not args.quick:
        raise SystemExit(
            f"a checkpoint of {args.bytes / 1e6:.0f} MB needs about {needed / 2**30:.0f} GiB of memory, and "
            f"{available / 2**30:.0f} GiB are available. It is kept many times. Choose less: --bytes=100000000"
        )
    logs = args.output.parent / "logs" / "storage"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    local, place = local_directory(args.local)
    with ExitStack() as ends:
        ends.callback(shutil.rmtree, local, ignore_errors=True)
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        # What only shows that it works needs no second compiler.
        jvm = () if args.quick else JVM
        plain, backup = (start_cluster(ends, folder, backups, args.nodes, jvm) for backups in (0, 1))
        checkpoint = [f"--local={local}", f"--plain={plain.address}", f"--backup={backup.address}"]
        ports = ["--plain", *thin_ports(plain), "--backup", *thin_ports(backup)]
        contenders = [
            ends.enter_context(
                Contender(name, [sys.executable, str(script), f"--bytes={args.bytes}", *arguments], ENVIRONMENT, logs)
            )
            for name, script, arguments in (
                ("storage_checkpoint", HERE / "storage_checkpoint.py", checkpoint),
                ("pyignite_blocks", PEERS / "pyignite_blocks.py", ports),
            )
        ]
        passes = measure(contenders, args.rounds)
        memory = measure_memory(contenders[0])
    found = report(passes, memory, args.bytes, args.nodes, place)
    args.output.write_text(json.dumps(found, indent=2) + "\n")
    figures = {name: value for name, value in found.items() if isinstance(value, float)}
    print(f"a checkpoint of {args.bytes / 1e6:,.0f} MB; {args.nodes} nodes; local directory {place}\n")
    print(goals.table(figures, passes, goals.STORAGE_GOALS))
    print("\n" + memory_table(memory))
    print(f"\nwritten to {args.output}")


if __name__ == "__main__":
    main()
