"""Every type of Ignite, with values at its edges, in every place, as Arrow and as tensors."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyignite import Client, GenericObjectMeta
from pyignite import datatypes as ignite
from thin_client import thin_client
from thin_cluster import register_enum
from type_cases import CLOCKS, CONTAINERS, FIELDS, NUMBER, SINGLE, Case, at, hints, name_of, numbers, values

import tensorflow_ignite as tfi
from local_nodes import read_at
from tensorflow_ignite import errors
from tensorflow_ignite.testing import LocalCluster

tf = pytest.importorskip("tensorflow")

# Numbers of pyignite: a list, and a map that keeps its order.
COLLECTION, MAP = 1, 2


@pytest.fixture(scope="module")
def thin(cluster: LocalCluster) -> Iterator[Client]:
    """A foreign client, which puts rows that know nothing of us."""
    with thin_client(cluster.nodes[0].pid) as client:
        yield client


def row_type(name: str, **fields: Any) -> Any:
    return GenericObjectMeta(name, (), {}, schema=OrderedDict(fields))


def table_of(cluster: LocalCluster, cache: str, **arguments: Any) -> pa.Table:
    """A cache with its keys, in the order of these."""
    return tfi.read_table(cache, key=True, options=read_at(cluster), **arguments).sort_by("_key")


def rows_of(cluster: LocalCluster, cache: str, **arguments: Any) -> list[dict[str, Any]]:
    """The elements of a dataset, as numpy has them, in the order of the keys."""
    dataset = tfi.dataset(cache, key=True, options=read_at(cluster), **arguments)
    return sorted(dataset.as_numpy_iterator(), key=lambda row: row["_key"])


def listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: listed(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [listed(entry) for entry in value]
    if hasattr(value, "to_list"):
        return listed(value.to_list())
    # Lists of lists are an array of arrays.
    return listed(value.tolist()) if hasattr(value, "tolist") else value


@pytest.mark.parametrize("case", SINGLE, ids=name_of)
def test_a_type_is_key_and_value_without_an_object(cluster: LocalCluster, thin: Client, case: Case) -> None:
    cache = thin.create_cache(f"single_{name_of(case)}")
    for number, value in enumerate(case.put):
        cache.put(value if case.is_key else number, value, case.hint if case.is_key else None, case.hint)
    table = tfi.read_table(cache.name, key=case.is_key, options=read_at(cluster))
    for column in table.column_names:
        assert table.schema.field(column).type == case.arrow
        assert (table.schema.field(column).metadata or {}).get(b"tensorflow-ignite.type", b"").decode() == (
            case.mark or ""
        )
        assert sorted(numbers(table[column])) == sorted(case.shown)
    dataset = tfi.dataset(cache.name, key=case.is_key, options=read_at(cluster))
    assert dataset.element_spec["value"] == tf.TensorSpec([], case.dtype)
    rows = list(dataset.as_numpy_iterator())
    for name in dataset.element_spec:
        assert sorted(listed(row[name]) for row in rows) == sorted(case.tensor)


def test_types_are_fields_and_fields_of_fields_and_elements_of_arrays(cluster: LocalCluster, thin: Client) -> None:
    cases = [*FIELDS, *CONTAINERS]
    leaf = row_type("TypesLeaf", **hints(cases))
    middle = row_type("TypesMiddle", leaf=ignite.BinaryObject)
    whole = row_type("TypesWhole", **hints(cases), middle=ignite.BinaryObject)
    cache = thin.create_cache("fields")
    for number in range(3):
        fields = values(cases, number)
        cache.put(number, whole(**fields, middle=middle(leaf=leaf(**fields))))
    table = table_of(cluster, cache.name)
    rows = rows_of(cluster, cache.name)
    nested = table["middle"].combine_chunks().field("leaf")
    for case in cases:
        name = name_of(case)
        for column in (table[name], pa.chunked_array([nested.field(name)])):
            assert case not in SINGLE or column.type == case.arrow, name
            assert numbers(column) == [at(case.shown, number) for number in range(3)], name
        for found in ([row[name] for row in rows], [row["middle"]["leaf"][name] for row in rows]):
            assert [listed(value) for value in found] == [at(case.tensor, number) for number in range(3)], name


def test_objects_in_collections_and_maps_are_lists_of_their_fields(cluster: LocalCluster, thin: Client) -> None:
    item = row_type("TypesItem", a=ignite.IntObject, words=ignite.StringArrayObject)
    whole = row_type("TypesContainers", items=ignite.CollectionObject, table=ignite.MapObject)
    cache = thin.create_cache("containers")
    one, two = item(a=1, words=["x", "y"]), item(a=2, words=[])
    cache.put(0, whole(items=(COLLECTION, [one, two]), table=(MAP, {7: one})))
    cache.put(1, whole(items=(COLLECTION, []), table=(MAP, {})))
    table = table_of(cluster, cache.name)
    first, second = {"a": 1, "words": ["x", "y"]}, {"a": 2, "words": []}
    assert table["items"].to_pylist() == [[first, second], []]
    assert table["table"].to_pylist() == [[(7, first)], []]
    rows = [listed(row) for row in rows_of(cluster, cache.name)]
    assert rows[0]["items"] == {"a": [1, 2], "words": [[b"x", b"y"], []]}
    assert rows[0]["table"] == {"keys": [7], "values": {"a": [1], "words": [[b"x", b"y"]]}}
    assert rows[1]["items"] == {"a": [], "words": []}


def test_null_is_an_error_a_default_or_a_mask_wherever_it_is(cluster: LocalCluster, thin: Client) -> None:
    leaf = row_type("NullsLeaf", **hints(SINGLE))
    whole = row_type(
        "NullsWhole",
        **hints(SINGLE),
        leaf=ignite.BinaryObject,
        words=ignite.StringArrayObject,
        mapped=ignite.MapObject,
    )
    cache = thin.create_cache("nulls")
    full = values(SINGLE, 0)
    none: dict[str, Any] = dict.fromkeys(full)
    cache.put(0, whole(**full, leaf=leaf(**full), words=["a", None], mapped=(MAP, {"k": 1, "l": None})))
    cache.put(1, whole(**none, leaf=leaf(**none), words=None, mapped=None))
    cache.put(2, whole(**none, leaf=None, words=[], mapped=(MAP, {})))
    table = table_of(cluster, cache.name)
    assert table["words"].to_pylist() == [["a", None], None, []]
    assert table["mapped"].to_pylist() == [[("k", 1), ("l", None)], None, []]
    assert [value is None for value in table["leaf"].to_pylist()] == [False, False, True]
    for case in SINGLE:
        assert numbers(table[name_of(case)]) == [case.shown[0], None, None], case.java
    masked = rows_of(cluster, cache.name, nulls="mask")
    filled = rows_of(cluster, cache.name, nulls="default")
    for case in SINGLE:
        name = name_of(case)
        for rows in (masked, filled):
            for each in (rows, [row["leaf"] for row in rows]):
                found = [listed(row[name]) for row in each]
                assert found == [case.tensor[0], case.default, case.default], case.java
        for each in (masked, [row["leaf"] for row in masked]):
            assert [bool(row[f"{name}_mask"]) for row in each] == [True, False, False]
    assert [listed(row["words"]) for row in masked] == [[b"a", b""], [], []]
    assert [listed(row["words_mask"]) for row in masked] == [[True, False], [], []]
    assert [listed(row["mapped"])["values_mask"] for row in masked] == [[True, False], [], []]
    with pytest.raises(tf.errors.OpError, match=r"key [012]"):
        rows_of(cluster, cache.name)


def test_bytes_are_raw_or_tensors_of_a_shape(cluster: LocalCluster, thin: Client) -> None:
    image = row_type("TypesImage", pixels=ignite.ByteArrayObject)
    cache = thin.create_cache("images_of_bytes")
    for number in range(5):
        cache.put(number, image(pixels=bytes([number, 255, 128, 127, 0, 1])))
    raw = rows_of(cluster, cache.name)
    assert [row["pixels"] for row in raw] == [bytes([number, 255, 128, 127, 0, 1]) for number in range(5)]
    assert [row["pixels"] for row in rows_of(cluster, cache.name, schema={"pixels": tf.string})] == [
        row["pixels"] for row in raw
    ]
    for schema in (
        {"pixels": tf.TensorSpec([2, 3], tf.uint8)},
        {"pixels": np.dtype((np.uint8, (2, 3)))},
        pa.schema([pa.field("pixels", pa.list_(pa.uint8(), 6), metadata={"tensorflow_ignite.shape": "[2, 3]"})]),
    ):
        dataset = tfi.dataset(cache.name, schema=schema, options=read_at(cluster))
        assert dataset.element_spec["pixels"] == tf.TensorSpec([2, 3], tf.uint8)
        rows = sorted(dataset.as_numpy_iterator(), key=lambda row: row["pixels"][0, 0])
        assert [listed(row["pixels"]) for row in rows] == [[[number, 255, 128], [127, 0, 1]] for number in range(5)]
    with pytest.raises((errors.RowMismatchError, tf.errors.OpError), match="pixels"):
        list(tfi.dataset(cache.name, schema={"pixels": tf.TensorSpec([7], tf.uint8)}, options=read_at(cluster)))


def test_a_schema_widens_and_names_what_cannot_be(cluster: LocalCluster, thin: Client) -> None:
    kind = row_type("TypesWider", n=ignite.ByteObject, price=ignite.DecimalObject, pair=ignite.IntArrayObject)
    cache = thin.create_cache("wider")
    cache.put(0, kind(n=-128, price=Decimal("12.50"), pair=[1, 2]))
    schema = {"n": tf.int64, "price": tf.string, "pair": tf.TensorSpec([2], tf.int64)}
    (row,) = rows_of(cluster, cache.name, schema=schema)
    assert (row["n"].dtype, int(row["n"])) == (np.int64, -128)
    assert row["price"] == b"12.5"
    assert (row["pair"].dtype, row["pair"].tolist()) == (np.int64, [1, 2])
    (row,) = rows_of(cluster, cache.name, schema={"price": pa.decimal128(10, 4)})
    assert float(row["price"]) == 12.5
    table = tfi.read_table(cache.name, schema={"price": pa.decimal128(10, 4)}, options=read_at(cluster))
    assert table["price"].to_pylist() == [Decimal("12.5000")]
    with pytest.raises(errors.ColumnNotFoundError, match="missing"):
        tfi.read_table(cache.name, schema={"missing": pa.int8()}, options=read_at(cluster))
    with pytest.raises(errors.UnsupportedTypeError, match="price"):
        tfi.read_table(cache.name, schema={"price": pa.bool_()}, options=read_at(cluster))


def test_several_types_of_objects_and_types_that_grew_are_read_by_name(cluster: LocalCluster, thin: Client) -> None:
    first = row_type("TypesFirst", a=ignite.IntObject, b=ignite.String)
    grown = row_type("TypesFirst", a=ignite.IntObject, c=ignite.DoubleObject)
    other = row_type("TypesOther", d=ignite.LongObject, a=ignite.IntObject)
    cache = thin.create_cache("grown")
    cache.put(0, first(a=0, b="x"))
    cache.put(1, grown(a=1, c=0.5))
    cache.put(2, other(d=7, a=2))
    table = table_of(cluster, cache.name)
    assert table["a"].to_pylist() == [0, 1, 2]
    assert table["b"].to_pylist() == ["x", None, None]
    assert table["c"].to_pylist() == [None, 0.5, None]
    assert table["d"].to_pylist() == [None, None, 7]
    assert [int(row["a"]) for row in rows_of(cluster, cache.name, columns=["a"])] == [0, 1, 2]
    filled = rows_of(cluster, cache.name, nulls="default")
    assert [int(row["d"]) for row in filled] == [0, 0, 7]


def test_a_dataset_keeps_its_columns_when_types_grow(cluster: LocalCluster, thin: Client) -> None:
    cache = thin.create_cache("grows")
    cache.put(0, row_type("TypesGrows", a=ignite.IntObject)(a=0))
    dataset = tfi.dataset(cache.name, snapshot=False, options=read_at(cluster))
    assert list(dataset.as_numpy_iterator()) == [{"a": 0}]
    cache.put(1, row_type("TypesGrows", a=ignite.IntObject, b=ignite.IntObject)(a=1, b=2))
    assert sorted(row["a"] for row in dataset.as_numpy_iterator()) == [0, 1]
    assert set(tfi.dataset(cache.name, nulls="mask", options=read_at(cluster)).element_spec) >= {"a", "b"}


def test_an_enum_is_its_ordinal_and_its_names_are_metadata(cluster: LocalCluster, thin: Client) -> None:
    names = ["RED", 'GR"EE\\N', "Bläu"]
    color = register_enum(thin, "TypesColor", names)
    painted = row_type("TypesPainted", color=ignite.BinaryEnumObject)
    cache = thin.create_cache("painted")
    for number in range(3):
        cache.put(number, painted(color=(color, number)))
    table = table_of(cluster, cache.name)
    assert (table["color"].type, table["color"].to_pylist()) == (pa.int32(), [0, 1, 2])
    assert table.schema.field("color").metadata[b"tensorflow-ignite.type"] == b"enum"
    assert json.loads(table.schema.field("color").metadata[b"tensorflow-ignite.enum"]) == names
    assert [int(row["color"]) for row in rows_of(cluster, cache.name)] == [0, 1, 2]
    named = table_of(cluster, cache.name, schema={"color": pa.string()})
    assert named["color"].to_pylist() == names
    assert [row["color"].decode() for row in rows_of(cluster, cache.name, schema={"color": tf.string})] == names


def test_enums_are_keys_and_elements_of_arrays(cluster: LocalCluster, thin: Client) -> None:
    color = register_enum(thin, "TypesShade", ["DARK", "LIGHT"])
    cache = thin.create_cache("shades")
    for number in range(2):
        shades = (color, [(color, number), (color, 1)])
        cache.put((color, number), shades, ignite.BinaryEnumObject, ignite.EnumArrayObject)
    table = table_of(cluster, cache.name)
    assert table["_key"].to_pylist() == [0, 1]
    assert table["value"].type.value_type == pa.int32()
    assert table["value"].to_pylist() == [[0, 1], [1, 1]]
    assert [listed(row["value"]) for row in rows_of(cluster, cache.name)] == [[0, 1], [1, 1]]


def test_objects_are_keys(cluster: LocalCluster, thin: Client) -> None:
    place = row_type("TypesPlace", x=ignite.IntObject, text=ignite.String)
    home = row_type("TypesHome", place=ignite.BinaryObject, floor=ignite.ShortObject)
    cache = thin.create_cache("homes")
    for number in range(5):
        cache.put(home(place=place(x=number, text=f"p{number}"), floor=-number), number, None, ignite.LongObject)
    expected = [{"place": {"x": number, "text": f"p{number}"}, "floor": -number} for number in range(5)]
    table = tfi.read_table(cache.name, key=True, options=read_at(cluster)).sort_by("value")
    assert table["_key"].to_pylist() == expected
    dataset = tfi.dataset(cache.name, key=True, options=read_at(cluster))
    rows = sorted(dataset.as_numpy_iterator(), key=lambda row: row["value"])
    assert [listed(row["_key"]["place"]["x"]) for row in rows] == list(range(5))
    assert [row["_key"]["place"]["text"] for row in rows] == [f"p{number}".encode() for number in range(5)]


def test_a_map_that_has_a_null_among_its_keys_does_not_fit(cluster: LocalCluster, thin: Client) -> None:
    mapped = row_type("TypesMapped", m=ignite.MapObject)
    cache = thin.create_cache("null_keys")
    cache.put(1, mapped(m=(MAP, {"k": 1, None: 2})))
    cache.put(2, mapped(m=(MAP, {"l": 3})))
    with pytest.raises(errors.RowMismatchError, match=r"key 1: column m.* is null"):
        tfi.read_table(cache.name, options=read_at(cluster))
    left = tfi.read_table(cache.name, on_mismatch="skip", options=read_at(cluster))
    assert left["m"].to_pylist() == [[("l", 3)]]
    assert len(rows_of(cluster, cache.name, on_mismatch="skip")) == 1
    filled = rows_of(cluster, cache.name, nulls="default")
    assert listed(filled[0]["m"]) == {"keys": [b"k", b""], "values": [1, 2]}


def test_columns_of_sql_have_the_types_that_sql_says(cluster: LocalCluster, thin: Client) -> None:
    thin.sql(
        "CREATE TABLE types_sold (id INT PRIMARY KEY, price DECIMAL(10, 2), day DATE, at TIME, moment TIMESTAMP, "
        'code UUID, raw BINARY, small TINYINT, flag BOOLEAN) WITH "CACHE_NAME=types_sold"'
    )
    thin.sql(
        "INSERT INTO types_sold VALUES (1, 12.5, DATE '1969-12-31', TIME '23:59:59', TIMESTAMP '2021-02-03 04:05:06', "
        f"'{NUMBER}', x'00ff', -128, TRUE), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    table = tfi.read_table("types_sold", options=read_at(cluster)).sort_by("ID")
    assert {field.name: str(field.type) for field in table.schema} == {
        "ID": "int32", "PRICE": "decimal128(10, 2)", "DAY": "date32[day]", "AT": "time32[ms]",
        "MOMENT": "timestamp[ns, tz=UTC]", "CODE": "string", "RAW": "binary", "SMALL": "int8", "FLAG": "bool",
    }  # fmt: skip
    assert table["PRICE"].to_pylist() == [Decimal("12.50"), None]
    assert numbers(table["DAY"]) == [-1, None]
    assert numbers(table["AT"]) == [86_399_000, None]
    dataset = tfi.dataset("types_sold", nulls="mask", options=read_at(cluster))
    row = min(dataset.as_numpy_iterator(), key=lambda row: row["ID"])
    assert (float(row["PRICE"]), int(row["DAY"]), int(row["AT"])) == (12.5, -1, 86_399_000)
    assert (row["CODE"], row["RAW"], int(row["SMALL"])) == (str(NUMBER).encode(), b"\x00\xff", -128)


@pytest.mark.full
def test_rows_are_appended_to_every_column_that_sql_has_created(cluster: LocalCluster, thin: Client) -> None:
    thin.sql(
        "CREATE TABLE Appended (id INT PRIMARY KEY, name VARCHAR NOT NULL, price DECIMAL(5,2), day DATE, "
        "moment TIMESTAMP, clock TIME, code UUID, raw BINARY, x REAL, big BIGINT, flag BOOLEAN) "
        'WITH "CACHE_NAME=sql_appended,VALUE_TYPE=SqlAppended"'
    )
    rows = pa.table(
        {
            "ID": pa.array([1, 2], pa.int32()),
            "NAME": ["a", "b"],
            "PRICE": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
            "DAY": pa.array([-1, None], pa.date32()),
            "MOMENT": pa.array([1, None], pa.timestamp("ns", "UTC")),
            "CLOCK": pa.array([5, None], pa.time32("ms")),
            "CODE": pa.array([NUMBER.bytes, None], pa.uuid()),
            "RAW": [b"x", None],
            "X": pa.array([0.5, None], pa.float32()),
            "BIG": [5, None],
            "FLAG": [True, None],
        }
    )
    appending: Any = {"key": "ID", "if_exists": "append", "address": cluster.address}
    assert tfi.load("sql_appended", rows, **appending) == 2
    found = table_of(cluster, "sql_appended")
    for name in rows.column_names:
        expected = [str(NUMBER), None] if name == "CODE" else numbers(rows[name])
        assert numbers(found[name]) == expected, name
    assert list(thin.sql("SELECT CAST(day AS VARCHAR), price FROM Appended WHERE id = 1")) == [
        ["1969-12-31", Decimal("1.50")]
    ]
    # What the table's own columns do not allow.
    for name, column in {"NAME": pa.nulls(2, pa.string()), "DAY": pa.array([{"x": 1}, None])}.items():
        wrong = rows.set_column(rows.column_names.index(name), name, column)
        with pytest.raises(errors.TensorFlowIgniteError, match=f"(?i){name}"):
            tfi.load("sql_appended", wrong, **appending)


def test_rows_that_were_loaded_come_back_as_they_were(cluster: LocalCluster) -> None:
    table = pa.table(
        {
            "id": pa.array([0, 1, 2], pa.int64()),
            "text": pa.array(["", "x\0y", "ä😀"]),
            "unsigned": pa.array([0, 1, 255], pa.uint8()),
            "words": pa.array([["a"], [], ["b", "c"]]),
            "matrix": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(18, dtype=np.float32)), 6),
            "moment": pa.array([0, -1, 2**40], pa.timestamp("ms", "UTC")),
            "precise": pa.array([7, -1, 2**63 - 1], pa.timestamp("ns", "UTC")),
            "day": pa.array([0, -1, 20_000], pa.date32()),
            "clock": pa.array(CLOCKS, pa.time32("ms")),
            "price": pa.array([Decimal("1.50"), Decimal("-0.01"), Decimal("99999999.99")], pa.decimal128(10, 2)),
            "point": pa.array(
                [{"x": 1.5, "at": {"y": [1, 2]}}, {"x": -0.5, "at": {"y": []}}, {"x": 0, "at": {"y": [3]}}]
            ),
            "tags": pa.array([[("a", 1)], [], [("b", 2), ("c", 3)]], pa.map_(pa.string(), pa.int64())),
            "grid": pa.array([[[1, 2], []], [], [[3]]], pa.list_(pa.list_(pa.int32()))),
            "people": pa.array(
                [[{"name": "a", "ages": [1]}], [], [{"name": "b", "ages": []}, {"name": "c", "ages": [2, 3]}]]
            ),
            "by_name": pa.array(
                [[("a", {"n": [[1]]})], [], [("b", {"n": []})]],
                pa.map_(pa.string(), pa.struct([("n", pa.list_(pa.list_(pa.int8())))])),
            ),
            "raws": pa.array([[b"\x00\xff"], [], [b"", b"x"]], pa.list_(pa.binary())),
            "flags": pa.array([[True, False], [], [True]]),
        }
    )
    tfi.load("loaded_types", table, key="id", address=cluster.address, partitions=16)
    found = table_of(cluster, "loaded_types")
    for name in table.column_names[1:]:
        assert numbers(found[name]) == numbers(table[name]), name
    row = rows_of(cluster, "loaded_types")[2]
    assert (int(row["unsigned"]), listed(row["words"]), row["matrix"].shape) == (255, [b"b", b"c"], (6,))
    assert (int(row["precise"]), int(row["day"]), float(row["price"])) == (2**63 - 1, 20_000, 99999999.99)
    assert listed(row["tags"]) == {"keys": [b"b", b"c"], "values": [2, 3]}
    assert listed(row["people"]) == {"name": [b"b", b"c"], "ages": [[], [2, 3]]}
    assert listed(row["grid"]) == [[3]]
    assert listed(row["point"]) == {"x": 0.0, "at": {"y": [3]}}


def test_nulls_that_were_loaded_come_back(cluster: LocalCluster) -> None:
    table = pa.table(
        {
            "text": pa.array(["a", None, ""]),
            "words": pa.array([["a", None], None, []]),
            "numbers": pa.array([[1], None, []]),
            "point": pa.array([{"x": 1, "y": None}, None, {"x": None, "y": "b"}]),
            "tags": pa.array([[("a", None)], None, []], pa.map_(pa.string(), pa.int64())),
        }
    )
    tfi.load("loaded_nulls", table, address=cluster.address, partitions=16)
    found = table_of(cluster, "loaded_nulls")
    for name in table.column_names:
        assert found[name].to_pylist() == table[name].to_pylist(), name
    with pytest.raises(errors.RowMismatchError, match=r"row 1 .*numbers\[1\] is null"):
        tfi.load("holes_in_numbers", {"numbers": pa.array([[1], [1, None]])}, address=cluster.address)


def test_an_empty_cache_has_no_rows_and_an_unknown_one_is_an_error(cluster: LocalCluster, thin: Client) -> None:
    tfi.load("few_rows", {"x": np.arange(2)}, partitions=64, address=cluster.address)
    assert sorted(tfi.read_table("few_rows", options=read_at(cluster))["x"].to_pylist()) == [
        0,
        1,
    ]
    empty = [
        part
        for part in range(64)
        if not tfi.read_table("few_rows", partitions=[part], options=read_at(cluster)).num_rows
    ]
    assert len(empty) in (62, 63)
    assert list(tfi.dataset("few_rows", partitions=empty[:3], options=read_at(cluster))) == []
    # Two of the three nodes have nothing of this one.
    tfi.load("one_home", {"x": np.arange(9)}, partitions=1, address=cluster.address)
    assert sorted(tfi.read_table("one_home", options=read_at(cluster))["x"].to_pylist()) == list(range(9))
    assert sorted(int(row["x"]) for row in tfi.dataset("one_home", options=read_at(cluster))) == list(range(9))
    tfi.load("no_rows", {"x": np.zeros((0, 3), np.float32)}, address=cluster.address)
    assert tfi.read_table("no_rows", options=read_at(cluster)).schema.field("x").type == pa.list_(pa.float32(), 3)
    assert list(tfi.dataset("no_rows", options=read_at(cluster))) == []
    thin.create_cache("unknown")
    with pytest.raises(errors.SchemaUnknownError, match="unknown"):
        tfi.read_table("unknown", options=read_at(cluster))
    unknown = tfi.read_table("unknown", schema={"x": pa.int8()}, options=read_at(cluster))
    assert (unknown.num_rows, unknown.column_names) == (0, ["x"])
