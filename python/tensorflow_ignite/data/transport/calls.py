"""gRPC calls for rows: cancellation from any thread, and translation of errors."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import grpc

from tensorflow_ignite import errors
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.handshake import Diagnosis, diagnose
from tensorflow_ignite.net.rpc import FALLBACKS


class CancellableCall:
    """The call of a stream. Any thread may cancel it, also before it starts."""

    def __init__(self) -> None:
        """Has no call yet."""
        # Re-entrant: a finalizer, which the interpreter runs anywhere, may call cancel().
        self._lock = threading.RLock()
        self._call: Any = None
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether the stream was cancelled; errors of the call are ignored then."""
        return self._cancelled

    def begin(self, call: Any) -> None:
        """Sets the call, and cancels it if the stream was cancelled."""
        with self._lock:
            self._call = call
            if self._cancelled:
                call.cancel()

    def cancel(self) -> None:
        """Cancels the present call and any later one; returns at once."""
        with self._lock:
            self._cancelled = True
            if self._call is not None:
                self._call.cancel()

    def end(self) -> None:
        """Cancels the call, which would go on sending if it was not read to its end."""
        with self._lock:
            call, self._call = self._call, None
        if call is not None:
            call.cancel()


def translate(
    error: Any,
    address: str,
    subject: str,
    credentials: Credentials | None,
    not_supported: Callable[[str], errors.TensorFlowIgniteError],
) -> errors.TensorFlowIgniteError:
    """Translates an error of gRPC into an error of this package.

    Args:
        error: The error that gRPC raised.
        address: ``host:port`` of the called node.
        subject: Names the rows in error texts, such as "cache 'x'".
        credentials: Credentials of the call.
        not_supported: Makes the error for a node that does not serve the method.
    """
    status, text = error.code(), str(error.details() or "")
    if errors.has_code(text):
        return errors.from_description(text)
    if status is grpc.StatusCode.UNIMPLEMENTED:
        return not_supported(address)
    found = diagnose(address, credentials) if status is grpc.StatusCode.UNAVAILABLE else None
    if found is not None:
        return prevented(f"{subject} was not read", address, found)
    return FALLBACKS[status](
        f"{subject} was not read to its end: the node at {address} ended the stream ({status.name}: {text}). "
        f"A stream needs a running node. Check that the node runs, and read again"
    )


def prevented(failure: str, address: str, found: Diagnosis) -> errors.ConnectionFailedError:
    """The error of a connection that TLS, or its absence, prevents.

    Args:
        failure: First part of the error text, such as "cache 'x' was not read".
        address: ``host:port`` of the called node.
        found: The reason.
    """
    error = errors.ConnectionFailedError(
        f"{failure}: no connection to {address} ({found.cause}). {found.rule}. {found.remedy}"
    )
    error.is_lasting = True
    return error
