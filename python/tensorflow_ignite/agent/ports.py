"""Ports that are held for tasks until their attempt is over.

A held port is bound with SO_REUSEPORT and never listens. TensorFlow's server, which binds it with the same option
(TF_GRPC_REUSE_PORT=true), takes it over while nobody else can: there is no moment in which the port is free.
"""

import errno
import functools
import socket

from tensorflow_ignite.agent.refusal import FAILED_PRECONDITION, Refusal


class HeldPort:
    """One TCP port, bound on every address since TensorFlow binds every address, and on the host's own."""

    def __init__(self, host: str) -> None:
        """Binds a free port.

        Args:
            host: The address that other nodes reach the task by. It must be one of this machine.

        Raises:
            Refusal: The host's address is not of this machine, or no port is free.
        """
        self._sockets: list[socket.socket] = []
        try:
            family, address = _resolve(host)
            self.number = self._bind_everywhere()
            # Also proves that the address is this machine's: TensorFlow would wait for ever at one that is not.
            self._bind(family, address, self.number)
        except OSError as error:
            self.release()
            raise Refusal(
                FAILED_PRECONDITION,
                f"no port can be held on host {host!r}: {error.strerror or error}; tasks listen on the address that "
                "their peers reach them by, and it must belong to this machine; set TENSORFLOW_IGNITE_HOST to one of "
                "its addresses",
            ) from error

    def release(self) -> None:
        """Gives the port back."""
        for held in self._sockets:
            held.close()
        self._sockets.clear()

    def _bind_everywhere(self) -> int:
        try:
            return self._bind(socket.AF_INET6, "::", 0)
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT):
                raise
            return self._bind(socket.AF_INET, "0.0.0.0", 0)

    def _bind(self, family: socket.AddressFamily, address: str, port: int) -> int:
        held = socket.socket(family, socket.SOCK_STREAM)
        self._sockets.append(held)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6 and address == "::":
            held.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        held.bind((address, port))
        return int(held.getsockname()[1])


@functools.lru_cache(maxsize=8)
def _resolve(host: str) -> tuple[socket.AddressFamily, str]:
    family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    return family, str(address[0])
