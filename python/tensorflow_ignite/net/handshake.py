"""Finds out why a connection to a node fails, if TLS is the reason.

It repeats the handshake with Python's TLS, whose errors name the reason and do not depend on the version of gRPC.
"""

from __future__ import annotations

import socket
import ssl
import time
from dataclasses import dataclass

from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.net import sockets
from tensorflow_ignite.net.addresses import host_of
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.pem import context_of

#: Timeout of a diagnosis, in seconds.
_SECONDS = 2.0
#: Seconds to wait for a node that refuses this client's certificate, which it does after the handshake.
_REFUSAL_SECONDS = 0.5


@dataclass(frozen=True)
class Diagnosis:
    """Why TLS, or its absence, prevents a connection.

    Attributes:
        cause: The cause, in a few words.
        rule: The rule that is broken.
        remedy: What to do.
    """

    cause: str
    rule: str
    remedy: str


def diagnose(address: str, credentials: Credentials | None) -> Diagnosis | None:
    """Finds out, within 2 s, whether TLS is the reason why a node was not reached; None: TLS is not the reason.

    Args:
        address: ``host:port``.
        credentials: Credentials of the call.
    """
    deadline = time.monotonic() + _SECONDS
    try:
        with _connected(address, deadline) as plain:
            if credentials is None or not credentials.encrypted:
                return _PLAIN_TO_TLS if _speaks_tls(plain) else None
            return _shaken(plain, address, credentials, deadline)
    except (OSError, InvalidRequestError):
        return None


def expiry(address: str, credentials: Credentials) -> float | None:
    """Returns when a node's certificate expires, in seconds since the epoch; None without a valid certificate.

    Args:
        address: ``host:port``.
        credentials: Credentials with TLS.
    """
    deadline = time.monotonic() + _SECONDS
    try:
        with (
            _connected(address, deadline) as plain,
            context_of(credentials).wrap_socket(plain, server_hostname=host_of(address)) as shaken,
        ):
            certificate = shaken.getpeercert() or {}
            return float(ssl.cert_time_to_seconds(str(certificate["notAfter"])))
    except (OSError, KeyError, InvalidRequestError):
        return None


def _connected(address: str, deadline: float) -> socket.socket:
    found = sockets.connect(address, max(deadline - time.monotonic(), 0.01))
    found.settimeout(max(deadline - time.monotonic(), 0.01))
    return found


def _speaks_tls(plain: socket.socket) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    # Without verification: no secret is sent, and no answer is used.
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    try:
        context.wrap_socket(plain).close()
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    return True


def _shaken(plain: socket.socket, address: str, credentials: Credentials, deadline: float) -> Diagnosis | None:
    host = host_of(address)
    try:
        shaken = context_of(credentials).wrap_socket(plain, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        return _unverified(error, host)
    except TimeoutError:
        return None
    except ssl.SSLError as error:
        return _refused(error.reason or "", credentials) if "ALERT" in (error.reason or "") else _TLS_TO_PLAIN
    except ConnectionError:
        return _TLS_TO_PLAIN
    with shaken:
        # A node verifies this client's certificate after the client's last message; if it accepts, it sends data first.
        shaken.settimeout(max(min(_REFUSAL_SECONDS, deadline - time.monotonic()), 0.01))
        try:
            return None if shaken.recv(1) else _refused("", credentials)
        except TimeoutError:
            return None
        except ssl.SSLError as error:
            return _refused(error.reason or "", credentials)
        except ConnectionError:
            return _refused("", credentials)


_PLAIN_TO_TLS = Diagnosis(
    "the node speaks TLS, and this client does not",
    "A node with a certificate is called by TLS only",
    "Give the authority of its certificate: credentials={'cafile': PATH}, --cafile PATH, or TENSORFLOW_IGNITE_CAFILE; "
    "TENSORFLOW_IGNITE_TLS=true when this machine trusts that authority anyway",
)
_TLS_TO_PLAIN = Diagnosis(
    "this client speaks TLS, and what answers there does not",
    "TLS is used as soon as cafile, certfile or tls is given, and a node speaks it when it has a certificate",
    "Leave these out (also TENSORFLOW_IGNITE_CAFILE and the like), or give the node a certificate; check that the port "
    "is the port of the node API",
)
# Numbers of OpenSSL's verify codes.
_NOT_YET_VALID, _EXPIRED, _HOST_MISMATCH, _ADDRESS_MISMATCH = 9, 10, 62, 64


def _unverified(error: ssl.SSLCertVerificationError, host: str) -> Diagnosis:
    if error.verify_code in (_EXPIRED, _NOT_YET_VALID):
        when = "has expired" if error.verify_code == _EXPIRED else "is not valid yet"
        return Diagnosis(
            f"the node's certificate {when}",
            "A certificate is valid from one date to another, by this machine's clock",
            "Give the node a new certificate (it reads the files again within 10 s), or correct this machine's clock",
        )
    if error.verify_code in (_HOST_MISMATCH, _ADDRESS_MISMATCH):
        return Diagnosis(
            f"the node's certificate is for other hosts than {host}",
            "A certificate names the hosts and addresses that it is for (subject alternative names)",
            "Call the node by a name in its certificate, or give it a certificate with this name",
        )
    return Diagnosis(
        f"the node's certificate is signed by no authority that this client trusts ({error.verify_message})",
        "It must be signed by cafile, or without cafile by an authority that this machine trusts",
        "Give the authority of the node: credentials={'cafile': PATH}, --cafile PATH, or TENSORFLOW_IGNITE_CAFILE",
    )


def _refused(reason: str, credentials: Credentials) -> Diagnosis:
    words = [word for word in reason.lower().split("_") if word not in ("sslv3", "tlsv1", "tlsv13", "alert")]
    why = f" ({' '.join(words)})" if words and "ALERT" in reason else ""
    if credentials.certfile:
        return Diagnosis(
            f"the node refuses this client's certificate{why}",
            "A client's certificate must be valid now and signed by the authority that the node has for clients",
            "Give another certificate: certfile and keyfile of the credentials; or configure its authority in the node",
        )
    return Diagnosis(
        f"the node ends the connection when TLS has begun{why}",
        "A node may require a certificate of its clients, and accepts TLS 1.2 and 1.3",
        "Give a client's certificate: certfile and keyfile of the credentials",
    )
