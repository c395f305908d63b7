"""A block of free ports for one cluster."""

from __future__ import annotations

import contextlib
import os
import random
import socket
from pathlib import Path

BLOCK = 32
_LOWEST = 20_000
_TRIES = 200


class PortBlock:
    """Adjacent free ports on loopback, below the ports that the system assigns by itself.

    Ignite refuses port 0, so its discovery needs known ports. The first port of a block stays bound until `release`, so
    that two clusters never use the same block and become one. The nodes use the others.
    """

    def __init__(self) -> None:
        """Claims a block.

        Raises:
            OSError: No block of free ports was found.
        """
        blocks = list(range(_LOWEST, _first_ephemeral_port() - BLOCK, BLOCK))
        # In random order, so that clusters started together seldom try the same block.
        for first in random.sample(blocks, min(_TRIES, len(blocks))):
            claim = _claim(first)
            if claim is not None:
                self._claim = claim
                self.first = first + 1
                self.last = first + BLOCK - 1
                return
        raise OSError(f"found no {BLOCK} adjacent free ports on 127.0.0.1 from {_LOWEST} up in {_TRIES} tries")

    @property
    def discovery(self) -> str:
        """The range, as Ignite's address list takes it."""
        return f"127.0.0.1:{self.first}..{self.last}"

    def release(self) -> None:
        """Frees the block."""
        self._claim.close()


def _claim(first: int) -> socket.socket | None:
    """Binds the first port of a block; None when the others cannot be bound, too."""
    claim = socket.socket()
    try:
        claim.bind(("127.0.0.1", first))
        for port in range(first + 1, first + BLOCK):
            with contextlib.closing(socket.socket()) as probe:
                # As Ignite binds: a connection of an earlier cluster in TIME_WAIT is no obstacle.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
    except OSError:
        claim.close()
        return None
    return claim


def _first_ephemeral_port() -> int:
    path = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first = int(path.read_text().split()[0]) if os.path.exists(path) else 32_768
    return first if first >= _LOWEST + 2 * BLOCK else 65_000
