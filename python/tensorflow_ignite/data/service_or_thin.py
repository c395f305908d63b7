"""Opens the way to the rows: the service on the nodes, or the thin client port of a cluster without our service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tensorflow_ignite.data.epochs.prefetch import Stream
from tensorflow_ignite.data.transport import choice, flight
from tensorflow_ignite.data.transport.moved_partitions import MovedPartitionStream
from tensorflow_ignite.errors import ConnectionFailedError
from tensorflow_ignite.net import resolve
from tensorflow_ignite.net.credentials import Credentials, from_dataset_environment
from tensorflow_ignite.v1 import data_pb2

THIN: Final = "thin"


def describe(
    transport: str, address: str, command: data_pb2.ReadCommand, given: Credentials | None, *, local: bool = False
) -> flight.Description:
    """Asks a node for the columns of rows, their number and the nodes that send them.

    Args:
        transport: ``"thin"``, or any other name for the service.
        address: ``host:port`` of a node; with ``"thin"`` the argument of the script, which may be empty.
        command: The rows to read.
        given: Credentials that the script gave; None: those of this process.
        local: Only rows of the node at the address; only with ``"thin"``.

    Raises:
        InvalidRequestError: If the credentials of this process cannot be read.
        TensorFlowIgniteError: Any error of the node; if no node answers.
    """
    if transport != THIN:
        return flight.describe(address, command, resolve.find_credentials(given, (address,), data=True))
    # Imported here, because the service needs no pyignite.
    from tensorflow_ignite.data.transport.thin import scan

    addresses = resolve.thin_addresses(address or None)
    return scan.describe(addresses, command, credentials=given or from_dataset_environment(), local=local)


def streams(
    transport: str,
    endpoint: flight.Endpoint,
    subject: str,
    given: Credentials | None,
    *,
    via: str = "",
    keep: Callable[[int], bool] | None = None,
    follow: bool = False,
    keeps_back: bool = False,
    others: Sequence[str] = (),
    most: int = choice.STREAMS,
) -> list[Stream]:
    """The streams that bring the rows behind an endpoint.

    Args:
        transport: Name of the transport, as of :func:`choice.open_stream`, or ``"thin"``.
        endpoint: The node and the command.
        subject: Names the rows in error texts, such as "cache 'x'".
        given: Credentials that the script gave; None: those of this process.
        via: ``host:port`` of the node that returned the endpoint.
        keep: As of :func:`choice.open_stream`.
        follow: Whether partitions that have moved are read from their new owners, after the others, or are an error.
        keeps_back: With ``follow``, whether a stream passes batches on only after the last one of their node, so that
            the new owners of its partitions replace a node that is lost meanwhile.
        others: ``host:port`` of further nodes, which are asked for owners if the node of ``via`` does not answer.
        most: Maximum number of streams.

    Raises:
        InvalidRequestError: If the credentials of this process cannot be read.
    """
    if transport == THIN:
        from tensorflow_ignite.data.transport.thin import scan

        return [scan.BatchStream(endpoint, subject, credentials=given or from_dataset_environment())]
    node = via or endpoint.address
    credentials = resolve.find_credentials(given, (node,), data=True)

    def opened(part: flight.Endpoint) -> choice.Stream:
        return choice.open_stream(part, subject, transport, keep=keep, credentials=credentials)

    def owners(command: data_pb2.ReadCommand) -> Sequence[flight.Endpoint]:
        for address in (node, *others):
            try:
                return flight.describe(address, command, credentials, is_repeated=False).endpoints
            except ConnectionFailedError as error:
                failure = error
        raise failure

    parts = choice.parallel(endpoint, most)
    return [
        MovedPartitionStream(part, subject, opened, owners, keeps_back=keeps_back) if follow else opened(part)
        for part in parts
    ]


def moved_streams(
    transport: str,
    endpoint: flight.Endpoint,
    subject: str,
    given: Credentials | None,
    *,
    via: str,
    keep: Callable[[int], bool] | None,
    most: int,
) -> list[MovedPartitionStream]:
    """As :func:`streams` with ``follow``, for the service alone."""
    found = streams(transport, endpoint, subject, given, via=via, keep=keep, follow=True, most=most)
    return [stream for stream in found if isinstance(stream, MovedPartitionStream)]
