"""What pyignite, a socket or a node without our service says, as errors of this package."""

from __future__ import annotations

import ssl

from pyignite.exceptions import AuthenticationError, HandshakeError

from tensorflow_ignite import errors

SECONDS_TO_CONNECT = 5.0
# For each answer, counted anew whenever a part of it arrives.
SECONDS_TO_ANSWER = 30.0

# Statuses of Ignite's thin protocol that have an error of their own here.
_NOT_ACTIVE, _NO_CACHE, _NOT_ALLOWED, _AUTH_FAILED = 10, 1000, 1012, 2000


class Refused(Exception):
    """A node's answer that is no success.

    Attributes:
        status: Its number in Ignite's thin protocol.
    """

    def __init__(self, status: int, message: str) -> None:
        """With the node's own words."""
        super().__init__(message)
        self.status = status


def translate(error: Exception, address: str, failure: str, cache: str = "") -> errors.TensorFlowIgniteError:
    """The error of this package that says what ``error``, of pyignite, a socket or a node, means.

    Args:
        error: What was raised.
        address: ``host:port`` that was asked.
        failure: What did not happen because of it.
        cache: Which cache was asked for, if any.
    """
    if isinstance(error, AuthenticationError) or getattr(error, "status", 0) in (_AUTH_FAILED, _NOT_ALLOWED):
        return errors.InvalidRequestError(
            f"{failure}: the node at {address} does not let this reader in. It wants a user and a password that it "
            f"knows, and leave to read. Give credentials=(user, password), or set IGNITE_DATASET_USERNAME and "
            f"IGNITE_DATASET_PASSWORD where the rows are read"
        )
    if isinstance(error, Refused):
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
            f"{failure}: the node at {address} says: {error} (status {error.status} of Ignite's thin protocol). Look "
            f"into the log of that node"
        )
    if isinstance(error, TimeoutError) and not isinstance(error, HandshakeError):
        return errors.RequestTimeoutError(
            f"{failure}: the node at {address} did not answer in time. It has {SECONDS_TO_CONNECT:.0f} s to accept a "
            f"connection and {SECONDS_TO_ANSWER:.0f} s for an answer. Check that the node is not frozen or cut off"
        )
    if isinstance(error, ssl.SSLError):
        return errors.ConnectionFailedError(
            f"{failure}: no TLS with {address} ({error.reason or error}). A node's certificate must be signed by "
            f"cafile, or an authority that this machine trusts, and its thin port must speak TLS. Check credentials="
        )
    if isinstance(error, FileNotFoundError | PermissionError) and not isinstance(error, ConnectionError):
        return errors.InvalidRequestError(
            f"{failure}: a file of the credentials cannot be read ({error.strerror}). certfile, keyfile and cafile are "
            f"paths on the machine that reads the rows. Check them there"
        )
    reason = str(getattr(error, "strerror", None) or error) or type(error).__name__
    return errors.ConnectionFailedError(
        f"{failure}: no Ignite thin port at {address} answers to the end ({reason}). transport='thin' asks a node's "
        f"thin client port, 10800 unless configured, which may want TLS. Check that the node runs and give its "
        f"address: address=, or IGNITE_DATASET_HOST and IGNITE_DATASET_PORT"
    )
