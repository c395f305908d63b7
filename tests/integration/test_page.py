"""The page of a node in a headless Chromium, before real nodes of which one is killed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import browser
import numpy as np
import pytest
from browser import Browser
from jobs import SCRIPTS, await_job
from node_metrics import HTTP_PORT
from waiting import await_true

import tensorflow_ignite as tfi
from local_nodes import GIVES_UP_AFTER_A_MINUTE
from tensorflow_ignite import Credentials
from tensorflow_ignite.testing import LocalCluster, node_configuration

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(browser.PROGRAM is None, reason="no Chromium is installed (Debian: apt-get install chromium)"),
]

TOKEN = "the-token-of-alice"
ALICE = Credentials(token=TOKEN)
MARKUP = '<img src=x onerror="window.broken = true">'
# The page has to draw them without waiting for the node.
RUNNING, FINISHED = 20, 200


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Three nodes with an HTTP port, which require a token."""
    config = tmp_path_factory.mktemp("config") / "node.xml"
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    security = {"tokens": {"alice": digest}, "access": ["alice all"]}
    config.write_text(
        node_configuration(node=GIVES_UP_AFTER_A_MINUTE, timeouts={"leaseSeconds": 60}, security=security)
    )
    with LocalCluster(3, config=config, environment=HTTP_PORT, credentials=ALICE) as cluster:
        tfi.load(
            "points", {"x": np.arange(3_000)}, backups=1, partitions=64, address=cluster.address, credentials=ALICE
        )
        yield cluster


@pytest.fixture
def window() -> Iterator[Browser]:
    with Browser() as started:
        yield started


def log_in(window: Browser, url: str, secret: str = TOKEN) -> None:
    window.open(url)
    window.await_text("form.login", "Log in")
    window.run(f"document.querySelector('#token').value = {json.dumps(secret)}")
    window.click("form.login button")


def test_the_page_shows_a_restart_with_its_cause_and_stops_the_job(nodes: LocalCluster, window: Browser) -> None:
    with tfi.connect(",".join(nodes.addresses), credentials=ALICE) as client:
        job = client.submit(
            SCRIPTS / "show_progress.py", cache="points", args=["1000000"], strategy="custom", name=MARKUP
        )
        seen = await_job(job, lambda found: found.state == "running")
        assert seen.attempt is not None
        tasks = {task.node_id for task in seen.attempt.tasks}
        serving, victim = (client.nodes()[number] for number in (0, 2))
        assert victim.id in tasks
        url = f"http://{serving.http_address}/"

        log_in(window, url, "another")
        window.await_text("form.login .refusal", "The token is unknown")
        log_in(window, url)
        listed = window.await_text("main table", "It progresses: step ")
        assert MARKUP in listed
        window.click("main table a")
        window.await_text("#why", "It progresses: step ")
        assert MARKUP in window.text("h1")
        window.await_text("#output .log", f"step 20 <b>of {1_000_000}</b>")
        window.await_text(".partitions", " of 64")
        window.await_text(".charts", "loss")
        window.run(
            "(() => { const search = document.querySelector('#search'); search.value = 'attempt 1 begins';"
            " search.dispatchEvent(new Event('input')); })()"
        )
        window.await_text("#output .status", "3 of ")

        nodes.kill_node(nodes.nodes[nodes.addresses.index(victim.address)])
        window.await_text(".timeline", "Attempt 2")
        # A reader may see the row of attempt 2 for a moment before that of the end of attempt 1.
        window.await_text(".timeline", "node-left")
        answer = window.await_text("#why", "It progresses: step ")
        assert "Before, it restarted since " in answer
        assert "has left the cluster" in answer
        window.run(
            "(() => { const search = document.querySelector('#search'); search.value = 'attempt 2 begins';"
            " search.dispatchEvent(new Event('input')); })()"
        )
        window.await_text("#output .log", "attempt 2 begins")
        window.run("location.hash = '#/nodes'")
        window.await_text("main .faults", "has left without being stopped")
        window.run("location.hash = '#/models'")
        window.await_text("main", "No models.")

        window.run(f"location.hash = '#/jobs/{job.id}'")
        window.await_text("#stop", "Stop")
        window.click("#stop")
        window.await_text("dialog", "Stop job")
        window.click("dialog .danger")
        window.await_text("#why", "It was stopped")
        assert job.wait(120, raise_on_failure=False).state == "stopped"
        assert window.run("window.broken ?? document.querySelectorAll('main img').length") == 0
        assert window.faults == []


def test_the_page_is_usable_by_keyboard_on_a_narrow_screen_and_paints_at_once(
    nodes: LocalCluster, window: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = [
        {
            "id": f"{number:08x}",
            "spec": {"name": f"train-{number}", "cache": "points", "strategy": {"kind": "JOB_KIND_CUSTOM"}},
            "state": "JOB_STATE_RUNNING" if number < RUNNING else "JOB_STATE_SUCCEEDED",
            "created_at": "2026-11-25T08:00:00Z",
            **({} if number < RUNNING else {"finished_at": "2026-11-25T09:00:00Z"}),
            "attempts": [{"number": 1, "last_step": "100"}],
        }
        for number in range(RUNNING + FINISHED)
    ]
    # The answers of a node with as many jobs.
    window.call(
        "Page.addScriptToEvaluateOnNewDocument",
        source=f"const jobs = {json.dumps(jobs)};"
        "fetch = async (url, options) => { const { states } = JSON.parse(options.body);"
        " return new Response(JSON.stringify({ jobs: jobs.filter((job) => states.includes(job.state)) })); };",
    )
    with tfi.connect(nodes.address, credentials=ALICE) as client:
        url = f"http://{client.nodes()[0].http_address}/"
    window.look(360, "dark")
    window.open(url)
    window.await_text("main", f"train-{RUNNING + FINISHED - 1}")
    assert window.run("document.documentElement.scrollWidth <= 360")
    assert window.run("document.querySelectorAll('tbody tr').length") == RUNNING + FINISHED
    window.press("Tab")
    assert window.run("document.activeElement.id") == "skip"
    window.press("Tab")
    await_true(lambda: window.run("document.activeElement.className") == "brand", "Tab does not reach the next link")
    paints = window.run("performance.getEntriesByType('paint').map((each) => [each.name, Math.round(each.startTime)])")
    with capsys.disabled():
        print(f"\npaints with {RUNNING} running and {FINISHED} finished jobs, ms: {dict(paints)}")
    assert window.faults == []
