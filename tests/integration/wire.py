"""A wire between two network interfaces that delays and loses packets: wire.py FROM TO DELAY LOSS.

Frames from the first to the second interface arrive DELAY seconds later; in both directions a part LOSS of them is
lost. At SIGTERM it prints their number. The kernel's netem would do the same, where the kernel has it.
"""

from __future__ import annotations

import collections
import contextlib
import os
import random
import select
import signal
import socket
import sys
import time

_SOL_PACKET, _PACKET_VNET_HDR = 263, 15
_ETH_P_ALL = 3
# Of segments that the kernel has not cut into packets yet, with the header that describes them.
_LONGEST_FRAME = 1 << 17


class Direction:
    """The frames from one interface to another."""

    def __init__(self, source: socket.socket, target: socket.socket, delay: float, loss: float) -> None:
        """Takes the delay in seconds, and the part of the frames that is lost."""
        self.source = source
        self.lost = 0
        self._target = target
        self._delay = delay
        self._loss = loss
        self._under_way: collections.deque[tuple[float, bytes]] = collections.deque()

    def take(self) -> None:
        """Takes the frames that have arrived."""
        with contextlib.suppress(BlockingIOError):
            while True:
                frame, address = self.source.recvfrom(_LONGEST_FRAME)
                if address[2] == socket.PACKET_OUTGOING:
                    continue
                if random.random() < self._loss:
                    self.lost += 1
                else:
                    self._under_way.append((time.monotonic() + self._delay, frame))

    def send(self) -> float:
        """Sends the frames that are due; returns the seconds until the next one is."""
        while self._under_way:
            wait = self._under_way[0][0] - time.monotonic()
            if wait > 0:
                return wait
            # Where the interface is full, the frame is lost, as on a real wire.
            with contextlib.suppress(OSError):
                self._target.send(self._under_way.popleft()[1])
        return float("inf")


def _interface(name: str) -> socket.socket:
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    packets.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
    packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    packets.bind((name, _ETH_P_ALL))
    packets.setblocking(False)
    return packets


def main() -> None:
    near, far = _interface(sys.argv[1]), _interface(sys.argv[2])
    delay, loss = float(sys.argv[3]), float(sys.argv[4])
    directions = [Direction(near, far, delay, loss), Direction(far, near, 0.0, loss)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # A wire that waits for a processor would be slower than it shall be.
    os.nice(-20)
    try:
        while True:
            wait = min(direction.send() for direction in directions)
            readable, _, _ = select.select([near, far], [], [], None if wait == float("inf") else wait)
            for direction in directions:
                if direction.source in readable:
                    direction.take()
    except KeyboardInterrupt:
        print(sum(direction.lost for direction in directions))


main()
