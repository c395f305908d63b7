"""The HTTP port of a cluster with TLS, client certificates, tokens and rules: who may predict, and who may not."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from node_metrics import HTTP_PORT
from secured_cluster import Secured, secured_cluster, token

from tensorflow_ignite.errors import InvalidRequestError, PermissionDeniedError
from tensorflow_ignite.testing.patience import patiently

keras = pytest.importorskip("keras")

NAMES = ["alice", "bob", "carol", "dave"]
RULES = ["alice all", "bob predict open*", "carol watch", "dave files /models/*"]
SECONDS = patiently(60.0)
ROW = {"instances": [[1.0, 2.0]]}


@dataclass(frozen=True)
class Serving:
    """A node with an HTTP port that serves models, and TLS without the client's certificate and with it."""

    secured: Secured
    url: str
    stranger: ssl.SSLContext
    trusted: ssl.SSLContext

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
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder: Path = tmp_path_factory.mktemp("secured")
    model = keras.Sequential([keras.Input([2], name="x"), keras.layers.Dense(1, name="y")])
    model.save(folder / "model.keras")
    with (
        secured_cluster(folder, 1, NAMES, RULES, HTTP_PORT) as secured,
        secured.connect("alice") as client,
    ):
        for name in ("open_digits", "closed_digits"):
            client.models.add(name, folder / "model.keras")
            client.models.deploy(name)
        stranger, trusted = (ssl.create_default_context(cafile=secured.files["cafile"]) for _ in range(2))
        trusted.load_cert_chain(secured.files["certfile"], secured.files["keyfile"])
        yield Serving(secured, f"https://{client.nodes()[0].http_address}", stranger, trusted)


@pytest.mark.full
def test_rules_say_who_predicts_with_which_model(serving: Serving) -> None:
    assert serving.call("/v1/models/open_digits:predict", ROW, token("bob"))[0] == 200
    assert serving.call("/v1/models/open_digits", None, token("bob"))[0] == 200
    status, text = serving.call("/v1/models/closed_digits:predict", ROW, token("bob"))
    assert (status, "'bob' lacks the permission predict" in text) == (403, True)
    assert serving.call("/v1/models/closed_digits/metadata", None, token("bob"))[0] == 403
    assert serving.call("/v1/models/closed_digits:predict", ROW, token("alice"))[0] == 200
    assert serving.call("/v1/models/open_digits:predict", ROW, token("carol"))[0] == 403


@pytest.mark.full
def test_callers_without_credentials_are_refused_and_metrics_need_a_permission(serving: Serving) -> None:
    for path in ("/v1/models/open_digits:predict", "/metrics"):
        body = None if path == "/metrics" else ROW
        assert serving.call(path, body)[0] == 401
        assert serving.call(path, body, "another")[0] == 401
    status, text = serving.call("/metrics", None, token("alice"))
    assert (status, text.endswith("# EOF\n")) == (200, True)
    assert serving.call("/metrics", None, token("bob"))[0] == 403


@pytest.mark.full
def test_who_changes_files_changes_nothing_of_what_is_served(serving: Serving) -> None:
    with serving.secured.connect("dave") as client:
        # It sees no deployment, so the node refuses.
        assert client.models.deployments() == []
        with pytest.raises(InvalidRequestError, match="the nodes serve the model open_digits"):
            client.models.remove("open_digits")
        with pytest.raises(PermissionDeniedError, match="lacks the permission deploy, open_digits"):
            client.models.label("open_digits:1", "stable")
        with pytest.raises(PermissionDeniedError, match="lacks the permission deploy, open_digits"):
            client.models.unlabel("open_digits", "stable")
        assert client.models.label("open_digits:1", "mine").labels == ("mine", "stable")
    assert serving.call("/v1/models/open_digits:predict", ROW, token("bob"))[0] == 200
