"""Ports that are reserved for tasks until their attempt ends.

A reserved port is bound with SO_REUSEPORT and never listens. TensorFlow's server binds it with the same option
(TF_GRPC_REUSE_PORT=true), so the port is never free for another program.
"""

import errno
import functools
import socket

from tensorflow_ignite.agent.rejection import FAILED_PRECONDITION, RequestRejected


class ReservedPort:
    """One TCP port, bound on every address, as TensorFlow does, and on the address of the host."""

    def __init__(self, host: str) -> None:
        """Binds a free port.

        Args:
            host: Name or address by which other nodes reach the task. It must belong to this machine.

        Raises:
            RequestRejected: The host's address does not belong to this machine, or no port is free.
        """
        self._sockets: list[socket.socket] = []
        try:
            family, address = _resolve(host)
            self.number = self._bind_everywhere()
            # Also checks that the address belongs to this machine: at another one, TensorFlow would wait forever.
            self._bind(family, address, self.number)
        except OSError as error:
            self.release()
            raise RequestRejected(
                FAILED_PRECONDITION,
                f"no port can be reserved on host {host!r}: {error.strerror or error}. Tasks listen on the address by "
                "which their peers reach them, and it must belong to this machine. Set TENSORFLOW_IGNITE_HOST to one "
                "of its addresses",
            ) from error

    def release(self) -> None:
        """Closes the sockets."""
        for reserved in self._sockets:
            reserved.close()
        self._sockets.clear()

    def _bind_everywhere(self) -> int:
        try:
            return self._bind(socket.AF_INET6, "::", 0)
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT):
                raise
            return self._bind(socket.AF_INET, "0.0.0.0", 0)

    def _bind(self, family: socket.AddressFamily, address: str, port: int) -> int:
        reserved = socket.socket(family, socket.SOCK_STREAM)
        self._sockets.append(reserved)
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6 and address == "::":
            reserved.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        reserved.bind((address, port))
        return int(reserved.getsockname()[1])


@functools.lru_cache(maxsize=8)
def _resolve(host: str) -> tuple[socket.AddressFamily, str]:
    family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    return family, str(address[0])
