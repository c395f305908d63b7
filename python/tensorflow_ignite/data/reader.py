"""The reader of a transport: of nodes with the service, or of the thin client port of a cluster without it."""

from __future__ import annotations

from typing import Final, TypeAlias

from tensorflow_ignite.data.transport.service import ServiceReader
from tensorflow_ignite.data.transport.thin.reader import ThinReader
from tensorflow_ignite.net.credentials import Credentials

THIN: Final = "thin"

Reader: TypeAlias = ServiceReader | ThinReader


def reader_of(transport: str, given: Credentials | None) -> Reader:
    """Makes a reader; calls no node.

    Args:
        transport: Name of the transport.
        given: Credentials that the script gave; None: those of this process.
    """
    return ThinReader(given) if transport == THIN else ServiceReader(transport, given)
