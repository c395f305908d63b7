"""Opens the stream that suits where the rows are: shared memory on this host, the network elsewhere."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from tensorflow_ignite import errors
from tensorflow_ignite.addresses import on_this_host
from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.data import reader
from tensorflow_ignite.data.transport.flight import BatchStream, Endpoint
from tensorflow_ignite.data.transport.shared import Keep, SharedStream
from tensorflow_ignite.v1 import data_pb2

AUTO = "auto"
SHARED = "shared"
FLIGHT = "flight"

# For each node that sends. Measured: one thread of a node scans small rows slower than a reader takes them.
STREAMS = 2

_log = logging.getLogger("tensorflow_ignite.data")
# What the log has been told: each way in which memory cannot be shared is said once.
_said: set[str] = set()
_saying = threading.Lock()


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
            which is said once in the log. ``"shared"`` insists on shared memory, ``"flight"`` on the network.
        keep: For those who keep batches for good: asked with the size of each batch in bytes whether it gets memory of
            its own, that is not used again for a later batch. After a False it is not asked again. Batches that came
            over the network have memory of their own anyway, and nobody is asked.
        credentials: Who asks.
    """
    if transport == FLIGHT:
        return BatchStream(endpoint, what, credentials=credentials)
    if transport == SHARED:
        return SharedStream(endpoint, what, keep, credentials=credentials)
    if transport != AUTO:
        raise errors.InvalidRequestError(
            f'transport={transport!r} is unknown; it is "auto", "shared" or "flight". Leave it out for "auto"'
        )
    if not on_this_host(endpoint.address):
        _say_once("Rows of nodes on other hosts, such as %s, come over the network", endpoint.address)
        return BatchStream(endpoint, what, credentials=credentials)
    return _SharedOrFlight(endpoint, what, keep, credentials)


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


class _SharedOrFlight:
    """Shared memory if it can be had, else the network."""

    def __init__(self, endpoint: Endpoint, what: str, keep: Keep | None, credentials: Credentials | None) -> None:
        self._shared = SharedStream(endpoint, what, keep, credentials=credentials)
        self._flight = BatchStream(endpoint, what, credentials=credentials)

    @property
    def result(self) -> data_pb2.ReadResult | None:
        return self._shared.result or self._flight.result

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        begun = False
        try:
            for batch in self._shared:
                begun = True
                yield batch
                # The frame must not hold what its user has let go of.
                del batch
        except errors.SharingUnavailableError as error:
            if begun:
                raise
            _say_once("Rows of nodes on this host come over the network: %s", error)
        else:
            return
        yield from self._flight

    def cancel(self) -> None:
        self._shared.cancel()
        self._flight.cancel()


def _say_once(text: str, *about: object) -> None:
    with _saying:
        if text in _said:
            return
        _said.add(text)
    _log.warning(text, *about)
