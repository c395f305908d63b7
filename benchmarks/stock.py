"""Stock Ignite nodes: version, JVM options and configuration of a local cluster's, without our jar and service."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tensorflow_ignite.node.runtime import JARS, jvm_options
from tensorflow_ignite.testing.cluster import DATA_REGION_BYTES, JVM_ARGS
from tensorflow_ignite.testing.ports import PortBlock

CONFIG = Path(__file__).resolve().parents[1] / "java" / "config" / "tensorflow-ignite.xml"
SECONDS_TO_START = 150.0
SECONDS_TO_END = 30.0
_POLL_SECONDS = 0.1


class StockCluster:
    """Nodes as plain JVMs on loopback; a context manager that starts them, and ends them.

    Attributes:
        pids: Of the nodes' processes.
    """

    def __init__(self, nodes: int, folder: Path, jvm: Sequence[str]) -> None:
        """Describes the nodes.

        Args:
            nodes: How many.
            folder: For their files.
            jvm: The options of the JVM that a `LocalCluster` was given.
        """
        self._nodes = nodes
        self._folder = folder
        self._jvm = jvm
        self._processes: list[subprocess.Popen[bytes]] = []
        self._ports = PortBlock()

    @property
    def pids(self) -> list[int]:
        """Of the nodes' processes."""
        return [process.pid for process in self._processes]

    def __enter__(self) -> StockCluster:
        """Starts the nodes; returns when they see each other.

        Raises:
            RuntimeError: One of them ended, or they took too long.
        """
        try:
            for number in range(self._nodes):
                self._start(self._folder / f"stock-{number}")
            self._await()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends the nodes."""
        self._end()

    def _start(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        config = folder / "node.xml"
        config.write_text(self._configuration(folder.name))
        java = shutil.which("java")
        assert java is not None
        # slf4j is there for nodes that Python hosts.
        jars = [jar for jar in sorted(JARS.glob("*.jar")) if not jar.name.startswith(("tensorflow-ignite-", "slf4j-"))]
        options = [
            option
            for option in jvm_options(service={}, extra=[*JVM_ARGS, *self._jvm])
            if not option.startswith(("-Dtensorflow.ignite.", "-Djava.io.tmpdir="))
        ]
        with (folder / "console.log").open("wb") as console:
            self._processes.append(
                subprocess.Popen(
                    [
                        *(java, *options, f"-Djava.io.tmpdir={folder}", "-cp", ":".join(map(str, jars))),
                        *("org.apache.ignite.startup.cmdline.CommandLineStartup", str(config)),
                    ],
                    env={**os.environ, "IGNITE_WORK_DIR": str(folder / "work")},
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    def _configuration(self, name: str) -> str:
        """Our example without the service, on free ports, with the memory of a local cluster's nodes."""
        text = re.sub(r"<!--.*?-->", "", CONFIG.read_text(), flags=re.DOTALL)
        text = re.sub(r'<property name="serviceConfiguration">.*?</list>\s*</property>', "", text, flags=re.DOTALL)
        first, last = self._ports.first, self._ports.last
        text = text.replace("47500..47509", f"{first}..{last}").replace('"47500"', f'"{first}"')
        text = text.replace('"localPortRange" value="9"', f'"localPortRange" value="{last - first}"')
        region = f'<property name="maxSize" value="{DATA_REGION_BYTES}"/>'
        text = text.replace('<property name="initialSize"', region + '<property name="initialSize"')
        default = (
            '<property name="defaultDataRegionConfiguration">'
            f'<bean class="org.apache.ignite.configuration.DataRegionConfiguration">{region}</bean></property>'
        )
        text = text.replace(
            '<property name="dataRegionConfigurations">', default + '<property name="dataRegionConfigurations">'
        )
        return text.replace(
            '<property name="localHost"',
            f'<property name="igniteInstanceName" value="{name}"/><property name="localHost"',
        )

    def _await(self) -> None:
        deadline = time.monotonic() + SECONDS_TO_START
        for number, process in enumerate(self._processes):
            console = self._folder / f"stock-{number}" / "console.log"
            while f"servers={self._nodes}," not in (printed := console.read_text(errors="replace")):
                if process.poll() is not None:
                    raise RuntimeError(
                        f"stock node {number} ended with exit code {process.returncode}: {printed[-3_000:]}"
                    )
                if time.monotonic() > deadline:
                    raise RuntimeError(
                        f"stock node {number} did not see the others; it printed ({console}): {printed[-3_000:]}"
                    )
                time.sleep(_POLL_SECONDS)

    def _end(self) -> None:
        """Their JVMs leave signals alone (-Xrs), so SIGTERM ends them at once."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._ports.release()
