"""Batches in memory that this process shares with real nodes: values, lifetimes, refusals, deaths."""

from __future__ import annotations

import gc
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from node_streams import BATCH, endpoints
from waiting import SECONDS, await_true

tf = pytest.importorskip("tensorflow")

import tensorflow_ignite as tfi  # noqa: E402
from tensorflow_ignite import errors  # noqa: E402
from tensorflow_ignite.data.transport import batches, choice, segments  # noqa: E402
from tensorflow_ignite.memory import NAME, Segment  # noqa: E402
from tensorflow_ignite.testing import LocalCluster  # noqa: E402

ROWS = 20_000
WIDTH = 512


def pixels(ids: Any) -> Any:
    """What the row of an id holds: no two neighbours are alike."""
    return ((np.asarray(ids)[:, None] * 31 + np.arange(WIDTH)) % 251).astype(np.uint8)


@pytest.fixture(scope="session")
def images(cluster: LocalCluster) -> str:
    """A cache whose rows are computed from their ids."""
    ids = np.arange(ROWS)
    tfi.load("shared-images", {"id": ids, "pixels": pixels(ids)}, partitions=64, address=cluster.address)
    return "shared-images"


@pytest.fixture(autouse=True)
def _nothing_stays_mapped(cluster: LocalCluster) -> Iterator[None]:
    yield
    gc.collect()
    segments.pool().clear()
    await_true(lambda: not mapped(os.getpid()), "this process still maps segments")
    for node in cluster.nodes:
        await_unmapped(node.process.pid)


def mapped(pid: int) -> list[str]:
    """The segments that a process has mapped or open."""
    found = [line for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if f"memfd:{NAME}" in line]
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found += [str(entry)] * (f"memfd:{NAME}" in os.readlink(entry))
        except FileNotFoundError:
            continue
    return found


def await_unmapped(pid: int) -> None:
    """Waits until a node holds no memory of a reader."""
    await_true(lambda: not mapped(pid), f"node {pid} still maps segments")


def check(batch: pa.RecordBatch) -> list[int]:
    """The ids of a batch whose values are those of its ids."""
    ids = batch["id"].to_numpy()
    values = batch["pixels"].flatten().to_numpy().reshape(-1, WIDTH)
    np.testing.assert_array_equal(values, pixels(ids))
    return list(ids)


def check_rows(rows: list[dict[str, Any]]) -> None:
    """Every row is there once, with its own values."""
    ids = np.array([int(row["id"]) for row in rows])
    np.testing.assert_array_equal(np.stack([row["pixels"] for row in rows]), pixels(ids))
    assert sorted(ids) == list(range(ROWS))


@pytest.mark.parametrize("transport", ["shared", "tcp", "flight", "auto"])
def test_each_row_arrives_once_whatever_carries_it(cluster: LocalCluster, images: str, transport: str) -> None:
    ids = []
    for endpoint in endpoints(cluster, images):
        stream = choice.open_stream(endpoint, images, transport)
        own = [number for batch in stream for number in check(batch)]
        assert stream.result is not None
        assert stream.result.rows == len(own)
        ids += own
    assert sorted(ids) == list(range(ROWS))


def test_batches_lie_in_bounded_memory_that_the_node_wrote(cluster: LocalCluster, images: str) -> None:
    for batch in choice.open_stream(endpoints(cluster, images)[0], images):
        check(batch)
        address = batch["id"].buffers()[1].address
        assert address % 64 == 0
        places = [place.split("-") for line in mapped(os.getpid()) if "-" in (place := line.split()[0])]
        assert any(int(start, 16) <= address < int(end, 16) for start, end in places)
        # While batches are only looked at.
        assert len(places) <= batches.SEGMENTS
        del batch


@pytest.mark.full
def test_rows_of_a_dataset_are_right_however_many_are_kept_or_cached(cluster: LocalCluster, images: str) -> None:
    dataset = tfi.dataset(images, options=tfi.ReadOptions(address=cluster.address, batch_bytes=BATCH))
    check_rows(list(dataset))
    # Whole batches are tensors over the segments themselves.
    whole = list(dataset.batch(100))
    check_rows([row for batch in whole for row in tf.data.Dataset.from_tensor_slices(batch).as_numpy_iterator()])
    cached = dataset.prefetch(100).cache()
    for _ in range(2):
        check_rows(list(cached.as_numpy_iterator()))


@pytest.mark.full
def test_rows_larger_than_a_segment_get_larger_ones(cluster: LocalCluster) -> None:
    sizes = [10, 3_000_000, 70_000, 5_000_000, 1]
    values = [bytes([number]) * size for number, size in enumerate(sizes)]
    tfi.load("shared-large", {"x": np.array(values, object)}, partitions=1, address=cluster.address)
    (endpoint,) = endpoints(cluster, "shared-large")
    kept = [batch["x"].to_pylist() for batch in choice.open_stream(endpoint, "x", "shared")]
    assert sorted(value for batch in kept for value in batch) == sorted(values)


@pytest.mark.full
def test_every_batch_of_an_epoch_may_be_kept_and_no_descriptor_with_it(cluster: LocalCluster, images: str) -> None:
    kept = [
        batch
        for endpoint in endpoints(cluster, images)
        for batch in choice.open_stream(endpoint, images, keep=lambda _: True)
    ]
    assert sorted(number for batch in kept for number in check(batch)) == list(range(ROWS))
    segments.pool().clear()
    own = mapped(os.getpid())
    assert len(own) >= len(kept)
    assert not [place for place in own if place.startswith("/proc")]
    for node in cluster.nodes:
        await_unmapped(node.process.pid)


@pytest.mark.full
def test_a_stream_that_is_cancelled_or_dropped_ends_and_its_memory_is_free(cluster: LocalCluster, images: str) -> None:
    stream = choice.open_stream(endpoints(cluster, images)[0], images, "shared")
    iterator = iter(stream)
    check(next(iterator))
    assert any(mapped(node.process.pid) for node in cluster.nodes)
    stream.cancel()
    assert len(list(iterator)) <= batches.SEGMENTS
    for node in cluster.nodes:
        await_unmapped(node.process.pid)
    for row in tfi.dataset(images, options=tfi.ReadOptions(address=cluster.address, batch_bytes=BATCH)).take(3):
        assert row["pixels"].shape == [WIDTH]
    gc.collect()
    for node in cluster.nodes:
        await_unmapped(node.process.pid)


def test_an_error_of_the_node_arrives_as_itself(cluster: LocalCluster, images: str) -> None:
    endpoint = endpoints(cluster, images)[0]
    wrong = endpoint.modified(columns=["no such"])
    for transport in ("shared", "tcp", "flight", "auto"):
        with pytest.raises(errors.ColumnNotFoundError, match="no such"):
            list(choice.open_stream(wrong, images, transport))


@pytest.mark.full
@pytest.mark.parametrize("lacks", ["the same memory", "memfd"])
def test_where_memory_cannot_be_shared_the_network_takes_over(
    cluster: LocalCluster,
    images: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    lacks: str,
) -> None:
    if lacks == "memfd":
        monkeypatch.delattr(os, "memfd_create")
    else:
        # What a node on another machine with the same process number would see: memory without the nonce.
        monkeypatch.setattr(Segment, "write", lambda self, data: None)
    choice._logged.clear()
    endpoint = endpoints(cluster, images)[0]
    reason = "no memfd" if lacks == "memfd" else "belongs to another process"
    with pytest.raises(errors.SharingUnavailableError, match=reason):
        list(choice.open_stream(endpoint, images, "shared"))
    with caplog.at_level(logging.WARNING, "tensorflow_ignite"):
        for _ in range(2):
            assert [number for batch in choice.open_stream(endpoint, images) for number in check(batch)]
    assert len([record for record in caplog.records if "over the network" in record.message]) == 1


READER = """
import sys
from tensorflow_ignite.data.transport import choice, flight
from tensorflow_ignite.v1 import data_pb2
address, cache, batch = sys.argv[1:]
plan = flight.describe(address, data_pb2.ReadCommand(cache=cache, batch_bytes=int(batch)))
stream = iter(choice.open_stream(plan.endpoints[0], cache, "shared"))
first = next(stream)
print("reading", flush=True)
sys.stdin.read()
"""


def test_nothing_is_left_when_the_reader_is_killed(cluster: LocalCluster, images: str) -> None:
    command = [sys.executable, "-c", READER, cluster.address, images, str(BATCH)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        assert any(mapped(node.process.pid) for node in cluster.nodes)
        reader.send_signal(signal.SIGKILL)
        reader.wait(SECONDS)
    for node in cluster.nodes:
        await_unmapped(node.process.pid)


@pytest.mark.full
def test_the_reader_raises_when_the_node_is_killed(nodes: LocalCluster) -> None:
    ids = np.arange(ROWS)
    tfi.load("shared-killed", {"id": ids, "pixels": pixels(ids)}, if_exists="replace", address=nodes.address)
    victim = nodes.nodes[-1]
    (endpoint,) = [endpoint for endpoint in endpoints(nodes, "shared-killed") if endpoint.address == victim.address]
    stream = iter(choice.open_stream(endpoint, "shared-killed"))
    first = next(stream)
    nodes.kill_node(victim)
    with pytest.raises(errors.ConnectionFailedError, match="was not read to its end"):
        list(stream)
    # What has arrived is the reader's.
    check(first)
