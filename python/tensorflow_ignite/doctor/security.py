"""Whether calls are encrypted, and whether callers are asked who they are."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.doctor.finding import Finding, failed, ok, warning
from tensorflow_ignite.errors import ConnectionFailedError, TensorFlowIgniteError, UnauthenticatedError
from tensorflow_ignite.handshake import expiry
from tensorflow_ignite.rpc import NodeConnection

__all__ = ["examine"]

_DAY = 24 * 3600.0
# A certificate that ends sooner is told of.
_SOON_DAYS = 14


def examine(
    address: str, outside: Sequence[str], credentials: Credentials | None, *, timeout: float
) -> Iterator[Finding]:
    """Looks at a node that answers.

    Args:
        address: ``"host:port"`` of the node.
        outside: Addresses of the cluster's nodes that other machines reach.
        credentials: With which it answers.
        timeout: Seconds that it is given.
    """
    reached = f"{len(outside)} nodes are reached from other machines, such as {outside[0]}" if outside else ""
    if credentials is not None and credentials.encrypted:
        yield _certificate(address, credentials)
    elif outside:
        yield warning(
            "cluster",
            "encryption",
            f"calls are not encrypted, and {reached}. Whoever sees the network sees rows, code and passwords",
            "Start every node with a certificate (TENSORFLOW_IGNITE_TLS_CERTIFICATE and TENSORFLOW_IGNITE_TLS_KEY name "
            "its PEM files); then callers name its authority: --cafile, or TENSORFLOW_IGNITE_CAFILE",
        )
    else:
        yield ok("cluster", "encryption", "calls are not encrypted; nodes are reached from their own machine only")
    yield _authentication(address, reached, credentials, timeout)


def _certificate(address: str, credentials: Credentials) -> Finding:
    end = expiry(address, credentials)
    if end is None:
        return ok("cluster", "encryption", "calls are by TLS")
    days = (end - time.time()) / _DAY
    text = f"calls are by TLS; the certificate of {address} holds for {days:.0f} more days"
    if days < _SOON_DAYS:
        remedy = "Put a new one in the place of its file: a node takes it within 10 s, without a restart"
        return warning("cluster", "encryption", f"{text}. When it has expired nobody can call the node", remedy)
    return ok("cluster", "encryption", text)


def _authentication(address: str, reached: str, credentials: Credentials | None, timeout: float) -> Finding:
    anybody = _anybody(credentials) if credentials else None
    try:
        NodeConnection((address,), timeout, credentials=anybody).close()
    except UnauthenticatedError:
        return ok("cluster", "authentication", "callers are asked who they are")
    except ConnectionFailedError as error:
        if credentials is None or not credentials.certfile:
            return _unknown(address, error)
        return ok("cluster", "authentication", "who has no certificate is not let in")
    except TensorFlowIgniteError as error:
        return _unknown(address, error)
    if not reached:
        text = "nobody is asked who he is; nodes are reached from their own machine only"
        return ok("cluster", "authentication", text)
    return warning(
        "cluster",
        "authentication",
        f"nobody is asked who he is, and {reached}. Whoever reaches a node runs code on the cluster",
        "Let the nodes ask: tokens in the service's bean (tensorflow-ignite token NAME makes one), or Ignite's own "
        "users (authenticationEnabled, with persistence)",
    )


def _anybody(credentials: Credentials) -> Credentials:
    """Who trusts the same authority, and does not say who he is; a certificate says it too."""
    return Credentials(cafile=credentials.cafile, tls=credentials.encrypted, verify=credentials.verify)


def _unknown(address: str, error: TensorFlowIgniteError) -> Finding:
    text = f"whether callers are asked who they are is not known: {error}"
    return failed("cluster", "authentication", text, f"Read the log of the node at {address}")
