"""The network between real nodes, each in a namespace, is cut: at most one attempt of a job runs at any time."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from namespaces import delete, ip, require_namespaces
from waiting import await_true

from tensorflow_ignite.testing import cluster, leaks
from tensorflow_ignite.testing.configuration import node_configuration

NODES = 3
LEASE_SECONDS, MARGIN_SECONDS = 6.0, 1.5
LIMIT = 120.0

# Refuses to end at SIGTERM. Its ticks are on the clock of this machine, whatever namespace it is in.
SCRIPT = """
    import os, signal, sys, time

    import tensorflow_ignite as tfi

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    context = tfi.train.context()
    with open(f"{sys.argv[1]}/ticks-{context.attempt}", "a", buffering=1) as ticks:
        while not os.path.exists(f"{sys.argv[1]}/end"):
            ticks.write(f"{time.monotonic()}\\n")
            time.sleep(0.02)
"""


@dataclass
class NamespaceNode:
    """A node in a network namespace of its own."""

    index: int
    directory: Path
    process: subprocess.Popen[str] = field(init=False)
    node_id: str = ""
    known_nodes: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return f"node-{self.index}"

    @property
    def namespace(self) -> str:
        return f"tfi-{os.getpid()}-{self.name}"

    @property
    def host(self) -> str:
        return f"10.79.0.{self.index + 1}"

    def command(self, *command: str) -> list[str]:
        return ["ip", "netns", "exec", self.namespace, *command]

    def cli(self, *arguments: str, code: int = 0) -> str:
        """Runs a command of the command line inside the namespace; returns what it prints."""
        return self.run(*arguments, code=code).stdout

    def run(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Runs a command of the command line inside the namespace."""
        command = self.command(sys.executable, "-m", "tensorflow_ignite.cli", *arguments)
        environment = {**os.environ, "TENSORFLOW_IGNITE_ADDRESS": f"{self.host}:10820"}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran

    def job(self, job_id: str) -> dict[str, Any]:
        return json.loads(self.cli("describe", "--json", job_id))

    def start(self, config: Path, environment: dict[str, str]) -> None:
        (self.directory / self.name).mkdir()
        self.process = subprocess.Popen(
            self.command(
                sys.executable,
                "-m",
                "tensorflow_ignite.node",
                "--json",
                f"--name={self.name}",
                f"--work-directory={self.directory / self.name}",
                f"--parent-pid={os.getpid()}",
                f"--host={self.host}",
                f"--discovery={','.join(f'10.79.0.{index + 1}:47500' for index in range(NODES))}",
                f"--config={config}",
                f"--python={sys.executable}",
                *(f"--jvm-arg={option}" for option in (*cluster.JVM_ARGS, cluster.COLLECTOR)),
            ),
            stdout=subprocess.PIPE,
            stderr=(self.directory / f"{self.name}.log").open("w"),
            env={**os.environ, **environment},
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            event = json.loads(line)
            if event["event"] == "ready":
                self.node_id = event["node_id"]
            elif event["event"] == "topology":
                self.known_nodes = frozenset(event["nodes"])


class Network:
    """Three nodes on a bridge."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        """Makes the namespaces, and starts the nodes together, with these variables."""
        self.directory = directory
        self._bridge = f"tfi-{os.getpid()}-bridge"
        self.nodes = [NamespaceNode(index, directory) for index in range(NODES)]
        ip("netns", "add", self._bridge)
        self._inside_bridge("link", "add", "bridge", "type", "bridge")
        self._inside_bridge("link", "set", "bridge", "up")
        for node in self.nodes:
            ip("netns", "add", node.namespace)
            self._inside_bridge(
                "link", "add", node.name, "type", "veth", "peer", "name", "eth0", "netns", node.namespace
            )
            self._inside_bridge("link", "set", node.name, "master", "bridge", "up")
            ip("-n", node.namespace, "address", "add", f"{node.host}/24", "dev", "eth0")
            ip("-n", node.namespace, "link", "set", "eth0", "up")
            ip("-n", node.namespace, "link", "set", "lo", "up")
        config = directory / "node.xml"
        config.write_text(node_configuration(allowUnauthenticated=True))
        for node in self.nodes:
            node.start(config, {leaks.CLUSTER_MARKER: str(directory), **environment})
        await_true(self._see_each_other, "the nodes see each other", seconds=LIMIT)

    def _see_each_other(self) -> bool:
        ids = frozenset(node.node_id for node in self.nodes)
        return all(node.node_id and node.known_nodes == ids for node in self.nodes)

    def drop(self, node: NamespaceNode) -> None:
        """Nothing passes between a node and the others."""
        self._inside_bridge("link", "set", node.name, "down")

    def heal(self, node: NamespaceNode) -> None:
        """Ends a drop."""
        self._inside_bridge("link", "set", node.name, "up")

    def refuse(self, node: NamespaceNode) -> None:
        """Connections between a node and the others are refused, as by a firewall that answers with a reset."""
        for other in self.nodes:
            if other is not node:
                ip("-n", node.namespace, "address", "add", f"{other.host}/32", "dev", "lo")
                ip("-n", other.namespace, "address", "add", f"{node.host}/32", "dev", "lo")

    def close(self) -> None:
        for node in self.nodes:
            node.process.send_signal(signal.SIGKILL)
            node.process.wait()
        left = leaks.await_no_processes(self.directory, LIMIT)
        leaks.kill_processes(self.directory)
        delete(*(node.namespace for node in self.nodes), self._bridge)
        assert not left, left

    def _inside_bridge(self, *arguments: str) -> None:
        ip("-n", self._bridge, *arguments)


@pytest.fixture
def network(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Network]:
    require_namespaces()
    made = Network(tmp_path, getattr(request, "param", {}))
    yield made
    made.close()


def ticks(directory: Path, attempt: int) -> list[float]:
    """The times at which the task of an attempt ran, on the monotonic clock of this machine."""
    path = directory / f"ticks-{attempt}"
    return [float(line) for line in path.read_text().splitlines()[:-1]] if path.exists() else []


@pytest.mark.parametrize("cut", ["drop", "refuse"])
def test_a_job_whose_tasks_are_all_cut_off_ends_there_before_it_goes_on_elsewhere(
    network: Network, tmp_path: Path, cut: str
) -> None:
    np.savez(tmp_path / "rows.npz", x=np.arange(10, dtype=np.float32))
    (tmp_path / "code").mkdir()
    script = tmp_path / "code" / "train.py"
    script.write_text(textwrap.dedent(SCRIPT))
    first = network.nodes[0]
    # One partition, so that all tasks of the job are on one node.
    first.cli("load", "rows", str(tmp_path / "rows.npz"), "--partitions", "1", "--backups", "1")
    submitted = first.cli(
        "submit", "--detach", "--json", "--cache", "rows", "--stop-grace", "60", str(script), str(tmp_path)
    )
    job_id = json.loads(submitted)["id"]
    await_true(lambda: len(ticks(tmp_path, 1)) > 100, "the first attempt runs", seconds=LIMIT)
    [task] = first.job(job_id)["attempts"][0]["tasks"]
    alone = next(node for node in network.nodes if node.node_id == task["node_id"])
    others = [node for node in network.nodes if node is not alone]

    getattr(network, cut)(alone)
    cut_at = time.monotonic()
    await_true(lambda: len(ticks(tmp_path, 2)) > 100, "the others have started the job again", seconds=LIMIT)
    assert ticks(tmp_path, 1)[-1] < cut_at + LEASE_SECONDS + MARGIN_SECONDS
    assert ticks(tmp_path, 1)[-1] < ticks(tmp_path, 2)[0]

    cut_off = alone.job(job_id)
    assert (cut_off["state"], len(cut_off["attempts"])) == ("restarting", 1)
    assert f"tensorflow-ignite quorum accept {job_id}" in cut_off["waiting_for"]
    ran = [others[0].run("nodes", "--json"), alone.run("nodes", "--json"), alone.run("ps")]
    assert [len(json.loads(process.stdout)) for process in ran[:2]] == [2, 1]
    assert "warning:" not in ran[0].stderr
    addresses = ", ".join(sorted(f"{other.host}:10820" for other in others))
    for process in ran[1:]:
        warning = " ".join(process.stderr.split())
        assert warning.startswith("warning: only 1 of 3 nodes are here, without ")
        assert ", ".join(sorted(re.findall(r"[\d.]+:10820", warning))) == addresses
        assert "Start those, or restart these: tensorflow-ignite doctor" in warning
    listed = [others[0].cli("nodes"), alone.cli("nodes")]
    assert f"at {alone.host}:10820 was lost" in listed[0]
    assert all(f"at {other.host}:10820 was lost" in listed[1] for other in others)
    if cut == "drop":
        assert f"{alone.host}:10820 left without being stopped" in " ".join(others[0].cli("doctor").split())
        network.heal(alone)
        found = " ".join(others[0].cli("doctor", code=1).split())
        assert f"The cluster is split: here are 2 nodes, and {alone.host}:10820 answers with 1 nodes" in found
        assert f"the cluster is split: here are 2 nodes, and {alone.host}:10820 answers with 1" in others[0].cli(
            "nodes"
        )
        assert "warning: only 1 of 3 nodes are here" in alone.run("ps").stderr

    (tmp_path / "end").touch()
    await_true(lambda: others[0].job(job_id)["state"] == "succeeded", "the job ends", seconds=LIMIT)
    over = others[0].job(job_id)
    assert (len(over["attempts"]), over["crashes"]) == (2, 0)
    assert ticks(tmp_path, 1)[-1] < ticks(tmp_path, 2)[0]


@pytest.mark.parametrize(
    "network",
    [{"TENSORFLOW_IGNITE_ON_MINORITY": "stop-node", "TENSORFLOW_IGNITE_ON_MINORITY_SECONDS": "2"}],
    indirect=True,
)
def test_a_node_of_the_smaller_side_ends_itself_if_it_shall_and_the_others_go_on(network: Network) -> None:
    first, _, third = network.nodes
    network.drop(third)
    assert third.process.wait(LIMIT) == 1
    printed = " ".join((network.directory / "node-2.log").read_text().split())
    assert "This node ends, and is to be started again: only 1 of 3 nodes are here" in printed
    assert len(json.loads(first.cli("nodes", "--json"))) == 2
