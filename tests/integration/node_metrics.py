"""The metrics of a node, over its HTTP port."""

from __future__ import annotations

import re
import urllib.request

from tensorflow_ignite.testing.patience import patiently

PREFIX = "tensorflow_ignite_"
# The environment of nodes with an HTTP port.
HTTP_PORT = {"TENSORFLOW_IGNITE_HTTP_PORT": "0"}


def metrics(http_address: str) -> dict[str, float]:
    """The values by their names with labels."""
    with urllib.request.urlopen(f"http://{http_address}/metrics", timeout=patiently(60.0)) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        text = answer.read().decode()
    assert text.endswith("# EOF\n")
    samples = [re.fullmatch(rf"({PREFIX}.+) (\S+)", line) for line in text.splitlines() if line[0] != "#"]
    return {sample[1]: float(sample[2]) for sample in samples if sample}


def metric(http_address: str, name: str) -> float:
    """The value of a name with labels; 0: there is none."""
    return metrics(http_address).get(name, 0.0)
