"""Which nodes are called: one order of sources for the client, datasets and files."""

from __future__ import annotations

import socket
import threading

import pytest
from pyarrow import flight

from tensorflow_ignite import errors, task
from tensorflow_ignite.data.transport import flight as transport
from tensorflow_ignite.data.transport.flight import translate
from tensorflow_ignite.net import resolve
from tensorflow_ignite.net.addresses import same
from tensorflow_ignite.v1 import data_pb2


@pytest.mark.parametrize(
    ("given", "env", "expected"),
    [
        (None, {}, ("localhost:10820",)),
        ("h:1", {"TENSORFLOW_IGNITE_ADDRESS": "x:2", "IGNITE_DATASET_HOST": "y"}, ("h:1",)),
        (None, {"TENSORFLOW_IGNITE_ADDRESS": "x:2,z:3", "IGNITE_DATASET_HOST": "y"}, ("x:2", "z:3")),
        (None, {"IGNITE_DATASET_HOST": "y", "IGNITE_DATASET_PORT": "4"}, ("y:4",)),
        (None, {"IGNITE_DATASET_PORT": "4"}, ("localhost:4",)),
        (None, {"IGNITE_DATASET_HOST": "y"}, ("y:10820",)),
    ],
)
def test_the_nearest_to_the_call_decides_the_address(
    given: str | None, env: dict[str, str], expected: tuple[str, ...]
) -> None:
    assert resolve.resolve(given, data=True, env=env) == expected
    # The variables of datasets name no node for other calls.
    others = {name: value for name, value in env.items() if not name.startswith("IGNITE_DATASET_")}
    assert resolve.resolve(given, env=env) == resolve.resolve(given, env=others)


@pytest.mark.parametrize("data", [False, True])
def test_a_task_calls_the_node_beside_it_unless_the_call_names_another(
    data: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "current", lambda: task.Task(in_job=True, node_address="beside:1"))
    env = {"TENSORFLOW_IGNITE_ADDRESS": "x:2", "IGNITE_DATASET_HOST": "y"}
    assert resolve.resolve(None, data=data, env=env) == ("beside:1",)
    assert resolve.resolve("h:3", data=data, env=env) == ("h:3",)


@pytest.mark.parametrize(
    ("given", "env", "expected"),
    [
        (None, {}, ("localhost:10800",)),
        ("h", {"IGNITE_DATASET_HOST": "y"}, ("h:10800",)),
        ("h:1,k", {}, ("h:1", "k:10800")),
        (None, {"IGNITE_DATASET_HOST": "y", "TENSORFLOW_IGNITE_ADDRESS": "x:10820"}, ("y:10800",)),
        (None, {"IGNITE_DATASET_PORT": "4"}, ("localhost:4",)),
        (None, {"TENSORFLOW_IGNITE_ADDRESS": "x:10820,x:10821,[::1]:1"}, ("x:10800", "[::1]:10800")),
        (None, {"TENSORFLOW_IGNITE_ADDRESS": "x:10820", "IGNITE_DATASET_PORT": "4"}, ("x:4",)),
    ],
)
def test_thin_ports_are_looked_for_where_ignite_has_them(
    given: str | None, env: dict[str, str], expected: tuple[str, ...]
) -> None:
    assert resolve.thin_addresses(given, env) == expected


def test_the_error_of_a_thin_port_names_the_thin_transport() -> None:
    refused = flight.FlightUnavailableError("failed to connect to all addresses")
    for address in ("localhost:10800", "[::1]:10801"):
        assert 'transport="thin"' in str(translate(refused, address, "cache 'a' was not described"))
    assert "thin" not in str(translate(refused, "localhost:10820", "cache 'a' was not described"))


def test_of_several_addresses_the_first_that_answers_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "SECONDS_TO_CONNECT", 0.5)
    with (
        socket.create_server(("127.0.0.1", 0)) as frozen,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket() as silent,
    ):
        silent.bind(("127.0.0.1", 0))
        dead, accepting, alive = (f"127.0.0.1:{each.getsockname()[1]}" for each in (silent, frozen, server))
        answering = threading.Thread(target=lambda: server.accept()[0].close())
        answering.start()
        assert resolve.first_answering([dead, accepting, alive]) == alive
        answering.join()
        with pytest.raises(errors.ConnectionFailedError, match=f"{dead}.*{accepting}"):
            resolve.first_answering([dead, accepting])


@pytest.mark.parametrize(
    ("reason", "attempts"),
    [("connection attempt timed out before receiving SETTINGS frame", 2), ("Connection refused", 1)],
)
def test_a_node_that_accepts_connections_in_silence_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, reason: str, attempts: int
) -> None:
    failures = []

    def describe(*_: object) -> str:
        if failures:
            return "description"
        failures.append(errors.ConnectionFailedError(f"failed to connect to all addresses; last error: {reason}"))
        raise failures[0]

    monkeypatch.setattr(transport, "_describe", describe)
    if attempts == 1:
        with pytest.raises(errors.ConnectionFailedError, match=reason):
            transport.describe("h:1", data_pb2.ReadCommand())
    else:
        assert transport.describe("h:1", data_pb2.ReadCommand()) == "description"


def test_a_host_is_the_same_place_by_any_of_its_names() -> None:
    assert same("localhost:1", "127.0.0.1:1")
    assert not same("localhost:1", "127.0.0.1:2")
    assert not same("127.0.0.2:1", "127.0.0.1:1")
