"""The script that keeps the servers of a client outside the cluster."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tensorflow_ignite.jobs import hold


@pytest.fixture
def holder() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The script, which listens, and its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = {"cluster": {"chief": [f"127.0.0.1:{port}"]}}
    environment = {**os.environ, "TF_CONFIG": json.dumps(config)}
    with subprocess.Popen(
        [sys.executable, hold.__file__], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process, port
        process.kill()


def connect(port: int) -> socket.socket:
    deadline = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def probe(port: int) -> None:
    """Connects and sends nothing; returns when the script has closed the connection."""
    with connect(port) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""


def test_a_connection_without_a_byte_is_not_the_client(holder: tuple[subprocess.Popen[str], int]) -> None:
    process, port = holder
    probe(port)
    with connect(port), connect(port) as client:
        client.sendall(b".")
        assert process.stdout is not None
        assert process.stdout.readline() == "a client outside of the cluster uses these servers\n"
        # It would not accept the second one if it had ended with the first one.
        probe(port)
        probe(port)
        client.close()
        assert process.wait(30) == 0
