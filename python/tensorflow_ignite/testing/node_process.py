"""One node of a cluster: a process, and the events that it prints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tensorflow_ignite.node.runtime import NodeStartError

_TAIL_BYTES = 4000


class LocalNode:
    """A node of a `LocalCluster`.

    Attributes:
        name: Ignite instance name.
        directory: All files of the node: Ignite's work directory, temporary files, its output.
        process: The operating system's process.
        node_id: Ignite's id of the node; empty until it is ready.
        address: host:port of the node API; None when the service's node filter leaves the node out.
        inactive_address: host:port of the node while its cluster is not active; None: it was always active.
        log: The node's log; empty until it is ready.
        console: The standard error output of the node.
        known_nodes: The ids of the cluster's nodes that this node last reported.
        ended: Whether the process is gone.
        expected_to_end: Whether the test has stopped or killed it.
        suspended: Whether it is stopped by SIGSTOP.
    """

    def __init__(
        self,
        *,
        name: str,
        directory: Path,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        changed: threading.Condition,
        launcher: Sequence[str] = (),
    ) -> None:
        """Starts the process; `changed` is notified of every event and of its end; `launcher` executes the command."""
        self.name = name
        self.directory = directory
        self.node_id = ""
        self.address: str | None = None
        self.inactive_address: str | None = None
        self.log = Path()
        self.console = directory / "console.log"
        self.known_nodes: frozenset[str] = frozenset()
        self.ready = False
        self.ended = False
        self.expected_to_end = False
        self.killed = False
        self.suspended = False
        self._changed = changed
        work, temporary = directory / "work", directory / "tmp"
        work.mkdir(parents=True, exist_ok=True)
        temporary.mkdir(exist_ok=True)
        with self.console.open("ab") as console:
            self.process = subprocess.Popen(
                [
                    *launcher,
                    sys.executable,
                    "-m",
                    "tensorflow_ignite.node",
                    "--json",
                    f"--name={name}",
                    f"--work-directory={work}",
                    f"--parent-pid={os.getpid()}",
                    *arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=console,
                cwd=directory,
                env={**environment, "TMPDIR": str(temporary)},
                # Ctrl-C in a terminal goes to the owner, which stops the nodes in order.
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, name=f"events of {name}", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.process.pid

    @property
    def task_directory(self) -> Path:
        """Where the node's agent keeps the files of tasks; nothing is left there when no task runs."""
        return self.directory / "work" / "tensorflow-ignite"

    def printed(self) -> str:
        """The end of what the node printed on standard error."""
        return self.console.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the process, unless it is gone."""
        self.process.send_signal(number)

    def start_error(self) -> NodeStartError:
        """The error for a process that ended before it was ready."""
        return NodeStartError(
            f"{self.name} ended with exit code {self.process.returncode} before it was ready; it printed:\n"
            f"{self.printed()}"
        )

    def join(self) -> None:
        """Waits for the end of the thread that reads the output of the process, which has ended."""
        self._reader.join()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                event = json.loads(line)
                with self._changed:
                    self._take(event)
                    self._changed.notify_all()
        self.process.wait()
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def _take(self, event: dict[str, object]) -> None:
        if event["event"] == "ready":
            self.node_id = str(event["node_id"])
            self.address = None if event["address"] is None else str(event["address"])
            self.log = Path(str(event["log"]))
            self.ready = True
        elif event["event"] == "inactive":
            self.inactive_address = None if event["address"] is None else str(event["address"])
        elif event["event"] == "topology":
            nodes = event["nodes"]
            assert isinstance(nodes, list)
            self.known_nodes = frozenset(nodes)

    def __repr__(self) -> str:
        """Name, process and address."""
        state = "ended" if self.ended else "suspended" if self.suspended else "running"
        return f"LocalNode({self.name}, pid {self.pid}, {self.address}, {state})"
