"""Loads that run together while a node ends."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import tensorflow_ignite as tfi
from tensorflow_ignite.errors import TensorFlowIgniteError
from tensorflow_ignite.testing import LocalCluster

BATCHES, ROWS = 60, 5_000
SECONDS_TO_END = 60.0
READ = """
import sys
import tensorflow_ignite as tfi
keys = tfi.read_table(sys.argv[1], key=True, options=tfi.ReadOptions(address=sys.argv[2]))["_key"].to_pylist()
assert set(range(int(sys.argv[3]))) <= set(keys), len(keys)
"""


@pytest.mark.full
def test_loads_of_new_and_existing_caches_end_when_a_node_is_killed_and_the_others_serve() -> None:
    with LocalCluster(3) as cluster:
        address = cluster.addresses[0]
        tfi.load("existing", _batch(10**6), key="id", backups=1, partitions=64, address=address)
        loads = {
            "existing": {"if_exists": "append"},
            "safe": {"backups": 1, "partitions": 64},
            "single": {"backups": 0, "partitions": 64},
        }
        outcomes: dict[str, int | TensorFlowIgniteError] = {}
        half_sent = threading.Event()

        def batches() -> Iterator[dict[str, np.ndarray]]:
            for index in range(BATCHES):
                yield _batch(index * ROWS)
                if index == BATCHES // 3:
                    half_sent.set()
                # Rows come all the time while the node ends and its partitions move.
                time.sleep(0.05)

        def load(cache: str) -> None:
            try:
                outcomes[cache] = tfi.load(cache, batches(), key="id", address=address, **loads[cache])  # type: ignore[arg-type]
            except TensorFlowIgniteError as error:
                outcomes[cache] = error

        threads = [threading.Thread(target=load, args=(cache,), daemon=True) for cache in loads]
        for thread in threads:
            thread.start()
        assert half_sent.wait(SECONDS_TO_END)
        cluster.kill_node(cluster.nodes[2])
        deadline = time.monotonic() + SECONDS_TO_END
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

        assert outcomes.keys() == loads.keys(), outcomes
        assert outcomes["existing"] == outcomes["safe"] == BATCHES * ROWS, outcomes
        for cache in ("existing", "safe"):
            command = [sys.executable, "-c", READ, cache, address, str(BATCHES * ROWS)]
            subprocess.run(command, check=True, timeout=SECONDS_TO_END)
        # Nothing is half-loaded: a cache without copies has lost rows with the node.
        if isinstance(outcomes["single"], TensorFlowIgniteError):
            with pytest.raises(TensorFlowIgniteError, match="single"):
                tfi.read_table("single", options=tfi.ReadOptions(address=address))


def _batch(first: int) -> dict[str, np.ndarray]:
    keys = np.arange(first, first + ROWS)
    return {"id": keys, "n": keys * 3}
