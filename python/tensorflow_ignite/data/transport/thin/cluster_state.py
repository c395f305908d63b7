"""Reads the state of a cluster from a node without our service."""

from __future__ import annotations

from typing import Literal

from pyignite import Client
from pyignite.datatypes import ClusterState
from pyignite.exceptions import AuthenticationError, NotSupportedByClusterError

from tensorflow_ignite.net import sockets

#: ``"silent"``: no answer; ``"unknown"``: an answer without the state.
ThinState = Literal["active", "inactive", "silent", "unknown"]


def cluster_state(host: str, port: int, timeout: float) -> tuple[ThinState, str]:
    """Reads the state of a cluster.

    Args:
        host: Host of a node.
        port: Thin client port of the node.
        timeout: Timeout of the connection and of each answer, in seconds.

    Returns:
        The state, and the reason if it is not known.
    """
    try:
        # pyignite raises the same error for a refused connection and for another program at the port.
        sockets.connect(f"{host}:{port}", timeout).close()
    except OSError as error:
        return "silent", str(error.strerror or error).lower()
    client = Client(timeout=timeout, handshake_timeout=timeout)
    try:
        with client.connect(host, port):
            state = client.get_cluster().get_state()
    except AuthenticationError:
        return "unknown", "it wants a user and a password"
    except NotSupportedByClusterError:
        return "unknown", "its version of Ignite does not send the state"
    except Exception as error:  # pyignite may raise any error for the answer of another program
        return "unknown", f"it does not answer as Ignite does ({type(error).__name__})"
    return ("inactive" if state == ClusterState.INACTIVE else "active"), ""
