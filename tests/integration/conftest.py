"""What the tests of jobs share: nodes, a client, and a cache whose rows are numbered."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from forks import TensorFlowForks, tensorflow_forks
from jobs import PARTITIONS, ROWS

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster

# The files that take longest, longest first: workers end at the same time when these begin early.
_LONGEST = (
    "test_examples",
    "test_kinds",
    "test_topology",
    "test_kinds_keras",
    "test_exactly_once",
    "test_resume_tensorflow",
    "test_dataset_tensorflow",
    "test_quickstart",
    "test_job_rows",
    "test_storage_files",
    "test_security_matrix",
    "test_node",
    "test_storage_loss",
    "test_cluster",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest files first; the others keep their order."""
    ranks = {name: number for number, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.stem, len(ranks)))


@pytest.fixture(scope="module")
def forks() -> Iterator[TensorFlowForks]:
    """Starts processes that have TensorFlow imported."""
    with tensorflow_forks() as server:
        yield server


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
def nodes(request: pytest.FixtureRequest, shaken: LocalCluster) -> LocalCluster:
    """Three running nodes that a test may freeze and kill, whatever the test before has done.

    Those of ``patient`` if the test uses that fixture, and resumes the node that it freezes.
    """
    chosen: LocalCluster = request.getfixturevalue("patient") if "patient" in request.fixturenames else shaken
    while len(chosen.nodes) > 3:
        chosen.stop_node(chosen.nodes[-1])
    while len(chosen.nodes) < 3:
        chosen.start_node()
    return chosen
