"""Promise to who runs Ignite already: our jar and one bean make a stock node train, without our Python around it.

Promise (nodes): A node without the project's jar may join, and runs no job.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from jobs import LIMIT, SCRIPTS, await_gone, await_job, environment, read
from pyignite.exceptions import SQLError
from thin_client import thin_client

import tensorflow_ignite as tfi
from tensorflow_ignite.errors import ConnectionFailedError, InvalidRequestError
from tensorflow_ignite.node.runtime import JARS
from tensorflow_ignite.testing.leaks import files_below, listening_sockets
from tensorflow_ignite.testing.ports import PortBlock

CONFIG = Path(__file__).resolve().parents[2] / "java" / "config" / "tensorflow-ignite.xml"
JAVA = shutil.which("java")
FILTER = """
<property name="nodeFilter">
  <bean class="org.apache.ignite.util.AttributeNodeFilter">
    <constructor-arg value="tensorflow"/>
    <constructor-arg value="true"/>
  </bean>
</property>
"""
ATTRIBUTE = '<property name="userAttributes"><map><entry key="tensorflow" value="true"/></map></property>'
# A cache of the user's own, on the nodes with the attribute.
CACHE = f"""
<property name="cacheConfiguration">
  <bean class="org.apache.ignite.configuration.CacheConfiguration"><property name="name" value="rows"/>{FILTER}</bean>
</property>
"""


class StockNode:
    """Ignite's own start-up class in a plain JVM."""

    def __init__(self, directory: Path, xml: str, *, plugin: bool, port: int) -> None:
        """Starts it; its API, if it has one, listens on the port."""
        directory.mkdir()
        self.work = directory / "work"
        self.address = f"127.0.0.1:{port}"
        config = directory / "node.xml"
        config.write_text(xml)
        # What Maven Central has for these coordinates; slf4j is there for nodes that Python hosts.
        jars = [jar for jar in sorted(JARS.glob("*.jar")) if not jar.name.startswith(("tensorflow-ignite-", "slf4j-"))]
        jars += sorted(JARS.glob("tensorflow-ignite-*.jar")) if plugin else []
        self._console = (directory / "console.log").open("w+")
        self.process = subprocess.Popen(
            [
                str(JAVA),
                *(JARS / "add-opens.txt").read_text().split(),
                "-Xmx512m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+PerfDisableSharedMem",
                "-Djava.net.preferIPv4Stack=true",
                f"-Djava.io.tmpdir={directory}",
                "-cp",
                ":".join(map(str, jars)),
                "org.apache.ignite.startup.cmdline.CommandLineStartup",
                str(config),
            ],
            env=environment(None)
            | {
                "IGNITE_WORK_DIR": str(self.work),
                "IGNITE_UPDATE_NOTIFIER": "false",
                "TENSORFLOW_IGNITE_PYTHON": sys.executable,
                "TENSORFLOW_IGNITE_PORT": str(port),
            },
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=self._console,
            stderr=subprocess.STDOUT,
        )

    def printed(self) -> str:
        """All that it wrote on its console."""
        self._console.seek(0)
        return self._console.read()

    def await_printed(self, pattern: str) -> None:
        """Waits for a line of its console."""
        deadline = time.monotonic() + LIMIT
        while not re.search(pattern, self.printed()):
            assert self.process.poll() is None, self.printed()
            assert time.monotonic() < deadline, self.printed()
            time.sleep(0.05)

    def client(self) -> tfi.Client:
        """A client, when its API answers and its agent runs."""
        deadline = time.monotonic() + LIMIT
        while True:
            assert self.process.poll() is None, self.printed()
            try:
                client = tfi.connect(self.address)
                if any(node.agent.pid for node in client.nodes()):
                    return client
                client.close()
            except ConnectionFailedError:
                pass
            assert time.monotonic() < deadline, self.printed()
            time.sleep(0.1)

    def stop(self) -> int:
        """SIGTERM, as Ignite's users stop a node; its exit code."""
        self.process.terminate()
        try:
            return self.process.wait(LIMIT)
        finally:
            self.kill()

    def kill(self) -> None:
        """Ends it, if it has not ended."""
        self.process.kill()
        self.process.wait()
        self._console.close()


def configuration(ports: PortBlock, name: str, *, service: bool) -> str:
    """Our example, which users copy, on free ports; the service, if any, on nodes that have an attribute."""
    text = re.sub(r"<!--.*?-->", "", CONFIG.read_text(), flags=re.DOTALL)
    # The last ones of the block are for the APIs.
    text = text.replace("47500..47509", f"{ports.first}..{ports.first + 9}").replace('"47500"', f'"{ports.first}"')
    if service:
        text = text.replace('<property name="service">', FILTER + '<property name="service">')
        bean = '<bean class="io.tensorflowignite.TensorFlowService"'
        assert f"{bean}/>" in text
        text = text.replace(f"{bean}/>", f'{bean}><property name="sqlFunctions" value="true"/></bean>')
        more = ATTRIBUTE + CACHE
    else:
        text = re.sub(r'<property name="serviceConfiguration">.*?</list>\s*</property>', "", text, flags=re.DOTALL)
        more = ""
    more += f'<property name="igniteInstanceName" value="{name}"/>'
    return text.replace('<property name="localHost"', f'{more}<property name="localHost"')


def test_a_stock_node_with_our_jar_and_bean_runs_jobs_and_a_node_without_both_joins_and_runs_none(
    tmp_path: Path, ports: PortBlock
) -> None:
    xml = configuration(ports, "any name at all", service=True)
    chosen = StockNode(tmp_path / "chosen", xml, plugin=True, port=ports.last)
    try:
        with chosen.client() as client:
            chosen.await_printed(rf"tensorflow-ignite is up: clients call this node at {chosen.address} \(no TLS\)")
            xml = configuration(ports, "another", service=False)
            other = StockNode(tmp_path / "other", xml, plugin=False, port=ports.last - 1)
            try:
                other.await_printed(r"servers=2")
                run_jobs(client, chosen, other, tmp_path)
                predict_by_sql(client, chosen, other)
            finally:
                other.kill()
        below = {process.pid for process in psutil.Process(chosen.process.pid).children(recursive=True)}
        assert below
        assert chosen.stop() in (0, 130, 143)
        await_gone(below, LIMIT)
        assert ports.last not in listening_sockets().values()
        assert files_below(chosen.work / "tensorflow-ignite") == []
    finally:
        if chosen.process.poll() is None:
            chosen.kill()


def predict_by_sql(client: tfi.Client, chosen: StockNode, other: StockNode) -> None:
    """A function of SQL is refused while there is a server without it, which does not know its name."""
    (node,) = client.nodes()
    select = "SELECT TF_PREDICT('digits', 1)"
    with thin_client(chosen.process.pid) as ignite:
        refusal = r"these server nodes do not run the service: \[[0-9a-f]{8}\]"
        with pytest.raises(SQLError, match=refusal) as refused:
            list(ignite.sql(select))
        assert node.id[:8] not in str(refused.value)
        assert "[code=INVALID_REQUEST]" in str(refused.value)
        # The other server, which has rows too, may be the first that answers.
        with pytest.raises(SQLError, match=f'{refusal}|Function "TF_PREDICT" not found'):
            list(ignite.sql(f'{select} FROM "everywhere".Everywhere'))
    with thin_client(other.process.pid) as ignite, pytest.raises(SQLError, match='Function "TF_PREDICT" not found'):
        list(ignite.sql(select))


def run_jobs(client: tfi.Client, chosen: StockNode, other: StockNode, folder: Path) -> None:
    """One job that succeeds on the chosen node alone, and one that says why it waits."""
    assert [node.address for node in client.nodes()] == [chosen.address]
    with pytest.raises(InvalidRequestError, match="with key="):
        tfi.load("rows", {"id": np.arange(200)}, if_exists="append", address=chosen.address)
    rows = {"key": np.arange(200), "id": np.arange(200)}
    tfi.load("rows", rows, key="key", if_exists="append", address=chosen.address)
    handle = client.submit(SCRIPTS / "read_ids.py", cache="rows", args=[str(folder), "rows", "1"])
    job = handle.wait(LIMIT)
    assert job.attempt is not None
    assert [task.name for task in job.attempt.tasks] == ["worker 0"]
    assert sorted(read(folder, "worker-0-0.json")) == list(range(200))
    # A cache without the filter: half of its rows are where no task can be.
    tfi.load("everywhere", {"id": np.arange(200)}, address=chosen.address)
    waiting = client.submit(SCRIPTS / "read_ids.py", cache="everywhere", args=[str(folder), "everywhere", "1"])
    seen = await_job(waiting, lambda job: bool(job.waiting_for))
    assert "owns partitions of cache 'everywhere', to run the service tensorflow-ignite" in seen.waiting_for
    assert waiting.stop(timeout=LIMIT).state == "stopped"
    assert psutil.Process(other.process.pid).children() == []
    assert not (other.work / "tensorflow-ignite").exists()
    assert "Exception" not in other.printed()
