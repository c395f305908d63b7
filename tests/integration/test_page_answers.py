"""The page in a headless Chromium, with answers that a test makes: refusals, files of users, addresses of people."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import browser
import pytest
from browser import Browser

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(browser.PROGRAM is None, reason="no Chromium is installed (Debian: apt-get install chromium)"),
]

FILES = Path(__file__).parents[2] / "java/src/main/resources/io/tensorflowignite/http"
#: The answers by method and path; a number is the status of a refusal.
FETCH = """
const answers = ANSWERS;
fetch = async (url, options) => {
  const method = url.split("/").at(-1);
  const { path, extent_id, states } = JSON.parse(options.body);
  new Headers(options.headers);
  const later = states?.filter((state) => state === "JOB_STATE_UNSPECIFIED")[0];
  const answer = answers[`${method} ${path ?? extent_id ?? later ?? ""}`.trim()] ?? 404;
  if (typeof answer === "number") {
    return new Response(JSON.stringify({ error: `${answer} of ${path ?? method}` }), { status: answer });
  }
  const headers = answers.Date ? { Date: answers.Date } : {};
  return new Response(answer.map((line) => JSON.stringify(line)).join("\\n") + "\\n", { headers });
};
"""


class _Page(SimpleHTTPRequestHandler):
    def translate_path(self, path: str) -> str:
        return str(FILES / ("page/index.html" if path == "/" else path.lstrip("/")))

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The files of the page, without a node."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def window() -> Iterator[Browser]:
    with Browser() as started:
        yield started


def show(window: Browser, url: str, answers: dict[str, Any]) -> None:
    window.call("Page.addScriptToEvaluateOnNewDocument", source=FETCH.replace("ANSWERS", json.dumps(answers)))
    window.open(url)


def directory(*names: str) -> list[Any]:
    return [{"files": [{"path": name, "kind": "FILE_KIND_DIRECTORY"} for name in names]}]


def test_a_file_or_a_model_that_a_user_has_spoilt_hides_no_other_model(url: str, window: Browser) -> None:
    file = {"bytes": "4", "extents": [{"id": "spoilt", "bytes": "4", "block_bytes": 4}]}
    answers = {
        "ListDeployments": [
            {
                "deployments": [{"name": "good", "current": "3"}],
                "nodes": [
                    {
                        "node_id": "node-1",
                        "models": [{"key": {"name": "good", "number": "3"}, "state": "MODEL_STATE_SERVING"}],
                    }
                ],
            }
        ],
        "GetMetrics": 403,
        "ListDirectory /models": directory("good", "huge", "private", "spoilt"),
        "ListDirectory /models/good": directory("3"),
        "ListDirectory /models/spoilt": directory("1"),
        "ListDirectory /models/huge": directory("2"),
        "ListDirectory /models/private": 403,
        "GetFile /models/spoilt/1/model.json": [{"file": file}],
        "ReadBlocks spoilt": [{"data": "e251bA=="}],
        "GetFile /models/huge/2/model.json": [{"file": {**file, "bytes": "99999999999"}}],
    }
    show(window, url + "#/models", answers)
    text = window.await_text("main", "Some versions and labels are not shown: 403 of /models/private")
    assert "Version 3 answers, on 1 node" in text
    assert "In bulk, spoilt means version 1" in text
    assert "In bulk, huge means version 2" in text
    assert window.faults == []


def test_a_caller_who_may_not_list_all_models_sees_versions_of_those_that_are_deployed(
    url: str, window: Browser
) -> None:
    answers = {
        "ListDeployments": [{"deployments": [{"name": "mine"}]}],
        "GetMetrics": 403,
        "ListDirectory /models": 403,
        "ListDirectory /models/mine": directory("7"),
    }
    show(window, url + "#/models", answers)
    window.await_text("main table", "7")


def test_the_reason_why_a_job_was_not_stopped_stays_until_it_is_read(url: str, window: Browser) -> None:
    job = {"id": "0123456789ab", "state": "JOB_STATE_RUNNING", "created_at": "2026-11-25T08:00:00Z"}
    show(window, url + "#/jobs/0123", {"GetJob": [{"job": job}], "WatchJob": [{"job": job}] * 3, "StopJob": 403})
    window.await_text("#stop", "Stop")
    window.click("#stop")
    window.await_text("dialog", "Stop job")
    window.click("dialog .danger")
    assert "403 of StopJob" in window.await_text("dialog", "The job was not stopped")


def test_times_are_compared_with_the_clock_of_the_node(url: str, window: Browser) -> None:
    progress = {"step": "5", "reported_at": "2026-01-01T10:00:00Z"}
    attempt = {"number": 1, "tasks": [{"status": {"state": "TASK_STATE_RUNNING", "progress": progress}}]}
    job = {"id": "0123456789ab", "state": "JOB_STATE_RUNNING", "created_at": "2026-01-01T09:00:00Z"}
    answers = {"GetJob": [{"job": {**job, "attempts": [attempt]}}], "Date": "Thu, 01 Jan 2026 10:00:01 GMT"}
    show(window, url + "#/jobs/0123", answers)
    window.await_text("#why", "It progresses: step 5")


def test_a_job_whose_state_is_of_a_later_version_is_shown(url: str, window: Browser) -> None:
    # The number of a value that this version does not know.
    job = {"id": "0123456789ab", "state": 1000, "created_at": "2026-01-01T09:00:00Z"}
    show(window, url + "#/jobs/0123", {"GetJob": [{"job": job}], "WatchJob": [{"job": job}]})
    window.await_text("#why", "A node of a later version has written its state (unknown-1000)")
    assert window.faults == []


def test_the_list_asks_for_jobs_whose_state_is_of_a_later_version_too(url: str, window: Browser) -> None:
    job = {"id": "0123456789ab", "state": 1000, "created_at": "2026-01-01T09:00:00Z"}
    show(window, url, {"ListJobs JOB_STATE_UNSPECIFIED": [{"jobs": [job]}], "ListJobs": [{}]})
    text = window.await_text("main", "A node of a later version has written its state (unknown-1000)")
    assert "0 jobs run, 1 of a later version" in text
    assert window.faults == []


def test_an_address_and_a_token_with_strange_characters_are_refused_with_words(url: str, window: Browser) -> None:
    show(window, url + "#/jobs/%", {"GetJob": 404})
    window.await_text("#problem", "404 of GetJob")
    window.run("sessionStorage.setItem('tensorflow-ignite authorization', 'Bearer a\\u00a0token\\u2026')")
    window.run("location.hash = '#/nodes'")
    window.await_text("form.login .refusal", "characters that no token has")
    assert window.faults == []
