"""Free ports for a node on this machine: of its API, and of Ignite's discovery."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tensorflow_ignite.doctor.finding import Finding, Step
from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.net import sockets
from tensorflow_ignite.net.addresses import on_this_host

_API_PORT = Step("machine", "API port")
_DISCOVERY_PORTS = Step("machine", "discovery ports")
_API_PORTS = "10820..10919"
_DISCOVERY_PORT = 47500
_LOOPBACK = "127.0.0.1"
_CONNECT_TIMEOUT = 1.0


@dataclass(frozen=True)
class PortRange:
    """Adjacent ports of one host, the last one included; `host` is empty where it does not matter."""

    host: str
    first: int
    last: int

    def __str__(self) -> str:
        """As users write it."""
        ports = str(self.first) if self.first == self.last else f"{self.first}..{self.last}"
        return f"{self.host}:{ports}" if self.host else ports

    def __len__(self) -> int:
        """The number of ports."""
        return self.last - self.first + 1


def api_ports(given: str | None) -> PortRange:
    """The range of ports from which a node's API takes the first free port.

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
    """Checks whether a node on this machine would find a port for its API."""
    host = host or os.environ.get("TENSORFLOW_IGNITE_HOST") or _LOOPBACK
    if ports.last == 0:
        return _API_PORT.ok(f"any free port of {host}, since the port is 0")
    try:
        free, taken = _first_free(host, ports)
    except OSError as error:
        return _API_PORT.failed(
            f"{host} cannot be bound: {error.strerror or error}. A node's API binds an address of its own machine",
            "Name another one: tensorflow-ignite node --host, or TENSORFLOW_IGNITE_HOST",
        )
    if free is None:
        return _API_PORT.failed(
            f"all {len(ports)} ports of {ports} on {host} are in use. A node's API takes the first free one",
            "Give more of them: tensorflow-ignite node --port 10820..11819, or TENSORFLOW_IGNITE_PORT; "
            "or end a program that holds one: ss -ltnp",
        )
    before = f", after {taken} in use" if taken else ""
    return _API_PORT.ok(f"{free} is the first free port of {ports} on {host}{before}")


def examine_discovery(ranges: Sequence[PortRange]) -> Iterator[Finding]:
    """Checks whether Ignite finds a free port to listen on, and whether nodes answer at the addresses of discovery."""
    for ports in ranges:
        if not on_this_host(f"[{ports.host}]:0"):
            yield _examine_other_host(ports)
            continue
        free, taken = _first_free(ports.host, ports)
        if free is None:
            yield _DISCOVERY_PORTS.failed(
                f"all {len(ports)} ports of {ports} are in use. A node listens on one of them",
                "Make the range longer, the same on every node: --discovery, or localPortRange in the XML file",
            )
        else:
            before = f", after {taken} in use" if taken else ""
            yield _DISCOVERY_PORTS.ok(f"{free} is the first free port of {ports}{before}")


def _examine_other_host(ports: PortRange) -> Finding:
    try:
        address = socket.getaddrinfo(ports.host, None, type=socket.SOCK_STREAM)[0][4][0]
    except OSError as error:
        return _DISCOVERY_PORTS.failed(
            f"{ports.host} of {ports} cannot be resolved: {error.strerror}. Nodes find each other by these addresses",
            "Correct the name, or give the address: --discovery, or the addresses in the XML file",
        )
    for port in range(ports.first, ports.last + 1):
        with contextlib.suppress(OSError), sockets.connect(f"{address}:{port}", _CONNECT_TIMEOUT):
            return _DISCOVERY_PORTS.ok(f"something answers at {ports.host}:{port}")
    return _DISCOVERY_PORTS.warning(
        f"nothing answers at {ports}. The first node of a cluster starts alone, a later one must reach another",
        f"When a node runs on {ports.host}: let the firewalls pass these ports, and 47100..47199, in both directions",
    )


def _first_free(host: str, ports: PortRange) -> tuple[int | None, int]:
    """The first port that can be bound, and how many before it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # An address of another machine fails here: its ports are not in use.
    with socket.socket(family) as probe:
        probe.bind((host, 0))
    for number, port in enumerate(range(ports.first, ports.last + 1)):
        with socket.socket(family) as probe:
            # As a node binds: a connection in TIME_WAIT is no obstacle.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
                probe.listen(1)
            except OSError:
                continue
        return port, number
    return None, len(ports)
