"""Ends with 0 if the node of this container is healthy, else with 1 and the reason.

If TENSORFLOW_IGNITE_HTTP_PORT is a port, the node answers /health/live there, without login; where callers need a
certificate, its own is shown. Otherwise
`tensorflow-ignite nodes` asks the node API, and needs the credentials of a caller. The node is that of
TENSORFLOW_IGNITE_ADDRESS, by default localhost.
"""

import http.client
import os
import ssl
import sys

# Each of two requests, within the limit of HEALTHCHECK.
SECONDS = 8


def main() -> None:
    """Asks the node."""
    port = os.environ.get("TENSORFLOW_IGNITE_HTTP_PORT", "")
    if not port.isdigit() or port == "0":
        os.execvp("tensorflow-ignite", ["tensorflow-ignite", "nodes", "--json"])
    address = os.environ.get("TENSORFLOW_IGNITE_ADDRESS", "").split(",")[0]
    host = address.rpartition(":")[0].strip("[]") or "localhost"
    # The answer is for this container alone, and its certificate may name another address of the node.
    trust = ssl._create_unverified_context()
    certificate, key = (os.environ.get(f"TENSORFLOW_IGNITE_TLS_{file}", "") for file in ("CERTIFICATE", "KEY"))
    if certificate and key:
        trust.load_cert_chain(certificate, key)
    reasons = []
    for connection in (
        http.client.HTTPSConnection(host, int(port), timeout=SECONDS, context=trust),
        http.client.HTTPConnection(host, int(port), timeout=SECONDS),
    ):
        try:
            connection.request("GET", "/health/live")
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            reasons.append(f"{type(connection).__name__[: -len('Connection')]}: {error or type(error).__name__}")
            continue
        print(text)
        sys.exit(answer.status != 200)
    print(f"port {port} of the node does not answer: {'; '.join(reasons)}")
    sys.exit(1)


main()
