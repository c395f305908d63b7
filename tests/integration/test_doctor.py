"""The doctor against real nodes: it passes on a sound cluster, and names the node that is not."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from thin_client import thin_port

from tensorflow_ignite import doctor as examination
from tensorflow_ignite.cli import main
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.testing.ports import PortBlock

TIMEOUT = patiently(60)


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


@pytest.mark.full
def test_the_machine_and_the_cluster_are_printed_as_text(
    cluster: LocalCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["doctor", "--address", cluster.address, "--port", "0"])
    out = capsys.readouterr().out
    assert code == 0, out
    assert re.search(r"^  ✓ jars +tensorflow-ignite-", out, re.M)
    assert re.search(r"^  ✓ tensorflow +tensorflow", out, re.M)
    assert re.search(r"^  ✓ reachability +all 3 nodes answer at their own address$", out, re.M)


@pytest.mark.full
def test_nodes_whose_interpreter_does_not_exist_or_lacks_tensorflow_are_named(doctor: Any, tmp_path: Path) -> None:
    # The same interpreter, which cannot find the module.
    python = tmp_path / "python"
    hide = tmp_path / "hide"
    hide.mkdir()
    (hide / "sitecustomize.py").write_text(
        "import importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'tensorflow' else find(name, *a)\n"
    )
    python.write_text(f'#!/bin/sh\nexport PYTHONPATH={hide}:"$PYTHONPATH"\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    with LocalCluster(nodes=1) as cluster:
        sound = cluster.nodes[0]
        broken = cluster.start_node(python=str(tmp_path / "no-such-python"))
        lacking = cluster.start_node(python=str(python))
        code, findings = doctor("--address", cluster.address)
    assert code == 1
    for step, node, text, remedy in (
        ("agents", broken, "no-such-python", "TENSORFLOW_IGNITE_PYTHON"),
        ("tensorflow", lacking, "", "pip install 'tensorflow-cpu>=2.20,<2.22'"),
    ):
        assert findings[step]["outcome"] == "failed"
        assert f"node {node.node_id[:8]} on " in findings[step]["text"]
        assert text in findings[step]["text"]
        assert remedy in findings[step]["remedy"]
        assert sound.node_id[:8] not in findings[step]["text"]
    assert findings["reachability"]["outcome"] == "ok"


@pytest.mark.full
def test_an_inactive_cluster_is_recognized_at_its_port_for_thin_clients(doctor: Any, tmp_path: Path) -> None:
    ports = PortBlock()
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tensorflow_ignite.node",
            "--json",
            "--persistent",
            f"--discovery={ports.discovery}",
            f"--work-directory={tmp_path}",
            "--port=0",
            "--jvm-arg=-Xmx512m",
            "--jvm-arg=-XX:TieredStopAtLevel=1",
            f"--parent-pid={os.getpid()}",
        ],
        stdout=subprocess.PIPE,
        text=True,
    ) as node:
        try:
            assert node.stdout is not None
            assert json.loads(node.stdout.readline())["event"] == "inactive"
            with socket.socket() as closed:
                closed.bind(("127.0.0.1", 0))
                address = f"127.0.0.1:{closed.getsockname()[1]}"
                code, findings = doctor("--address", address, "--thin", f"127.0.0.1:{thin_port(node.pid)}")
        finally:
            node.send_signal(signal.SIGTERM)
            node.communicate(timeout=TIMEOUT)
            ports.release()
    assert code == 1
    assert "connection refused" in findings["address"]["text"]
    assert "its cluster is not active" in findings["activation"]["text"]
    assert "control.sh --set-state ACTIVE" in findings["activation"]["remedy"]
