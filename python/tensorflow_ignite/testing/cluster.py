"""A real Ignite cluster on this machine: each node is a process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tensorflow_ignite.base.package import PACKAGE
from tensorflow_ignite.errors import require_linux
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.testing import leaks
from tensorflow_ignite.testing.leaks import LeakError
from tensorflow_ignite.testing.node_process import LocalNode
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.testing.ports import BLOCK, PortBlock

START_TIMEOUT = patiently(150.0)
STOP_TIMEOUT = patiently(180.0)
# Number of the spares of each node, and the priority of tasks: tests that run few tasks, or run beside others, set them
# to 0.
_PASSED_ON = frozenset({"TENSORFLOW_IGNITE_TASKS_WARM_PROCESSES", "TENSORFLOW_IGNITE_TASKS_NICE"})
# Seconds in which a killed node's agent notices it, and ends its tasks.
ORPHAN_TIMEOUT = patiently(20.0)
_POLL = 0.05
DATA_REGION_BYTES = 512 * 1024 * 1024
# Only the JVM's first compiler: half the processor time for a node's start, for programs that end soon anyway.
JVM_ARGS = ("-Xms256m", "-Xmx1g", "-XX:TieredStopAtLevel=1")
# Unless an option names another collector: the JVM allows one. It starts a node in a tenth less time than the default.
COLLECTOR = "-XX:+UseSerialGC"
_COLLECTORS = re.compile(r"-XX:\+Use\w+GC$")


class LocalCluster:
    """Ignite server nodes with the service in them, as processes on loopback; a context manager.

        with LocalCluster(nodes=3) as cluster:
            client = tfi.connect(cluster.address)
            cluster.kill_node(cluster.nodes[1])

    Its end stops every node, proves that nothing of the cluster is left, and raises `LeakError` otherwise. The
    cluster ends with this process too, however this process ends.

    Attributes:
        directory: All files of the cluster, one folder for each node.
        nodes: The nodes whose processes run, suspended ones included, in the order of their start.
    """

    def __init__(
        self,
        nodes: int = 3,
        *,
        directory: str | os.PathLike[str] | None = None,
        config: str | os.PathLike[str] | None = None,
        python: str | None = None,
        persistent: bool = False,
        data_region_bytes: int = DATA_REGION_BYTES,
        attributes: Mapping[str, str] | None = None,
        jvm_args: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        credentials: Any = None,
    ) -> None:
        """Describes the cluster; entering the context, or `start`, starts it.

        Args:
            nodes: How many nodes it starts with.
            directory: Where its files go, and stay. Default: a temporary folder, removed at the end.
            config: Spring XML file of every node; the cluster's own settings win over it.
            python: The interpreter that runs tasks. Default: this one.
            persistent: Keep the data on disk; the cluster activates itself when its first nodes are there.
            data_region_bytes: The most memory for rows, in bytes, on each node; and as much for files and jobs, unless
                ``config`` has data regions of its own.
            attributes: Node attributes of every node.
            jvm_args: More options for the JVM of every node. Default: ``-Xms256m -Xmx1g
                -XX:TieredStopAtLevel=1 -XX:+UseSerialGC``; for measurements give ``-XX:TieredStopAtLevel=4
                -XX:+UseG1GC``.
            environment: Added to the environment of every node, which has TENSORFLOW_IGNITE_TASKS_WARM_PROCESSES (0: no
                spares) and TENSORFLOW_IGNITE_TASKS_NICE (0: tasks have the priority of their node) of this process too;
                with TENSORFLOW_IGNITE_TLS_CERTIFICATE and TENSORFLOW_IGNITE_TLS_KEY nodes speak TLS, by a certificate
                that is good for 127.0.0.1.
            credentials: The credentials of this object's calls, which check whether the nodes are ready; see
                `tensorflow_ignite.connect`. Default: none, also if the environment or a profile has some.
        """
        require_linux("tensorflow_ignite.testing.LocalCluster")
        if not 1 <= nodes < BLOCK:
            raise ValueError(f"nodes={nodes}: a local cluster has 1 to {BLOCK - 1} nodes")
        self._first_nodes = nodes
        self._given_directory = None if directory is None else Path(directory).resolve()
        self._config = None if config is None else os.path.abspath(config)
        self._python = python or sys.executable
        self._persistent = persistent
        self._data_region_bytes = data_region_bytes
        self._attributes = dict(attributes or {})
        collector = [] if any(_COLLECTORS.match(option) for option in jvm_args) else [COLLECTOR]
        self._jvm_args = [*JVM_ARGS, *collector, *jvm_args]
        self._environment = dict(environment or {})
        self._credentials = Credentials() if credentials is None else credentials
        self._changed = threading.Condition()
        self._all: list[LocalNode] = []
        self._directory: Path | None = None
        self._ports: PortBlock | None = None
        self._cleanup: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> LocalCluster:
        """Starts the cluster."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Closes the cluster; when the block has raised an error, a `LeakError` is only printed."""
        try:
            self.close()
        except LeakError as leak:
            if error is None:
                raise
            print(leak, file=sys.stderr)

    @property
    def directory(self) -> Path:
        """All files of the cluster, one folder for each node."""
        if self._directory is None:
            raise RuntimeError("The cluster is not running. Start it: with LocalCluster() as cluster: …")
        return self._directory

    @property
    def nodes(self) -> list[LocalNode]:
        """The nodes whose processes run, suspended ones included, in the order of their start."""
        with self._changed:
            return [node for node in self._all if not node.ended]

    @property
    def addresses(self) -> list[str]:
        """host:port of the API of every running node that has one."""
        return [node.address for node in self.nodes if node.address is not None and not node.suspended]

    @property
    def address(self) -> str:
        """host:port of the API of the oldest running node that has one."""
        addresses = self.addresses
        if not addresses:
            raise RuntimeError(f"no node of the cluster in {self.directory} has an API: {self._all}")
        return addresses[0]

    def start(self) -> None:
        """Starts the first nodes together; returns when all are connected, and can run tasks or report why not.

        Raises:
            NodeStartError: One of them does not start.
        """
        if self._directory is not None:
            raise RuntimeError(f"The cluster in {self._directory} is running already.")
        try:
            self._make_directory()
            self._ports = PortBlock()
            for _ in range(self._first_nodes):
                self._spawn()
            self.await_settled()
            self._await_agents()
        except BaseException:
            with contextlib.suppress(LeakError):
                self.close()
            raise

    def start_node(self, *, python: str | None = None, jvm_args: Sequence[str] = ()) -> LocalNode:
        """Starts one more node; returns when all nodes are connected, and the node can run tasks or reports why not.

        Args:
            python: The interpreter that runs tasks there. Default: the interpreter of the cluster.
            jvm_args: Options for its JVM after the cluster's options.

        Raises:
            NodeStartError: It does not start.
        """
        node = self._spawn(python=python, jvm_args=jvm_args)
        self.await_settled()
        self._await_agents()
        return node

    def restart_nodes(self, *nodes: LocalNode) -> list[LocalNode]:
        """Starts nodes that have ended again, together and on their own files: a persistent cluster has its data back.

        Returns:
            The new processes' nodes, in the order given; the old ones stay ended.

        Raises:
            NodeStartError: One of them does not start.
        """
        for node in nodes:
            if not node.ended:
                raise ValueError(
                    f"{node} still runs. Only a node that has ended can be restarted. Stop or kill it first."
                )
        started = self.spawn_again(*nodes)
        self.await_settled()
        self._await_agents()
        return started

    def spawn_again(self, *nodes: LocalNode) -> list[LocalNode]:
        """As `restart_nodes`, but returns when the processes have been started: their cluster may stay inactive."""
        return [self._spawn(node.name) for node in nodes]

    def await_inactive(self, *nodes: LocalNode) -> list[str]:
        """Waits until these nodes say that their cluster is not active; returns the addresses where they do."""
        self._await(lambda: all(node.inactive_address for node in nodes), START_TIMEOUT, "nodes are not inactive")
        return [str(node.inactive_address) for node in nodes]

    def stop_node(self, node: LocalNode) -> None:
        """Stops a node in order, with the tasks on it; returns when its process has ended and other nodes know it."""
        self._stop([node])
        self._await(lambda: node.ended, STOP_TIMEOUT, f"{node} did not stop after SIGTERM")
        self.await_settled()

    def kill_node(self, node: LocalNode) -> None:
        """Kills a node (SIGKILL); returns when its process is gone, which the others may not have noticed yet."""
        node.expected_to_end = node.killed = True
        node.signal(signal.SIGKILL)
        self._await(lambda: node.ended, STOP_TIMEOUT, f"{node} did not end after SIGKILL")

    def suspend_node(self, node: LocalNode) -> None:
        """Freezes a node's process (SIGSTOP), as a long garbage collection or a stopped machine would."""
        node.suspended = True
        node.signal(signal.SIGSTOP)

    def resume_node(self, node: LocalNode) -> None:
        """Resumes a suspended node. If the other nodes have removed it from the topology, it exits with code 70."""
        node.signal(signal.SIGCONT)
        node.suspended = False

    def await_settled(self, timeout: float = START_TIMEOUT) -> None:
        """Waits until all running nodes are ready and know exactly each other; suspended nodes count as ended.

        Args:
            timeout: In seconds.

        Raises:
            NodeStartError: A node ended before it was ready.
            TimeoutError: It takes longer.
        """

        def settled() -> bool:
            for node in self._all:
                if node.ended and not node.ready and not node.expected_to_end:
                    raise node.start_error()
            running = [node for node in self._all if not node.ended and not node.suspended]
            ids = frozenset(node.node_id for node in running)
            return all(node.ready and node.known_nodes == ids for node in running)

        self._await(settled, timeout, "the nodes do not all see each other")

    def close(self) -> None:
        """Stops every node and removes the cluster's files. Does nothing when the cluster is not running.

        Raises:
            LeakError: Something of the cluster was left: a process, a port, a file, shared memory; or a node had ended
                by itself. What can be removed is removed all the same.
        """
        if self._directory is None:
            return
        directory = self._directory
        found: list[str] = []
        try:
            with self._changed:
                found += [
                    f"{node.name} ended by itself with exit code {node.process.returncode}; it printed: "
                    + node.printed()
                    for node in self._all
                    if node.ended and not node.expected_to_end
                ]
            pids = [process.pid for process in leaks.marked_processes(directory)]
            sockets, shared_memory = leaks.listening_sockets(pids), leaks.shared_memory(pids)
            found += self._stop_all()
            found += [str(process) for process in leaks.await_no_processes(directory, ORPHAN_TIMEOUT)]
            leaks.kill_processes(directory)
            for node in self._all:
                node.join()
            found += [f"port {sockets[inode]}" for inode in leaks.listening_sockets().keys() & sockets.keys()]
            found += [f"shared memory {path}" for path in shared_memory if path.exists()]
            for node in self._all:
                folders = [node.task_directory] if node.killed else [node.task_directory, node.directory / "tmp"]
                # Environments of jobs' packages, in NODE/packages, are kept for later jobs.
                found += [
                    f"file {path}"
                    for folder in folders
                    for path in leaks.files_below(folder)
                    if folder != node.task_directory or path.relative_to(folder).parts[1:2] != ("packages",)
                    # Certificates, which are no secret; the next node there replaces them.
                    if not (node.killed and path.name == "authorities.pem")
                ]
        finally:
            self._release(directory)
        if found:
            raise LeakError(f"the cluster in {directory}", found)

    def _make_directory(self) -> None:
        if self._given_directory is not None:
            self._given_directory.mkdir(parents=True, exist_ok=True)
            self._directory = self._given_directory
        else:
            self._directory = Path(tempfile.mkdtemp(prefix="tensorflow-ignite-cluster-")).resolve()
        keep = "keep" if self._given_directory else "remove"
        self._cleanup = subprocess.Popen(
            [sys.executable, "-m", "tensorflow_ignite.testing.cleanup", str(os.getpid()), str(self._directory), keep],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self._child_environment(),
            start_new_session=True,
        )

    def _release(self, directory: Path) -> None:
        """Releases the remaining resources when all processes have ended, and ends the clean-up process last."""
        leaks.kill_processes(directory)
        if self._ports is not None:
            self._ports.release()
        if self._given_directory is None:
            shutil.rmtree(directory, ignore_errors=True)
        if self._cleanup is not None:
            self._cleanup.kill()
            self._cleanup.wait()
        self._all.clear()
        self._directory = self._ports = self._cleanup = None

    def _child_environment(self) -> dict[str, str]:
        """Ours, without most settings of other nodes; our own package can be imported, installed or not."""
        prefixes = ("TENSORFLOW_IGNITE_", "IGNITE_", "TF_CONFIG")
        environment = {
            name: value for name, value in os.environ.items() if name in _PASSED_ON or not name.startswith(prefixes)
        }
        package_root = PACKAGE.parent
        if package_root.name not in ("site-packages", "dist-packages"):
            paths = [str(package_root), *filter(None, [environment.get("PYTHONPATH")])]
            environment["PYTHONPATH"] = os.pathsep.join(paths)
        return environment

    def _spawn(self, name: str | None = None, *, python: str | None = None, jvm_args: Sequence[str] = ()) -> LocalNode:
        """Starts the process of a new node, or of an earlier node with this name."""
        assert self._ports is not None
        if name is None:
            name = f"node-{len({node.name for node in self._all})}"
        arguments = [
            f"--discovery={self._ports.discovery}",
            "--host=127.0.0.1",
            "--port=0",
            f"--python={python or self._python}",
            f"--data-region-bytes={self._data_region_bytes}",
            *(f"--attribute={key}={value}" for key, value in self._attributes.items()),
            *(f"--jvm-arg={option}" for option in (*self._jvm_args, *jvm_args)),
            *([f"--config={self._config}"] if self._config else []),
            *(["--persistent", f"--activate-at={self._first_nodes}"] if self._persistent else []),
        ]
        node = LocalNode(
            name=name,
            directory=self.directory / name,
            arguments=arguments,
            environment={
                **self._child_environment(),
                **self._environment,
                leaks.CLUSTER_MARKER: str(self.directory),
            },
            changed=self._changed,
        )
        self._all.append(node)
        return node

    def _await(self, condition: Callable[[], bool], timeout: float, problem: str) -> None:
        with self._changed:
            if self._changed.wait_for(condition, timeout):
                return
        raise TimeoutError(
            f"{problem} after {timeout:.0f} s: "
            + ", ".join(f"{node!r} sees {len(node.known_nodes)}" for node in self._all)
            + f". Their logs are below {self.directory}."
        )

    def _await_agents(self, timeout: float = START_TIMEOUT) -> None:
        """Waits until each node's agent runs or has failed: a node answers before that."""
        expected = {node.node_id for node in self.nodes if node.address is not None and not node.suspended}
        if not expected:
            return
        # Imported here because it loads gRPC.
        from tensorflow_ignite.jobs.client import connect

        deadline = time.monotonic() + timeout
        with connect(self.address, credentials=self._credentials) as client:
            while True:
                known = {node.id for node in client.nodes() if node.agent.pid or node.agent.error}
                if expected <= known:
                    return
                if time.monotonic() > deadline:
                    raise TimeoutError(
                        f"no agent after {timeout:.0f} s on the nodes {', '.join(sorted(expected - known))}. "
                        f"Their logs are below {self.directory}."
                    )
                # The node table cannot be watched.
                time.sleep(_POLL)

    def _stop(self, nodes: Sequence[LocalNode]) -> None:
        for node in nodes:
            node.expected_to_end = True
            node.signal(signal.SIGTERM)
            if node.suspended:
                self.resume_node(node)

    def _stop_all(self) -> list[str]:
        """Stops all nodes together; returns what went wrong."""
        running = self.nodes
        # If the other nodes have removed a suspended node from the topology, it ends with an error when it resumes.
        excused = {node.name for node in running if node.suspended or not node.ready}
        self._stop([node for node in running if node.ready])
        for node in running:
            if not node.ready:
                # A node that starts has nothing to stop in order yet, and its start takes seconds.
                node.expected_to_end = node.killed = True
                node.signal(signal.SIGKILL)
        deadline = time.monotonic() + STOP_TIMEOUT
        with self._changed:
            self._changed.wait_for(lambda: all(node.ended for node in running), deadline - time.monotonic())
            late = [node for node in running if not node.ended]
            failed = [
                node for node in running if node.ended and node.process.returncode != 0 and node.name not in excused
            ]
        return [f"{node!r}, still running {STOP_TIMEOUT:.0f} s after SIGTERM" for node in late] + [
            f"{node.name} stopped with exit code {node.process.returncode}; it printed: {node.printed()}"
            for node in failed
        ]
