"""Where rows are asked for: arguments, the environment, and the job's own node."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensorflow_ignite.addresses import ADDRESS_VARIABLE, DEFAULT_PORT, parse_addresses
from tensorflow_ignite.errors import ConnectionFailedError, InvalidRequestError

SECONDS_TO_CONNECT = 5.0


@dataclass(frozen=True)
class Overrides:
    """What the environment says of a dataset outside a job; None where it says nothing.

    Attributes:
        cache: IGNITE_DATASET_CACHE_NAME, read in place of the cache that the script names.
        local: IGNITE_DATASET_LOCAL, only the rows of the node that is asked.
        partitions: IGNITE_DATASET_PART, only these partitions.
    """

    cache: str | None
    local: bool
    partitions: tuple[int, ...] | None


def overrides(env: Mapping[str, str] = os.environ) -> Overrides:
    """Reads IGNITE_DATASET_CACHE_NAME, _LOCAL and _PART.

    Raises:
        InvalidRequestError: If _PART is not a number or a list of numbers separated by commas.
    """
    return Overrides(
        cache=env.get("IGNITE_DATASET_CACHE_NAME") or None,
        local=env.get("IGNITE_DATASET_LOCAL", "").strip().lower() in ("1", "true", "yes", "on"),
        partitions=_partitions(env.get("IGNITE_DATASET_PART", "")),
    )


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

    The argument decides, else TENSORFLOW_IGNITE_ADDRESS, else IGNITE_DATASET_HOST and IGNITE_DATASET_PORT, else
    localhost:10820.

    Raises:
        InvalidRequestError: If it cannot be read.
    """
    text = given or env.get(ADDRESS_VARIABLE)
    if not text:
        host = env.get("IGNITE_DATASET_HOST") or "localhost"
        text = f"{host}:{env.get('IGNITE_DATASET_PORT') or DEFAULT_PORT}"
    return parse_addresses(text)


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
