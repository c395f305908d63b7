"""Whether calls are encrypted, and whether callers must authenticate."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from tensorflow_ignite.doctor.finding import Finding, Step
from tensorflow_ignite.errors import ConnectionFailedError, TensorFlowIgniteError, UnauthenticatedError
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.handshake import expiry
from tensorflow_ignite.net.rpc import NodeConnection

_ENCRYPTION = Step("cluster", "encryption")
_AUTHENTICATION = Step("cluster", "authentication")
_DAY = 24 * 3600.0
# A certificate that expires sooner is a warning.
_SOON_DAYS = 14


def examine(
    address: str, outside: Sequence[str], credentials: Credentials | None, *, timeout: float
) -> Iterator[Finding]:
    """Examines TLS and authentication of a node that answers.

    Args:
        address: ``"host:port"`` of the node.
        outside: Addresses of the cluster's nodes that other machines reach.
        credentials: The credentials that it accepts.
        timeout: Seconds for each call.
    """
    reached = f"{len(outside)} nodes are reached from other machines, such as {outside[0]}" if outside else ""
    if credentials is not None and credentials.encrypted:
        yield _certificate(address, credentials)
    elif outside:
        yield _ENCRYPTION.warning(
            f"calls are not encrypted, and {reached}. The network traffic shows rows, code and passwords",
            "Start every node with a certificate (TENSORFLOW_IGNITE_TLS_CERTIFICATE and TENSORFLOW_IGNITE_TLS_KEY name "
            "its PEM files); then callers name its authority: --cafile, or TENSORFLOW_IGNITE_CAFILE",
        )
    else:
        yield _ENCRYPTION.ok("calls are not encrypted; nodes are reached from their own machine only")
    yield _authentication(address, reached, credentials, timeout)


def _certificate(address: str, credentials: Credentials) -> Finding:
    end = expiry(address, credentials)
    if end is None:
        return _ENCRYPTION.ok("calls are by TLS")
    days = (end - time.time()) / _DAY
    text = f"calls are by TLS; the certificate of {address} holds for {days:.0f} more days"
    if days < _SOON_DAYS:
        remedy = (
            "Put a new one in the place of its file: callers get it within 10 s. Connections between nodes get it when "
            "a node starts: restart one node after the other before the old one expires"
        )
        return _ENCRYPTION.warning(f"{text}. When it has expired nobody can call the node", remedy)
    return _ENCRYPTION.ok(text)


def _authentication(address: str, reached: str, credentials: Credentials | None, timeout: float) -> Finding:
    anonymous = _anonymous(credentials) if credentials else None
    try:
        NodeConnection((address,), timeout, credentials=anonymous).close()
    except UnauthenticatedError:
        return _AUTHENTICATION.ok("callers must authenticate")
    except ConnectionFailedError as error:
        if credentials is None or not credentials.certfile:
            return _unknown(address, error)
        return _AUTHENTICATION.ok("callers without a certificate are rejected")
    except TensorFlowIgniteError as error:
        return _unknown(address, error)
    if not reached:
        text = "callers need not authenticate; nodes are reached from their own machine only"
        return _AUTHENTICATION.ok(text)
    return _AUTHENTICATION.warning(
        f"callers need not authenticate, and {reached}. Anyone who reaches a node can run code on the cluster",
        "Require authentication: security.tokens of the service's bean (tensorflow-ignite token NAME makes one), or "
        "Ignite's own users (authenticationEnabled, with persistence)",
    )


def _anonymous(credentials: Credentials) -> Credentials:
    """The same trust without an identity: no user, token or client certificate."""
    return Credentials(cafile=credentials.cafile, tls=credentials.encrypted, verify=credentials.verify)


def _unknown(address: str, error: TensorFlowIgniteError) -> Finding:
    text = f"whether callers must authenticate is unknown: {error}"
    return _AUTHENTICATION.failed(text, f"Read the log of the node at {address}")
