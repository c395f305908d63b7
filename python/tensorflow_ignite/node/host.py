"""Hosts one Ignite node from its start to its end; signals and the parent's death stop it in order.

The main thread waits for events, signals among them; one thread serves the node, one more stops it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import queue
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING

from tensorflow_ignite.errors import require_linux
from tensorflow_ignite.node import runtime
from tensorflow_ignite.node.report import Report

if TYPE_CHECKING:
    from tensorflow_ignite.node.jvm import JavaNode

WAITING_INTERVAL = 15.0
STOP_TIMEOUT = 30.0
EXIT_TIMEOUT = 10.0
STACKS_TIMEOUT = 5.0
OUR_CLASSES = "io.tensorflowignite."


@dataclass(frozen=True)
class _StopRequested:
    cause: str
    exit_code: int
    # A second interrupt ends the process at once.
    is_interrupt: bool = False


@dataclass(frozen=True)
class _Started:
    node: JavaNode


@dataclass(frozen=True)
class _Left:
    """The node has no tasks any more, or has waited for their stop grace."""


@dataclass(frozen=True)
class _Ended:
    error: str | None


_Event = _StopRequested | _Started | _Left | _Ended


def run_node(
    config: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
    host: str | None = None,
    port: int | str | None = None,
    discovery: str | Sequence[str] | None = None,
    python: str | None = None,
    work_directory: str | os.PathLike[str] | None = None,
    json_output: bool = False,
    jvm_args: Sequence[str] = (),
    persistent: bool | None = None,
    activate_at: int = 0,
    data_region_bytes: int | None = None,
    attributes: Mapping[str, str] | None = None,
    parent_pid: int | None = None,
    start_timeout: float = runtime.START_TIMEOUT,
) -> int:
    """Runs an Ignite server node with the service in it, until a signal stops it.

    A setting that is given wins over the Spring XML file. Call it from the main thread, once in a process.

    Args:
        config: A Spring XML file with one bean of class IgniteConfiguration; None: a node for this machine only.
        name: Ignite instance name.
        host: The address that Ignite and the node API bind to. Default: loopback.
        port: Port of the node API, or a range ``10820..10919`` (the default); 0: any free port.
        discovery: Where the nodes of the cluster find each other, ``host:port`` or ``host:port..port``, separated by
            commas; the node itself listens in the first one's range. Default: ``127.0.0.1:47500..47509``.
        python: The interpreter that runs tasks. Default: this one.
        work_directory: Ignite's work directory: its log, its data on disk, the tasks' files.
        json_output: Print events as lines of JSON: ``waiting`` (reason, seconds), ``ready`` (node_id, instance,
            address, pid, log), ``topology`` (version, nodes), ``inactive``, ``stopping``, ``stopped``.
        jvm_args: More options for the JVM. Default heap: ``-Xmx1g``, and ``-Xms`` as ``-Xmx``.
        persistent: Keep the default data region and our own on disk; the cluster must then be activated once.
        activate_at: Activate an inactive cluster once it has this number of server nodes; 0: never.
        data_region_bytes: The most that the default data region grows to, and as much for the data region
            ``tensorflow-ignite`` of files and jobs, which a node without a Spring XML file always has.
        attributes: Node attributes, which the service's AttributeNodeFilter can select.
        parent_pid: Stop when this process ends.
        start_timeout: Seconds that the node API may take to answer after the node has joined an active cluster.

    Returns:
        The exit code: 0 after SIGTERM, SIGHUP or the parent's end, 130 after SIGINT, 1 when the node did not start or
        stopped by itself. A node with a fatal error ends the process with 70.

    Raises:
        UnsupportedPlatformError: This is not Linux.
    """
    require_linux("an Ignite node in Python")
    report = Report(json_output=json_output)
    settings = runtime.NodeSettings(
        config=None if config is None else os.fspath(config),
        name=name,
        host=host,
        port=None if port is None else str(port),
        discovery=discovery.split(",") if isinstance(discovery, str) else list(discovery or ()),
        python=python,
        work_directory=None if work_directory is None else os.path.abspath(work_directory),
        jvm_args=list(jvm_args),
        persistent=persistent,
        activate_at=activate_at,
        data_region_bytes=data_region_bytes,
        attributes=dict(attributes or {}),
    )
    return _Host(settings, report, start_timeout).run(parent_pid)


class _Host:
    def __init__(self, settings: runtime.NodeSettings, report: Report, start_timeout: float) -> None:
        self._settings = settings
        self._report = report
        self._start_timeout = start_timeout
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()

    def run(self, parent_pid: int | None) -> int:
        self._install_signal_pipe()
        if parent_pid is not None:
            threading.Thread(target=self._watch_parent, args=(parent_pid,), name="parent", daemon=True).start()
        try:
            self._start_jvm()
        except runtime.NodeStartError as failed:
            self._report.error(str(failed))
            return 1
        threading.Thread(target=self._serve, name="node", daemon=True).start()
        code = self._wait()
        last_resort = threading.Timer(EXIT_TIMEOUT, self._force_exit)
        last_resort.daemon = True
        last_resort.start()
        return code

    def _start_jvm(self) -> None:
        """Starts the JVM on this very thread: when the process ends, the JVM waits for the one that started it."""
        settings = self._settings
        libjvm = runtime.find_libjvm()
        jars = runtime.classpath()
        # Imported after the checks above: a missing jar is reported without the start of a JVM.
        from tensorflow_ignite.node import jvm

        service = {"python": settings.python, "host": settings.host, "port": settings.port}
        options = runtime.jvm_options(
            service={name: value for name, value in service.items() if value is not None}, extra=settings.jvm_args
        )
        jvm.start_jvm(libjvm, options=options, classpath=jars)
        # JPype makes Python collect whenever Java does: objects that exist now stay, and need no scan each time.
        gc.freeze()

    def _force_exit(self) -> None:
        self._report.error(f"a Java thread kept the process for {EXIT_TIMEOUT:.0f} s after the node had stopped")
        os._exit(1)

    def _install_signal_pipe(self) -> None:
        """Receives signals through a pipe.

        A handler runs in the main thread only, when that is awake: a signal that arrives just before the main thread
        starts to wait for an event would be handled with the next event, which may never come.
        """
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _default_signal)
        threading.Thread(target=self._read_signals, args=(reader,), name="signals", daemon=True).start()

    def _read_signals(self, pipe: int) -> None:
        while True:
            for number in os.read(pipe, 64):
                interrupted = number == signal.SIGINT
                self._events.put(
                    _StopRequested(signal.Signals(number).name, 130 if interrupted else 0, is_interrupt=interrupted)
                )

    def _watch_parent(self, pid: int) -> None:
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            pass
        else:
            select.select([process], [], [])
            os.close(process)
        self._events.put(_StopRequested(f"the parent process {pid} ended", 0))

    def _wait(self) -> int:
        node: JavaNode | None = None
        stop: _StopRequested | None = None
        deadline: float | None = None
        while True:
            try:
                event = self._events.get(timeout=None if deadline is None else max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self._report.error(
                    f"the node did not stop within {STOP_TIMEOUT:.0f} s after {stop.cause if stop else ''}; "
                    f"the process ends without waiting longer. {_running_threads()}"
                )
                os._exit(1)
            if isinstance(event, _StopRequested):
                if stop is not None:
                    if event.is_interrupt and stop.is_interrupt:
                        os._exit(event.exit_code)
                    continue
                stop = event
                self._report.event("stopping", f"stopping: {stop.cause}", why=stop.cause)
            elif isinstance(event, _Started):
                node = event.node
            elif isinstance(event, _Left):
                deadline = time.monotonic() + STOP_TIMEOUT
                continue
            else:
                return self._ended(event, stop)
            if stop is not None:
                # A node that is still starting has no tasks.
                deadline = time.monotonic() + STOP_TIMEOUT if node is None else None
            if stop is not None and node is not None:
                threading.Thread(target=self._stop, args=[node], name="stop", daemon=True).start()

    def _stop(self, node: JavaNode) -> None:
        try:
            node.leave()
        finally:
            self._events.put(_Left())
            node.stop()

    def _ended(self, event: _Ended, stop: _StopRequested | None) -> int:
        if stop is not None:
            self._report.event("stopped", "stopped", exit_code=stop.exit_code)
            return stop.exit_code
        self._report.error(event.error or "the node stopped by itself; its log says why")
        return 1

    def _serve(self) -> None:
        error: str | None = None
        try:
            self._serve_node()
        except runtime.NodeStartError as failed:
            error = str(failed)
        except BaseException as bug:  # the main thread must know the end, whatever it was
            self._events.put(_Ended(f"{type(bug).__name__}: {bug}"))
            raise
        self._events.put(_Ended(error))

    def _serve_node(self) -> None:
        from tensorflow_ignite.node import jvm

        where = ",".join(self._settings.discovery) or (self._settings.config or "127.0.0.1:47500..47509")
        with self._waiting(f"Ignite starts, and joins the cluster (discovery: {where})"):
            node = jvm.JavaNode.start(self._settings)
        self._events.put(_Started(node))
        if not node.active():
            self._await_activation(node)
        try:
            with self._waiting(
                f"the node has joined the cluster; its node API does not answer yet; log {node.log_file}"
            ):
                address = node.await_address(self._start_timeout)
        except runtime.NodeStartError as failed:
            raise runtime.NodeStartError(
                f"{failed}. It has {self._start_timeout:.0f} s after the node has joined. On a busy machine, give it "
                "more: --start-timeout SECONDS"
            ) from failed
        self._report_ready(node, address)
        version = 0
        while (topology := node.await_topology(version)) is not None:
            version = topology.version
            servers = len(topology.node_ids)
            self._report.event(
                "topology",
                f"the cluster has {servers} server node{'' if servers == 1 else 's'} (topology version {version})",
                version=version,
                nodes=list(topology.node_ids),
            )

    @contextlib.contextmanager
    def _waiting(self, reason: str) -> Iterator[None]:
        """Reports at intervals what the start waits for, until the block ends."""
        over = threading.Event()

        def report() -> None:
            began = time.monotonic()
            while not over.wait(WAITING_INTERVAL):
                seconds = time.monotonic() - began
                self._report.event(
                    "waiting", f"waits since {seconds:.0f} s: {reason}", reason=reason, seconds=round(seconds, 1)
                )

        threading.Thread(target=report, name="waiting", daemon=True).start()
        try:
            yield
        finally:
            over.set()

    def _await_activation(self, node: JavaNode) -> None:
        """Waits until the cluster is active, activated by us or by others; raises when the node stops before."""
        minimum_nodes = self._settings.activate_at
        missing = node.missing()
        self._report.event(
            "inactive",
            f"node {node.node_id} waits: the cluster keeps data on disk and is not active"
            + (f", since nodes of its baseline are missing: {missing}" if missing else "")
            + (
                f"; it is activated when it has {minimum_nodes} server nodes"
                if minimum_nodes
                else "; activate it: control.sh --set-state ACTIVE, or start a node again with --activate-at NODES"
            ),
            node_id=node.node_id,
            address=node.inactive_address(),
        )
        version = 0
        while minimum_nodes and not node.active():
            topology = node.await_topology(version)
            if topology is None:
                return
            version = topology.version
            if len(topology.node_ids) >= minimum_nodes:
                node.activate()
        node.await_address(0)

    def _report_ready(self, node: JavaNode, address: str | None) -> None:
        api = f"API on {address}" if address else "the service's node filter leaves this node out"
        log = f"log {node.log_file}; " if node.log_file else ""
        self._report.event(
            "ready",
            f"node {node.node_id} is ready: {api}; {log}Ctrl-C stops it",
            node_id=node.node_id,
            instance=node.instance,
            address=address,
            pid=os.getpid(),
            log=node.log_file,
        )


def _running_threads() -> str:
    """The stacks of the JVM's threads that run our code; read by a thread of its own, as the JVM may not answer."""
    from tensorflow_ignite.node import jvm

    found: list[str] = []
    reading = threading.Thread(target=lambda: found.append(jvm.stacks(OUR_CLASSES)), name="stacks", daemon=True)
    reading.start()
    reading.join(STACKS_TIMEOUT)
    return f"What still runs:\n{found[0]}" if found else "Its JVM does not answer"


def _default_signal(_number: int, _frame: FrameType | None) -> None:
    """Does nothing: Python writes into the pipe because a handler exists."""


def main() -> int:
    """The program ``python -m tensorflow_ignite.node``."""
    from tensorflow_ignite.node.arguments import parse

    return run_node(**parse(sys.argv[1:]))
