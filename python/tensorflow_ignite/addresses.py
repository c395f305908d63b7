"""Where nodes are: ``host:port[,host:port]`` as users write it."""

from __future__ import annotations

import functools
import os
import socket

from tensorflow_ignite.errors import InvalidRequestError

__all__ = ["ADDRESS_VARIABLE", "DEFAULT_ADDRESS", "DEFAULT_PORT", "of_profile", "on_this_host", "parse_addresses"]

#: The environment variable that names the address when none is given.
ADDRESS_VARIABLE = "TENSORFLOW_IGNITE_ADDRESS"
#: The port that the first node on a machine serves.
DEFAULT_PORT = 10820
#: The address when neither an argument nor the environment names one.
DEFAULT_ADDRESS = f"localhost:{DEFAULT_PORT}"


def parse_addresses(address: str | None = None, port: int = DEFAULT_PORT) -> tuple[str, ...]:
    """Reads the addresses of nodes.

    Args:
        address: ``"host:port[,host:port]"``; an IPv6 address with a port stands in brackets (``"[::1]:10820"``). None:
            the environment variable TENSORFLOW_IGNITE_ADDRESS, else that of the profile, else ``localhost:10820``.
        port: Stands for one left out.

    Returns:
        One ``"host:port"`` for each, in the order given.

    Raises:
        InvalidRequestError: It cannot be read as addresses.
    """
    source = "address"
    if address is None:
        address = os.environ.get(ADDRESS_VARIABLE) or of_profile() or DEFAULT_ADDRESS
        source = ADDRESS_VARIABLE
    return tuple(_parse(part.strip(), address, source, port) for part in address.split(","))


def of_profile() -> str | None:
    """The address of the profile that is in use; None when there is none.

    Raises:
        InvalidRequestError: The profiles cannot be read.
    """
    # Only here: it needs this module.
    from tensorflow_ignite import profile

    chosen = profile.load()
    return chosen.address if chosen else None


def on_this_host(address: str) -> bool:
    """Whether ``host:port`` is an address of this machine."""
    return _is_local(address.rpartition(":")[0].strip("[]"))


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
