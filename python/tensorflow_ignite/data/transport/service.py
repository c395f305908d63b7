"""Reads rows from nodes with the service; `thin.reader.ThinReader` has the same methods for nodes without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport import choice, flight
from tensorflow_ignite.data.transport.batches import Keep
from tensorflow_ignite.data.transport.moved_partitions import MovedPartitionStream
from tensorflow_ignite.net import resolve
from tensorflow_ignite.net.addresses import same
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.v1 import data_pb2

# What later epochs have.
REFRESH: Final = "refresh"
FROZEN: Final = "frozen"
# One of the two, by the reader.
KEPT: Final = "kept"


class ServiceReader:
    """Describes rows, and opens their streams.

    Attributes:
        identifies_rows: Whether rows have identities.
        resolves_columns: Whether columns and types that were described are the same for later epochs.
        no_changes: Why rows cannot be read by changes, with a remedy, for an error text; empty: they can.
        no_choice: Why rows cannot be chosen by their keys; empty: they can.
    """

    identifies_rows = True
    resolves_columns = True
    no_changes = ""
    no_choice = ""

    def __init__(self, transport: str, given: Credentials | None) -> None:
        """Calls no node.

        Args:
            transport: Name of the transport, as of :func:`choice.open_stream`.
            given: Credentials that the script gave; None: those of this process.
        """
        self._transport = transport
        self._given = given

    def check(self, cache: str, *, is_assigned: bool, read_rate: str) -> None:
        """Checks what is requested of a cache: partitions that the job assigned, or a rate.

        Raises:
            InvalidRequestError: This reader cannot do that.
        """

    def snapshot(self, requested: str) -> str:
        """What later epochs have: ``"refresh"``, ``"frozen"`` or ``""``; the request may also be ``"kept"``.

        Raises:
            InvalidRequestError: This reader cannot do that.
        """
        return REFRESH if requested == KEPT else requested

    def address(self, argument: str | None) -> str:
        """The address to call, by the argument of the script.

        Raises:
            InvalidRequestError: The argument is no address.
            ConnectionFailedError: None of several nodes answers.
        """
        return resolve.node(argument)

    def describe(self, address: str, command: data_pb2.ReadCommand, *, is_local: bool = False) -> flight.Description:
        """Requests from a node the columns of rows, their number and the nodes that send them.

        Args:
            address: As of :meth:`address`.
            command: The rows to read.
            is_local: Whether only rows of the node at the address are read.

        Raises:
            InvalidRequestError: If the credentials of this process cannot be read.
            TensorFlowIgniteError: Any error of the node; if no node answers.
        """
        return flight.describe(address, command, resolve.find_credentials(self._given, (address,), data=True))

    def local(self, description: flight.Description, address: str, cache: str) -> tuple[flight.Endpoint, ...]:
        """The endpoints of the node at an address, of a description of rows of this node.

        Raises:
            PartitionNotLocalError: It has no rows.
        """
        endpoints = tuple(endpoint for endpoint in description.endpoints if same(endpoint.address, address))
        if not endpoints and description.endpoints:
            raise errors.PartitionNotLocalError(
                f"cache {cache!r} has no rows on the node at {address}; nodes that have: "
                f"{', '.join(endpoint.address for endpoint in description.endpoints)}. IGNITE_DATASET_LOCAL=true reads "
                f"only the rows of the node at address=. Give the address of one of these nodes, or unset the variable"
            )
        return endpoints

    def streams(
        self, endpoint: flight.Endpoint, subject: str, via: str, *, keep: Keep | None = None, most: int = choice.STREAMS
    ) -> Sequence[choice.Stream]:
        """The streams of the rows of an endpoint; it is an error if a partition moves before its rows are read.

        Args:
            endpoint: The node and the command.
            subject: Names the rows in error texts, such as "cache 'x'".
            via: ``host:port`` of the node that returned the endpoint.
            keep: As of :func:`choice.open_stream`.
            most: Maximum number of streams.

        Raises:
            InvalidRequestError: If the credentials of this process cannot be read.
        """
        credentials = resolve.find_credentials(self._given, (via,), data=True)
        return [
            choice.open_stream(part, subject, self._transport, keep=keep, credentials=credentials)
            for part in choice.parallel(endpoint, most)
        ]

    def moved_streams(
        self,
        endpoint: flight.Endpoint,
        subject: str,
        via: str,
        *,
        keep: Keep | None = None,
        most: int = choice.STREAMS,
        keeps_back: bool = False,
        others: Sequence[str] = (),
    ) -> Sequence[MovedPartitionStream]:
        """As :meth:`streams`; partitions that have moved are read from their new owners, after the others.

        With ``keeps_back`` a stream passes batches on only after the last one of their node, so that the new owners of
        its partitions replace a node that is lost meanwhile. ``others`` are ``host:port`` of further nodes, which are
        called for owners if the node of ``via`` does not answer.
        """
        credentials = resolve.find_credentials(self._given, (via,), data=True)

        def opened(part: flight.Endpoint) -> choice.Stream:
            return choice.open_stream(part, subject, self._transport, keep=keep, credentials=credentials)

        def owners(command: data_pb2.ReadCommand) -> Sequence[flight.Endpoint]:
            for address in (via, *others):
                try:
                    return flight.describe(address, command, credentials, is_repeated=False).endpoints
                except errors.ConnectionFailedError as error:
                    failure = error
            raise failure

        parts = choice.parallel(endpoint, most)
        return [MovedPartitionStream(part, subject, opened, owners, keeps_back=keeps_back) for part in parts]
