"""Reads rows without the service, with the methods of `transport.service.ServiceReader`.

pyignite is imported by the methods that call a node, because the service needs none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorflow_ignite.data.transport.choice import Stream
from tensorflow_ignite.data.transport.flight import Description, Endpoint
from tensorflow_ignite.data.transport.service import FROZEN, KEPT, REFRESH
from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.net import resolve
from tensorflow_ignite.net.credentials import Credentials, from_dataset_environment
from tensorflow_ignite.v1 import data_pb2


class ThinReader:
    """Describes rows, and opens their streams; for the attributes see :class:`ServiceReader`."""

    identifies_rows = False
    resolves_columns = False
    no_changes = (
        'transport="thin". Our service notices what changes, and that transport reads clusters without it. '
        "Run the service on the cluster's nodes, and remove transport="
    )
    no_choice = 'transport="thin". Only nodes with our service choose rows. Remove transport='

    def __init__(self, given: Credentials | None) -> None:
        """Calls no node; the credentials are those that the script gave, None: those of this process."""
        self._given = given

    def check(self, cache: str, *, is_assigned: bool, read_rate: str) -> None:
        """Refuses partitions that the job assigned, and a rate."""
        if is_assigned:
            raise InvalidRequestError(
                f'transport="thin" cannot read the partitions of cache {cache!r} that the job assigned. It is for '
                "clusters without our service, and a job runs on a cluster with it. Remove transport=, or use "
                'partitions="all"'
            )
        if read_rate:
            raise InvalidRequestError(
                f'transport="thin" cannot keep read_rate={read_rate!r}. Only nodes with our service keep a rate of '
                "reading. Remove read_rate=, or use another transport"
            )

    def snapshot(self, requested: str) -> str:
        """What later epochs have: ``"frozen"`` or ``""``; the port does not say what has changed."""
        if requested == REFRESH:
            raise InvalidRequestError(
                'snapshot="refresh" needs our service on the nodes, which notices what changes; transport="thin" reads '
                'clusters without it. Use snapshot="frozen", or snapshot=False'
            )
        return FROZEN if requested == KEPT else requested

    def address(self, argument: str | None) -> str:
        """The argument of the script, which may name several nodes; empty: `describe` finds them."""
        return argument or ""

    def describe(self, address: str, command: data_pb2.ReadCommand, *, is_local: bool = False) -> Description:
        """Requests from nodes the columns of rows, their number and the nodes that send them."""
        from tensorflow_ignite.data.transport.thin import scan

        return scan.describe(resolve.thin_addresses(address or None), command, credentials=self._own(), local=is_local)

    def local(self, description: Description, address: str, cache: str) -> tuple[Endpoint, ...]:
        """All endpoints: :meth:`describe` has found those of one node."""
        return description.endpoints

    def streams(self, endpoint: Endpoint, subject: str, via: str, **_: Any) -> Sequence[Stream]:
        """One stream of the rows of an endpoint, whichever node owns the partitions meanwhile."""
        from tensorflow_ignite.data.transport.thin import scan

        return [scan.BatchStream(endpoint, subject, credentials=self._own())]

    moved_streams = streams

    def _own(self) -> Credentials | None:
        return self._given or from_dataset_environment()
