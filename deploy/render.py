"""Writes deploy/kubernetes/tensorflow-ignite.yaml: what the chart renders with its own values. Needs helm."""

from __future__ import annotations

import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent
CHART = FOLDER / "helm/tensorflow-ignite"
MANIFESTS = FOLDER / "kubernetes/tensorflow-ignite.yaml"


def render(*options: str) -> str:
    """What the chart renders for a release of its own name; `options` are options of ``helm template``."""
    command = ["helm", "template", CHART.name, str(CHART), "--kube-version", "1.32.0", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    MANIFESTS.write_text(render())
