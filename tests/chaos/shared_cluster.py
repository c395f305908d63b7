"""The cluster that all faults of a run share: it is made whole before each of them."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from books import Watch
from network import Machine, Network
from waiting import await_true

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.spec import Job
from tensorflow_ignite.testing import leaks
from tensorflow_ignite.testing.configuration import node_configuration

#: Far longer than a part of a fault takes on a busy machine.
LIMIT = 240.0
ROWS, PARTITIONS = 600, 24
#: Two nodes may die at once.
BACKUPS = 2
CACHE = "rows"
DISK_MEGABYTES = 384
#: Longest wait for an answer; a busy machine takes its time.
CALL_SECONDS = 30.0
_MEMORY_MEGABYTES = 8192
_NODES = 3
#: Small heaps and pools: up to four JVMs run beside the tasks on two processors.
_JVM_ARGS = ("-Xms128m", "-Xmx512m")
UNAVAILABLE = (errors.ConnectionFailedError, errors.RequestTimeoutError)


class SharedCluster:
    """A network of nodes with one cache."""

    def __init__(self, network: Network, watch: Watch) -> None:
        self.network = network
        self.watch = watch

    def client(self, machines: Sequence[Machine]) -> tfi.Client:
        return tfi.connect(",".join(machine.address for machine in machines), timeout=CALL_SECONDS)

    def make_whole(self, nodes: int) -> list[Machine]:
        """Heals the network, and brings the cluster to a number of nodes with agents and all rows."""
        network = self.network
        network.heal()
        while len(network.machines) < nodes:
            network.add()
        expected, spare = network.machines[:nodes], network.machines[nodes:]
        for machine in spare:
            if machine.runs:
                network.stop(machine)
        missing = [machine for machine in expected if not machine.runs]
        network.start(*missing) if missing else network.await_whole()
        with self.client(expected) as client:
            await_true(lambda: self._has_agents(client, nodes), "nodes without an agent", seconds=LIMIT)
            self._load(client)
            order = {node.id: node.order for node in client.nodes()}
        return sorted(expected, key=lambda machine: order[machine.node_id])

    def restart(self, machines: Sequence[Machine]) -> None:
        """Starts nodes anew, as an operator does with the nodes of one side after a cut."""
        self.network.kill(*(machine for machine in machines if machine.runs))
        self.network.start(*machines)

    def agent(self, machine: Machine) -> int:
        with self.client([machine]) as client:
            pid = next(node.agent.pid for node in client.nodes() if node.id == machine.node_id)
        assert pid is not None
        return pid

    def left_of(self, job: Job) -> list[str]:
        """What is left of a job that is over: processes, and files of tasks on nodes that run."""
        processes = [
            str(process)
            for process in leaks.marked_processes(self.network.directory)
            if process.task is not None and f":{job.id}/" in process.task
        ]
        files = [
            str(path)
            for machine in self.network.running
            for path in leaks.files_below(machine.process.task_directory)
            if job.id in path.parts
        ]
        return processes + files

    def keep_evidence(self, folder: Path, job_id: str | None, notes: Sequence[str]) -> None:
        """Copies what explains a failure: the nodes' logs, and the job as each node knows it."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "notes.txt").write_text("\n".join(notes) + "\n")
        for machine in self.network.machines:
            kept = folder / machine.name
            kept.mkdir(exist_ok=True)
            with contextlib.suppress(OSError, shutil.Error):
                shutil.copytree(machine.directory / "work" / "log", kept / "log", dirs_exist_ok=True)
            with contextlib.suppress(OSError):
                shutil.copy(machine.process.console, kept)
            if job_id is not None and machine.runs:
                with (
                    contextlib.suppress(errors.TensorFlowIgniteError),
                    self.client([machine]) as client,
                ):
                    job = client.job(job_id)
                    (kept / "job.json").write_text(json.dumps(job.status.to_dict(), indent=1, default=str))
                    lines = [f"{line.attempt} {line.role} {line.index} {line.text}" for line in job.logs()]
                    (kept / "output.txt").write_text("\n".join(lines))

    @staticmethod
    def _has_agents(client: tfi.Client, nodes: int) -> bool:
        with contextlib.suppress(*UNAVAILABLE):
            found = client.nodes()
            return len(found) == nodes and all(node.agent.pid for node in found)
        return False

    @staticmethod
    def _load(client: tfi.Client) -> None:
        with contextlib.suppress(errors.CacheNotFoundError, errors.DataLossError):
            rows = tfi.read_table(CACHE, options=tfi.ReadOptions(address=client.address)).num_rows
            assert rows == ROWS, f"the cache has {rows} rows instead of {ROWS}, and no loss was reported"
            return
        tfi.load(
            CACHE,
            {"x": np.arange(ROWS, dtype=np.int32)},
            backups=BACKUPS,
            partitions=PARTITIONS,
            if_exists="replace",
            address=client.address,
        )


@contextlib.contextmanager
def shared_cluster(directory: Path) -> Iterator[SharedCluster]:
    """Starts the first nodes; this thread is on their bridge meanwhile."""
    config = directory / "node.xml"
    config.write_text(
        node_configuration(
            security={"allowUnauthenticated": True},
            timeouts={"leaseSeconds": 12},
            storage={"backups": BACKUPS},
            tasks={"memoryMegabytes": _MEMORY_MEGABYTES},
        )
    )
    watch = Watch(directory)
    try:
        with (
            Network(directory, config, _NODES, jvm_args=_JVM_ARGS, disk_megabytes=DISK_MEGABYTES) as network,
            network.entered(),
        ):
            yield SharedCluster(network, watch)
    finally:
        watch.close()
