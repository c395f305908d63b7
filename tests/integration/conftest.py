"""What the tests of jobs share: nodes, a client, and a cache whose rows are numbered."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from forks import TensorFlowForks, tensorflow_forks
from jobs import PARTITIONS, ROWS

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.ports import PortBlock

# Fixtures of the cluster whose nodes tests kill and freeze.
_SHAKES = {"shaken", "patient"}


# Begun last, one of them would go on alone.
_LONG = ["resumed_epochs_tensorflow", "image", "trackers", "kinds_keras", "exactly_once", "adapt_tensorflow", "kinds"]


# Before pytest-xdist appends the groups to the names of tests.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Makes groups, each for one worker of pytest-xdist: a shared cluster runs once, and the tests of a file together.

    The two groups of shared clusters come first. Then come the files whose tests have clusters of their own, or none.
    In `make test-all` each worker has a shared cluster that is not shaken, and takes a file after the other.
    """
    is_long = config.option.markexpr == "full"
    groups = {}
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        steady = "cluster" in fixtures and not is_long
        groups[item] = "shaken" if fixtures & _SHAKES else "steady" if steady else item.path.stem
        item.add_marker(pytest.mark.xdist_group(groups[item]))
    order = ["shaken", "steady", *(f"test_{name}" for name in _LONG)]
    items.sort(key=lambda item: order.index(groups[item]) if groups[item] in order else len(order))


@pytest.fixture(scope="module")
def forks() -> Iterator[TensorFlowForks]:
    """Starts processes that have TensorFlow imported."""
    with tensorflow_forks() as server:
        yield server


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[tfi.Client]:
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


@pytest.fixture
def ports() -> Iterator[PortBlock]:
    block = PortBlock()
    yield block
    block.release()
