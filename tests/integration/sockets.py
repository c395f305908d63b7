"""The sockets on which processes listen, as the kernel lists them, and what they answer to callers of each kind."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

import psutil

from tensorflow_ignite.testing.patience import patiently

SECONDS = patiently(60.0)
# The flag __SO_ACCEPTCON of /proc/net/unix.
_LISTENS = 0x10000


@dataclass(frozen=True, order=True)
class Listener:
    """A socket that others can reach: TCP that listens, any UDP, a UNIX socket that listens."""

    kind: str
    host: str
    port: int


def listeners(pid: int) -> set[Listener]:
    """The sockets of one process that others can reach."""
    found = set()
    for each in psutil.Process(pid).net_connections("inet"):
        if each.type == socket.SOCK_DGRAM or each.status == psutil.CONN_LISTEN:
            kind = "udp" if each.type == socket.SOCK_DGRAM else "tcp"
            found.add(Listener(kind, each.laddr.ip.removeprefix("::ffff:"), each.laddr.port))
    inodes = _inodes(pid)
    for line in Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]:
        # Num RefCount Protocol Flags Type St Inode [Path]; the path of an abstract socket begins with @.
        fields = line.split(maxsplit=7)
        if fields[6] in inodes and int(fields[3], 16) & _LISTENS:
            found.add(Listener("unix", fields[7] if len(fields) > 7 else "", 0))
    return found


def _inodes(pid: int) -> set[str]:
    links = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(os.readlink(descriptor))
    return {found[1] for link in links if (found := re.fullmatch(r"socket:\[(\d+)\]", link))}


def plain_answer(port: int, sent: bytes) -> bytes:
    """What a port answers to bytes without TLS, until it closes the connection."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), SECONDS) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(sent)
        while data := connection.recv(4096):
            received += data
    return received


def handshake(port: int, cafile: Path, certfile: Path | None = None, keyfile: Path | None = None) -> str:
    """The end of a TLS handshake: "accepted", or the reason of the refusal."""
    context = ssl.create_default_context(cafile=str(cafile))
    # In TLS 1.3 a client does not wait until its certificate is accepted.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    if certfile is not None:
        context.load_cert_chain(certfile, keyfile)
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        try:
            with context.wrap_socket(connection, server_hostname="127.0.0.1"):
                return "accepted"
        except (ssl.SSLError, ConnectionError) as error:
            return type(error).__name__
