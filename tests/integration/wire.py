"""A wire between two network interfaces that delays and loses packets: wire.py FROM TO DELAY LOSS.

Frames from the first to the second interface arrive DELAY seconds later; in both directions a part LOSS of them is
lost. The kernel's netem would do the same, where the kernel has it.
"""

from __future__ import annotations

import collections
import random
import select
import socket
import sys
import time

_SOL_PACKET, _PACKET_VNET_HDR = 263, 15
_ETH_P_ALL = 3
# Of segments that the kernel has not cut into packets yet, with the header that describes them.
_LONGEST_FRAME = 1 << 17


def _interface(name: str) -> socket.socket:
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    packets.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
    packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    packets.bind((name, _ETH_P_ALL))
    packets.setblocking(False)
    return packets


def main() -> None:
    """Forwards frames until it is killed."""
    near, far = _interface(sys.argv[1]), _interface(sys.argv[2])
    delays = {near: float(sys.argv[3]), far: 0.0}
    targets = {near: far, far: near}
    loss = float(sys.argv[4])
    under_way: dict[socket.socket, collections.deque[tuple[float, bytes]]] = {
        near: collections.deque(),
        far: collections.deque(),
    }
    while True:
        due = [queue[0][0] for queue in under_way.values() if queue]
        readable, _, _ = select.select([near, far], [], [], max(0.0, min(due) - time.monotonic()) if due else None)
        for source in readable:
            frame, address = source.recvfrom(_LONGEST_FRAME)
            if address[2] != socket.PACKET_OUTGOING and random.random() >= loss:
                under_way[source].append((time.monotonic() + delays[source], frame))
        for source, queue in under_way.items():
            while queue and queue[0][0] <= time.monotonic():
                _send(targets[source], queue.popleft()[1])


def _send(target: socket.socket, frame: bytes) -> None:
    try:
        target.send(frame)
    except OSError:
        # The interface is full: the frame is lost, as on a real wire.
        return


main()
