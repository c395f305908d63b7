"""Opens the stream that suits where the rows are: shared memory on this host, the network elsewhere.

The network's ways are TCP connections of their own, and Arrow Flight on the node's one port where these cannot be had.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.addresses import on_this_host
from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.data import reader
from tensorflow_ignite.data.transport.batches import Keep
from tensorflow_ignite.data.transport.flight import BatchStream, Endpoint
from tensorflow_ignite.data.transport.shared import SharedStream
from tensorflow_ignite.data.transport.tcp import TcpStream, TcpUnavailableError
from tensorflow_ignite.v1 import data_pb2

AUTO: Final = "auto"
SHARED: Final = "shared"
TCP: Final = "tcp"
FLIGHT: Final = "flight"

# For each node that sends. Measured: one thread of a node scans small rows slower than a reader takes them.
STREAMS = 2

_log = logging.getLogger("tensorflow_ignite.data")
# What the log has been told: each way in which memory cannot be shared is said once.
_said: set[str] = set()
_saying = threading.Lock()
# Addresses of nodes that rows could not be had of over TCP: nobody waits for that twice.
_without_tcp: set[str] = set()


class Stream(reader.Stream, Protocol):
    """Record batches of which a node says how many rows it sent."""

    @property
    def result(self) -> data_pb2.ReadResult | None:
        """What the node said when all rows had been sent; None before."""


def open_stream(
    endpoint: Endpoint,
    what: str,
    transport: str = AUTO,
    *,
    keep: Keep | None = None,
    credentials: Credentials | None = None,
) -> Stream:
    """The record batches behind an endpoint; nothing is opened before iteration.

    Args:
        endpoint: Who sends, and what.
        what: What is read, for messages.
        transport: ``"auto"``: shared memory where the endpoint is on this host and it can be had, else the network,
            which is said once in the log: TCP connections of their own, or where these cannot be had Arrow Flight.
            ``"shared"``, ``"tcp"`` and ``"flight"`` insist on one of these.
        keep: For those who keep batches for good: asked with the size of each batch in bytes whether it gets memory of
            its own, that is not used again for a later batch. After a False it is not asked again. Batches that came
            over Flight have memory of their own anyway, and nobody is asked.
        credentials: Who asks.
    """
    if transport == FLIGHT:
        return BatchStream(endpoint, what, credentials=credentials)
    if transport == TCP:
        return TcpStream(endpoint, what, keep, credentials=credentials)
    if transport == SHARED:
        return SharedStream(endpoint, what, keep, credentials=credentials)
    if transport != AUTO:
        raise errors.InvalidRequestError(
            f'transport={transport!r} is unknown; it is "auto", "shared", "tcp" or "flight". Leave it out for "auto"'
        )
    network = over_network(endpoint, what, keep, credentials)
    if not on_this_host(endpoint.address):
        _say_once("Rows of nodes on other hosts, such as %s, come over the network", endpoint.address)
        return network
    shared = SharedStream(endpoint, what, keep, credentials=credentials)

    def told(error: errors.TensorFlowIgniteError) -> None:
        _say_once("Rows of nodes on this host come over the network: %s", error)

    return _Either(shared, errors.SharingUnavailableError, told, network)


def over_network(endpoint: Endpoint, what: str, keep: Keep | None, credentials: Credentials | None) -> Stream:
    """As :func:`open_stream`, from nodes on this host too."""
    flight = BatchStream(endpoint, what, credentials=credentials)
    # Nodes that encrypt send nothing past their own port.
    if endpoint.address in _without_tcp or (credentials is not None and credentials.encrypted):
        return flight

    def told(error: errors.TensorFlowIgniteError) -> None:
        _without_tcp.add(endpoint.address)
        _say_once("Rows come over Arrow Flight, which takes more of the processors: %s", error)

    return _Either(TcpStream(endpoint, what, keep, credentials=credentials), TcpUnavailableError, told, flight)


def parallel(endpoint: Endpoint, streams: int = STREAMS) -> tuple[Endpoint, ...]:
    """The same rows as several endpoints, each with a part of the partitions: a node serves each by a thread.

    Rows that SQL chooses stay one endpoint: each part would walk the same index again.

    Args:
        endpoint: Who sends, and what.
        streams: How many, at most.
    """
    command = data_pb2.ReadCommand.FromString(endpoint.ticket)
    if command.where or command.sql:
        return (endpoint,)
    partitions = list(command.partitions)
    parts = []
    for number in range(min(streams, len(partitions))):
        command.partitions[:] = partitions[number::streams]
        parts.append(Endpoint(endpoint.address, command.SerializeToString()))
    return tuple(parts)


class _Either:
    """One way to rows if it can be had, else another."""

    def __init__(
        self,
        first: Stream,
        unavailable: type[errors.TensorFlowIgniteError],
        told: Callable[[errors.TensorFlowIgniteError], None],
        second: Stream,
    ) -> None:
        self._first = first
        self._unavailable = unavailable
        self._told = told
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
                # The frame must not hold what its user has let go of.
                del batch
        except self._unavailable as error:
            if begun:
                raise
            self._told(error)
        else:
            return
        yield from self._second

    def cancel(self) -> None:
        self._first.cancel()
        self._second.cancel()


def _say_once(text: str, *about: object) -> None:
    with _saying:
        if text in _said:
            return
        _said.add(text)
    _log.warning(text, *about)
