"""Who reaches a worker: TensorFlow's own connections are not encrypted, so the network has to keep others away."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest
from namespaces import delete, ip, require_namespaces

from tensorflow_ignite.testing.patience import patiently

pytestmark = pytest.mark.full

DOCUMENT = Path(__file__).parents[2] / "docs/network.md"
WORKER, PEER, OUTSIDER = "10.77.0.1", "10.77.0.2", "10.88.0.2"
WORKER_PORT, API_PORT = 2222, 10820
START_LIMIT = patiently(120)

# A worker as TF_CONFIG describes it, and a listener in the place of the node's API.
SERVER = f"""
    import socket
    api = socket.create_server(("", {API_PORT}))
    import tensorflow as tf
    peers = ["{WORKER}:{WORKER_PORT}", "{PEER}:{WORKER_PORT}"]
    server = tf.distribute.Server({{"worker": peers}}, job_name="worker", task_index=0, protocol="grpc")
    print("up", flush=True)
    server.join()
"""
PROBE = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 2).close()"


class Network:
    """Two nodes' namespaces on a bridge of a machine that routes to an outsider, who knows the way to them."""

    def __init__(self) -> None:
        self._names = {name: f"tfi-{os.getpid()}-{name}" for name in ("machine", "worker", "peer", "outsider")}
        for name in self._names:
            ip("netns", "add", self._names[name])
            self.inside(name, "link", "set", "lo", "up")
        self.inside("machine", "link", "add", "training", "type", "bridge")
        self.inside("machine", "link", "set", "training", "up")
        for name, address in (("worker", WORKER), ("peer", PEER)):
            self._join(name, f"{address}/24")
            self.inside("machine", "link", "set", name, "master", "training")
        self._join("outsider", f"{OUTSIDER}/24")
        self.inside("machine", "address", "add", "10.88.0.1/24", "dev", "outsider")
        self.inside("outsider", "route", "add", "10.77.0.0/24", "via", "10.88.0.1")

    def let_the_machine_route(self) -> None:
        """What an operator may do for another reason: the outsider is let in."""
        self.inside("machine", "address", "add", "10.77.0.254/24", "dev", "training")
        for name in ("worker", "peer"):
            self.inside(name, "route", "add", "default", "via", "10.77.0.254")
        self.run("machine", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")

    def reaches(self, name: str, port: int, address: str = WORKER) -> bool:
        """Whether a connection is made from a namespace."""
        return self.run(name, sys.executable, "-IS", "-c", PROBE, address, str(port), check=False) == 0

    def run(self, name: str, *command: str, check: bool = True) -> int:
        """Runs a command in a namespace."""
        done = subprocess.run(self.command(name, *command), capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0 or not check, done.stderr
        return done.returncode

    def command(self, name: str, *command: str) -> list[str]:
        return ["ip", "netns", "exec", self._names[name], *command]

    def inside(self, name: str, *arguments: str) -> None:
        ip("-n", self._names[name], *arguments)

    def close(self) -> None:
        delete(*self._names.values())

    def _join(self, name: str, address: str) -> None:
        """A cable from the machine, where its end has the name of who is at the other one."""
        self.inside("machine", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", self._names[name])
        self.inside("machine", "link", "set", name, "up")
        self.inside(name, "address", "add", address, "dev", "eth0")
        self.inside(name, "link", "set", "eth0", "up")


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    require_namespaces()
    made = Network()
    try:
        command = made.command("worker", sys.executable, "-u", "-c", textwrap.dedent(SERVER))
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as server:
            assert server.stdout is not None
            late = Timer(START_LIMIT, server.kill)
            late.start()
            try:
                assert server.stdout.readline() == "up\n"
                late.cancel()
                yield made
            finally:
                late.cancel()
                server.kill()
    finally:
        made.close()


def test_a_worker_in_a_namespace_is_reached_by_its_peers_alone(network: Network) -> None:
    assert network.reaches("worker", WORKER_PORT, "127.0.0.1")
    assert network.reaches("peer", WORKER_PORT)
    assert not network.reaches("outsider", WORKER_PORT)
    assert not network.reaches("machine", WORKER_PORT)
    # It is the namespace that keeps the outsider away, and nothing else.
    network.let_the_machine_route()
    assert network.reaches("outsider", WORKER_PORT)


def test_documented_firewall_rules_close_a_workers_port_to_all_but_nodes(network: Network, tmp_path: Path) -> None:
    nft = shutil.which("nft")
    if nft is None:
        pytest.skip("the program nft is not installed; the documented rules cannot be loaded")
    [rules] = re.findall(r"```nft\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert {WORKER, PEER} <= set(re.findall(r"[\d.]+", rules))
    assert OUTSIDER not in rules
    if not network.reaches("outsider", WORKER_PORT):
        network.let_the_machine_route()
    assert network.reaches("outsider", WORKER_PORT)
    (tmp_path / "rules").write_text(rules)
    network.run("worker", nft, "-f", str(tmp_path / "rules"))
    assert not network.reaches("outsider", WORKER_PORT)
    assert not network.reaches("machine", WORKER_PORT)
    assert network.reaches("outsider", API_PORT)
    assert network.reaches("peer", WORKER_PORT)
