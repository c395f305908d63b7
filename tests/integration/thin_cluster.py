"""Ignite nodes as anybody runs them: no service, no jar of ours, only Ignite's thin client port."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobs import LIMIT
from pyignite import Client
from test_stock_ignite import StockNode, configuration

from tensorflow_ignite.testing.ports import PortBlock

_CLIENT = """
<property name="clientConnectorConfiguration">
  <bean class="org.apache.ignite.configuration.ClientConnectorConfiguration">
    <property name="port" value="{port}"/>
    <property name="portRange" value="0"/>
    {tls}
  </bean>
</property>
"""
_AUTHENTICATION = """
<property name="authenticationEnabled" value="true"/>
<property name="dataStorageConfiguration">
  <bean class="org.apache.ignite.configuration.DataStorageConfiguration">
    <property name="defaultDataRegionConfiguration">
      <bean class="org.apache.ignite.configuration.DataRegionConfiguration">
        <property name="persistenceEnabled" value="true"/>
        <property name="maxSize" value="#{64L * 1024 * 1024}"/>
        <property name="initialSize" value="#{16L * 1024 * 1024}"/>
      </bean>
    </property>
    <property name="walMode" value="NONE"/>
    <property name="walSegmentSize" value="4194304"/>
  </bean>
</property>
"""


class ThinNode:
    """One node and the address of its thin port."""

    def __init__(self, node: StockNode, port: int) -> None:
        """Of a node that has been started."""
        self.node = node
        self.host = "127.0.0.1"
        self.port = port
        self.address = f"{self.host}:{port}"

    def await_servers(self, number: int) -> None:
        """Waits until it sees so many nodes and takes clients."""
        self.node.await_printed(rf"servers={number}")
        deadline = time.monotonic() + LIMIT
        while True:
            try:
                with self.client():
                    return
            except OSError:
                assert time.monotonic() < deadline, self.node.printed()
                time.sleep(0.05)

    @contextmanager
    def client(self, **arguments: object) -> Iterator[Client]:
        """pyignite's own client."""
        client = Client(partition_aware=False, timeout=LIMIT, **arguments)
        with client.connect(self.host, self.port):
            yield client


def start(directory: Path, ports: PortBlock, number: int, *, authentication: bool = False, tls: str = "") -> ThinNode:
    """Starts one node; it is not awaited."""
    # The last ports of the block are nobody's else.
    port = ports.last - number
    xml = configuration(ports, f"node {number}", service=False)
    more = _CLIENT.format(port=port, tls=tls) + (_AUTHENTICATION if authentication else "")
    xml = xml.replace('<property name="localHost"', f'{more}<property name="localHost"')
    return ThinNode(StockNode(directory / f"node-{number}", xml, plugin=False, port=port), port)
