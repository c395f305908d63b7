"""How many rows a query with TF_PREDICT predicts in a second: one query alone, and several at once.

Writes build/bench/predict_sql.json and prints a table. One node has the rows and serves the model, a small dense one. A
query predicts each row, and returns one number; its rows by its time are a figure. The queries of a round run at once,
each over a connection of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pyignite import Client

import tensorflow_ignite as tfi
from read import BUILD
from tensorflow_ignite.testing import LocalCluster, node_configuration
from tensorflow_ignite.testing.ports import PortBlock

# As in servers: the second compiler, and a heap that has its size from the start.
JVM = ("-XX:TieredStopAtLevel=4", "-XX:+UseG1GC", "-Xms512m", "-Xmx512m")
QUERIES = (1, 4, 16)
PIXELS = 64
CLASSES = 10
MODEL = "digits"
THIN_PORT = """<property name="clientConnectorConfiguration">
  <bean class="org.apache.ignite.configuration.ClientConnectorConfiguration">
    <property name="host" value="127.0.0.1"/>
    <property name="port" value="{port}"/>
    <property name="threadPoolSize" value="{threads}"/>
  </bean>
</property>
<property name="queryThreadPoolSize" value="{threads}"/>"""
SELECT = f"SELECT COUNT(*) FROM \"digits\".Digits WHERE TF_PREDICT('{MODEL}', pixels) >= 0"


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes:
        rows: Of the cache.
        rounds: Of each number of queries, after one that does not count.
    """

    rows: int = 2_000
    rounds: int = 5


QUICK = Sizes(rows=50, rounds=1)


def serve(client: tfi.Client) -> None:
    """Deploys the model."""
    import keras

    layers = [keras.layers.Dense(64, "relu"), keras.layers.Dense(CLASSES, "softmax")]
    version = tfi.train.export(keras.Sequential([keras.Input([PIXELS], name="pixels"), *layers]), MODEL)
    assert version is not None
    client.models.deploy(version.reference)


def query(client: Client, rows: int) -> None:
    """Predicts each row."""
    with client.sql(SELECT) as cursor:
        assert list(cursor) == [[rows]]


def measure(port: int, queries: int, sizes: Sizes) -> list[float]:
    """Rows a second of all queries of a round together."""
    found = []
    with ExitStack() as ends, ThreadPoolExecutor(queries) as threads:
        clients = [Client() for _ in range(queries)]
        for client in clients:
            ends.enter_context(client.connect("127.0.0.1", port))
        for _ in range(1 + sizes.rounds):
            begin = time.perf_counter()
            list(threads.map(query, clients, [sizes.rows] * queries))
            found.append(queries * sizes.rows / (time.perf_counter() - begin))
    return found[1:]


def main() -> None:
    """Measures each number of queries."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--quick", action="store_true", help="few rows, one round: shows that it works")
    options.add_argument("--output", type=Path, default=BUILD / "predict_sql.json")
    given = options.parse_args()
    sizes = QUICK if given.quick else Sizes()
    rows = {"pixels": np.random.default_rng(0).random((sizes.rows, PIXELS), np.float32)}
    with ExitStack() as ends:
        ports = PortBlock()
        ends.callback(ports.release)
        config = Path(ends.enter_context(tempfile.TemporaryDirectory())) / "node.xml"
        thin = THIN_PORT.format(port=ports.last, threads=max(QUERIES))
        config.write_text(node_configuration(sqlFunctions=True, node=thin))
        cluster = ends.enter_context(LocalCluster(nodes=1, config=config, jvm_args=() if given.quick else JVM))
        os.environ["TENSORFLOW_IGNITE_ADDRESS"] = cluster.address
        tfi.load("digits", rows)
        with tfi.connect() as client:
            serve(client)
            found = {f"sql_rows_per_second {queries}": measure(ports.last, queries, sizes) for queries in QUERIES}
            client.models.undeploy(MODEL)
    figures = {name: statistics.median(rounds) for name, rounds in found.items()}
    written = {**figures, "rounds": found, "processors": os.cpu_count(), "load": os.getloadavg()[0]}
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(written, indent=2) + "\n")
    print(f"{'figure (queries at once)':<26} {'median':>8} {'low':>8} {'high':>8}")
    for name, median in figures.items():
        print(f"{name:<26} {median:>8,.0f} {min(found[name]):>8,.0f} {max(found[name]):>8,.0f}")
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
