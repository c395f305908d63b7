"""Datasets whose partitions move to a node that joins while they are read."""

from __future__ import annotations

import numpy as np
import pytest
from waiting import await_true

tf = pytest.importorskip("tensorflow")

import tensorflow_ignite as tfi  # noqa: E402
from tensorflow_ignite.data.plan import make_plan  # noqa: E402
from tensorflow_ignite.data.request import make_request  # noqa: E402
from tensorflow_ignite.testing import LocalCluster  # noqa: E402

# Far more than streams send ahead of their reader.
ROWS, WIDTH = 6_000, 16_384
# So many that the new node surely gets some which were not read yet.
PARTITIONS = 64
SECONDS = 60.0


def owners(cache: str, address: str) -> set[str]:
    """The addresses of the nodes that have primary partitions."""
    asked = make_request(cache, columns=["id"], key=False, partitions="all", address=address, batch_bytes=0)
    return {endpoint.address for endpoint in make_plan(asked).endpoints}


@pytest.mark.parametrize("transport", ["shared", "tcp", "flight"])
def test_an_epoch_that_a_node_joins_has_each_row_once(nodes: LocalCluster, transport: str) -> None:
    cache = f"joined-{transport}"
    ids = np.arange(ROWS)
    pixels = np.broadcast_to((ids % 251).astype(np.uint8)[:, None], (ROWS, WIDTH))
    tfi.load(cache, {"id": ids, "pixels": pixels}, backups=1, partitions=PARTITIONS, address=nodes.address)
    dataset = tfi.dataset(cache, address=nodes.address, transport=transport, batch_bytes=1 << 20).batch(50)
    batches = iter(dataset)
    found = [next(batches)]
    nodes.start_node()
    await_true(lambda: len(owners(cache, nodes.address)) == 4, "no partition moved to the new node", SECONDS)
    found += batches
    seen = np.concatenate([batch["id"].numpy() for batch in found])
    assert sorted(seen.tolist()) == ids.tolist()
    for batch in found:
        assert (batch["pixels"].numpy() == (batch["id"].numpy() % 251)[:, None]).all()
