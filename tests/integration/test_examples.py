"""Examples that need no job, as a reader of their docs runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tensorflow_ignite.testing import LocalCluster

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(example: str, cluster: LocalCluster | None = None) -> list[str]:
    """The lines that an example prints; some start what they need."""
    env = {**os.environ, **({"TENSORFLOW_IGNITE_ADDRESS": cluster.address} if cluster else {})}
    done = subprocess.run(
        [sys.executable, EXAMPLES / example], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_trips_loads_chooses_and_reads_rows(cluster: LocalCluster) -> None:
    lines = run("trips.py", cluster)
    assert lines[0] == "loaded 1000 rows"
    assert "rows in batches: [300, 300, 300, 100]" in lines
    assert "29 trips of driver 3 cost 200 or more, 224.75 on average" in lines
    assert "twice: [0.0, 0.5, 1.0]" in lines
    assert lines[-1] == "1000 rows, 200 without a rating; fares are decimal128(10, 2)"


def test_duckdb_and_polars_read_a_cache_over_flight(cluster: LocalCluster) -> None:
    means = [(0, 24.0), (1, 24.5), (2, 25.0), (3, 25.5)]
    assert run("flight_clients.py", cluster) == [f"DuckDB: {means}", f"polars: {means}"]


def test_storage_writes_and_reads_files_in_the_cluster(cluster: LocalCluster) -> None:
    lines = run("storage.py", cluster)
    assert lines == [
        "1000 fares, 124.875 on average",
        "while it is written: False",
        "afterwards: b'first line\\nsecond line\\n'",
        "its bytes from 6 to 10: b'line'",
        "sum of the records: 4950",
        "restored: True from ignite:///examples/storage/checkpoints/ckpt-3",
        "kept: ignite:///examples/storage/best/ckpt-2.index ignite:///examples/storage/best/ckpt-3.index",
        "all there is: best notes.txt numbers.tfrecord trips",
    ]


def test_secured_starts_a_node_and_prints_what_each_caller_may_do() -> None:
    assert run("secured_node.py") == [
        "etl: load raw_trips: 100",
        "etl: load models: PermissionDeniedError",
        "etl: write a report: written",
        "analyst: read raw_trips: 100 rows",
        "analyst: load raw_trips: PermissionDeniedError",
        "analyst: read the report, mean fare: 12.375",
        "analyst: write a report: PermissionDeniedError",
        "somebody: read raw_trips with a token that nobody has: UnauthenticatedError",
        "somebody: read raw_trips without a token: UnauthenticatedError",
        "somebody: read raw_trips without TLS: ConnectionFailedError",
    ]
