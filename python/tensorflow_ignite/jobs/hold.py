"""The script of the client process of a job whose own client is outside the cluster: it ends when that one is gone.

It listens at the address that the job has reserved for it. The client outside keeps a connection to it, and sends a
byte at once and every two seconds; a connection without a byte is of somebody else. The file is sent to the nodes as a
script, so it imports the standard library only.
"""

import json
import os
import selectors
import socket
import time

#: Without a byte for this time the client outside is gone.
SILENCE_SECONDS = 15.0
#: The time for its first byte.
FIRST_SECONDS = 60.0


def main() -> None:
    """Returns when no client is connected any more."""
    host, _, port = json.loads(os.environ["TF_CONFIG"])["cluster"]["chief"][0].rpartition(":")
    host = host.strip("[]")
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    # The agent holds the port, without listening.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((host, int(port)))
    listener.listen()
    clients: set[socket.socket] = set()
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        deadline = time.monotonic() + FIRST_SECONDS
        while time.monotonic() < deadline:
            for key, _ in selector.select(max(0.0, deadline - time.monotonic())):
                if key.data is None:
                    accepted, _ = listener.accept()
                    selector.register(accepted, selectors.EVENT_READ, accepted)
                    continue
                connection: socket.socket = key.data
                try:
                    received = connection.recv(64)
                except OSError:
                    received = b""
                if received:
                    deadline = time.monotonic() + SILENCE_SECONDS
                    if not clients:
                        print("a client outside of the cluster uses these servers", flush=True)
                    clients.add(connection)
                    continue
                selector.unregister(connection)
                connection.close()
                if clients == {connection}:
                    print("the client is gone", flush=True)
                    return
                clients.discard(connection)
    print("the client is silent", flush=True)


if __name__ == "__main__":
    main()
