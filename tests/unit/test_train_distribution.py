"""What a worker waits for before it creates its strategy."""

import json
import socket
import threading
import time

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


def test_a_configuration_without_workers_is_nothing_to_wait_for() -> None:
    for text in ("", "{}", "[]", '{"cluster": {"worker": []}}', "null"):
        assert not await_first_worker(text, 30)
