"""The page of a node in a headless Chromium, for a user with a password: which version of a model answers."""

from __future__ import annotations

import base64
import json
import urllib.request
from pathlib import Path

import browser
import pytest
from browser import Browser
from node_metrics import HTTP_PORT

import tensorflow_ignite as tfi
from tensorflow_ignite import Credentials
from tensorflow_ignite.testing import LocalCluster, node_configuration
from tensorflow_ignite.testing.patience import patiently

keras = pytest.importorskip("keras")

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(browser.PROGRAM is None, reason="no Chromium is installed (Debian: apt-get install chromium)"),
]

USER = Credentials("ignite", "ignite")
REQUESTS = 3
SECONDS = patiently(60.0)


def log_in(window: Browser, password: str) -> None:
    window.await_text("form.login", "Log in")
    window.run(f"document.querySelector('#user').value = {json.dumps(USER.username)}")
    window.run(f"document.querySelector('#password').value = {json.dumps(password)}")
    window.click("form.login button")


def predict(url: str) -> None:
    right = base64.b64encode(f"{USER.username}:{USER.password}".encode()).decode()
    body = json.dumps({"instances": [[1.0, 2.0]]}).encode()
    request = urllib.request.Request(url, body, {"Authorization": f"Basic {right}"})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        assert len(json.load(answer)["predictions"]) == 1


def test_a_user_logs_in_by_password_and_sees_which_version_answers_and_how_fast(tmp_path: Path) -> None:
    config = tmp_path / "node.xml"
    config.write_text(node_configuration(node='<property name="authenticationEnabled" value="true"/>'))
    model = keras.Sequential([keras.Input([2], name="x"), keras.layers.Dense(1, name="y")])
    model.save(tmp_path / "taxi.keras")
    with (
        LocalCluster(1, config=config, persistent=True, environment=HTTP_PORT, credentials=USER) as cluster,
        tfi.connect(cluster.address, credentials=USER) as client,
        Browser() as window,
    ):
        client.models.add("taxi", tmp_path / "taxi.keras")
        client.models.add("taxi", tmp_path / "taxi.keras", label="canary")
        client.models.deploy("taxi:1")
        url = f"http://{client.nodes()[0].http_address}/"
        for _ in range(REQUESTS):
            predict(f"{url}v1/models/taxi:predict")

        window.open(f"{url}#/models")
        log_in(window, "another")
        window.await_text("form.login .refusal", "The user name or the password is wrong.")
        log_in(window, "ignite")
        window.await_text("main .why", "Version 1 answers, on 1 node.")
        rows = [line.split("\t") for line in window.await_text("main table", "canary").splitlines()]
        newer, older = (next(row for row in rows if row[0] == version) for version in "21")
        assert newer[1].strip() == "canary"
        assert "serving" not in newer[2]
        assert "serving on 1 node" in older[2]
        assert older[3] == str(REQUESTS)
        assert window.faults == []
