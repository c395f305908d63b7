"""Chooses the transport of a stream: shared memory for a node on this host, the network for others.

Over the network, rows come on a separate TCP connection; if it is not available, over Arrow Flight on the node's port.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs import prefetch
from tensorflow_ignite.data.transport.batches import Keep
from tensorflow_ignite.data.transport.flight import BatchStream, Endpoint
from tensorflow_ignite.data.transport.shared import SharedStream
from tensorflow_ignite.data.transport.tcp import TcpStream, TcpUnavailableError
from tensorflow_ignite.net.addresses import on_this_host
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.v1 import data_pb2

AUTO: Final = "auto"
SHARED: Final = "shared"
TCP: Final = "tcp"
NETWORK: Final = "network"
FLIGHT: Final = "flight"

# Streams for each node. Measured: one thread of a node scans small rows slower than a reader reads them.
STREAMS = 2

_log = logging.getLogger("tensorflow_ignite.data")
# Texts that were logged; each is logged once.
_logged: set[str] = set()
_log_lock = threading.Lock()
# Addresses of nodes whose port for rows is not available; later streams do not try again.
_without_tcp: set[str] = set()


class Stream(prefetch.Stream, Protocol):
    """Record batches, with the result of the node."""

    @property
    def result(self) -> data_pb2.ReadResult | None:
        """The result that the node sends after the last row; None before."""


def open_stream(
    endpoint: Endpoint,
    subject: str,
    transport: str = AUTO,
    *,
    keep: Keep | None = None,
    credentials: Credentials | None = None,
) -> Stream:
    """The record batches behind an endpoint; nothing is opened before iteration.

    Args:
        endpoint: The node and the command.
        subject: Names the rows in error texts, such as "cache 'x'".
        transport: ``"auto"``: shared memory if the node is on this host and memory can be shared, else the network,
            which is logged once. ``"network"``: a separate TCP connection, else Arrow Flight. ``"shared"``, ``"tcp"``
            and ``"flight"`` require one of them.
        keep: Called with the size of each batch in bytes; returns whether the batch gets its own memory, which is not
            used again for a later batch. It is not called again after it returned False. Batches of Arrow Flight
            always have their own memory, and it is not called.
        credentials: Credentials of the caller.
    """
    if transport == FLIGHT:
        return BatchStream(endpoint, subject, credentials=credentials)
    if transport == TCP:
        return TcpStream(endpoint, subject, keep, credentials=credentials)
    if transport == SHARED:
        return SharedStream(endpoint, subject, keep, credentials=credentials)
    network = over_network(endpoint, subject, keep, credentials)
    if transport == NETWORK:
        return network
    if transport != AUTO:
        raise errors.InvalidRequestError(
            f'transport={transport!r} is unknown; it is "auto", "shared", "tcp" or "flight". Leave it out for "auto"'
        )
    if not on_this_host(endpoint.address):
        _log_once("Rows of nodes on other hosts, such as %s, come over the network", endpoint.address)
        return network
    shared = SharedStream(endpoint, subject, keep, credentials=credentials)

    def log_fallback(error: errors.TensorFlowIgniteError) -> None:
        _log_once("Rows of nodes on this host come over the network: %s", error)

    return _FallbackStream(shared, errors.SharingUnavailableError, log_fallback, network)


def over_network(endpoint: Endpoint, subject: str, keep: Keep | None, credentials: Credentials | None) -> Stream:
    """As :func:`open_stream` with ``transport="network"``."""
    flight = BatchStream(endpoint, subject, credentials=credentials)
    # A node with TLS sends rows over its own port only.
    if endpoint.address in _without_tcp or (credentials is not None and credentials.encrypted):
        return flight

    def log_fallback(error: errors.TensorFlowIgniteError) -> None:
        _without_tcp.add(endpoint.address)
        _log_once("Rows come over Arrow Flight, which takes more of the processors: %s", error)

    return _FallbackStream(
        TcpStream(endpoint, subject, keep, credentials=credentials), TcpUnavailableError, log_fallback, flight
    )


def parallel(endpoint: Endpoint, streams: int = STREAMS) -> tuple[Endpoint, ...]:
    """The same rows as several endpoints with a part of the partitions each, which a node serves by several threads.

    Rows of SQL stay one endpoint, because each part would scan the same index again.

    Args:
        endpoint: The node and the command.
        streams: Maximum number of endpoints.
    """
    if streams == 1 or endpoint.command.where or endpoint.command.sql:
        return (endpoint,)
    partitions = list(endpoint.command.partitions)
    parts = range(min(streams, len(partitions)))
    return tuple(_part(endpoint, partitions[number::streams]) for number in parts)


def _part(endpoint: Endpoint, partitions: list[int]) -> Endpoint:
    """The same command for some of its partitions."""
    own = set(partitions)
    since = [position for position in endpoint.command.since if position.partition in own]
    return endpoint.modified(partitions=partitions, since=since)


class _FallbackStream:
    """Reads from a first stream, or from a second one if the first is not available."""

    def __init__(
        self,
        first: Stream,
        unavailable: type[errors.TensorFlowIgniteError],
        log_fallback: Callable[[errors.TensorFlowIgniteError], None],
        second: Stream,
    ) -> None:
        self._first = first
        self._unavailable = unavailable
        self._log_fallback = log_fallback
        self._second = second

    @property
    def result(self) -> data_pb2.ReadResult | None:
        return self._first.result or self._second.result

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        begun = False
        try:
            for batch in self._first:
                begun = True
                yield batch
                # This frame must not keep the batch alive after its user has released it.
                del batch
        except self._unavailable as error:
            if begun:
                raise
            self._log_fallback(error)
        else:
            return
        yield from self._second

    def cancel(self) -> None:
        self._first.cancel()
        self._second.cancel()


def _log_once(text: str, *about: object) -> None:
    with _log_lock:
        if text in _logged:
            return
        _logged.add(text)
    _log.warning(text, *about)
