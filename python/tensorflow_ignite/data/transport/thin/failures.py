"""Translates errors of pyignite, of sockets and of nodes without our service into errors of this package."""

from __future__ import annotations

import re
import ssl

from pyignite.exceptions import AuthenticationError, HandshakeError

from tensorflow_ignite import errors

SECONDS_TO_CONNECT = 5.0
# Timeout for each part of an answer.
SECONDS_TO_ANSWER = 30.0
# A node that has just started may not know the owners of partitions for a moment.
SECONDS_TO_JOIN = 10.0

# The status of Ignite's thin client protocol for errors without a status of their own.
FAILED = 1

_MOST_CHARACTERS = 300

# Statuses with a specific error.
_NOT_ACTIVE, _NO_CACHE, _NOT_ALLOWED, _AUTH_FAILED = 10, 1000, 1012, 2000


class RequestRejected(Exception):
    """An error answer of a node.

    Attributes:
        status: Number of the status in Ignite's thin client protocol.
    """

    def __init__(self, status: int, message: str) -> None:
        """Keeps the status and the message of the node."""
        super().__init__(message)
        self.status = status


def _reason(message: str) -> str:
    """The first line of a node's message, without names of classes and what Ignite appends in brackets."""
    line = re.sub(r"(?:class )?\b(?:[a-z_]\w*\.)+[A-Z][\w$]*: ", "", message.strip().partition("\n")[0])
    return line.partition(" [")[0][:_MOST_CHARACTERS]


def translate(error: Exception, address: str, failure: str, cache: str = "") -> errors.TensorFlowIgniteError:
    """Translates an error of pyignite, a socket or a node.

    Args:
        error: The error that was raised.
        address: ``host:port`` of the called node.
        failure: First part of the error text, such as "cache 'x' was not read to its end".
        cache: Name of the requested cache, if any.
    """
    if isinstance(error, AuthenticationError) or getattr(error, "status", 0) in (_AUTH_FAILED, _NOT_ALLOWED):
        return errors.InvalidRequestError(
            f"{failure}: the node at {address} rejects the credentials. It requires a known user with its password, "
            "and the permission to read. Give credentials=(user, password), or set IGNITE_DATASET_USERNAME and "
            "IGNITE_DATASET_PASSWORD where the rows are read"
        )
    if isinstance(error, RequestRejected):
        if error.status == _NO_CACHE:
            return errors.CacheNotFoundError(
                f"{failure}: the cluster at {address} has no cache {cache!r}. Names of caches are case-sensitive. "
                f"Check the name, or create the cache first"
            )
        if error.status == _NOT_ACTIVE:
            return errors.ClusterNotActiveError(
                f"{failure}: the cluster at {address} is not active. A cluster with persistence serves no data before "
                f"its activation. Activate it: control.sh --set-state ACTIVE"
            )
        return errors.InternalError(
            f"{failure}: the node at {address} says: {_reason(str(error))} (status {error.status} of Ignite's thin "
            "protocol). Read the log of that node"
        )
    if isinstance(error, TimeoutError) and not isinstance(error, HandshakeError):
        return errors.RequestTimeoutError(
            f"{failure}: the node at {address} did not answer in time. It has {SECONDS_TO_CONNECT:.0f} s to accept a "
            f"connection and {SECONDS_TO_ANSWER:.0f} s for an answer. Check that the node is not frozen or cut off"
        )
    if isinstance(error, ssl.SSLError):
        return errors.ConnectionFailedError(
            f"{failure}: no TLS with {address} ({error.reason or error}). A node's certificate must be signed by "
            "cafile, or an authority that this machine trusts, and its thin client port must use TLS. Check cafile and "
            "verify in credentials="
        )
    if isinstance(error, FileNotFoundError | PermissionError) and not isinstance(error, ConnectionError):
        return errors.InvalidRequestError(
            f"{failure}: a file of the credentials cannot be read ({error.strerror}). certfile, keyfile and cafile are "
            f"paths on the machine that reads the rows. Check that the files exist there"
        )
    reason = str(getattr(error, "strerror", None) or error) or type(error).__name__
    return errors.ConnectionFailedError(
        f"{failure}: no thin client port of Ignite at {address} answers to the end ({reason}). transport='thin' calls "
        "a node's thin client port, 10800 unless configured, which may require TLS. Check that the node runs and give "
        "its address: address=, or IGNITE_DATASET_HOST and IGNITE_DATASET_PORT"
    )
