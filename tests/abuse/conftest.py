"""Two small nodes, a job and a cache that must not notice what the tests do to them, and what is checked after each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))
from arena import MIB, Arena, start_victim
from disk import small_disk
from usage import ATTACH

from local_nodes import GIVES_UP_AFTER_A_MINUTE
from tensorflow_ignite.testing import LocalCluster, node_configuration

NODES = 2
# A node or a task that is late on a busy machine is not lost: as the failure detection of the nodes.
LEASE = 60
# Of one task at a time.
PROCESSES = 40


@pytest.fixture(scope="session")
def starved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Two nodes with 512 MiB of heap and 128 MiB for data each."""
    folder = tmp_path_factory.mktemp("starved")
    config = folder / "node.xml"
    config.write_text(
        node_configuration(
            node=GIVES_UP_AFTER_A_MINUTE, tasks={"processes": PROCESSES}, timeouts={"leaseSeconds": LEASE}
        )
    )
    options = ["-Xmx512m", "-XX:+UseG1GC", ATTACH]
    with (
        small_disk(folder / "disk") as disk,
        LocalCluster(
            nodes=NODES,
            directory=disk,
            config=config,
            data_region_bytes=128 * MIB,
            jvm_args=options,
            environment={"TENSORFLOW_IGNITE_HTTP_PORT": "0"},
        ) as started,
    ):
        yield started


@pytest.fixture(scope="session")
def arena(starved: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """The nodes with a victim beside: at the end its job has succeeded at its first attempt."""
    folder = tmp_path_factory.mktemp("victim")
    victim = start_victim(starved, folder)
    ready = Arena(starved, victim)
    yield ready
    ready.finish()


@pytest.fixture(autouse=True)
def _nobody_else_noticed(arena: Arena) -> Iterator[None]:
    """After each test: the same processes, the victim at work, its rows whole, memory back."""
    before = arena.usage()
    yield
    arena.check(before)
