"""The services of a node, with every encryption and authentication: permitted callers are served, others refused."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import thin_cluster

import tensorflow_ignite as tfi
from certificates import STORE_PASSWORD, Authority, Certificate, java_stores, make_authority
from tensorflow_ignite import Credentials, errors
from tensorflow_ignite.data.transport import choice, flight
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.testing import LocalCluster, node_configuration
from tensorflow_ignite.testing.ports import PortBlock
from tensorflow_ignite.v1 import data_pb2

# The encryption of a node, and whom it asks: nobody, or users of the cluster, by password and by token.
STRICTEST = ("mutual", "users")
ROWS = 64
CACHE = "guarded"
TOKEN = "dGhlIHRva2VuIG9mIHRoZSB0ZXN0cywgMzIgYnl0ZXM"
_THIN_TLS = """
<property name="sslEnabled" value="true"/>
<property name="sslClientAuth" value="{mutual}"/>
<property name="useIgniteSslContextFactory" value="false"/>
<property name="sslContextFactory">
  <bean class="org.apache.ignite.ssl.SslContextFactory">
    <property name="keyStoreFilePath" value="{store}"/>
    <property name="keyStorePassword" value="{password}"/>
    <property name="keyStoreType" value="PKCS12"/>
    <property name="trustStoreFilePath" value="{trust}"/>
    <property name="trustStorePassword" value="{password}"/>
    <property name="trustStoreType" value="PKCS12"/>
  </bean>
</property>
"""


@dataclass(frozen=True)
class Makers:
    """Certificates, and what is made of them."""

    authority: Authority
    stranger: Authority
    store: Path
    trust: Path
    mine: Certificate
    strangers: Certificate

    def configuration(self, encryption: str, asks: str, port: int) -> str:
        secured = _THIN_TLS.format(
            store=self.store, trust=self.trust, password=STORE_PASSWORD, mutual=str(encryption == "mutual").lower()
        )
        users = '<property name="authenticationEnabled" value="true"/>' if asks == "users" else ""
        properties: dict[str, Any] = {}
        if asks == "users":
            properties["tokens"] = {"etl": hashlib.sha256(TOKEN.encode()).hexdigest()}
        if encryption == "mutual":
            properties["clientCertificates"] = "required"
        client = thin_cluster.CLIENT.format(port=port, tls="" if encryption == "plain" else secured) + users
        return node_configuration(node=client, security=properties)

    def environment(self) -> dict[str, str]:
        folder = self.authority.folder
        pems = {"CERTIFICATE": folder / "node.pem", "KEY": folder / "node-key.pem", "CA": self.authority.certificate}
        return {f"TENSORFLOW_IGNITE_TLS_{name}": str(path) for name, path in pems.items()}

    def wrong(self, encryption: str, way: str, right: Credentials) -> list[Credentials]:
        """Who must not get in where this one does."""
        found = []
        if way == "password":
            found += [replace(right, password="not that"), replace(right, username=None, password=None)]
        if way == "token":
            found.append(replace(right, token="not-that-one"))
        if encryption != "plain":
            found.append(replace(right, cafile=None, certfile=None, keyfile=None))
            # Nobody whom this client trusts has signed the node's certificate.
            found.append(replace(right, cafile=str(self.stranger.certificate)))
        if encryption == "mutual":
            found.append(replace(right, certfile=None, keyfile=None))
            strange = self.strangers
            found.append(replace(right, certfile=str(strange.certificate), keyfile=str(strange.key)))
        return found


@dataclass(frozen=True)
class Guarded:
    """A node, and who gets in by each way."""

    address: str
    thin: str
    right: dict[str, Credentials]
    wrong: dict[str, list[Credentials]]


@pytest.fixture(scope="session")
def makers(tmp_path_factory: pytest.TempPathFactory) -> Makers:
    """Certificates: those of the cluster, and others'."""
    folder = tmp_path_factory.mktemp("guarded")
    authority, stranger = make_authority(folder / "authority"), make_authority(folder / "stranger")
    store, trust = java_stores(folder, authority, authority.issue("node", ["127.0.0.1", "localhost"]))
    return Makers(authority, stranger, store, trust, authority.issue("client"), stranger.issue("other"))


@pytest.fixture(scope="module")
def node(request: pytest.FixtureRequest, makers: Makers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A node that encrypts and asks as it is to; tests of one kind share it."""
    encryption, asks = request.param
    whom: dict[str, Any] = {} if encryption == "plain" else {"cafile": str(makers.authority.certificate)}
    if encryption == "mutual":
        whom |= {"certfile": str(makers.mine.certificate), "keyfile": str(makers.mine.key)}
    right = {"none": Credentials(**whom)}
    if asks == "users":
        right = {"password": Credentials("ignite", "ignite", **whom), "token": Credentials(token=TOKEN, **whom)}
    knows = next(iter(right.values()))
    config = tmp_path_factory.mktemp("guarded") / "node.xml"
    with contextlib.ExitStack() as stack:
        ports = PortBlock()
        stack.callback(ports.release)
        config.write_text(makers.configuration(encryption, asks, ports.last))
        environment = makers.environment() if encryption != "plain" else {}
        with LocalCluster(
            1, config=config, persistent=asks == "users", environment=environment, credentials=knows
        ) as cluster:
            tfi.load(CACHE, {"x": np.arange(ROWS)}, partitions=8, address=cluster.address, credentials=knows)
            wrong = {way: makers.wrong(encryption, way, who) for way, who in right.items()}
            yield Guarded(cluster.address, f"127.0.0.1:{ports.last}", right, wrong)


def api(node: Guarded, who: Credentials | None) -> None:
    with tfi.connect(node.address, credentials=who) as client:
        assert len(client.nodes()) == 1


def data_remote(node: Guarded, who: Credentials | None) -> None:
    for transport in ("flight", "auto"):
        table = tfi.read_table(
            CACHE, options=tfi.ReadOptions(address=node.address, transport=transport, credentials=who)
        )
        assert sorted(table["x"].to_pylist()) == list(range(ROWS))


def data_local(node: Guarded, who: Credentials | None) -> None:
    command = data_pb2.ReadCommand(cache=CACHE)
    plan = flight.describe(node.address, command, credentials=who)
    rows = [
        value
        for endpoint in plan.endpoints
        for batch in choice.open_stream(endpoint, CACHE, choice.SHARED, credentials=who)
        for value in batch.column("x").to_pylist()
    ]
    assert sorted(rows) == list(range(ROWS))


def storage(node: Guarded, who: Credentials | None) -> None:
    files = Files.at((node.address,), credentials=who)
    with files.open_writer("/matrix") as writer:
        writer.write(b"kept")
    with files.open_reader("/matrix") as reader:
        assert reader.read(0, 10) == b"kept"


def thin(node: Guarded, who: Credentials | None) -> None:
    table = tfi.read_table(CACHE, options=tfi.ReadOptions(address=node.thin, transport="thin", credentials=who))
    assert sorted(table["x"].to_pylist()) == list(range(ROWS))


SERVICES = [api, data_remote, data_local, storage, thin]
OTHERS = [("plain", "users"), ("mutual", "nobody"), ("tls", "users"), ("tls", "nobody")]
# The strictest node checks what the others do, and more: all of its services; of the others one each. Most other
# tests have a plain node that asks nobody.
CELLS = [(STRICTEST, service) for service in SERVICES] + list(zip(OTHERS, SERVICES[1:], strict=True))


@pytest.mark.parametrize(
    ("node", "service"),
    [
        pytest.param(
            kind,
            service,
            id="-".join([*kind, service.__name__]),
            marks=[] if kind == STRICTEST else pytest.mark.full,
        )
        for kind, service in CELLS
    ],
    indirect=["node"],
    scope="module",
)
def test_permitted_callers_are_served_and_others_get_the_reason(
    node: Guarded, service: Callable[[Guarded, Credentials | None], None]
) -> None:
    for way, right in node.right.items():
        if service is thin and way == "token":
            with pytest.raises(errors.InvalidRequestError, match="knows users and"):
                service(node, right)
            continue
        service(node, right)
        for who in node.wrong[way]:
            with pytest.raises(errors.TensorFlowIgniteError) as caught:
                service(node, who)
            # Ignite's own port says it in its own way.
            if service is not thin:
                assert isinstance(caught.value, (errors.UnauthenticatedError, errors.ConnectionFailedError))
            for secret in (TOKEN, "not that", "not-that-one"):
                assert secret not in str(caught.value)
