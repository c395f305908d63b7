"""The one file that talks to pyignite: asks a node that serves no API whether its cluster is active."""

from __future__ import annotations

import socket
from typing import Literal

from pyignite import Client
from pyignite.datatypes import ClusterState
from pyignite.exceptions import AuthenticationError, NotSupportedByClusterError

__all__ = ["ThinState", "cluster_state"]

#: ``"silent"``: nothing answers; ``"unknown"``: something answers, but does not tell.
ThinState = Literal["active", "inactive", "silent", "unknown"]


def cluster_state(host: str, port: int, timeout: float) -> tuple[ThinState, str]:
    """Asks for the state of a cluster.

    Args:
        host: Of a node.
        port: Where the node takes Ignite's thin clients.
        timeout: Seconds for connecting, and for each answer.

    Returns:
        The state, and why it is not known.
    """
    try:
        # pyignite tells a refused connection and a foreign program by the same error.
        socket.create_connection((host, port), timeout).close()
    except OSError as error:
        return "silent", str(error.strerror or error).lower()
    client = Client(timeout=timeout, handshake_timeout=timeout)
    try:
        with client.connect(host, port):
            state = client.get_cluster().get_state()
    except AuthenticationError:
        return "unknown", "it wants a user and a password"
    except NotSupportedByClusterError:
        return "unknown", "its version of Ignite cannot be asked"
    except Exception as error:  # whatever a foreign program's answer is taken for
        return "unknown", f"it does not answer as Ignite does ({type(error).__name__})"
    return ("inactive" if state == ClusterState.INACTIVE else "active"), ""
