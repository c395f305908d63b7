"""Requests of which only a part is sent, over plain HTTP/2: a gRPC client cannot do that."""

from __future__ import annotations

import select
import socket
import struct
import time
from types import TracebackType

import h2.config
import h2.connection
import h2.events

_CHUNK = b"\0" * (16 << 10)
_SECONDS = 60.0


class HalfSentRequests:
    """One connection with calls whose requests never become complete."""

    def __init__(self, address: str, method: str, calls: int, size: int) -> None:
        """Opens the calls."""
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=_SECONDS)
        self._http = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self._http.initiate_connection()
        self._unsent: dict[int, int] = {}
        self.reset = 0
        headers = {
            ":method": "POST",
            ":scheme": "http",
            ":authority": address,
            ":path": method,
            "content-type": "application/grpc",
            "te": "trailers",
        }
        for _ in range(calls):
            stream = self._http.get_next_available_stream_id()
            self._http.send_headers(stream, headers.items())
            # Not compressed; the length of the message.
            self._http.send_data(stream, struct.pack(">BI", 0, size))
            self._unsent[stream] = size - 100

    def __enter__(self) -> HalfSentRequests:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def send(self) -> None:
        """Sends all that the calls will send. Calls that the node has ended do not matter."""
        deadline = time.monotonic() + _SECONDS
        while any(self._unsent.values()):
            assert time.monotonic() < deadline, f"the node does not take {len(self._unsent)} requests"
            for stream, left in list(self._unsent.items()):
                count = min(left, len(_CHUNK), self._http.local_flow_control_window(stream))
                if count > 0:
                    self._http.send_data(stream, _CHUNK[:count])
                    self._unsent[stream] -= count
            self._socket.sendall(self._http.data_to_send())
            self.receive(0.05)

    def receive(self, seconds: float) -> None:
        """Takes what the node has sent, and what it sends within the time."""
        while select.select([self._socket], [], [], seconds)[0]:
            data = self._socket.recv(1 << 16)
            assert data, "the node has closed the connection"
            for event in self._http.receive_data(data):
                assert not isinstance(event, h2.events.ConnectionTerminated), event
                if isinstance(event, h2.events.StreamReset | h2.events.StreamEnded):
                    self._unsent.pop(event.stream_id, None)
                    self.reset += isinstance(event, h2.events.StreamReset)
            self._socket.sendall(self._http.data_to_send())
