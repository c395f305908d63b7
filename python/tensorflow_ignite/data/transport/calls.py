"""Calls that bring rows, or announce them: how any thread ends one, and what the errors of gRPC mean."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import grpc

from tensorflow_ignite import errors
from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.handshake import diagnose
from tensorflow_ignite.rpc import FALLBACKS


class Running:
    """The call behind a stream. Any thread may cancel it, before it has begun too."""

    def __init__(self) -> None:
        """Has no call yet."""
        # Re-entrant: cancel may run in a finalizer, wherever the interpreter happens to be.
        self._lock = threading.RLock()
        self._call: Any = None
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether somebody wants no more: what the call ends with then is no error."""
        return self._cancelled

    def begin(self, call: Any) -> None:
        """Takes what has been called and can be cancelled."""
        with self._lock:
            self._call = call
            if self._cancelled:
                call.cancel()

    def cancel(self) -> None:
        """Ends it, and one that begins later; returns at once."""
        with self._lock:
            self._cancelled = True
            if self._call is not None:
                self._call.cancel()

    def end(self) -> None:
        """Lets go of the call; one that was not read to its end would go on sending into nothing."""
        with self._lock:
            call, self._call = self._call, None
        if call is not None:
            call.cancel()


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
