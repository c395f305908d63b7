"""The thin client's protocol with nothing behind it: a scan of the large rows is received, and thrown away."""

from __future__ import annotations

import socket
import struct

import rows
from answer import Pass, serve

PAGE_ROWS = 20
BUFFER_BYTES = 4 << 20
SCAN, NEXT_PAGE, CLOSE = 2000, 2001, 0
VERSION = (1, 2, 0)
_NULL = 101


class Connection:
    """A connection that has shaken hands; answers are counted, not kept."""

    def __init__(self, port: int) -> None:
        """Connects to a node on this host."""
        self._socket = socket.create_connection(("127.0.0.1", port), 60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray(BUFFER_BYTES)
        self._send(struct.pack("<bhhhb", 1, *VERSION, 2))
        (length,) = struct.unpack("<i", self._exactly(4))
        if self._exactly(length)[:1] != b"\x01":
            raise ConnectionError(f"the node at port {port} does not speak version {VERSION} of the thin protocol")

    def scan(self, cache: str) -> tuple[int, int]:
        """Rows and bytes of all pages."""
        body = struct.pack("<iBBiiB", java_hash(cache), 0, _NULL, PAGE_ROWS, -1, 0)
        self._ask(SCAN, body)
        head, found, length = self._page(16 + 8 + 4)
        (cursor,) = struct.unpack_from("<q", head, 16)
        count, more = found
        total = length
        while more:
            self._ask(NEXT_PAGE, struct.pack("<q", cursor))
            _, (rows_here, more), length = self._page(16 + 4)
            count, total = count + rows_here, total + length
        return count, total

    def _ask(self, operation: int, body: bytes) -> None:
        self._send(struct.pack("<hq", operation, 1) + body)

    def _send(self, message: bytes) -> None:
        self._socket.sendall(struct.pack("<i", len(message)) + message)

    def _page(self, head_bytes: int) -> tuple[bytes, tuple[int, bool], int]:
        """The head of an answer, its rows and whether more follow, and its length in bytes."""
        head = self._exactly(head_bytes)
        length, _, status = struct.unpack_from("<iqi", head)
        if status:
            raise ConnectionError(f"the node answered with status {status}")
        (count,) = struct.unpack_from("<i", head, head_bytes - 4)
        left = 4 + length - head_bytes - 1
        while left:
            left -= self._socket.recv_into(self._buffer, min(left, BUFFER_BYTES))
        return head, (count, self._exactly(1) != b"\x00"), length

    def _exactly(self, count: int) -> bytes:
        parts = b""
        while len(parts) < count:
            part = self._socket.recv(count - len(parts))
            if not part:
                raise ConnectionError("the node closed the connection")
            parts += part
        return parts


def java_hash(text: str) -> int:
    """String.hashCode of Java, by which caches are named."""
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def received(connection: Connection) -> Pass:
    """A pass over the large rows."""

    def one_pass() -> tuple[int, int, None]:
        count, _ = connection.scan("large")
        return count, count * rows.LARGE_BYTES, None

    return one_pass


def main() -> None:
    """Connects, then answers."""
    options = rows.parser(__doc__)
    options.add_argument("--port", type=int, required=True, help="where the node takes thin clients")
    serve({"thin_1mb": received(Connection(options.parse_args().port))})


if __name__ == "__main__":
    main()
