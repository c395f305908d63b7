"""The benchmarks run: a quick run of each writes figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from namespaces import require_namespaces

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("read", "pyarrow"),
        ("storage", "tensorflow"),
        ("recovery", "tensorflow"),
        ("live", "tensorflow"),
        ("shared_node", "tensorflow"),
        ("predict_sql", "tensorflow"),
        ("training", "tf_keras"),
        ("predict", "keras"),
    ],
)
def test_a_quick_run_writes_its_figures(tmp_path: Path, name: str, library: str) -> None:
    pytest.importorskip(library)
    if name == "recovery":
        require_namespaces("unshare")
    output = tmp_path / "figures.json"
    local = [f"--local={ROOT / 'build'}"] if name == "storage" else []
    command = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), "--quick", f"--output={output}", *local]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(output.read_text())
