"""The only place that makes connections to nodes: gRPC channels and clients of Arrow Flight, plain or by TLS; and TCP.

Who calls is told with each call, in the header ``authorization``. TLS verifies the node's certificate and that it was
made for the host that is called; why it fails, tells `handshake.diagnose`.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import grpc

from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.pem import PemFiles

if TYPE_CHECKING:
    from pyarrow import flight

__all__ = ["CHANNEL_OPTIONS", "KEEPALIVE", "flight_client", "grpc_channel", "tcp_connection"]

#: A node that froze or died without closing its connection is noticed within 9 s.
KEEPALIVE = (
    ("grpc.keepalive_time_ms", 5_000),
    ("grpc.keepalive_timeout_ms", 4_000),
    # Measured with gRPC 1.85: without this one a ping is waited for 60 s, whatever the line above says.
    ("grpc.http2.ping_timeout_ms", 4_000),
    # A quiet job sends nothing for a long time; pings must go on all the while.
    ("grpc.http2.max_pings_without_data", 0),
)
#: Of every gRPC channel to a node.
CHANNEL_OPTIONS = (
    *KEEPALIVE,
    # A job with many restarts, each with its partitions listed, exceeds the usual 4 MiB.
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # Nodes are neighbours, not web sites; and one client's failed connection must not slow down another's.
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
)
_HEADER = "authorization"

_log = logging.getLogger("tensorflow_ignite")
# Hosts that were told a secret over a plain connection; each is warned of once.
_warned: set[str] = set()


def grpc_channel(address: str, credentials: Credentials | None = None) -> grpc.Channel:
    """A channel to a node; nothing is connected yet.

    Args:
        address: ``host:port``.
        credentials: Who calls; None: nobody in particular, and without TLS.

    Raises:
        InvalidRequestError: If a file of the credentials cannot be used.
    """
    if credentials is None:
        return grpc.insecure_channel(address, options=CHANNEL_OPTIONS)
    if credentials.encrypted:
        files = PemFiles.read(credentials)
        secured = grpc.ssl_channel_credentials(files.authorities, files.key, files.chain)
        channel = grpc.secure_channel(address, secured, options=CHANNEL_OPTIONS)
    else:
        channel = grpc.insecure_channel(address, options=CHANNEL_OPTIONS)
        _warn_unencrypted(address, credentials)
    if credentials.authorization is None:
        return channel
    return _AuthorizedChannel(channel, ((_HEADER, credentials.authorization),))


def flight_client(
    address: str, credentials: Credentials | None = None, *, timeout: float | None = None
) -> tuple[flight.FlightClient, flight.FlightCallOptions]:
    """A client of Arrow Flight, and the options for each of its calls; nothing is connected yet.

    Args:
        address: ``host:port``.
        credentials: Who calls; None: nobody in particular, and without TLS.
        timeout: Seconds for a call; None: no limit.

    Raises:
        InvalidRequestError: If a file of the credentials cannot be used.
    """
    from pyarrow import flight

    headers = []
    if credentials is not None and credentials.authorization is not None:
        headers.append((_HEADER.encode(), credentials.authorization.encode()))
    options = flight.FlightCallOptions(timeout=timeout, headers=headers)
    if credentials is None or not credentials.encrypted:
        if credentials is not None:
            _warn_unencrypted(address, credentials)
        return flight.FlightClient(f"grpc://{address}", generic_options=list(KEEPALIVE)), options
    files = PemFiles.read(credentials)
    client = flight.FlightClient(
        f"grpc+tls://{address}",
        tls_root_certs=files.authorities,
        cert_chain=files.chain,
        private_key=files.key,
        generic_options=list(KEEPALIVE),
    )
    return client, options


def tcp_connection(address: str, port: int, seconds: float) -> socket.socket:
    """A plain connection to another port of a node. Its calls wait without limit, but for a peer that is out of reach.

    Args:
        address: ``host:port`` of the node.
        port: Which other one.
        seconds: For connecting.

    Raises:
        OSError: If it cannot be reached.
    """
    connection = socket.create_connection((address.rpartition(":")[0].strip("[]"), port), seconds)
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # As KEEPALIVE; Linux has all of them.
    for option, seconds_or_probes in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 2)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds_or_probes)
    return connection


class _AuthorizedChannel(grpc.Channel):
    """Tells with each call who makes it; an interceptor would do so too, and change what a call returns."""

    def __init__(self, channel: grpc.Channel, metadata: tuple[tuple[str, str], ...]) -> None:
        self._channel = channel
        self._metadata = metadata

    def unary_unary(self, *args: Any, **options: Any) -> Any:
        return _Authorized(self._channel.unary_unary(*args, **options), self._metadata)

    def unary_stream(self, *args: Any, **options: Any) -> Any:
        return _Authorized(self._channel.unary_stream(*args, **options), self._metadata)

    def stream_unary(self, *args: Any, **options: Any) -> Any:
        return _Authorized(self._channel.stream_unary(*args, **options), self._metadata)

    def stream_stream(self, *args: Any, **options: Any) -> Any:
        return _Authorized(self._channel.stream_stream(*args, **options), self._metadata)

    def subscribe(self, callback: Callable[..., None], try_to_connect: bool = False) -> None:
        self._channel.subscribe(callback, try_to_connect)

    def unsubscribe(self, callback: Callable[..., None]) -> None:
        self._channel.unsubscribe(callback)

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> _AuthorizedChannel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Authorized:
    """One method of a service."""

    def __init__(self, method: Any, metadata: tuple[tuple[str, str], ...]) -> None:
        self._method = method
        self._metadata = metadata

    def __call__(self, request: Any, timeout: float | None = None) -> Any:
        return self._method(request, timeout=timeout, metadata=self._metadata)


def _warn_unencrypted(address: str, credentials: Credentials) -> None:
    host = address.rpartition(":")[0].strip("[]")
    # A task says what its cluster has given it to say.
    own = (credentials.token or "").startswith("task.")
    if credentials.authorization is None or own or host in _warned or _is_loopback(host):
        return
    _warned.add(host)
    _log.warning(
        "A password or token goes to %s without encryption: whoever sees the network sees it. Use TLS: give the "
        "authority of the nodes' certificates as cafile, or TENSORFLOW_IGNITE_CAFILE",
        host,
    )


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
