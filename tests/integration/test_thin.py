"""Promises to who has a cluster without our service: its caches can be read, slowly, by Ignite's thin port."""

from __future__ import annotations

import datetime
import decimal
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import thin_cluster
from jobs import LIMIT
from pyignite import GenericObjectMeta
from pyignite.datatypes import (
    BinaryEnumObject,
    BinaryObject,
    BoolObject,
    ByteArrayObject,
    ByteObject,
    CollectionObject,
    DoubleObject,
    IntArrayObject,
    IntObject,
    LongObject,
)
from thin_cluster import ThinNode
from type_cases import CONTAINERS, FIELDS, NUMBER, at, hints, name_of, numbers, values

from tensorflow_ignite import errors
from tensorflow_ignite.data.options import ReadOptions, RowArguments
from tensorflow_ignite.data.request import make_request
from tensorflow_ignite.data.transport import flight
from tensorflow_ignite.data.transport.thin import scan
from tensorflow_ignite.testing.ports import PortBlock
from tensorflow_ignite.v1 import data_pb2

pytestmark = pytest.mark.full

ROWS = 3000


@pytest.fixture(scope="module")
def ports() -> Iterator[PortBlock]:
    block = PortBlock()
    yield block
    block.release()


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory, ports: PortBlock) -> Iterator[list[ThinNode]]:
    folder = tmp_path_factory.mktemp("thin")
    started = [thin_cluster.start(folder, ports, number) for number in range(2)]
    try:
        for node in started:
            node.await_servers(2)
        yield started
    finally:
        for node in started:
            node.node.kill()


def described(nodes: list[ThinNode], cache: str, **arguments: Any) -> flight.Description:
    options = {name: arguments.pop(name) for name in ("local", "page_rows") if name in arguments}
    command = data_pb2.ReadCommand(cache=cache, **arguments)
    return scan.describe([node.address for node in nodes], command, **options)


def read(nodes: list[ThinNode], cache: str, **arguments: Any) -> pa.Table:
    found = described(nodes, cache, **arguments)
    streams = [scan.BatchStream(one, f"cache {cache!r}") for one in found.endpoints]
    batches = [batch for stream in streams for batch in stream]
    assert sum(result_of(stream).rows for stream in streams) == sum(batch.num_rows for batch in batches)
    return pa.Table.from_batches(batches, found.schema)


def result_of(stream: scan.BatchStream) -> data_pb2.ReadResult:
    assert stream.result is not None
    return stream.result


def row_type(name: str, **fields: type) -> Any:
    return GenericObjectMeta(name, (), {}, schema=OrderedDict(fields))


def test_each_row_arrives_once_whatever_the_cache_and_whichever_nodes_are_asked(nodes: list[ThinNode]) -> None:
    numbered = row_type("Numbered", id=IntObject)
    with nodes[0].client() as client:
        for name in ("plain", "backed", "everywhere"):
            cache = client.get_or_create_cache(name)
            cache.put_all({(number, LongObject): numbered(id=number) for number in range(ROWS)})
    for name in ("plain", "backed", "everywhere"):
        for asked in (nodes[:1], nodes):
            assert described(asked, name).rows == ROWS
            # Pages of 7 rows: partitions need more than one.
            table = read(asked, name, key=True, page_rows=7)
            assert sorted(table["id"].to_pylist()) == list(range(ROWS))
            assert table["_key"].to_pylist() == table["id"].to_pylist()
    chosen = read(nodes, "plain", partitions=[5, 3])
    assert 0 < chosen.num_rows < ROWS
    assert described(nodes, "plain", partitions=[5, 3]).rows == -1
    own = [read([node], "plain", local=True)["id"].to_pylist() for node in nodes]
    assert all(own)
    assert sorted(own[0] + own[1]) == list(range(ROWS))
    with pytest.raises(errors.InvalidRequestError, match="has no partition 70000"):
        described(nodes, "plain", partitions=[70000])


def test_a_snapshot_is_frozen_unless_it_must_be_refreshed(nodes: list[ThinNode]) -> None:
    with nodes[0].client() as client:
        client.get_or_create_cache("kept").put(1, 2)
    options = ReadOptions(transport="thin", address=nodes[0].address)
    request = make_request(RowArguments("kept", snapshot=True, options=options))
    assert request.snapshot == "frozen"
    with pytest.raises(errors.InvalidRequestError, match="needs our service"):
        make_request(RowArguments("kept", snapshot="refresh", options=options))


def test_keys_that_python_takes_for_equal_are_different_rows(nodes: list[ThinNode]) -> None:
    with nodes[0].client() as client:
        cache = client.create_cache("keys")
        for key, kind in [(1, ByteObject), (1, IntObject), (1, LongObject), (1.0, DoubleObject), (True, BoolObject)]:
            cache.put(key, "row", key_hint=kind)
        cache.put([1, 2], "row", key_hint=IntArrayObject)
    assert read(nodes, "keys")["value"].to_pylist() == ["row"] * 6
    with pytest.raises(errors.UnsupportedTypeError, match="'_key' has no one type"):
        read(nodes, "keys", key=True)


def test_each_type_arrives_as_it_was_stored_and_nulls_as_requested(nodes: list[ThinNode]) -> None:
    cases = [*FIELDS, *CONTAINERS]
    kind = row_type("Everything", **hints(cases))
    with nodes[0].client() as client:
        cache = client.create_cache("everything")
        for number in range(3):
            cache.put(number, kind(**values(cases, number)))
        cache.put(3, kind(**dict.fromkeys(hints(cases))))
    kept = read(nodes, "everything", key=True, nulls=data_pb2.NULLS_KEEP).sort_by("_key")
    defaults = read(nodes, "everything", key=True, nulls=data_pb2.NULLS_DEFAULT).sort_by("_key")
    for case in cases:
        name, nested = name_of(case), pa.types.is_nested(case.arrow)
        assert kept[name].type == case.arrow, name
        assert numbers(kept[name]) == [*(at(case.shown, number) for number in range(3)), None], name
        default = [] if nested else "" if pa.types.is_string(case.arrow) else b"" if name == "bytes" else 0
        assert numbers(defaults[name])[3] == ("0" if name == "decimal" else default), name
        metadata = {b"tensorflow-ignite.type": case.mark.encode()} if case.mark else {}
        assert (kept.schema.field(name).metadata or {}) == metadata, name
    with pytest.raises(errors.RowMismatchError, match=r"key 3 does not fit: .* is null"):
        read(nodes, "everything")
    found = described(nodes, "everything", on_mismatch=data_pb2.MISMATCH_SKIP)
    streams = [scan.BatchStream(endpoint, "everything") for endpoint in found.endpoints]
    assert sum(batch.num_rows for stream in streams for batch in stream) == 3
    assert sum(result_of(stream).skipped for stream in streams) == 1


def test_columns_of_sql_have_the_types_that_sql_says(nodes: list[ThinNode]) -> None:
    with nodes[0].client() as client:
        client.sql(
            "CREATE TABLE sold (id INT, shop VARCHAR, price DECIMAL(10, 2), day DATE, at TIME, moment TIMESTAMP, "
            'code UUID, nothing DECIMAL(9, 3), PRIMARY KEY (id, shop)) WITH "CACHE_NAME=sold,TEMPLATE=few"'
        )
        client.sql(
            "INSERT INTO sold VALUES (1, 'a', 12.5, DATE '2021-02-03', TIME '04:05:06', "
            f"TIMESTAMP '2021-02-03 04:05:06.789123', '{NUMBER}', NULL)"
        )
    table = read(nodes, "sold", nulls=data_pb2.NULLS_KEEP)
    local = datetime.datetime(2021, 2, 3, 4, 5, 6, 789123).astimezone(datetime.timezone.utc)
    assert {name: table[name].to_pylist()[0] for name in table.column_names if name != "MOMENT"} == {
        "ID": 1,
        "SHOP": "a",
        "PRICE": decimal.Decimal("12.50"),
        "DAY": datetime.date(2021, 2, 3),
        "AT": datetime.time(4, 5, 6),
        "CODE": str(NUMBER),
        "NOTHING": None,
    }
    assert numbers(table["MOMENT"]) == [int(local.timestamp()) * 10**9 + 789123000]
    assert table["PRICE"].type == pa.decimal128(10, 2)
    assert read(nodes, "sold", columns=["PRICE", "ID"]).column_names == ["PRICE", "ID"]
    with pytest.raises(errors.ColumnNotFoundError, match="no column 'price'; its columns are ID, SHOP"):
        described(nodes, "sold", columns=["price"])
    for asked in ({"where": "id > 0"}, {"sql": "SELECT id FROM sold"}):
        with pytest.raises(errors.SqlInvalidError, match="transport='thin'"):
            described(nodes, "sold", **asked)


def test_objects_enums_types_that_grew_and_several_types_are_read_by_field_name(nodes: list[ThinNode]) -> None:
    inner = row_type("Inner", a=IntObject, words=CollectionObject)
    outer = row_type("Outer", n=BinaryObject, many=CollectionObject)
    grown = row_type("Outer", n=BinaryObject, more=DoubleObject)
    other = row_type("Other", n=BinaryObject, id=LongObject, color=BinaryEnumObject)
    with nodes[0].client() as client:
        color = thin_cluster.register_enum(client, "Color", ["RED", "GREEN"])
        cache = client.create_cache("nested")
        first, second = inner(a=1, words=(1, ["x"])), inner(a=2, words=(1, []))
        cache.put(1, outer(n=first, many=(1, [first, second])))
        cache.put(2, grown(n=second, more=0.5))
        cache.put(3, other(n=first, id=7, color=(color, 1)))
    table = read(nodes, "nested", key=True, nulls=data_pb2.NULLS_KEEP).sort_by("_key")
    one, two = {"a": 1, "words": ["x"]}, {"a": 2, "words": []}
    assert table["n"].to_pylist() == [one, two, one]
    assert table["many"].to_pylist() == [[one, two], None, None]
    assert table["more"].to_pylist() == [None, 0.5, None]
    assert table["id"].to_pylist() == [None, None, 7]
    assert table["color"].to_pylist() == [None, None, 1]
    assert table.schema.field("color").metadata == {
        b"tensorflow-ignite.type": b"enum",
        b"tensorflow-ignite.enum": b'["RED", "GREEN"]',
    }


def test_a_requested_schema_overrides_the_schema_of_the_cluster(nodes: list[ThinNode]) -> None:
    pixels = row_type("Pixels", pixels=ByteArrayObject, label=IntObject)
    with nodes[0].client() as client:
        cache = client.create_cache("pixels")
        for number in range(20):
            cache.put(number, pixels(pixels=bytes([number, 255, 0, 1, 2, 3]), label=number))
        cache.put(99, pixels(pixels=b"short", label=99))
        client.create_cache("nothing")
    square = pa.list_(pa.list_(pa.uint8(), 3), 2)
    schema = pa.schema([pa.field("pixels", square), pa.field("label", pa.int64())]).serialize().to_pybytes()
    table = read(nodes, "pixels", schema=schema, on_mismatch=data_pb2.MISMATCH_SKIP).sort_by("label")
    assert table.schema.types[table.column_names.index("label")] == pa.int64()
    assert table["pixels"].to_pylist()[7] == [[7, 255, 0], [1, 2, 3]]
    assert table["label"].to_pylist() == list(range(20))
    with pytest.raises(errors.RowMismatchError, match="key 99 does not fit: pixels has 5 elements, not 6"):
        read(nodes, "pixels", schema=schema)
    misfit = pa.schema([pa.field("label", pa.utf8())]).serialize().to_pybytes()
    with pytest.raises(errors.UnsupportedTypeError, match=r"fits none of .* label is int"):
        described(nodes, "pixels", schema=misfit, on_mismatch=data_pb2.MISMATCH_SKIP)
    found = described(nodes, "nothing", schema=schema)
    assert (found.rows, found.schema.names) == (0, ["pixels", "label"])
    with pytest.raises(errors.SchemaUnknownError, match="schema="):
        described(nodes, "nothing")
    with pytest.raises(errors.CacheNotFoundError, match="no cache 'Pixels'"):
        described(nodes, "Pixels")


def test_a_server_that_is_not_ignite_is_named(nodes: list[ThinNode]) -> None:
    command = data_pb2.ReadCommand(cache="plain")
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        for port, error in [
            (silent.getsockname()[1], errors.RequestTimeoutError),
            (closed.getsockname()[1], errors.ConnectionFailedError),
        ]:
            with pytest.raises(error, match=f"127.0.0.1:{port}"):
                scan.describe([f"127.0.0.1:{port}"], command)
    with pytest.raises(errors.ConnectionFailedError, match=r"no\.such\.host\.invalid"):
        scan.describe(["no.such.host.invalid:10800"], command)
    with pytest.raises(errors.ConnectionFailedError):
        flight.describe(nodes[0].address, command)


def collect(stream: scan.BatchStream, first: threading.Event, going_on: threading.Event) -> Callable[[], Any]:
    """Reads in a thread, which waits after the first batch; what is returned waits for its end and gives the error."""
    ended: list[BaseException | None] = []

    def run() -> None:
        try:
            for _ in stream:
                first.set()
                going_on.wait(LIMIT)
            ended.append(None)
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def outcome() -> BaseException | None:
        thread.join(LIMIT)
        assert not thread.is_alive()
        return ended[0]

    return outcome


def large(node: ThinNode, name: str) -> None:
    with node.client() as client:
        cache = client.create_cache(name)
        # One message with all of them may take longer than the client waits.
        for begin in range(0, 300, 30):
            cache.put_all({(number, LongObject): bytes(100_000) for number in range(begin, begin + 30)})


def test_a_stream_that_is_cancelled_ends_at_once_without_an_error(nodes: list[ThinNode]) -> None:
    large(nodes[0], "cancelled")
    endpoint = described(nodes[:1], "cancelled", batch_bytes=1).endpoints[0]
    first, going_on = threading.Event(), threading.Event()
    stream = scan.BatchStream(endpoint, "cancelled")
    outcome = collect(stream, first, going_on)
    assert first.wait(LIMIT)
    # It returns while the one who reads still waits: it does not wait for them.
    stream.cancel()
    going_on.set()
    assert outcome() is None
    assert stream.result is None
    assert list(stream) == []


def test_a_node_that_dies_in_the_middle_is_an_error_that_names_it(tmp_path: Path, ports: PortBlock) -> None:
    own = PortBlock()
    node = thin_cluster.start(tmp_path, own, 0)
    try:
        node.await_servers(1)
        large(node, "cut")
        endpoint = described([node], "cut", batch_bytes=1).endpoints[0]
        first, going_on = threading.Event(), threading.Event()
        outcome = collect(scan.BatchStream(endpoint, "cache 'cut'"), first, going_on)
        assert first.wait(LIMIT)
        node.node.process.kill()
        node.node.process.wait(LIMIT)
        going_on.set()
        error = outcome()
        assert isinstance(error, errors.ConnectionFailedError)
        assert "cache 'cut' was not read to its end" in str(error)
        assert node.address in str(error)
    finally:
        node.node.kill()
        own.release()
