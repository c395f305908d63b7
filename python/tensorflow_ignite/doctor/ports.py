"""Free ports for a node on this machine: of its API, and of Ignite's discovery."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tensorflow_ignite.doctor.finding import Finding, failed, ok, warning
from tensorflow_ignite.errors import InvalidRequestError

__all__ = ["PortRange", "api_ports", "discovery_ranges", "examine_api", "examine_discovery"]

_API_PORTS = "10820..10919"
_DISCOVERY_PORT = 47500
_LOOPBACK = "127.0.0.1"
_CONNECT_TIMEOUT = 1.0


@dataclass(frozen=True)
class PortRange:
    """Adjacent ports of one host, the last one included; of no host in particular: empty."""

    host: str
    first: int
    last: int

    def __str__(self) -> str:
        """As users write it."""
        ports = str(self.first) if self.first == self.last else f"{self.first}..{self.last}"
        return f"{self.host}:{ports}" if self.host else ports

    def __len__(self) -> int:
        """How many they are."""
        return self.last - self.first + 1


def api_ports(given: str | None) -> PortRange:
    """The ports that a node's API takes the first free one of.

    Raises:
        InvalidRequestError: It is no port and no range.
    """
    source = "--port" if given else "TENSORFLOW_IGNITE_PORT"
    return _parse("", given or os.environ.get("TENSORFLOW_IGNITE_PORT") or _API_PORTS, source, lowest=0)


def discovery_ranges(given: str | None) -> tuple[PortRange, ...]:
    """Reads ``host:port..port,…``; None gives no range.

    Raises:
        InvalidRequestError: It cannot be read.
    """
    ranges = []
    for part in (given or "").split(","):
        if part.strip():
            host, colon, ports = part.strip().rpartition(":")
            if not colon or part.strip().endswith("]"):
                host, ports = part.strip(), str(_DISCOVERY_PORT)
            ranges.append(_parse(host.strip("[]"), ports, "--discovery"))
    return tuple(ranges)


def _parse(host: str, ports: str, source: str, *, lowest: int = 1) -> PortRange:
    match = re.fullmatch(r"(\d{1,5})(?:\.\.(\d{1,5}))?", ports)
    first = int(match.group(1)) if match else -1
    last = int(match.group(2) or first) if match else -1
    if not lowest <= first <= last <= 65_535:
        raise InvalidRequestError(
            f"{source} {ports!r} cannot be read. It is one port or a range FIRST..LAST within {lowest}..65535. "
            f"For example: {_API_PORTS}"
        )
    return PortRange(host, first, last)


def examine_api(host: str | None, ports: PortRange) -> Finding:
    """Looks whether a node on this machine would find a port for its API."""
    host = host or os.environ.get("TENSORFLOW_IGNITE_HOST") or _LOOPBACK
    if ports.last == 0:
        return ok("machine", "API port", f"any free port of {host}, since the port is 0")
    try:
        free, taken = _first_free(host, ports)
    except OSError as error:
        return failed(
            "machine",
            "API port",
            f"{host} cannot be bound: {error.strerror or error}. A node's API binds an address of its own machine",
            "Name another one: tensorflow-ignite node --host, or TENSORFLOW_IGNITE_HOST",
        )
    if free is None:
        return failed(
            "machine",
            "API port",
            f"all {len(ports)} ports of {ports} on {host} are in use. A node's API takes the first free one",
            "Give more of them: tensorflow-ignite node --port 10820..11819, or TENSORFLOW_IGNITE_PORT; "
            "or end a program that holds one: ss -ltnp",
        )
    before = f", after {taken} in use" if taken else ""
    return ok("machine", "API port", f"{free} is the first free port of {ports} on {host}{before}")


def examine_discovery(ranges: Sequence[PortRange]) -> Iterator[Finding]:
    """Looks whether Ignite finds a port to listen on, and whether nodes answer where they are looked for."""
    for ports in ranges:
        if not _is_local(ports.host):
            yield _elsewhere(ports)
            continue
        free, taken = _first_free(ports.host, ports)
        if free is None:
            yield failed(
                "machine",
                "discovery ports",
                f"all {len(ports)} ports of {ports} are in use. A node listens on one of them",
                "Make the range longer, the same on every node: --discovery, or localPortRange in the XML file",
            )
        else:
            before = f", after {taken} in use" if taken else ""
            yield ok("machine", "discovery ports", f"{free} is the first free port of {ports}{before}")


def _elsewhere(ports: PortRange) -> Finding:
    try:
        address = socket.getaddrinfo(ports.host, None, type=socket.SOCK_STREAM)[0][4][0]
    except OSError as error:
        return failed(
            "machine",
            "discovery ports",
            f"{ports.host} of {ports} cannot be resolved: {error.strerror}. Nodes find each other by these addresses",
            "Correct the name, or give the address: --discovery, or the addresses in the XML file",
        )
    for port in range(ports.first, ports.last + 1):
        with contextlib.suppress(OSError), socket.create_connection((str(address), port), timeout=_CONNECT_TIMEOUT):
            return ok("machine", "discovery ports", f"something answers at {ports.host}:{port}")
    return warning(
        "machine",
        "discovery ports",
        f"nothing answers at {ports}. The first node of a cluster starts alone, a later one must reach another",
        f"When a node runs on {ports.host}: let the firewalls pass these ports, and 47100..47199, in both directions",
    )


def _first_free(host: str, ports: PortRange) -> tuple[int | None, int]:
    """The first port that can be bound, and how many before it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Told at once, and not as ports in use: an address that is not this machine's.
    with socket.socket(family) as probe:
        probe.bind((host, 0))
    for number, port in enumerate(range(ports.first, ports.last + 1)):
        with socket.socket(family) as probe:
            # As a node binds: a connection that is still winding up is no obstacle.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
                probe.listen(1)
            except OSError:
                continue
        return port, number
    return None, len(ports)


def _is_local(host: str) -> bool:
    """True for an address of this machine: only that can be bound."""
    try:
        family, *_, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family) as probe:
            probe.bind(address)
    except OSError:
        return False
    return True
