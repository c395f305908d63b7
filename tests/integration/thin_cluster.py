"""Ignite nodes as anybody runs them: no service, no jar of ours, only Ignite's thin client port."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from jobs import LIMIT
from pyignite import Client
from pyignite.datatypes import Bool, Int, String
from pyignite.datatypes.binary import binary_fields_struct, enum_struct, schema_struct
from pyignite.queries import Query, query_perform
from pyignite.queries.op_codes import OP_PUT_BINARY_TYPE
from pyignite.utils import entity_id
from test_stock_ignite import StockNode, configuration

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport.thin.connection import ThinConnection
from tensorflow_ignite.testing.ports import PortBlock

#: Of a node: its port for thin clients.
CLIENT = """
<property name="clientConnectorConfiguration">
  <bean class="org.apache.ignite.configuration.ClientConnectorConfiguration">
    <property name="port" value="{port}"/>
    <property name="portRange" value="0"/>
    {tls}
  </bean>
</property>
"""
# The default of 1,024 partitions would make each small test ask 1,024 times.
_FEW_PARTITIONS = """
<property name="cacheConfiguration">
  <list>{caches}</list>
</property>
"""
_CACHE = """
<bean class="org.apache.ignite.configuration.CacheConfiguration">
  <property name="name" value="{name}"/>
  <property name="cacheMode" value="{mode}"/>
  <property name="backups" value="{backups}"/>
  <property name="affinity">
    <bean class="org.apache.ignite.cache.affinity.rendezvous.RendezvousAffinityFunction">
      <property name="partitions" value="{partitions}"/>
    </bean>
  </property>
</bean>
"""
_CACHES = [
    # A template: what caches that clients make by their name look like.
    _CACHE.format(name="*", mode="PARTITIONED", backups=0, partitions=32),
    _CACHE.format(name="backed", mode="PARTITIONED", backups=1, partitions=48),
    _CACHE.format(name="everywhere", mode="REPLICATED", backups=0, partitions=20),
]


def register_enum(client: Client, name: str, constants: Sequence[str]) -> int:
    """Registers an enum with the cluster, which pyignite's own call cannot; returns the number of its type."""
    fields = [("type_id", Int), ("type_name", String), ("affinity_key_field", String)]
    fields += [("binary_fields", binary_fields_struct), ("is_enum", Bool), ("enums", enum_struct)]
    query = Query(OP_PUT_BINARY_TYPE, [*fields, ("schema", schema_struct)])
    parameters = {
        "type_id": entity_id(name),
        "type_name": name,
        "affinity_key_field": None,
        "binary_fields": [],
        "is_enum": True,
        "enums": [{"literal": constant, "type_id": ordinal} for ordinal, constant in enumerate(constants)],
        "schema": [],
    }
    assert query_perform(query, client.random_node, query_params=parameters).status == 0
    number: int = entity_id(name)
    return number


class ThinNode:
    """One node and the address of its thin port."""

    def __init__(self, node: StockNode, port: int) -> None:
        """Of a node that has been started."""
        self.node = node
        self.host = "127.0.0.1"
        self.port = port
        self.address = f"{self.host}:{port}"

    def await_servers(self, number: int) -> None:
        """Waits for a number of nodes, each of which owns partitions and takes clients.

        A node that has just joined owns none for a moment, of caches that are created then too.
        """
        self.node.await_printed(rf"servers={number}")
        deadline = time.monotonic() + LIMIT
        while self._owners() < number:
            assert time.monotonic() < deadline, self.node.printed()
            time.sleep(0.05)

    def _owners(self) -> int:
        """How many nodes own partitions; 0 while it takes no clients."""
        try:
            with ThinConnection(self.address, None, "owners are unknown") as connection:
                return len(connection.owners("backed"))
        except errors.ConnectionFailedError:
            return 0

    @contextmanager
    def client(self, **arguments: object) -> Iterator[Client]:
        client = Client(partition_aware=False, timeout=LIMIT, **arguments)
        with client.connect(self.host, self.port):
            yield client


def start(directory: Path, ports: PortBlock, number: int) -> ThinNode:
    """Starts one node; it is not awaited."""
    # The last ports of the block are nobody's else.
    port = ports.last - number
    xml = configuration(ports, f"node {number}", service=False)
    # Such a node has no data region of ours, and its own thin port.
    for pattern in (
        r'<property name="clientConnectorConfiguration">.*?</bean>\s*</property>',
        r'<property name="dataStorageConfiguration">.*?</list>\s*</property>\s*</bean>\s*</property>',
    ):
        xml = re.sub(pattern, "", xml, flags=re.DOTALL)
    more = CLIENT.format(port=port, tls="") + _FEW_PARTITIONS.format(caches="".join(_CACHES))
    xml = xml.replace('<property name="localHost"', f'{more}<property name="localHost"')
    return ThinNode(StockNode(directory / f"node-{number}", xml, plugin=False, port=port), port)
