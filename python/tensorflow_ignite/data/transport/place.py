"""Where rows are asked for: arguments, the environment, and the job's own node."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensorflow_ignite.addresses import ADDRESS_VARIABLE, DEFAULT_PORT, of_profile, parse_addresses
from tensorflow_ignite.errors import ConnectionFailedError, InvalidRequestError
from tensorflow_ignite.train.context import context

SECONDS_TO_CONNECT = 5.0
# Where Ignite listens for thin clients unless configured; when taken, on the next free port.
THIN_PORT = 10800


@dataclass(frozen=True)
class Overrides:
    """What the environment says of a dataset outside a job; None where it says nothing.

    Attributes:
        cache: IGNITE_DATASET_CACHE_NAME, read in place of the cache that the script names.
        local: IGNITE_DATASET_LOCAL, only the rows of the node that is asked.
        partitions: IGNITE_DATASET_PART, only these partitions.
        page_rows: IGNITE_DATASET_PAGE_SIZE, rows that a node sends at a time.
    """

    cache: str | None
    local: bool
    partitions: tuple[int, ...] | None
    page_rows: int | None


def overrides(env: Mapping[str, str] = os.environ) -> Overrides:
    """Reads IGNITE_DATASET_CACHE_NAME, _LOCAL, _PART and _PAGE_SIZE.

    Raises:
        InvalidRequestError: If _PART is not a number or a list of numbers separated by commas, or _PAGE_SIZE not a
            number of rows.
    """
    return Overrides(
        cache=env.get("IGNITE_DATASET_CACHE_NAME") or None,
        local=env.get("IGNITE_DATASET_LOCAL", "").strip().lower() in ("1", "true", "yes", "on"),
        partitions=_partitions(env.get("IGNITE_DATASET_PART", "")),
        page_rows=_page_rows(env.get("IGNITE_DATASET_PAGE_SIZE", "").strip()),
    )


def _page_rows(text: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or not 0 < int(text) < 2**31:
        raise InvalidRequestError(
            f"IGNITE_DATASET_PAGE_SIZE={text!r} is not a number of rows, from 1 to {2**31 - 1}. It says how many "
            f"rows a node sends at a time. Leave it out for as many as suit their size"
        )
    return int(text)


def _partitions(text: str) -> tuple[int, ...] | None:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    # The earlier dataset wrote -1 for "all of them".
    if not parts or parts == ["-1"]:
        return None
    if not all(part.isdecimal() for part in parts):
        raise InvalidRequestError(
            f"IGNITE_DATASET_PART={text!r} is not a number of a partition or a list such as 0,1,2"
        )
    return tuple(int(part) for part in parts)


def addresses(given: str | None, env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Nodes to ask, each as ``host:port``.

    The argument decides, else TENSORFLOW_IGNITE_ADDRESS, else IGNITE_DATASET_HOST and IGNITE_DATASET_PORT, else the
    profile, else localhost:10820.

    Raises:
        InvalidRequestError: If it cannot be read.
    """
    text = given or env.get(ADDRESS_VARIABLE)
    host, port = env.get("IGNITE_DATASET_HOST"), env.get("IGNITE_DATASET_PORT")
    if not text and not (host or port):
        text = of_profile()
    if not text:
        text = f"{host or 'localhost'}:{port or DEFAULT_PORT}"
    return parse_addresses(text)


def thin_addresses(given: str | None, env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Thin ports of nodes to ask, each as ``host:port``; a port left out is 10800.

    The argument decides, else IGNITE_DATASET_HOST and IGNITE_DATASET_PORT, else localhost:10800.
    TENSORFLOW_IGNITE_ADDRESS is none of these: it names the port of the service.

    Raises:
        InvalidRequestError: If it cannot be read.
    """
    host = env.get("IGNITE_DATASET_HOST") or "localhost"
    return parse_addresses(given or f"{host}:{env.get('IGNITE_DATASET_PORT') or THIN_PORT}", THIN_PORT)


def thin_hint(address: str) -> str:
    """What to add to an error when the service was sought where Ignite listens for thin clients; else nothing."""
    port = int(address.rpartition(":")[2])
    if not THIN_PORT <= port < DEFAULT_PORT:
        return ""
    return (
        f". Port {port} is where Ignite listens for thin clients: a cluster without the service tensorflow-ignite is "
        f'read there with transport="thin", which is slower'
    )


def node(given: str | None) -> str:
    """The node to ask: the one that a task runs beside, whatever a script says for its runs outside a job.

    Outside a job it is the first of :func:`addresses` that answers.

    Raises:
        InvalidRequestError: If an address cannot be read.
        ConnectionFailedError: If none of several answers.
    """
    here = context()
    return here.node_address if here.in_job else answering(addresses(given))


def answering(candidates: Sequence[str]) -> str:
    """The first address that accepts a connection; a single one is taken as it is.

    Raises:
        ConnectionFailedError: If none of several does.
    """
    if len(candidates) == 1:
        return candidates[0]
    failures = []
    for candidate in candidates:
        host, _, port = candidate.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), SECONDS_TO_CONNECT).close()
        except OSError as error:
            failures.append(f"{candidate} ({error})")
        else:
            return candidate
    raise ConnectionFailedError(
        f"no node answers at {', '.join(failures)}; each was given {SECONDS_TO_CONNECT:.0f} s. Check that a node "
        f"runs and give its address: address=, or {ADDRESS_VARIABLE}=HOST:PORT"
    )


def same(first: str, second: str) -> bool:
    """Whether two ``host:port`` reach the same port of the same host, by any of its names."""
    (host, _, port), (other, _, other_port) = first.rpartition(":"), second.rpartition(":")
    return port == other_port and (host == other or not _numbers(host).isdisjoint(_numbers(other)))


def _numbers(host: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host.strip("[]"), None)}
    except OSError:
        return set()
