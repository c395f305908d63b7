"""Examples that need no job, as a reader of their docs runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tensorflow_ignite.testing import LocalCluster

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_trips_loads_chooses_and_reads_rows(cluster: LocalCluster) -> None:
    env = {**os.environ, "TENSORFLOW_IGNITE_ADDRESS": cluster.address}
    done = subprocess.run(
        [sys.executable, EXAMPLES / "trips.py"], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "loaded 1000 rows"
    assert "rows in batches: [300, 300, 300, 100]" in lines
    assert "29 trips of driver 3 cost 200 or more, 224.75 on average" in lines
    assert "twice: [0.0, 0.5, 1.0]" in lines
    assert lines[-1] == "1000 rows, 200 without a rating; fares are decimal128(10, 2)"
