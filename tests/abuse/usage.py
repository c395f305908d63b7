"""What a node uses, seen from outside: its JVM's own answers, and the kernel's tables."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path

import psutil
from thin_client import thin_client

from tensorflow_ignite.testing import LocalNode
from tensorflow_ignite.testing.leaks import listening_sockets

#: With it a JVM inside a Python process answers `ask_jvm`.
ATTACH = "-XX:+StartAttachListener"
_SECONDS = 60.0
_PAGE = 4096
# The kernel keeps 15 characters.
_THREADS = "tensorflow-igni"


@dataclass(frozen=True)
class Usage:
    """Of one node with its agent, in bytes and numbers."""

    heap: int
    region: int
    threads: int
    descriptors: int
    memfds: int


def usage(node: LocalNode) -> Usage:
    """What a node uses now; its garbage is collected first."""
    pid = node.process.pid
    ask_jvm(pid, "GC.run")
    descriptors = [link for process in _family(pid) for link in _links(process)]
    return Usage(
        heap=heap_bytes(pid),
        region=region_bytes(node),
        threads=_our_threads(pid),
        descriptors=len(descriptors),
        memfds=sum(link.startswith("/memfd:") for link in descriptors),
    )


def heap_bytes(pid: int) -> int:
    text = ask_jvm(pid, "GC.heap_info")
    return sum(int(kilobytes) << 10 for kilobytes in re.findall(r"(?:heap|generation)\s+total \d+K, used (\d+)K", text))


def ask_jvm(pid: int, command: str) -> str:
    """The answer of a JVM to a command of `jcmd`, without a JVM of our own."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_SECONDS)
        connection.connect(f"/tmp/.java_pid{pid}")
        connection.sendall(b"1\0jcmd\0" + command.encode() + b"\0\0\0")
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    code, _, text = answer.decode().partition("\n")
    assert code == "0", f"{command} of process {pid}: {answer!r}"
    return text


def region_bytes(node: LocalNode) -> int:
    """Bytes of pages with data in all data regions of a node that hold caches of users or ours."""
    with thin_client(node.pid) as client:
        query = "SELECT NAME, VALUE FROM SYS.METRICS WHERE NAME LIKE 'io.dataregion.%.TotalUsedPages'"
        rows = dict(client.sql(query, schema="SYS"))
    assert rows
    return sum(int(pages) for pages in rows.values()) * _PAGE


def ports(pid: int) -> list[int]:
    return sorted(listening_sockets([pid]).values())


def _our_threads(pid: int) -> int:
    """Threads of this project in a JVM; those of Ignite's own pools stay as long as the node."""
    found = 0
    for name in Path(f"/proc/{pid}/task").glob("*/comm"):
        # A thread may end meanwhile.
        with contextlib.suppress(OSError):
            found += name.read_text().startswith(_THREADS)
    return found


def _family(pid: int) -> list[int]:
    """A node and its agent; not the tasks."""
    agents = [child.pid for child in psutil.Process(pid).children() if "tensorflow_ignite.agent" in child.cmdline()]
    return [pid, *agents]


def _links(pid: int) -> list[str]:
    found = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(descriptor))
    return found
