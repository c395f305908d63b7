"""The one file that talks to JPype: starts the JVM in this process and wraps the facade EmbeddedNode."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jpype

from tensorflow_ignite.node.runtime import NodeSettings, NodeStartError

_EMBEDDED = "io.tensorflowignite.embedded"


@dataclass(frozen=True, kw_only=True)
class Topology:
    """The server nodes of the cluster, at one version of its topology."""

    version: int
    node_ids: tuple[str, ...]


def start_jvm(libjvm: Path, *, options: Sequence[str], classpath: Sequence[str]) -> None:
    """Starts the JVM of this process; a process can have one only, and only once.

    Raises:
        NodeStartError: The JVM refuses, for example one of the options.
    """
    _accept_all_file_names()
    try:
        # interrupt=False leaves SIGINT to Python; it needs -Xrs among the options.
        jpype.startJVM(str(libjvm), *options, classpath=list(classpath), interrupt=False, convertStrings=False)
    except Exception as refused:  # JPype raises many kinds of errors here
        raise NodeStartError(
            f"The JVM {libjvm} did not start: {refused}. Options beyond our own come from --jvm-arg. "
            "See what the JVM has printed above."
        ) from refused
    _remove_collection_callback()


def _remove_collection_callback() -> None:
    """Removes JPype's callback from Python's garbage collector.

    The callback calls System.gc() whenever the process has grown: a full collection of the heap, during which the node
    answers nobody. A node grows with each load, outside of the heap, so it would stand still again and again.
    """
    gc.callbacks[:] = [callback for callback in gc.callbacks if callback != jpype._jpype._collect]


def _accept_all_file_names() -> None:
    """In the locale C, Java can use only ASCII file names; in C.UTF-8 it can use all. Python can use all in both."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    if next(filter(None, map(os.environ.get, names)), "C") in ("C", "POSIX"):
        os.environ["LC_ALL"] = "C.UTF-8"


class JavaNode:
    """The Java facade io.tensorflowignite.embedded.EmbeddedNode; its calls may block, without the GIL."""

    def __init__(self, facade: Any) -> None:
        """Wraps a facade that has been started."""
        self._facade = facade

    @classmethod
    def start(cls, settings: NodeSettings) -> JavaNode:
        """Starts the node and joins the cluster.

        Raises:
            NodeStartError: Ignite does not start; the text ends in Ignite's own reasons.
        """
        # Not by JPackage, which needs the module jdk.zipfs: a Java runtime made by jlink may be without it.
        embedded = jpype.JClass(f"{_EMBEDDED}.EmbeddedSettings")()
        given = {
            "springXml": settings.config,
            "name": settings.name,
            "workDirectory": settings.work_directory,
            "host": settings.host,
            "persistent": settings.persistent,
            "dataRegionBytes": settings.data_region_bytes,
        }
        for setter, value in given.items():
            if value is not None:
                getattr(embedded, setter)(value)
        if settings.discovery:
            embedded.discovery(*settings.discovery)
        for key, value in settings.attributes.items():
            embedded.attribute(key, value)
        try:
            return cls(jpype.JClass(f"{_EMBEDDED}.EmbeddedNode").start(embedded))
        except jpype.JException as failed:
            raise NodeStartError(f"The Ignite node did not start: {_reasons(failed)}") from failed

    @property
    def node_id(self) -> str:
        """Ignite's id of the node."""
        return str(self._facade.nodeId())

    @property
    def instance(self) -> str | None:
        """The Ignite instance name; None: the default instance."""
        return _text(self._facade.name())

    @property
    def log_file(self) -> str | None:
        """The path of the node's log; None: the Spring XML file has its own logger."""
        return _text(self._facade.logFile())

    def active(self) -> bool:
        """Whether the cluster is activated; without that it has no caches and runs no service."""
        return bool(self._facade.active())

    def missing(self) -> str:
        """The nodes of the baseline that are not in the cluster, for people; empty: none."""
        return str(self._facade.missing())

    def inactive_address(self) -> str | None:
        """host:port at which callers get the reason why the cluster is not active."""
        return _text(self._facade.inactiveAddress())

    def activate(self) -> None:
        """Activates the cluster."""
        self._facade.activate()

    def await_address(self, timeout: float) -> str | None:
        """Waits until the node's API answers.

        Args:
            timeout: In seconds; 0: until the node stops.

        Returns:
            host:port; None when the service's node filter leaves this node out.

        Raises:
            NodeStartError: It does not answer in time, or the node stopped.
        """
        try:
            return _text(self._facade.awaitAddress(int(timeout * 1000)))
        except jpype.JException as failed:
            raise NodeStartError(_reasons(failed)) from failed

    def await_topology(self, after_version: int) -> Topology | None:
        """Waits for a topology newer than the version; None when the node has stopped."""
        topology = self._facade.awaitTopology(after_version)
        if topology is None:
            return None
        return Topology(version=int(topology.version()), node_ids=tuple(str(node) for node in topology.nodeIds()))

    def leave(self) -> None:
        """Waits for planned ends of the node's tasks, at most for the stop grace of their jobs."""
        self._facade.leave()

    def stop(self) -> None:
        """Stops the node, the tasks on it included; returns when nothing of it is left."""
        self._facade.stop()


def stacks(prefix: str) -> str:
    """The stacks of the threads that are in classes whose names begin with the prefix, as text."""
    found = []
    for thread, frames in jpype.JClass("java.lang.Thread").getAllStackTraces().items():
        if any(str(frame.getClassName()).startswith(prefix) for frame in frames):
            found.append("\n    ".join([f"{thread.getName()} ({thread.getState()})", *map(str, frames)]))
    return "\n".join(found)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _reasons(failed: Any) -> str:
    """The messages of the chain of causes, each once: a user can mostly act on the last one."""
    reasons: list[str] = []
    cause = failed
    while cause is not None:
        # Spring and Ignite repeat a cause's message in their own.
        message = str(cause.getMessage() or cause.getClass().getSimpleName()).strip().splitlines()[0]
        if not any(message in reason for reason in reasons):
            reasons.append(message)
        cause = cause.getCause()
    return " <- ".join(reasons)
