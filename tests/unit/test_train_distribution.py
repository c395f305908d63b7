"""What a worker waits for before it creates its strategy."""

import json
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from tensorflow_ignite import task
from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.train import distribution
from tensorflow_ignite.train.distribution import await_first_worker


def config(port: int) -> str:
    return json.dumps({"cluster": {"worker": [f"127.0.0.1:{port}", "127.0.0.1:1"]}})


def test_a_worker_goes_on_when_the_first_one_listens() -> None:
    with socket.socket() as server:
        # As the agent holds the port of a task: bound, and not listening.
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        assert not await_first_worker(config(port), 0.1)
        timer = threading.Timer(0.3, server.listen)
        begin = time.monotonic()
        timer.start()
        assert await_first_worker(config(port), 30)
        assert time.monotonic() - begin >= 0.3
        timer.join()


def test_a_worker_waits_for_the_chief_where_there_is_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as chief, socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        workers = [f"127.0.0.1:{own.getsockname()[1]}"]
        cluster = {"chief": [f"127.0.0.1:{chief.getsockname()[1]}"], "worker": workers}
        assert await_first_worker(json.dumps({"cluster": cluster}), 30)


def test_a_process_that_had_the_servers_of_a_job_gets_no_strategy_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    of_job_a = object()
    monkeypatch.setattr(distribution, "_strategy", of_job_a)
    monkeypatch.setattr(distribution, "_job_id", "a")
    monkeypatch.setattr(task, "current", lambda: SimpleNamespace(job_id="a"))
    assert distribution.strategy() is of_job_a
    monkeypatch.setattr(task, "current", lambda: SimpleNamespace(job_id="b"))
    with pytest.raises(TensorFlowIgniteError, match="the strategy of job a, whose servers have ended"):
        distribution.strategy()


def test_a_configuration_without_workers_is_nothing_to_wait_for() -> None:
    for text in ("", "{}", "[]", '{"cluster": {"worker": []}}', "null"):
        assert not await_first_worker(text, 30)
