"""What the tests of jobs share: nodes, a client, and a cache whose rows are numbered."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from jobs import PARTITIONS, ROWS

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[tfi.Client]:
    """Asks the oldest node."""
    with tfi.connect(cluster.address) as connected:
        yield connected


@pytest.fixture(scope="session")
def numbered(cluster: LocalCluster) -> str:
    """A partitioned cache with the rows 0 to ROWS - 1 in its column ``id``; nobody changes it."""
    tfi.load("numbered", {"id": np.arange(ROWS)}, backups=1, partitions=PARTITIONS, address=cluster.address)
    return "numbered"


@pytest.fixture
def nodes(shaken: LocalCluster) -> LocalCluster:
    """Three running nodes that a test may freeze and kill, whatever the test before has done."""
    while len(shaken.nodes) > 3:
        shaken.stop_node(shaken.nodes[-1])
    while len(shaken.nodes) < 3:
        shaken.start_node()
    return shaken
