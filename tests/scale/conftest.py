"""Nine nodes with two caches, and the figures of the run: `make scale`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))
sys.path.insert(0, str(Path(__file__).parents[1] / "abuse"))
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import sizes
from figures import Figures

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster, node_configuration

FILE = Path(__file__).parents[2] / "build" / "bench" / "scale.json"
#: Nine heaps beside 180 processes.
_JVM_ARGS = ("-Xms128m", "-Xmx512m")


@pytest.fixture(scope="session")
def figures() -> Figures:
    """What the run measures; the file is there after the first figure."""
    return Figures(FILE, sizes.ALL)


@pytest.fixture(scope="module")
def nodes(figures: Figures, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """The nodes; their end proves that no process, port or file of them is left."""
    config = tmp_path_factory.mktemp("scale") / "node.xml"
    config.write_text(node_configuration(**sizes.BEAN))
    with LocalCluster(nodes=sizes.NODES, config=config, jvm_args=_JVM_ARGS) as cluster:
        for cache, partitions, rows in (
            (sizes.WIDE, sizes.PARTITIONS, sizes.ROWS),
            (sizes.NARROW, 1, 1),
        ):
            ids = np.arange(rows)
            tfi.load(cache, {"id": ids}, partitions=partitions, backups=sizes.BACKUPS, address=cluster.address)
        yield cluster


@pytest.fixture(autouse=True)
def _leaves_nothing() -> None:
    """Replaces the check of other tests: nodes and jobs go on from one test to the next."""
