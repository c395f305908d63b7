"""The two ways to rows: the service on the nodes, or the thin client port of a cluster that lacks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tensorflow_ignite import errors
from tensorflow_ignite.data.reader import Stream
from tensorflow_ignite.data.transport import credentials, flight, place
from tensorflow_ignite.data.transport.streams import open_stream, parallel
from tensorflow_ignite.v1 import data_pb2

THIN: Final = "thin"


def keep(transport: str, given: Any) -> str:
    """Keeps the credentials of a script in this process; gives the name by which a graph knows them.

    Raises:
        InvalidRequestError: If they cannot be read, or nobody would ask for them.
    """
    return credentials.keep(accepted(transport, given))


def accepted(transport: str, given: Any) -> credentials.Credentials | None:
    """The credentials that a script gives for a transport that asks for some; None: it gives none.

    Raises:
        InvalidRequestError: If they cannot be read, or nobody would ask for them.
    """
    found = credentials.given(given)
    if found is not None and transport != THIN:
        raise errors.InvalidRequestError(
            f"credentials were given for transport={transport!r}, which asks for none; only the thin client port does. "
            f"Leave them out, or use transport='thin'"
        )
    return found


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
        return flight.describe(address, command)
    # Only here: who reads without it needs no pyignite.
    from tensorflow_ignite.data.transport import thin

    addresses = place.thin_addresses(address or None)
    return thin.describe(addresses, command, credentials=credentials.of(who), local=local)


def streams(
    transport: str, endpoint: flight.Endpoint, what: str, *, who: str = "", kept: Callable[[int], bool] | None = None
) -> list[Stream]:
    """The streams that bring the rows behind an endpoint.

    Args:
        transport: As a script names it.
        endpoint: Who sends, and what.
        what: What is read, for messages.
        who: Name of the credentials.
        kept: Answers, for the size of a batch, whether its memory is kept for good; None: none is.
    """
    if transport != THIN:
        return [open_stream(part, what, transport, keep=kept) for part in parallel(endpoint)]
    from tensorflow_ignite.data.transport import thin

    return [thin.BatchStream(endpoint, what, credentials=credentials.of(who))]
