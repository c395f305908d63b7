"""The HTTP port of a cluster with TLS, client certificates, tokens and rules: who may predict, and who may not."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tensorflow_ignite as tfi
from certificates import make_authority
from tensorflow_ignite import Credentials
from tensorflow_ignite.errors import InvalidRequestError, PermissionDeniedError
from tensorflow_ignite.testing import LocalCluster, node_configuration

keras = pytest.importorskip("keras")

NAMES = ["alice", "bob", "carol", "dave"]
RULES = ["alice all", "bob predict open*", "carol watch", "dave files /models/*"]
SECONDS = 60.0
ROW = {"instances": [[1.0, 2.0]]}


def token(name: str) -> str:
    return f"the-token-of-{name}-which-nobody-else-may-see"


@dataclass(frozen=True)
class Secured:
    """A node with an HTTP port, and TLS as a client has it; without a certificate as a stranger has it."""

    url: str
    address: str
    credentials: Credentials
    trusted: ssl.SSLContext
    stranger: ssl.SSLContext

    def call(
        self, path: str, body: Any = None, secret: str | None = None, context: ssl.SSLContext | None = None
    ) -> tuple[int, str]:
        """The status and the text of an answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        request = urllib.request.Request(self.url + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS, context=context or self.trusted) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder: Path = tmp_path_factory.mktemp("secured")
    authority = make_authority(folder / "authority")
    node, mine = authority.issue("node", ["127.0.0.1"]), authority.issue("client")
    digests = {name: hashlib.sha256(token(name).encode()).hexdigest() for name in NAMES}
    config = folder / "node.xml"
    config.write_text(node_configuration(tokens=digests, access=RULES, clientCertificates="required", tls="required"))
    pems = {"CERTIFICATE": node.certificate, "KEY": node.key, "CA": authority.certificate}
    alice = Credentials(
        token=token("alice"),
        cafile=str(authority.certificate),
        certfile=str(mine.certificate),
        keyfile=str(mine.key),
    )
    stranger = ssl.create_default_context(cafile=str(authority.certificate))
    trusted = ssl.create_default_context(cafile=str(authority.certificate))
    trusted.load_cert_chain(str(mine.certificate), str(mine.key))
    model = keras.Sequential([keras.Input([2], name="x"), keras.layers.Dense(1, name="y")])
    model.save(folder / "model.keras")
    environment = {f"TENSORFLOW_IGNITE_TLS_{name}": str(path) for name, path in pems.items()}
    with (
        LocalCluster(
            1, config=config, environment={**environment, "TENSORFLOW_IGNITE_HTTP_PORT": "0"}, credentials=alice
        ) as cluster,
        tfi.connect(cluster.address, credentials=alice) as client,
    ):
        for name in ("open_digits", "closed_digits"):
            client.models.add(name, folder / "model.keras")
            client.models.deploy(name)
        yield Secured(f"https://{client.nodes()[0].http_address}", cluster.address, alice, trusted, stranger)


def test_rules_say_who_predicts_with_which_model(secured: Secured) -> None:
    assert secured.call("/v1/models/open_digits:predict", ROW, token("bob"))[0] == 200
    assert secured.call("/v1/models/open_digits", None, token("bob"))[0] == 200
    status, text = secured.call("/v1/models/closed_digits:predict", ROW, token("bob"))
    assert (status, "'bob' lacks the permission predict" in text) == (403, True)
    assert secured.call("/v1/models/closed_digits/metadata", None, token("bob"))[0] == 403
    assert secured.call("/v1/models/closed_digits:predict", ROW, token("alice"))[0] == 200
    assert secured.call("/v1/models/open_digits:predict", ROW, token("carol"))[0] == 403


def test_callers_without_credentials_are_refused(secured: Secured) -> None:
    for path in ("/v1/models/open_digits:predict", "/metrics"):
        body = None if path == "/metrics" else ROW
        assert secured.call(path, body)[0] == 401
        assert secured.call(path, body, "another")[0] == 401


@pytest.mark.full
def test_metrics_need_a_permission(secured: Secured) -> None:
    status, text = secured.call("/metrics", None, token("alice"))
    assert (status, text.endswith("# EOF\n")) == (200, True)
    assert secured.call("/metrics", None, token("bob"))[0] == 403


@pytest.mark.full
def test_a_client_needs_a_certificate_and_tls(secured: Secured) -> None:
    with pytest.raises((urllib.error.URLError, ssl.SSLError, ConnectionError)):
        secured.call("/v1/models/open_digits", None, token("bob"), secured.stranger)
    plain = secured.url.replace("https:", "http:") + "/v1/models/open_digits"
    with pytest.raises((urllib.error.URLError, ConnectionError, OSError)):
        urllib.request.urlopen(plain, timeout=SECONDS)


@pytest.mark.full
def test_who_changes_files_changes_nothing_of_what_is_served(secured: Secured) -> None:
    dave = dataclasses.replace(secured.credentials, token=token("dave"))
    with tfi.connect(secured.address, credentials=dave) as client:
        # It sees no deployment, so the node refuses.
        assert client.models.deployments() == []
        with pytest.raises(InvalidRequestError, match="the nodes serve the model open_digits"):
            client.models.remove("open_digits")
        with pytest.raises(PermissionDeniedError, match="lacks the permission deploy, open_digits"):
            client.models.label("open_digits:1", "stable")
        with pytest.raises(PermissionDeniedError, match="lacks the permission deploy, open_digits"):
            client.models.unlabel("open_digits", "stable")
        assert client.models.label("open_digits:1", "mine").labels == ("mine", "stable")
    assert secured.call("/v1/models/open_digits:predict", ROW, token("bob"))[0] == 200
