"""What the reports of one job cost a cluster: packets between its processes, and processor time.

Prints one JSON object. Runs in a network namespace of its own, whose loopback device nobody else uses; see `command`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

import tensorflow_ignite as tfi
from processes import added_seconds, cpu_seconds, thread_seconds
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import LocalCluster

SCRIPT = Path(__file__).with_name("report_steps.py")
CACHE = "rows"
PARTITIONS = 256
SECONDS_TO_RUN = 120.0
# The job is measured when it has reported this step: its start is over.
FIRST_STEP = 50


def command(*arguments: str) -> list[str]:
    """The command line of this program in a namespace of its own, which other users than root make where they may."""
    return in_namespace(sys.executable, __file__, *arguments)


def in_namespace(*program: str) -> list[str]:
    """The command line of a program in a network namespace of its own, with a loopback device."""
    namespace = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    return [*namespace, "--", "sh", "-c", 'ip link set lo up && exec "$0" "$@"', *program]


def require_namespace() -> None:
    """Fails early where no namespace can be made.

    Raises:
        SystemExit: So it is.
    """
    missing = [program for program in ("unshare", "ip") if shutil.which(program) is None]
    ran = None if missing else subprocess.run(in_namespace("true"), capture_output=True, text=True, check=False)
    if ran is None or ran.returncode != 0:
        raise SystemExit(
            f"No network namespace can be made: {ran.stderr.strip() if ran else f'{missing} are not installed'}. "
            "Packets are counted on a loopback device that nobody else uses. Run it as root; it needs unshare and ip."
        )


def sent() -> int:
    """Packets that the loopback device of this process's namespace has sent."""
    line = next(line for line in Path("/proc/self/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[9])


def windows(count: int, seconds: float, nodes: Sequence[int], without: Sequence[int]) -> dict[str, list[float]]:
    """Packets a second, and processor time of the nodes and all below them in percent of a core, for each window.

    The key ``work_percent`` has the processor time without that of the JVMs' compilers.
    """
    found: dict[str, list[float]] = {"packets_per_second": [], "cpu_percent": [], "work_percent": []}
    for _ in range(count):
        before = thread_seconds(nodes, without)
        begin, packets, used = time.monotonic(), sent(), cpu_seconds(nodes, without)
        time.sleep(seconds)
        lasted = time.monotonic() - begin
        found["packets_per_second"].append((sent() - packets) / lasted)
        found["cpu_percent"].append(100 * (cpu_seconds(nodes, without) - used) / lasted)
        found["work_percent"].append(100 * added_seconds(before, thread_seconds(nodes, without)) / lasted)
    return found


def reports(job: Job) -> bool:
    """Whether each of its tasks has reported some steps."""
    tasks = job.attempts[-1].tasks if job.attempts else ()
    return bool(tasks) and all(
        task.status.progress is not None and task.status.progress.step >= FIRST_STEP for task in tasks
    )


def measure(
    nodes: int, settle: float, count: int, seconds: float, jvm: Sequence[str]
) -> dict[str, dict[str, list[float]]]:
    """A cluster with this number of nodes: without a job, and with a job that has a worker on each node.

    Args:
        nodes: The number of nodes.
        settle: Seconds between the start of the cluster, or of the job, and the first window.
        count: The number of windows, without a job and with one.
        seconds: Of a window.
        jvm: Options of the nodes' JVMs.

    Returns:
        The windows without a job, ``idle``, and with one, ``job``.
    """
    # The import of a spare would be counted as work of the job.
    environment = {"TENSORFLOW_IGNITE_TASKS_WARM_PROCESSES": "0"}
    with (
        LocalCluster(nodes=nodes, jvm_args=jvm, environment=environment) as cluster,
        tfi.connect(cluster.address) as client,
    ):
        tfi.load(CACHE, {"id": np.arange(1_000)}, partitions=PARTITIONS, address=cluster.address)
        time.sleep(settle)
        pids = [node.pid for node in cluster.nodes]
        idle = windows(count, seconds, pids, [])
        job = client.submit(SCRIPT, cache=CACHE)
        # Its stream of changes must have ended before packets are counted.
        with closing(job.watch(SECONDS_TO_RUN)) as states:
            running = next((state for state in states if reports(state)), None)
        if running is None:
            raise RuntimeError(f"the job ended: {job.status.cause}")
        tasks = running.attempts[-1].tasks
        if len(tasks) != nodes:
            raise RuntimeError(f"the job has {len(tasks)} workers on {nodes} nodes")
        time.sleep(settle)
        scripts = [task.status.pid for task in tasks if task.status.pid is not None]
        busy = windows(count, seconds, pids, scripts)
        if len(job.refresh().attempts) != 1:
            raise RuntimeError(f"the job was restarted while it was measured: {job.status.attempts[0].cause}")
        job.stop(timeout=60)
    return {"idle": idle, "job": busy}


def main() -> None:
    """Measures clusters of several sizes, one after the other."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--nodes", type=int, nargs="+", required=True)
    options.add_argument("--settle", type=float, required=True, help="seconds before the first window, twice")
    options.add_argument("--windows", type=int, required=True)
    options.add_argument("--seconds", type=float, required=True, help="of a window")
    options.add_argument("--jvm-arg", action="append", default=[])
    given = options.parse_args()
    found = {}
    for nodes in given.nodes:
        found[nodes] = measure(nodes, given.settle, given.windows, given.seconds, given.jvm_arg)
        rates = {
            name: {key: round(statistics.median(each), 1) for key, each in of.items()}
            for name, of in found[nodes].items()
        }
        print(f"{nodes} nodes: {json.dumps(rates)}", file=sys.stderr, flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
