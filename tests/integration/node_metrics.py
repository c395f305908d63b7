"""The metrics of a node, over its HTTP port."""

from __future__ import annotations

import urllib.request

# The environment of nodes with an HTTP port.
HTTP_PORT = {"TENSORFLOW_IGNITE_HTTP_PORT": "0"}
SECONDS = 30


def metric(http_address: str, series: str) -> float:
    """The value of the first series that begins with ``series``; 0: there is none."""
    with urllib.request.urlopen(f"http://{http_address}/metrics", timeout=SECONDS) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        text = answer.read().decode()
    assert text.endswith("# EOF\n")
    found = [line for line in text.splitlines() if line.startswith(series)]
    return float(found[0].split()[-1]) if found else 0.0
