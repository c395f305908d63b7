"""A loopback connection: bytes are received from another process, and thrown away."""

from __future__ import annotations

import os
import socket

import rows
from answer import serve

BUFFER_BYTES = 1 << 20


def send(connection: socket.socket, count: int) -> None:
    """Sends this number of bytes for each byte that comes."""
    buffer = bytes(BUFFER_BYTES)
    while connection.recv(1):
        left = count
        while left:
            left -= connection.send(memoryview(buffer)[:left])


def main() -> None:
    """Starts the sender, then answers."""
    count = rows.parser(__doc__).parse_args().large * rows.LARGE_BYTES
    listener = socket.create_server(("127.0.0.1", 0))
    if not os.fork():
        send(socket.create_connection(listener.getsockname()), count)
        os._exit(0)
    connection, _ = listener.accept()
    listener.close()
    buffer = bytearray(BUFFER_BYTES)

    def one_pass() -> tuple[int, int, None]:
        connection.send(b".")
        left = count
        while left:
            left -= connection.recv_into(buffer, min(left, BUFFER_BYTES))
        return count // rows.LARGE_BYTES, count, None

    serve({"tcp": one_pass})


if __name__ == "__main__":
    main()
