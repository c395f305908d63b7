"""Batches in memory that this process shares with real nodes: values, lifetimes, refusals, deaths."""

from __future__ import annotations

import gc
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from node_streams import BATCH, endpoints
from pyarrow import flight as arrow_flight
from waiting import SECONDS, await_true

tf = pytest.importorskip("tensorflow")

import tensorflow_ignite as tfi  # noqa: E402
from tensorflow_ignite import errors  # noqa: E402
from tensorflow_ignite.data.transport import batches, choice, flight, segments  # noqa: E402
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


def test_batches_lie_in_memory_that_the_node_wrote(cluster: LocalCluster, images: str) -> None:
    stream = iter(choice.open_stream(endpoints(cluster, images)[0], images))
    batch = next(stream)
    address = batch["id"].buffers()[1].address
    assert address % 64 == 0
    assert any(
        int(start, 16) <= address < int(end, 16)
        for line in mapped(os.getpid())
        if "-" in (place := line.split()[0])
        for start, end in [place.split("-")]
    )


def test_batches_that_are_kept_stay_as_they_were_while_the_reader_goes_on(cluster: LocalCluster, images: str) -> None:
    kept = [batch for endpoint in endpoints(cluster, images) for batch in choice.open_stream(endpoint, images)]
    assert len(kept) > 10 * batches.SEGMENTS
    assert sorted(number for batch in kept for number in check(batch)) == list(range(ROWS))


@pytest.mark.full
def test_a_list_of_a_datasets_rows_is_right_however_many_are_kept(cluster: LocalCluster, images: str) -> None:
    dataset = tfi.dataset(images, address=cluster.address, batch_bytes=BATCH)
    check_rows(list(dataset))
    # Whole batches are tensors over the segments themselves.
    whole = list(dataset.batch(100))
    check_rows([row for batch in whole for row in tf.data.Dataset.from_tensor_slices(batch).as_numpy_iterator()])


def arrays(owners: tuple[flight.Endpoint, ...], cache: str) -> Iterator[tuple[Any, Any]]:
    """Whole batches as arrays over their segments, read ahead by a thread."""
    ahead: queue.Queue[tuple[Any, Any] | None] = queue.Queue(2)

    def read() -> None:
        for owner in owners:
            for batch in choice.open_stream(owner, cache):
                ahead.put((batch["id"].to_numpy(), batch["pixels"].flatten().to_numpy().reshape(-1, WIDTH)))
                del batch
        ahead.put(None)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    yield from iter(ahead.get, None)


@pytest.mark.full
def test_tensors_over_whole_batches_may_be_kept(cluster: LocalCluster, images: str) -> None:
    owners = endpoints(cluster, images)
    signature = (tf.TensorSpec([None], tf.int64), tf.TensorSpec([None, WIDTH], tf.uint8))
    dataset = tf.data.Dataset.from_generator(lambda: arrays(owners, images), output_signature=signature)
    for form in (dataset, dataset.prefetch(100), dataset.cache(), dataset.prefetch(100).cache()):
        kept = list(form)
        ids = np.concatenate([ids.numpy() for ids, _ in kept])
        assert sorted(ids) == list(range(ROWS))
        np.testing.assert_array_equal(np.concatenate([values.numpy() for _, values in kept]), pixels(ids))
    cached = dataset.cache()
    for _ in range(2):
        assert sum(int(tf.shape(ids)[0]) for ids, _ in cached) == ROWS


@pytest.mark.full
def test_a_cached_dataset_gives_the_same_rows_again(cluster: LocalCluster, images: str) -> None:
    dataset = tfi.dataset(images, address=cluster.address, batch_bytes=BATCH).prefetch(100).cache()
    for _ in range(2):
        check_rows(list(dataset.as_numpy_iterator()))


@pytest.mark.full
def test_memory_is_bounded_while_batches_are_only_looked_at(cluster: LocalCluster, images: str) -> None:
    largest = 0
    for batch in choice.open_stream(endpoints(cluster, images)[0], images):
        check(batch)
        del batch
        largest = max(largest, sum("-" in line.split()[0] for line in mapped(os.getpid())))
    assert 0 < largest <= batches.SEGMENTS


@pytest.mark.full
def test_rows_larger_than_a_segment_get_larger_ones(cluster: LocalCluster) -> None:
    sizes = [10, 3_000_000, 70_000, 5_000_000, 1]
    values = [bytes([number]) * size for number, size in enumerate(sizes)]
    tfi.load("shared-large", {"x": np.array(values, object)}, partitions=1, address=cluster.address)
    (endpoint,) = endpoints(cluster, "shared-large")
    kept = [batch["x"].to_pylist() for batch in choice.open_stream(endpoint, "x", "shared")]
    assert sorted(value for batch in kept for value in batch) == sorted(values)


@pytest.mark.full
def test_batches_kept_for_good_have_memory_of_their_own_within_the_budget(cluster: LocalCluster, images: str) -> None:
    left = 10 * BATCH
    asked = []

    def keep(size: int) -> bool:
        nonlocal left
        asked.append(size)
        left -= size
        return left >= 0

    endpoint = endpoints(cluster, images)[0]
    kept = list(choice.open_stream(endpoint, images, keep=keep))
    assert len(kept) > len(asked) > 5
    assert min(asked[:-1]) >= BATCH
    for batch in kept:
        check(batch)
    addresses = [batch["id"].buffers()[1].address for batch in kept[: len(asked) - 1]]
    assert len(set(addresses)) == len(addresses)


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
def test_a_cancelled_stream_ends_at_once_and_the_node_lets_go(cluster: LocalCluster, images: str) -> None:
    stream = choice.open_stream(endpoints(cluster, images)[0], images, "shared")
    iterator = iter(stream)
    check(next(iterator))
    assert any(mapped(node.process.pid) for node in cluster.nodes)
    stream.cancel()
    assert len(list(iterator)) <= batches.SEGMENTS
    for node in cluster.nodes:
        await_unmapped(node.process.pid)


@pytest.mark.full
def test_an_iterator_that_is_dropped_in_the_middle_ends_its_stream(cluster: LocalCluster, images: str) -> None:
    for row in tfi.dataset(images, address=cluster.address, batch_bytes=BATCH).take(3):
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
def test_a_node_that_finds_other_memory_refuses_and_the_network_takes_over(
    cluster: LocalCluster, images: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # What a node on another machine with the same process number would see: memory without the nonce.
    monkeypatch.setattr(Segment, "write", lambda self, data: None)
    choice._logged.clear()
    endpoint = endpoints(cluster, images)[0]
    with pytest.raises(errors.SharingUnavailableError, match="belongs to another process"):
        list(choice.open_stream(endpoint, images, "shared"))
    with caplog.at_level(logging.WARNING, "tensorflow_ignite"):
        for _ in range(2):
            assert [number for batch in choice.open_stream(endpoint, images) for number in check(batch)]
    assert len([record for record in caplog.records if "over the network" in record.message]) == 1


@pytest.mark.full
def test_where_there_is_no_such_memory_the_network_takes_over(
    cluster: LocalCluster, images: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    endpoint = endpoints(cluster, images)[0]
    assert [number for batch in choice.open_stream(endpoint, images) for number in check(batch)]
    with pytest.raises(errors.SharingUnavailableError, match="no memfd"):
        list(choice.open_stream(endpoint, images, "shared"))


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


@pytest.mark.full
def test_any_flight_client_reads_a_cache(cluster: LocalCluster, images: str) -> None:
    tables = []
    with arrow_flight.connect(f"grpc://{cluster.address}") as client:
        info = client.get_flight_info(arrow_flight.FlightDescriptor.for_path(images))
        for endpoint in info.endpoints:
            with arrow_flight.connect(endpoint.locations[0]) as owner:
                tables.append(owner.do_get(endpoint.ticket).read_all())
    table = pa.concat_tables(tables)
    assert table.num_rows == info.total_records == ROWS
    assert sorted(number for batch in table.to_batches() for number in check(batch)) == list(range(ROWS))
