"""The only module that opens TCP connections."""

from __future__ import annotations

import socket

from tensorflow_ignite.net.addresses import host_of

#: The first bytes of a client of HTTP/2, and its empty settings.
_HTTP2_CLIENT = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"


def connect(address: str, seconds: float) -> socket.socket:
    """Opens a connection.

    Args:
        address: ``host:port``.
        seconds: Timeout of the connection attempt, and of later operations of the socket.

    Raises:
        OSError: The address cannot be reached.
    """
    return socket.create_connection((host_of(address), int(address.rpartition(":")[2])), seconds)


def await_answer(address: str, seconds: float) -> None:
    """Returns when a program answers the beginning of HTTP/2, also if it is an end of the connection, as with TLS.

    Args:
        address: ``host:port``.
        seconds: Timeout of the connection attempt, and of the answer.

    Raises:
        OSError: The address cannot be reached, or nothing answers.
    """
    with connect(address, seconds) as connection:
        connection.sendall(_HTTP2_CLIENT)
        try:
            connection.recv(1)
        except ConnectionError:
            return


def connect_for_rows(address: str, port: int, seconds: float) -> socket.socket:
    """Opens a connection to a node's port for rows, without a timeout for reads; TCP keep-alive detects lost peers.

    Args:
        address: ``host:port`` of the node.
        port: The port for rows.
        seconds: Timeout of the connection attempt.

    Raises:
        OSError: The address cannot be reached.
    """
    connection = socket.create_connection((host_of(address), port), seconds)
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # As KEEPALIVE of `channels`; Linux has all of these options.
    for option, seconds_or_probes in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 2)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds_or_probes)
    return connection
