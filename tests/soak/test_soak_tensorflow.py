"""Hundreds of epochs of a TensorFlow dataset leave nothing behind, in this process and in the node: `make soak`."""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

import tensorflow_ignite as tfi  # noqa: E402
from footprint import Footprint  # noqa: E402
from tensorflow_ignite.testing import LocalCluster  # noqa: E402

ROWS = 4_000
EPOCHS = 200
# By then every pool of threads and memory is as large as it gets.
WARM_EPOCHS = 50
# One in this number of epochs is given up half-way.
BROKEN_OFF = 10
BATCH = 256
WAYS: dict[str, tuple[Any, bool]] = {
    "shared": ("shared", False),
    "snapshot": ("shared", True),
    "tcp": ("tcp", False),
    "flight": ("flight", False),
}
# An epoch is 3 MiB: a hundred and fifty that are kept, or a tenth of them, are far above this.
TOLERANCE = Footprint(resident_bytes=24 << 20, threads=2, descriptors=2, segments=1)
# The heap has its whole size from the start, so that what grows is memory outside it.
JVM = ("-Xms512m", "-Xmx512m", "-XX:+UseG1GC", "-XX:+AlwaysPreTouch")

pytestmark = pytest.mark.timeout(3600)


@pytest.fixture(scope="module")
def node() -> Iterator[LocalCluster]:
    """One node with the cache ``soak``."""
    with LocalCluster(nodes=1, jvm_args=JVM) as cluster:
        numbers = np.arange(ROWS)
        pixels = np.repeat(numbers[:, None], 784, axis=1).astype(np.uint8)
        tfi.load("soak", {"pixels": pixels, "label": numbers}, partitions=16, address=cluster.address)
        yield cluster


@pytest.mark.parametrize("way", WAYS)
def test_memory_threads_descriptors_and_segments_are_flat(node: LocalCluster, way: str) -> None:
    transport, snapshot = WAYS[way]
    options = tfi.ReadOptions(transport=transport, address=node.address)
    dataset = tfi.dataset("soak", snapshot=snapshot, options=options).batch(BATCH).prefetch(2)
    pids = {"this process": os.getpid(), "the node": node.nodes[0].pid}
    before: dict[str, Footprint] = {}
    for number in range(1, EPOCHS + 1):
        _epoch(dataset)
        if number % BROKEN_OFF == 0:
            for _ in itertools.islice(dataset, 2):
                pass
        if number == WARM_EPOCHS:
            gc.collect()
            before = {name: Footprint.of(pid) for name, pid in pids.items()}
    gc.collect()
    for name, pid in pids.items():
        after = Footprint.of(pid)
        print(f"{way}, {name}: {before[name]} after {WARM_EPOCHS} epochs, {after} after {EPOCHS}")
        before[name].require_flat(after, TOLERANCE, f"{name}, reading by {way}")


def _epoch(dataset: Any) -> None:
    """One whole epoch, every row of it right."""
    total = 0
    for batch in dataset:
        labels = batch["label"]
        tf.debugging.assert_equal(batch["pixels"][:, 0], tf.cast(labels, tf.uint8))
        total += int(tf.reduce_sum(labels))
    assert total == ROWS * (ROWS - 1) // 2
