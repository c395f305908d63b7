"""The doctor against real nodes: it passes on a sound cluster, and names the node that is not."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from tensorflow_ignite import doctor as examination
from tensorflow_ignite.cli import main
from tensorflow_ignite.testing import LocalCluster


@pytest.fixture(autouse=True)
def _waits_for_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "Request", functools.partial(examination.Request, timeout=60.0))


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the doctor on a cluster; gives its exit code and its findings by step."""

    def run(*arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
        code = main(["doctor", "--only", "cluster", "--json", *arguments])
        printed = json.loads(capsys.readouterr().out)
        assert printed["ok"] == (code == 0)
        return code, {finding["step"]: finding for finding in printed["findings"]}

    return run


def test_a_healthy_cluster_passes_every_step(cluster: LocalCluster, doctor: Any) -> None:
    code, findings = doctor("--address", ",".join(cluster.addresses))
    assert {finding["outcome"] for finding in findings.values()} == {"ok"}
    assert code == 0
    for node in cluster.nodes:
        assert f"node {node.node_id[:8]} on " in findings["nodes"]["text"]
        assert str(node.address) in findings["nodes"]["text"]
    assert findings["plugin"]["text"] == "3 nodes agree on 0.1.0"
