"""The only module that makes gRPC channels and clients of Arrow Flight, plain or with TLS.

Each call has the credentials in the header ``authorization``. TLS verifies the node's certificate and its host name;
`handshake.diagnose` finds the reason of a failure.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import grpc

from tensorflow_ignite.net import server_warnings
from tensorflow_ignite.net.addresses import host_of
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.pem import PemFiles

if TYPE_CHECKING:
    from pyarrow import flight

#: Detects within 9 s that a node has frozen, or died without closing its connection.
KEEPALIVE = (
    ("grpc.keepalive_time_ms", 5_000),
    ("grpc.keepalive_timeout_ms", 4_000),
    # Measured with gRPC 1.85: without this option the timeout of a ping is 60 s, despite the option above.
    ("grpc.http2.ping_timeout_ms", 4_000),
    # A quiet job sends nothing for a long time; pings must not stop meanwhile.
    ("grpc.http2.max_pings_without_data", 0),
)
# Nodes are in the local network: a proxy of the environment (http_proxy) is for other hosts.
_NO_PROXY = ("grpc.enable_http_proxy", 0)
#: Options of every client of Flight.
FLIGHT_OPTIONS = (*KEEPALIVE, _NO_PROXY)
#: Options of every gRPC channel to a node.
CHANNEL_OPTIONS = (
    *KEEPALIVE,
    # A job with many restarts, each with a list of partitions, exceeds the default of 4 MiB.
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    _NO_PROXY,
    # A failed connection of one client must not delay another client.
    ("grpc.use_local_subchannel_pool", 1),
)
_HEADER = "authorization"
_Metadata = tuple[tuple[str, str], ...] | None

_log = logging.getLogger("tensorflow_ignite")
# Hosts for which the warning about an unencrypted secret was logged.
_warned: set[str] = set()


def grpc_channel(
    address: str, credentials: Credentials | None = None, *, connect_timeout: float | None = None
) -> grpc.Channel:
    """Makes a channel to a node, which connects at the first call.

    Args:
        address: ``host:port``.
        credentials: Credentials of the calls; None: none, and no TLS.
        connect_timeout: Seconds after which a call that is not connected fails; None: gRPC's default of 20.

    Raises:
        InvalidRequestError: A file of the credentials cannot be used.
    """
    options: tuple[tuple[str, int], ...] = CHANNEL_OPTIONS
    if connect_timeout is not None:
        # By its name the least pause between two attempts to connect; each attempt may take as long.
        options += (("grpc.min_reconnect_backoff_ms", round(1000 * connect_timeout)),)
    if credentials is None:
        return _NodeChannel(grpc.insecure_channel(address, options=options), None)
    if credentials.encrypted:
        files = PemFiles.read(credentials)
        secured = grpc.ssl_channel_credentials(files.authorities, files.key, files.chain)
        channel = grpc.secure_channel(address, secured, options=options)
    else:
        channel = grpc.insecure_channel(address, options=options)
        _warn_unencrypted(address, credentials)
    authorization = credentials.authorization
    return _NodeChannel(channel, None if authorization is None else ((_HEADER, authorization),))


def flight_options(credentials: Credentials | None, timeout: float | None) -> flight.FlightCallOptions:
    """The options of a call of Arrow Flight.

    Args:
        credentials: Credentials of the call.
        timeout: Seconds for the call; None: no limit.
    """
    from pyarrow import flight

    headers = []
    if credentials is not None and credentials.authorization is not None:
        headers.append((_HEADER.encode(), credentials.authorization.encode()))
    return flight.FlightCallOptions(timeout=timeout, headers=headers)


def flight_client(address: str, credentials: Credentials | None) -> flight.FlightClient:
    """Makes a client of Arrow Flight, which connects at the first call.

    Args:
        address: ``host:port``.
        credentials: Of the connection; its calls need :func:`flight_options`. None: no TLS.

    Raises:
        InvalidRequestError: A file of the credentials cannot be used.
    """
    from pyarrow import flight

    if credentials is None or not credentials.encrypted:
        if credentials is not None:
            _warn_unencrypted(address, credentials)
        return flight.FlightClient(
            f"grpc://{address}", generic_options=list(FLIGHT_OPTIONS), middleware=[_warnings_of_flight()]
        )
    files = PemFiles.read(credentials)
    return flight.FlightClient(
        f"grpc+tls://{address}",
        tls_root_certs=files.authorities,
        cert_chain=files.chain,
        private_key=files.key,
        generic_options=list(FLIGHT_OPTIONS),
        middleware=[_warnings_of_flight()],
    )


@functools.cache
def _warnings_of_flight() -> flight.ClientMiddlewareFactory:
    """Reports warnings of nodes in the answers of Flight; made late, since pyarrow is loaded late."""
    from pyarrow import flight

    class Middleware(flight.ClientMiddleware):  # type: ignore[misc]
        def received_headers(self, headers: dict[str, list[Any]]) -> None:
            server_warnings.receive((key, value) for key, values in headers.items() for value in values)

    class Factory(flight.ClientMiddlewareFactory):  # type: ignore[misc]
        def start_call(self, info: Any) -> Middleware:
            return Middleware()

    return Factory()


class _NodeChannel(grpc.Channel):
    """Adds the credentials to each call, and reports warnings of nodes.

    An interceptor would change the type of the returned calls.
    """

    def __init__(self, channel: grpc.Channel, metadata: _Metadata) -> None:
        self._channel = channel
        self._metadata = metadata

    def unary_unary(self, *args: Any, **options: Any) -> Any:
        return _UnaryMethod(self._channel.unary_unary(*args, **options), self._metadata)

    def unary_stream(self, *args: Any, **options: Any) -> Any:
        return _StreamMethod(self._channel.unary_stream(*args, **options), self._metadata)

    def stream_unary(self, *args: Any, **options: Any) -> Any:
        return _UnaryMethod(self._channel.stream_unary(*args, **options), self._metadata)

    def stream_stream(self, *args: Any, **options: Any) -> Any:
        return _StreamMethod(self._channel.stream_stream(*args, **options), self._metadata)

    def subscribe(self, callback: Callable[..., None], try_to_connect: bool = False) -> None:
        self._channel.subscribe(callback, try_to_connect)

    def unsubscribe(self, callback: Callable[..., None]) -> None:
        self._channel.unsubscribe(callback)

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> _NodeChannel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _StreamMethod:
    """One method of a service, with a stream of responses."""

    def __init__(self, method: Any, metadata: _Metadata) -> None:
        self._method = method
        self._metadata = metadata

    def __call__(self, request: Any, timeout: float | None = None) -> Any:
        return self._method(request, timeout=timeout, metadata=self._metadata)


class _UnaryMethod(_StreamMethod):
    """One method of a service, with one response."""

    def __call__(self, request: Any, timeout: float | None = None) -> Any:
        try:
            response, call = self._method.with_call(request, timeout=timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            server_warnings.receive(error.trailing_metadata())
            raise
        server_warnings.receive(call.initial_metadata())
        return response


def _warn_unencrypted(address: str, credentials: Credentials) -> None:
    host = host_of(address)
    # The cluster itself has given a task its token, so the task is not warned.
    is_task_token = (credentials.token or "").startswith("task.")
    if credentials.authorization is None or is_task_token or host in _warned or _is_loopback(host):
        return
    _warned.add(host)
    _log.warning(
        "A password or token is sent to %s without encryption, so it can be read in the network. Use TLS: give the "
        "authority of the nodes' certificates as cafile, or TENSORFLOW_IGNITE_CAFILE",
        host,
    )


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
