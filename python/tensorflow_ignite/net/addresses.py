"""Addresses of nodes: ``host:port[,host:port]``."""

from __future__ import annotations

import functools
import socket

from tensorflow_ignite.errors import InvalidRequestError

#: The environment variable that names the address when none is given.
ADDRESS_VARIABLE = "TENSORFLOW_IGNITE_ADDRESS"
#: The port that the first node on a machine serves.
DEFAULT_PORT = 10820
#: The address when neither an argument nor the environment names one.
DEFAULT_ADDRESS = f"localhost:{DEFAULT_PORT}"
#: Default port of Ignite's thin client protocol; if it is in use, Ignite uses the next free port.
THIN_PORT = 10800


def parse_addresses(address: str, port: int = DEFAULT_PORT, *, source: str = "address") -> tuple[str, ...]:
    """Parses the addresses of nodes.

    Args:
        address: ``"host:port[,host:port]"``; an IPv6 address with a port is in brackets (``"[::1]:10820"``).
        port: The default port.
        source: The argument or variable with the address, for messages.

    Returns:
        One ``"host:port"`` for each, in the given order.

    Raises:
        InvalidRequestError: The text is malformed.
    """
    return tuple(_parse(part.strip(), address, source, port) for part in address.split(","))


def host_of(address: str) -> str:
    """Returns the host of ``host:port``, without the brackets of an IPv6 address."""
    return address.rpartition(":")[0].strip("[]")


def thin_hint(address: str) -> str:
    """Returns a text for an error if the port is one of Ignite's thin client protocol; else an empty text."""
    port = int(address.rpartition(":")[2])
    if not THIN_PORT <= port < DEFAULT_PORT:
        return ""
    return (
        f". Port {port} is for Ignite's thin clients: the rows of a cluster without the service tensorflow-ignite are "
        f'read there with transport="thin", which is slower'
    )


def same(first: str, second: str) -> bool:
    """Whether two addresses are the same port of the same host, which may have several names."""
    (host, _, port), (other, _, other_port) = first.rpartition(":"), second.rpartition(":")
    return port == other_port and (host == other or not _numbers(host).isdisjoint(_numbers(other)))


def on_this_host(address: str) -> bool:
    """Whether ``host:port`` is an address of this machine."""
    return _is_local(host_of(address))


def _numbers(host: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host.strip("[]"), None)}
    except OSError:
        return set()


def _parse(part: str, address: str, source: str, default: int) -> str:
    host, colon, port = part.rpartition(":")
    if not colon or part.endswith("]") or (":" in host and not host.startswith("[")):
        host, port = part, str(default)
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        host = f"[{host}]"
    valid_port = port.isascii() and port.isdigit() and 0 < int(port) < 65536
    if not valid_port or not host.strip("[]") or any(char.isspace() or char in "/@" for char in host):
        raise InvalidRequestError(
            f"{source} {address!r} cannot be read: {part!r} is not host:port. An address is host:port[,host:port], "
            f"the port from 1 to 65535 ({default} when left out). Give the address that a node printed at its "
            f"start, for example localhost:{default}."
        )
    return f"{host}:{port}"


@functools.lru_cache(maxsize=256)
def _is_local(host: str) -> bool:
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return any(_can_bind(family, where) for family, _, _, _, where in found)


def _can_bind(family: int, where: tuple[object, ...]) -> bool:
    """Only addresses of this machine can be bound."""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind(where)
            return True
    except OSError:
        return False
