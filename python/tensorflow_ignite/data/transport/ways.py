"""The two ways to rows: the service on the nodes, or the thin client port of a cluster that lacks it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tensorflow_ignite import credentials
from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.data.reader import Stream
from tensorflow_ignite.data.transport import flight, place
from tensorflow_ignite.data.transport.following import FollowingStream
from tensorflow_ignite.data.transport.streams import Stream as StreamOfNode
from tensorflow_ignite.data.transport.streams import open_stream, parallel
from tensorflow_ignite.v1 import data_pb2

THIN: Final = "thin"


def caller(who: str, address: str) -> Credentials | None:
    """Who asks the service for rows.

    Args:
        who: Name of the credentials that a script gave; empty, or of another process: those of this one.
        address: ``host:port`` of the node that is asked first.

    Raises:
        InvalidRequestError: If those of this process cannot be read.
    """
    return credentials.find(credentials.kept(who), (address,), data=True)


def describe(
    transport: str, address: str, command: data_pb2.ReadCommand, *, who: str = "", local: bool = False
) -> flight.Description:
    """Asks for the columns of rows, their number and who sends them.

    Args:
        transport: ``"thin"``, or any other for the service.
        address: ``host:port`` of a node; with ``"thin"`` what the script gave, which may be nothing.
        command: What is read.
        who: Name of the credentials.
        local: Only rows of the node that is asked; only for ``"thin"``.

    Raises:
        TensorFlowIgniteError: As the node says; or if no node answers.
    """
    if transport != THIN:
        return flight.describe(address, command, caller(who, address))
    # Only here: who reads without it needs no pyignite.
    from tensorflow_ignite.data.transport import thin

    addresses = place.thin_addresses(address or None)
    return thin.describe(addresses, command, credentials=credentials.of(who), local=local)


def streams(
    transport: str,
    endpoint: flight.Endpoint,
    what: str,
    *,
    asked: str = "",
    who: str = "",
    kept: Callable[[int], bool] | None = None,
    follow: bool = False,
) -> list[Stream]:
    """The streams that bring the rows behind an endpoint.

    Args:
        transport: As a script names it.
        endpoint: Who sends, and what.
        what: What is read, for messages.
        asked: ``host:port`` of the node that told of the endpoint, which belongs to the same cluster.
        who: Name of the credentials.
        kept: Answers, for the size of a batch, whether its memory is kept for good; None: none is.
        follow: Partitions that have moved are read where they are, after the others; else they are an error.
    """
    if transport == THIN:
        from tensorflow_ignite.data.transport import thin

        return [thin.BatchStream(endpoint, what, credentials=credentials.of(who))]
    node = asked or endpoint.address
    reader = caller(who, node)

    def opened(part: flight.Endpoint) -> StreamOfNode:
        return open_stream(part, what, transport, keep=kept, credentials=reader)

    def owners(command: data_pb2.ReadCommand) -> Sequence[flight.Endpoint]:
        return flight.describe(node, command, reader).endpoints

    return [FollowingStream(part, what, opened, owners) if follow else opened(part) for part in parallel(endpoint)]
