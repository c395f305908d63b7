"""What the errors of the gRPC calls mean that bring rows, or announce them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from tensorflow_ignite import errors
from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.handshake import diagnose
from tensorflow_ignite.rpc import FALLBACKS


def translate(
    error: Any,
    address: str,
    what: str,
    credentials: Credentials | None,
    unserved: Callable[[str], errors.TensorFlowIgniteError],
) -> errors.TensorFlowIgniteError:
    """The error of this package that says what a call's end means.

    Args:
        error: What gRPC raised.
        address: ``host:port`` that was called.
        what: What is read, for messages.
        credentials: With which it was called.
        unserved: Makes the error for an address that does not serve the method.
    """
    status, text = error.code(), str(error.details() or "")
    if errors.has_code(text):
        return errors.from_description(text)
    if status is grpc.StatusCode.UNIMPLEMENTED:
        return unserved(address)
    found = diagnose(address, credentials) if status is grpc.StatusCode.UNAVAILABLE else None
    if found is not None:
        return errors.ConnectionFailedError(
            f"{what} was not read: no connection to {address} ({found.cause}). {found.rule}. {found.remedy}"
        )
    return FALLBACKS[status](
        f"{what} was not read to its end: the node at {address} ended the stream ({status.name}: {text}). "
        f"Rows come from running nodes. Check that the node runs, and read again"
    )
