"""Datasets whose partitions move to a node that joins while they are read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from waiting import await_true

from tensorflow_ignite.testing.patience import patiently

tf = pytest.importorskip("tensorflow")

import tensorflow_ignite as tfi  # noqa: E402
from tensorflow_ignite import errors  # noqa: E402
from tensorflow_ignite.data.options import ReadOptions, RowArguments, Transport  # noqa: E402
from tensorflow_ignite.data.plan import make_plan  # noqa: E402
from tensorflow_ignite.data.request import make_request  # noqa: E402
from tensorflow_ignite.testing import LocalCluster  # noqa: E402

pytestmark = pytest.mark.full

# Far more than streams send ahead of their reader.
ROWS, WIDTH = 6_000, 16_384
# Enough for the new node surely to get some that were not read yet.
PARTITIONS = 64
SECONDS = patiently(180.0)


def owners(cache: str, address: str) -> set[str]:
    """The addresses of the nodes that have primary partitions."""
    asked = make_request(RowArguments(cache, columns=["id"], partitions="all", options=ReadOptions(address=address)))
    return {endpoint.address for endpoint in make_plan(asked).endpoints}


def test_an_epoch_that_a_node_joins_has_each_row_once(nodes: LocalCluster) -> None:
    ids = np.arange(ROWS)
    pixels = np.broadcast_to((ids % 251).astype(np.uint8)[:, None], (ROWS, WIDTH))
    tfi.load("joined", {"id": ids, "pixels": pixels}, backups=1, partitions=PARTITIONS, address=nodes.address)
    ways: tuple[Transport, ...] = ("shared", "tcp")
    options = [tfi.ReadOptions(address=nodes.address, transport=way, batch_bytes=1 << 20) for way in ways]
    epochs = [iter(tfi.dataset("joined", options=each).batch(50)) for each in options]
    begun = [next(batches) for batches in epochs]
    nodes.start_node()
    await_true(lambda: len(owners("joined", nodes.address)) == 4, "no partition moved to the new node", SECONDS)
    for first, batches in zip(begun, epochs, strict=True):
        found = [first, *batches]
        seen = np.concatenate([batch["id"].numpy() for batch in found])
        assert sorted(seen.tolist()) == ids.tolist()
        for batch in found:
            assert (batch["pixels"].numpy() == (batch["id"].numpy() % 251)[:, None]).all()


def test_joined_tables_have_all_rows_or_are_an_error_while_their_partitions_move(nodes: LocalCluster) -> None:
    ids = np.arange(2_000)
    payments = {"id": ids, "customer": ids % 100, "amount": np.ones(len(ids))}
    tfi.load("payers", {"customer": ids[:100], "age": ids[:100]}, key="customer", backups=1, address=nodes.address)
    tfi.load("paid", payments, key="id", affinity="customer", backups=1, address=nodes.address)
    select = (
        "SELECT p.customer, c.age, COUNT(*) AS payments FROM Paid p JOIN Payers c ON c.customer = p.customer "
        "GROUP BY p.customer, c.age"
    )

    def read() -> list[tuple[int, int, int]]:
        table = tfi.read_table("paid", sql=select, options=tfi.ReadOptions(address=nodes.address))
        return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))

    expected = [(number, number, 20) for number in range(100)]
    assert read() == expected
    refused = 0

    def is_whole() -> bool:
        nonlocal refused
        try:
            assert read() == expected
        except (errors.PartitionNotLocalError, errors.ConnectionFailedError, errors.NoAgentError):
            refused += 1
            return False
        return True

    def has_owners(count: int) -> bool:
        try:
            return len(owners("paid", nodes.address)) == count
        except errors.TensorFlowIgniteError:
            return False

    with ThreadPoolExecutor(1) as changing:
        for change, count in ((nodes.start_node, 4), (lambda: nodes.kill_node(nodes.nodes[-1]), 3)):
            changed = changing.submit(change)
            while not changed.done() or not has_owners(count):
                is_whole()
            changed.result()
    await_true(is_whole, f"{refused} reads were refused", SECONDS)
