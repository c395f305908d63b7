"""Tables that change while they are in use, and columns as SQL and applications have them."""

from __future__ import annotations

import datetime
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyignite import Client, GenericObjectMeta
from pyignite.datatypes import IntObject, String
from thin_client import thin_client, thin_port
from waiting import await_true

import tensorflow_ignite as tfi
from local_nodes import read_at
from tensorflow_ignite import errors
from tensorflow_ignite.testing import LocalCluster

PARTITIONS = 8


@pytest.fixture
def sql(cluster: LocalCluster) -> Iterator[Client]:
    """Ignite's own client, which changes tables."""
    with thin_client(cluster.nodes[0].pid) as client:
        yield client


def rows(cache: str, cluster: LocalCluster, **options: Any) -> list[dict[str, Any]]:
    """The rows, sorted by their first column."""
    table = tfi.read_table(cache, options=read_at(cluster), **options)
    return sorted(table.to_pylist(), key=lambda row: str(next(iter(row.values()))))


def test_columns_are_those_that_sql_has_now(cluster: LocalCluster, sql: Client) -> None:
    sql.sql('CREATE TABLE Ship (id INT PRIMARY KEY, name VARCHAR, speed INT) WITH "CACHE_NAME=ships,VALUE_TYPE=Ship"')
    sql.sql("INSERT INTO Ship (id, name, speed) VALUES (1, 'Beagle', 9), (2, 'Fram', 7)")
    sql.sql("ALTER TABLE Ship ADD COLUMN masts INT")
    assert rows("ships", cluster, columns=["NAME", "MASTS"]) == [
        {"NAME": "Beagle", "MASTS": None},
        {"NAME": "Fram", "MASTS": None},
    ]
    with pytest.raises(errors.RowMismatchError, match=r"MASTS.*null"):
        list(tfi.batches("ships", batch_size=2, columns=["MASTS"], options=read_at(cluster)))
    sql.sql("UPDATE Ship SET masts = 3 WHERE id = 1")
    assert rows("ships", cluster, columns=["NAME", "MASTS"], where="masts > ?", parameters=[2]) == [
        {"NAME": "Beagle", "MASTS": 3}
    ]
    sql.sql("ALTER TABLE Ship DROP COLUMN speed")
    # Another node may have the removed column a moment longer than the node that removed it.
    await_true(lambda: sorted(rows("ships", cluster)[0]) == ["ID", "MASTS", "NAME"], "a node has the removed column")
    sql.sql("ALTER TABLE Ship ADD COLUMN speed INT")
    speeds = sorted(row[0] for row in sql.sql("SELECT speed FROM Ship"))
    assert sorted(row["SPEED"] for row in rows("ships", cluster, columns=["SPEED"])) == speeds


@pytest.mark.full
def test_a_loaded_cache_keeps_the_types_of_its_other_columns_when_sql_changes_one(
    cluster: LocalCluster, sql: Client
) -> None:
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    tfi.load(
        "altered",
        {"id": [1, 2], "image": images, "note": ["a", "b"]},
        key="id",
        partitions=PARTITIONS,
        address=cluster.address,
    )
    [[schema, table]] = sql.sql("SELECT SCHEMA_NAME, TABLE_NAME FROM SYS.TABLES WHERE CACHE_NAME = 'altered'")
    sql.sql(f'ALTER TABLE "{schema}"."{table}" ADD COLUMN weight DOUBLE')
    sql.sql(f'ALTER TABLE "{schema}"."{table}" DROP COLUMN note')
    sql.sql(f'UPDATE "{schema}"."{table}" SET weight = 1.5 WHERE id = 2')
    table = tfi.read_table("altered", key=True, options=read_at(cluster)).sort_by("_key")
    assert table.column_names == ["_key", "image", "WEIGHT"]
    assert table.schema.field("image").type == pa.list_(pa.uint8(), 12)
    assert table["WEIGHT"].to_pylist() == [None, 1.5]
    # A client that appends need not know the column that SQL has added.
    more = {"id": [3], "image": images[:1]}
    tfi.load("altered", more, key="id", if_exists="append", address=cluster.address)
    assert rows("altered", cluster, columns=["WEIGHT"], where="id = 3") == [{"WEIGHT": None}]
    [batch] = tfi.batches("altered", where="id < 3", batch_size=2, columns=["image"], options=read_at(cluster))
    assert batch["image"].shape == (2, 3, 4)


class Who(metaclass=GenericObjectMeta, type_name="WhoOfTexts", schema=OrderedDict(first=String, last=String)):
    """A key of two fields."""


class Unregistered(metaclass=GenericObjectMeta, type_name="NobodyRegistersThis", schema=OrderedDict(first=String)):
    """A key whose type pyignite does not register, since it computes the owner of the key first."""


class Staff(metaclass=GenericObjectMeta, type_name="StaffOfPut", schema=OrderedDict(ID=String, PAY=IntObject)):
    """A value that has the field of the key, too."""


@pytest.mark.full
def test_keys_that_are_objects_and_values_that_are_plain_are_read(cluster: LocalCluster, sql: Client) -> None:
    cache = sql.get_or_create_cache("texts_of_people")
    for first, last, text in (("Ada", "L", "one"), ("Alan", "T", "two")):
        cache.put(Who(first=first, last=last), text)
    assert rows("texts_of_people", cluster, key=True) == [
        {"_key": {"first": "Ada", "last": "L"}, "value": "one"},
        {"_key": {"first": "Alan", "last": "T"}, "value": "two"},
    ]
    sql.sql('CREATE TABLE Staff (id VARCHAR PRIMARY KEY, pay INT) WITH "CACHE_NAME=staff,VALUE_TYPE=StaffOfPut"')
    sql.sql("INSERT INTO Staff (id, pay) VALUES ('1', 10)")
    sql.get_cache("staff").put("2", Staff(ID="2", PAY=20))
    sql.get_cache("staff").put("3", Staff(ID="other", PAY=30))
    expected = [{"ID": number, "PAY": pay} for number, pay in (("1", 10), ("2", 20), ("3", 30))]
    for how in ({}, {"where": "pay > 0"}, {"sql": "SELECT ID, PAY FROM Staff"}):
        assert rows("staff", cluster, **how) == expected


@pytest.mark.full
def test_an_object_whose_type_nobody_has_registered_is_an_error_only_where_it_is_read(cluster: LocalCluster) -> None:
    client = Client(partition_aware=True)
    with client.connect("127.0.0.1", thin_port(cluster.nodes[0].pid)):
        cache = client.get_or_create_cache("unregistered_keys")
        cache.put(Unregistered(first="Ada"), "one")
    assert rows("unregistered_keys", cluster) == [{"value": "one"}]
    with pytest.raises(errors.UnsupportedTypeError, match=r"_key is an object whose fields no node knows.*register"):
        rows("unregistered_keys", cluster, key=True)


@pytest.mark.full
def test_names_in_quotes_are_those_of_the_columns_and_may_be_words_of_sql(cluster: LocalCluster) -> None:
    names = ["day", "order", "group", "key", "value", "Mixed Case"]
    columns = {name: [number, number + 10] for number, name in enumerate(names)}
    tfi.load("words", columns, partitions=PARTITIONS, address=cluster.address)
    for number, name in enumerate(names):
        assert rows("words", cluster, columns=[name], where=f'"{name}" >= ?', parameters=[10]) == [{name: number + 10}]
        selected = f'SELECT "{name}" FROM words WHERE "{name}" < 10'
        assert rows("words", cluster, sql=selected) == [{name: number}]
    assert rows("words", cluster, columns=["day"], where="DAY >= 10") == [{"day": 10}]
    with pytest.raises(errors.SqlInvalidError, match='Column "none" not found'):
        rows("words", cluster, where='"none" = 1')


@pytest.mark.full
def test_days_are_exact_or_refused(cluster: LocalCluster) -> None:
    days = [
        datetime.date(1, 1, 1),
        datetime.date(1582, 10, 4),
        datetime.date(1582, 10, 15),
        datetime.date(9999, 12, 31),
    ]
    tfi.load("days", {"day": days}, partitions=PARTITIONS, address=cluster.address)
    assert sorted(tfi.read_table("days", options=read_at(cluster))["day"].to_pylist()) == days
    with pytest.raises(errors.RowMismatchError, match="1582-10-10, a day that Java's calendar does not have"):
        tfi.load("no_day", {"day": [datetime.date(1582, 10, 10)]}, address=cluster.address)


@pytest.mark.full
def test_nodes_of_several_time_zones_refuse_days_and_compare_instants_with_instants_only() -> None:
    noon = datetime.datetime(2020, 7, 2, 12)
    zones = r"time zones: .*(Sao_Paulo.*Tokyo|Tokyo.*Sao_Paulo)"
    with LocalCluster(nodes=1, jvm_args=["-Duser.timezone=America/Sao_Paulo"]) as cluster:
        columns = {"id": [1, 2], "day": [datetime.date(2026, 1, 1)] * 2}
        tfi.load("zoned", columns, partitions=PARTITIONS, address=cluster.address)
        cluster.start_node(jvm_args=["-Duser.timezone=Asia/Tokyo"])
        cluster.await_settled()
        for options in ({}, {"where": "id = 1"}):
            with pytest.raises(errors.InvalidRequestError, match=zones):
                tfi.read_table("zoned", options=read_at(cluster), **options)
        with pytest.raises(errors.InvalidRequestError, match=zones):
            tfi.load("zoned_too", columns, address=cluster.address)
        assert sorted(tfi.read_table("zoned", columns=["id"], options=read_at(cluster))["id"].to_pylist()) == [1, 2]
        times = [noon + datetime.timedelta(minutes=minute) for minute in range(-600, 600)]
        tfi.load("instants", {"id": list(range(1200)), "t": times}, key="id", partitions=16, address=cluster.address)

        def select(where: str, *parameters: Any) -> int:
            table = tfi.read_table("instants", where=where, parameters=list(parameters), options=read_at(cluster))
            return len(table)

        assert select("t > ?", noon.replace(tzinfo=datetime.timezone.utc)) == 599
        assert select("id < ? AND t IS NOT NULL", 10) == 10
        for where, parameters in (
            ("t > ?", [noon]),
            ("t > '2020-07-02 12:00:00'", []),
            ("HOUR(t) = 12", []),
            ("CAST(t AS DATE) = ?", ["2020-07-02"]),
        ):
            with pytest.raises(errors.InvalidRequestError, match=zones):
                select(where, *parameters)


@pytest.mark.full
def test_days_before_1582_are_those_of_sql_and_others_are_rows_that_do_not_fit(
    cluster: LocalCluster, sql: Client
) -> None:
    old = [datetime.datetime(1500, 3, 10, 12, 30), datetime.datetime(1582, 10, 15)]
    loaded = pa.table({"id": range(len(old)), "t": pa.array(old, pa.timestamp("us"))})
    tfi.load("old_times", loaded, key="id", partitions=PARTITIONS, address=cluster.address)
    table = tfi.read_table("old_times", options=read_at(cluster))
    assert sorted(time.replace(tzinfo=None) for time in table["t"].to_pylist()) == old
    days = tfi.read_table("old_times", sql="SELECT DAY_OF_MONTH(t) AS d FROM OldTimes", options=read_at(cluster))
    assert sorted(days["d"].to_pylist()) == [10, 15]

    sql.sql('CREATE TABLE Leap (id INT PRIMARY KEY, d DATE) WITH "CACHE_NAME=leap"')
    sql.sql("INSERT INTO Leap (id, d) VALUES (1, '1500-02-29'), (2, '1500-03-10')")
    with pytest.raises(errors.RowMismatchError, match=r"1500-02-29, a day that only the Julian calendar has"):
        tfi.read_table("leap", options=read_at(cluster))
    fitting = tfi.batches("leap", batch_size=2, on_mismatch="skip", options=read_at(cluster))
    assert sum(len(batch["D"]) for batch in fitting) == 1
