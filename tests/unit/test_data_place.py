"""Where rows are asked for."""

from __future__ import annotations

import socket

import pytest
from pyarrow import flight

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport import place
from tensorflow_ignite.data.transport.flight import translate


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
    assert place.addresses(given, env) == expected


@pytest.mark.parametrize(
    ("text", "local"), [("true", True), ("1", True), (" True ", True), ("false", False), ("0", False), ("", False)]
)
def test_only_true_values_are_true(text: str, local: bool) -> None:
    assert place.overrides({"IGNITE_DATASET_LOCAL": text}).local is local


@pytest.mark.parametrize(
    ("text", "partitions"), [("", None), ("-1", None), ("3", (3,)), ("0, 2,5", (0, 2, 5)), ("0", (0,))]
)
def test_partitions_are_one_or_a_list(text: str, partitions: tuple[int, ...] | None) -> None:
    assert place.overrides({"IGNITE_DATASET_PART": text}).partitions == partitions


@pytest.mark.parametrize("text", ["a", "1,-2", "1.5"])
def test_partitions_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match="IGNITE_DATASET_PART"):
        place.overrides({"IGNITE_DATASET_PART": text})


@pytest.mark.parametrize(("text", "rows"), [("", None), ("1", 1), (" 100 ", 100)])
def test_a_page_size_is_a_number_of_rows(text: str, rows: int | None) -> None:
    assert place.overrides({"IGNITE_DATASET_PAGE_SIZE": text}).page_rows == rows


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", "²", "9999999999"])
def test_a_page_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match="IGNITE_DATASET_PAGE_SIZE"):
        place.overrides({"IGNITE_DATASET_PAGE_SIZE": text})


@pytest.mark.parametrize(
    ("given", "env", "expected"),
    [
        (None, {}, ("localhost:10800",)),
        ("h", {"IGNITE_DATASET_HOST": "y"}, ("h:10800",)),
        ("h:1,k", {}, ("h:1", "k:10800")),
        (None, {"IGNITE_DATASET_HOST": "y", "TENSORFLOW_IGNITE_ADDRESS": "x:10820"}, ("y:10800",)),
        (None, {"IGNITE_DATASET_PORT": "4"}, ("localhost:4",)),
    ],
)
def test_thin_ports_are_looked_for_where_ignite_has_them(
    given: str | None, env: dict[str, str], expected: tuple[str, ...]
) -> None:
    assert place.thin_addresses(given, env) == expected


def test_who_asks_a_thin_port_for_the_service_is_told_of_the_thin_way() -> None:
    refused = flight.FlightUnavailableError("failed to connect to all addresses")
    for address in ("localhost:10800", "[::1]:10801"):
        assert 'transport="thin"' in str(translate(refused, address, "cache 'a' was not described"))
    assert "thin" not in str(translate(refused, "localhost:10820", "cache 'a' was not described"))


def test_of_several_addresses_the_first_that_answers_is_asked() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        dead = f"127.0.0.1:{silent.getsockname()[1]}"
        alive = f"127.0.0.1:{server.getsockname()[1]}"
        assert place.answering([dead, alive]) == alive
        with pytest.raises(errors.ConnectionFailedError, match=dead):
            place.answering([dead, dead])


def test_a_host_is_the_same_place_by_any_of_its_names() -> None:
    assert place.same("localhost:1", "127.0.0.1:1")
    assert not place.same("localhost:1", "127.0.0.1:2")
    assert not place.same("127.0.0.2:1", "127.0.0.1:1")
