"""Connections to nodes: TLS, who calls, and what is said when either is wrong; gRPC and Flight on real sockets.

Promise (security): Credentials leave a process only in the header of a call.
"""

from __future__ import annotations

import pickle
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from secured import REFUSAL, TABLE, DataEndpoint, node_api
from shared_memory_node import Node as SharedNode

import tensorflow_ignite as tfi
from certificates import Authority, Certificate, make_authority
from tensorflow_ignite import errors
from tensorflow_ignite.data.transport import segments
from tensorflow_ignite.data.transport.flight import Endpoint
from tensorflow_ignite.data.transport.shared import SharedStream
from tensorflow_ignite.net import channels, handshake
from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.v1 import data_pb2

PASSWORD = "swordfish"
TOKEN = "s3cr3t-t0k3n"
BASIC = "Basic YWxpY2U6c3dvcmRmaXNo"
CALLERS = [
    ({}, None),
    ({"username": "alice", "password": PASSWORD}, BASIC),
    ({"token": TOKEN}, f"Bearer {TOKEN}"),
]


@dataclass(frozen=True)
class Papers:
    """All certificates of these tests; they take a second to make."""

    authority: Authority
    foreign: Authority
    node: Certificate
    expired: Certificate
    elsewhere: Certificate
    of_foreign: Certificate
    alice: Certificate
    old_alice: Certificate
    mallory: Certificate

    def trusting(self, **more: object) -> tfi.Credentials:
        return tfi.Credentials(cafile=str(self.authority.certificate), **more)  # type: ignore[arg-type]

    def of(self, client: Certificate) -> tfi.Credentials:
        """The same with a client's certificate."""
        return self.trusting(certfile=str(client.certificate), keyfile=str(client.key))


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    folder = tmp_path_factory.mktemp("papers")
    ours, foreign = make_authority(folder / "ours", "ours"), make_authority(folder / "foreign", "foreign")
    return Papers(
        ours,
        foreign,
        node=ours.issue("node", ["localhost", "127.0.0.1"]),
        expired=ours.issue("expired", ["127.0.0.1"], expired=True),
        elsewhere=ours.issue("elsewhere", ["node9.example"]),
        of_foreign=foreign.issue("node", ["127.0.0.1"]),
        alice=ours.issue("alice"),
        old_alice=ours.issue("old_alice", expired=True),
        mallory=foreign.issue("mallory"),
    )


@pytest.fixture(autouse=True)
def _nobody_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("USERNAME", "PASSWORD", "TOKEN", "CERTFILE", "KEYFILE", "CAFILE", "TLS", "CONTEXT", "PROFILE"):
        monkeypatch.delenv(f"TENSORFLOW_IGNITE_{name}", raising=False)


def call(address: str, credentials: tfi.Credentials | None) -> None:
    """Every kind of call of the node API."""
    with tfi.connect(address, credentials=credentials) as client:
        client.nodes()
        client.jobs()
        list(client.job("7f3a").watch())


def read(address: str, credentials: tfi.Credentials | None) -> None:
    found = tfi.read_table("c", options=tfi.ReadOptions(address=address, credentials=credentials))
    assert found.equals(TABLE)


@pytest.mark.parametrize(("who", "header"), CALLERS, ids=["nobody", "password", "token"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_every_call_of_the_node_api_and_every_read_and_load_has_the_callers_credentials(
    papers: Papers, tls: bool, who: dict[str, str], header: str | None
) -> None:
    credentials = papers.trusting(**who) if tls else tfi.Credentials(**who) if who else None  # type: ignore[arg-type]
    with node_api(papers.node if tls else None, required=header) as node:
        call(node.address, credentials)
        assert len(node.headers) >= 5
        assert set(node.headers) == {header}
    with DataEndpoint(papers.node if tls else None, header) as node:
        read(node.address, credentials)
        assert tfi.load("c", {"x": np.arange(7)}, address=node.address, credentials=credentials) == 7
        assert set(node.headers) == {header}


def test_nodes_are_called_past_a_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    with node_api(None, required=None) as node:
        call(node.address, None)
    with DataEndpoint(None, None) as node:
        read(node.address, None)


class AskingNode(SharedNode):
    """Notes who reads."""

    def __init__(self) -> None:
        self.headers: list[str | None] = []
        super().__init__()

    def ReadIntoMemory(self, requests: Any, context: Any) -> Any:
        self.headers.append(dict(context.invocation_metadata()).get("authorization"))
        return super().ReadIntoMemory(requests, context)


def test_shared_memory_sends_the_readers_credentials() -> None:
    node = AskingNode()
    try:
        stream = SharedStream(node.endpoint, "c", credentials=tfi.Credentials(token=TOKEN))
        assert sum(batch.num_rows for batch in stream) == 50_000
    finally:
        node.stop()
        segments.pool().clear()
    assert node.headers == [f"Bearer {TOKEN}"]


def test_shared_memory_of_a_node_with_tls_is_not_read_without(papers: Papers) -> None:
    with node_api(papers.node) as node:
        stream = SharedStream(Endpoint(node.address, data_pb2.ReadCommand()), "c")
        with pytest.raises(errors.ConnectionFailedError, match="the node speaks TLS, and this client does not"):
            list(stream)
    segments.pool().clear()


def test_a_client_certificate_is_shown_and_a_node_is_called_by_each_name_in_its_own(papers: Papers) -> None:
    with node_api(papers.node, clients=papers.authority) as node:
        call(node.address.replace("127.0.0.1", "localhost"), papers.of(papers.alice))
        assert set(node.callers) == {b"alice"}


def test_an_encrypted_key_is_opened_with_its_password_and_the_package_that_reads_it(
    papers: Papers, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cryptography")
    locked = papers.authority.issue("locked", password=PASSWORD)
    files = {"certfile": str(locked.certificate), "keyfile": str(locked.key)}
    with node_api(papers.node, clients=papers.authority) as node:
        call(node.address, papers.trusting(**files, key_password=PASSWORD))
        assert set(node.callers) == {b"locked"}
    with pytest.raises(errors.InvalidRequestError, match="another password"):
        channels.grpc_channel("127.0.0.1:1", papers.trusting(**files, key_password="wrong"))
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    with pytest.raises(errors.InvalidRequestError, match=r"locked-key\.pem .*pip install cryptography") as caught:
        channels.grpc_channel("127.0.0.1:1", papers.trusting(**files, key_password=PASSWORD))
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("use", [call, read], ids=["grpc", "flight"])
@pytest.mark.parametrize(
    ("certificate", "credentials", "cause"),
    [
        ("node", lambda papers: None, "the node speaks TLS, and this client does not"),
        ("node", lambda papers: tfi.Credentials(token=TOKEN), "the node speaks TLS, and this client does not"),
        (None, lambda papers: papers.trusting(), "this client speaks TLS, and what answers there does not"),
        ("expired", lambda papers: papers.trusting(), "the node's certificate has expired"),
        ("elsewhere", lambda papers: papers.trusting(), "the node's certificate is for other hosts than 127.0.0.1"),
        ("of_foreign", lambda papers: papers.trusting(), "signed by no authority that this client trusts"),
        ("node", lambda papers: tfi.Credentials(tls=True), "signed by no authority that this client trusts"),
    ],
    ids=["plain", "plain-token", "not-tls", "expired", "wrong-host", "foreign", "machine-trusts-not"],
)
def test_the_cause_of_a_tls_failure_is_reported(
    papers: Papers,
    use: Callable[[str, tfi.Credentials | None], None],
    certificate: str | None,
    credentials: Callable[[Papers], tfi.Credentials | None],
    cause: str,
) -> None:
    given = getattr(papers, certificate) if certificate else None
    with node_api(given) if use is call else DataEndpoint(given) as node:
        with pytest.raises(errors.ConnectionFailedError, match=f"{node.address} .*{cause}") as caught:
            use(node.address, credentials(papers))
        assert TOKEN not in "".join(traceback.format_exception(caught.value))
        assert node.headers == []


@pytest.mark.parametrize(
    ("client", "cause"),
    [
        (None, "ends the connection when TLS has begun"),
        ("old_alice", "refuses this client's certificate"),
        ("mallory", "refuses this client's certificate"),
    ],
)
def test_a_refused_client_certificate_is_reported(papers: Papers, client: str | None, cause: str) -> None:
    credentials = papers.of(getattr(papers, client)) if client else papers.trusting()
    with (
        node_api(papers.node, clients=papers.authority) as node,
        pytest.raises(errors.ConnectionFailedError, match=cause),
    ):
        call(node.address, credentials)


@pytest.mark.parametrize("use", [call, read], ids=["grpc", "flight"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("who", [{}, {"username": "alice", "password": PASSWORD}, {"token": TOKEN}])
def test_unknown_credentials_are_refused_and_no_error_has_a_secret(
    papers: Papers, use: Callable[[str, tfi.Credentials | None], None], tls: bool, who: dict[str, str]
) -> None:
    credentials = papers.trusting(**who) if tls else tfi.Credentials(**who) if who else None  # type: ignore[arg-type]
    given = papers.node if tls else None
    with (
        node_api(given, required="other") if use is call else DataEndpoint(given, "other") as node,
        pytest.raises(errors.UnauthenticatedError) as caught,
    ):
        use(node.address, credentials)
    assert str(caught.value) == REFUSAL.removesuffix(" [code=UNAUTHENTICATED]")
    received = "".join(traceback.format_exception(caught.value))
    assert not [secret for secret in (PASSWORD, TOKEN, BASIC.split()[1]) if secret in received]


def test_files_are_called_as_their_credentials_say(papers: Papers) -> None:
    with node_api(papers.node) as node:
        with pytest.raises(errors.ConnectionFailedError, match="the node speaks TLS"):
            Files.at((node.address,)).stat("/")
        with pytest.raises(errors.ConnectionFailedError, match="does not serve"):
            Files.at((node.address,), credentials=papers.trusting()).stat("/")
    alice = ("alice", PASSWORD)
    assert Files.at(("h:1",), credentials=alice) is Files.at(("h:1",), credentials=alice)
    assert Files.at(("h:1",), credentials=alice) is not Files.at(("h:1",), credentials=("bob", PASSWORD))
    assert Files.at(("h:1",), credentials=alice) is not Files.at(("h:1",))


def test_unusable_files_are_reported_before_a_call(papers: Papers) -> None:
    for files, text in (
        ({"cafile": "/nowhere/ca.pem"}, r"cafile /nowhere/ca\.pem .*cannot be read"),
        ({"cafile": __file__}, r"cafile .*contains no certificate"),
        ({"tls": True, "verify": False}, "always verified"),
        (
            {"certfile": papers.alice.certificate, "keyfile": papers.mallory.key},
            r"alice\.pem and keyfile .*mallory-key\.pem",
        ),
    ):
        with pytest.raises(errors.InvalidRequestError, match=text):
            tfi.connect("127.0.0.1:1", credentials=files)


def test_a_secret_without_encryption_is_warned_of_once_for_each_host(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "_warned", set())
    for address in ("127.0.0.1:1", "localhost:1", "far.example:1", "far.example:2"):
        channels.grpc_channel(address, tfi.Credentials(token=TOKEN)).close()
    # What a task has from its cluster is the cluster's business.
    channels.grpc_channel("other.example:1", tfi.Credentials(token=f"task.7f3a.{TOKEN}")).close()
    assert [record.args for record in caplog.records] == [("far.example",)]
    assert TOKEN not in caplog.text


def test_a_healthy_node_has_no_diagnosis_but_the_end_of_its_certificate(papers: Papers) -> None:
    with node_api(papers.node) as node:
        assert handshake.diagnose(node.address, papers.trusting()) is None
        end = handshake.expiry(node.address, papers.trusting())
        assert end is not None
        assert end > time.time()
    with node_api(papers.expired) as node:
        assert handshake.expiry(node.address, papers.trusting()) is None


def test_a_node_is_no_pickle_of_secrets(papers: Papers) -> None:
    """What is pickled of a file system is the name that its credentials are kept under."""
    import fsspec

    fs = fsspec.filesystem("ignite", address="h:1", credentials=("alice", PASSWORD))
    again = fsspec.filesystem("ignite", address="h:1", credentials={"username": "alice", "password": PASSWORD})
    other = fsspec.filesystem("ignite", address="h:1", credentials=("bob", PASSWORD))
    assert fs is again
    assert fs is not other
    assert fs.files is not other.files
    for text in (pickle.dumps(fs), repr(fs).encode(), fs.to_json().encode()):
        assert PASSWORD.encode() not in text
        assert b"alice" not in text
    assert pickle.loads(pickle.dumps(fs)).files is fs.files
    with pytest.raises(errors.InvalidRequestError) as caught:
        fsspec.filesystem("ignite", address="h:1", credentials=PASSWORD)
    assert PASSWORD not in str(caught.value)
