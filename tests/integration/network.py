"""Real nodes, each on a machine of its own: a network namespace on a bridge. The network can be cut and made slow."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from disk import small_disk
from namespaces import delete, ip, require_namespaces
from waiting import await_true

from tensorflow_ignite.testing import cluster, leaks
from tensorflow_ignite.testing.node_process import LocalNode
from tensorflow_ignite.testing.patience import patiently

LIMIT = patiently(120.0)
PORT = 10820
DISCOVERY_PORT = 47500
#: The host of the bridge itself; cuts between machines do not concern it.
OPERATOR = "10.79.0.254"
_CLONE_NEWNET = 0x40000000
_WIRE = Path(__file__).with_name("wire.py")

How = Literal["drop", "reject"]


class Machine:
    """A network namespace with a disk, and the node that runs there."""

    def __init__(self, network: Network, index: int) -> None:
        """Makes the namespace; the node starts later."""
        self.index = index
        self.name = f"node-{index}"
        self.host = f"10.79.0.{index + 1}"
        self.address = f"{self.host}:{PORT}"
        self.namespace = f"tfi-{os.getpid()}-{self.name}"
        self.directory = network.directory / self.name
        self.node: LocalNode | None = None
        ip("netns", "add", self.namespace)
        ip("-n", network.bridge, "link", "add", self.name, "type", "veth", "peer", "eth0", "netns", self.namespace)
        ip("-n", network.bridge, "link", "set", self.name, "master", "bridge", "up")
        ip("-n", self.namespace, "address", "add", f"{self.host}/24", "dev", "eth0")
        ip("-n", self.namespace, "link", "set", "eth0", "up")
        ip("-n", self.namespace, "link", "set", "lo", "up")

    @property
    def process(self) -> LocalNode:
        assert self.node is not None
        return self.node

    @property
    def node_id(self) -> str:
        return self.process.node_id

    @property
    def runs(self) -> bool:
        """Whether the node's process has been started and has not ended."""
        return self.node is not None and not self.node.ended

    def command(self, *command: str) -> list[str]:
        """A command that runs on this machine."""
        return ["ip", "netns", "exec", self.namespace, *command]

    def cli(self, *arguments: str, code: int = 0) -> str:
        """Runs a command of the command line on this machine; returns what it prints."""
        return self.run(*arguments, code=code).stdout

    def run(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Runs a command of the command line on this machine."""
        command = self.command(sys.executable, "-m", "tensorflow_ignite.cli", *arguments)
        environment = {**os.environ, "TENSORFLOW_IGNITE_ADDRESS": self.address}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran

    def job(self, job_id: str) -> dict[str, Any]:
        """The job as this node knows it."""
        described: dict[str, Any] = json.loads(self.cli("describe", "--json", job_id))
        return described

    def filter(self, rules: str) -> None:
        """Sets the packets that this machine does not receive; no rules: it receives all."""
        table = f"table inet cut {{\nchain input {{\ntype filter hook input priority 0\n{rules}\n}}\n}}\n"
        script = "add table inet cut\ndelete table inet cut\n" + (table if rules else "")
        subprocess.run(self.command("nft", "-f", "-"), input=script, text=True, check=True, timeout=30)

    def __repr__(self) -> str:
        return f"{self.name} ({self.node})"


class Network:
    """A few machines on a bridge, and the cluster of their nodes; a context manager."""

    def __init__(
        self,
        directory: Path,
        config: Path,
        nodes: int = 3,
        *,
        jvm_args: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        disk_megabytes: int = 0,
    ) -> None:
        """Describes the network."""
        self.directory = directory
        self.machines: list[Machine] = []
        self.bridge = f"tfi-{os.getpid()}-bridge"
        self._config = config
        self._first = nodes
        self._jvm_args = [*cluster.JVM_ARGS, cluster.COLLECTOR, *jvm_args]
        self._environment = environment or {}
        self._disk_megabytes = disk_megabytes
        self._disks = ExitStack()
        self._changed = threading.Condition()
        self._wires: dict[Machine, subprocess.Popen[str]] = {}
        self._started: list[LocalNode] = []

    def __enter__(self) -> Network:
        require_namespaces("nft")
        try:
            ip("netns", "add", self.bridge)
            ip("-n", self.bridge, "link", "add", "bridge", "type", "bridge")
            ip("-n", self.bridge, "address", "add", f"{OPERATOR}/24", "dev", "bridge")
            ip("-n", self.bridge, "link", "set", "bridge", "up")
            ip("-n", self.bridge, "link", "set", "lo", "up")
            self.start(*(self.add() for _ in range(self._first)))
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Kills all nodes; whatever outlives them is an error."""
        for machine in self.running:
            self.kill(machine)
        left = leaks.await_no_processes(self.directory, LIMIT)
        self._remove()
        assert not left, left

    @property
    def running(self) -> list[Machine]:
        return [machine for machine in self.machines if machine.runs]

    def add(self) -> Machine:
        """Adds a machine, whose node does not run yet."""
        machine = Machine(self, len(self.machines))
        self.machines.append(machine)
        if self._disk_megabytes:
            self._disks.enter_context(small_disk(machine.directory, self._disk_megabytes))
        return machine

    def start(self, *machines: Machine) -> None:
        """Starts the nodes of machines together; returns when all running nodes see each other."""
        hosts = ",".join(f"{machine.host}:{DISCOVERY_PORT}" for machine in self.machines)
        for machine in machines:
            machine.node = LocalNode(
                name=machine.name,
                directory=machine.directory,
                arguments=[
                    f"--host={machine.host}",
                    f"--discovery={hosts}",
                    f"--config={self._config}",
                    f"--python={sys.executable}",
                    *(f"--jvm-arg={option}" for option in self._jvm_args),
                ],
                environment={**os.environ, leaks.CLUSTER_MARKER: str(self.directory), **self._environment},
                changed=self._changed,
                launcher=machine.command(),
            )
            self._started.append(machine.node)
        self.await_whole()

    def kill(self, *machines: Machine) -> None:
        """Kills nodes (SIGKILL) at the same time, suspended ones too."""
        for machine in machines:
            machine.process.signal(signal.SIGKILL)
        for machine in machines:
            self.await_ended(machine)

    def stop(self, machine: Machine) -> None:
        """Stops a node in order; returns when its process has ended."""
        machine.process.signal(signal.SIGTERM)
        self.await_ended(machine)

    def await_ended(self, machine: Machine) -> None:
        """Waits for the end of a node's process."""
        with self._changed:
            assert self._changed.wait_for(lambda: not machine.runs, cluster.STOP_TIMEOUT), f"{machine} does not end"

    def await_whole(self) -> None:
        """Waits until all running nodes are ready and see exactly each other."""
        await_true(lambda: self.sees_each_other(self.running), "the nodes do not see each other", seconds=LIMIT)

    def sees_each_other(self, machines: Sequence[Machine]) -> bool:
        """Whether the nodes of machines are one cluster, without other nodes."""
        nodes = [machine.process for machine in machines]
        for node in nodes:
            if node.ended and not node.ready:
                raise node.start_error()
        ids = frozenset(node.node_id for node in nodes)
        return all(node.ready and node.known_nodes == ids for node in nodes)

    def cut(
        self, some: Sequence[Machine], others: Sequence[Machine], how: How = "drop", *, one_way: bool = False
    ) -> None:
        """Cuts the network between some machines and others."""
        for senders, receivers in [(some, others)] if one_way else [(some, others), (others, some)]:
            sources = ", ".join(sender.host for sender in senders)
            rules = f"ip saddr {{ {sources} }} drop"
            if how == "reject":
                # A reset must arrive, or the sender of a connection would wait for an answer.
                reset = f"ip saddr {{ {sources} }} meta l4proto tcp reject with tcp reset"
                rules = f"tcp flags & rst == rst accept\n{reset}\n{rules}"
            for receiver in receivers:
                receiver.filter(rules)

    def slow(self, machine: Machine, delay: float, loss: float) -> None:
        """Delays the packets that a machine sends, in seconds, and loses a part of those in both directions."""
        near, far = f"{machine.name}-a", f"{machine.name}-b"
        inside = ["-n", self.bridge, "link"]
        ip(*inside, "set", machine.name, "nomaster", "arp", "off")
        ip(*inside, "add", near, "type", "veth", "peer", "name", far)
        ip(*inside, "set", near, "up", "arp", "off")
        ip(*inside, "set", far, "master", "bridge", "up")
        command = [sys.executable, str(_WIRE), machine.name, near, str(delay), str(loss)]
        self._wires[machine] = subprocess.Popen(
            ["ip", "netns", "exec", self.bridge, *command], stdout=subprocess.PIPE, text=True
        )

    def heal(self) -> int:
        """Ends all cuts, delays and losses; returns the number of packets that were lost by `slow`."""
        lost = 0
        for machine in self.machines:
            machine.filter("")
        for machine, wire in self._wires.items():
            wire.terminate()
            lost += int(wire.communicate(timeout=30)[0])
            ip("-n", self.bridge, "link", "delete", f"{machine.name}-a")
            ip("-n", self.bridge, "link", "set", machine.name, "master", "bridge", "arp", "on")
        self._wires.clear()
        return lost

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Meanwhile this thread, and threads that it starts, are on the bridge, from which all machines are reached."""
        with (
            open("/proc/thread-self/ns/net") as before,
            open(f"/run/netns/{self.bridge}") as bridge,
        ):
            _enter(bridge.fileno())
            try:
                yield
            finally:
                _enter(before.fileno())

    def _remove(self) -> None:
        for wire in self._wires.values():
            wire.kill()
            wire.wait()
        leaks.kill_processes(self.directory)
        for node in self._started:
            node.join()
        delete(*(machine.namespace for machine in self.machines), self.bridge)
        self._disks.close()


def _enter(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
