"""Everything that can be loaded, as record batches, and the options of a load."""

from __future__ import annotations

import datetime
import gzip
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data.epochs.tensor_schema import SHAPE_KEY, columns_of
from tensorflow_ignite.data.epochs.tensors import arrays_of
from tensorflow_ignite.data.loading import inputs
from tensorflow_ignite.data.loading.inputs import open_input
from tensorflow_ignite.data.loading.load import load

COLUMNS = {"id": list(range(5)), "name": list("abcde")}


def read(data: Any, schema: Any = None, batched: bool | None = None) -> pa.Table:
    opened = open_input(data, schema, batched=batched)
    table = pa.Table.from_batches(opened.batches, schema=opened.schema)
    assert opened.rows in (None, table.num_rows)
    return table


class Stream:
    def __arrow_c_stream__(self, requested: object = None) -> object:
        return pa.table(COLUMNS).__arrow_c_stream__(requested)


@pytest.mark.parametrize(
    "data",
    [
        COLUMNS,
        {"id": np.arange(5), "name": np.array(list("abcde"))},
        np.array(list(zip(range(5), "abcde", strict=True)), [("id", "i8"), ("name", "U1")]),
        pa.table(COLUMNS),
        pa.table({"id": COLUMNS["id"], "name": pa.array(COLUMNS["name"]).dictionary_encode()}),
        pa.table({"id": COLUMNS["id"], "name": pa.array(COLUMNS["name"], pa.large_string())}),
        pa.RecordBatch.from_pydict(COLUMNS),
        pa.dataset.dataset(pa.table(COLUMNS)),
        [pa.table(COLUMNS).slice(0, 2), {"name": ["c", "d"], "id": [2, 3]}, pa.table(COLUMNS).slice(4)],
        Stream(),
        pa.table(COLUMNS).to_reader(max_chunksize=2),
        ({"id": [i], "name": [name]} for i, name in enumerate("abcde")),
    ],
)
def test_every_kind_of_rows_in_memory_becomes_the_same_batches(data: Any) -> None:
    assert read(data).to_pydict() == COLUMNS


@pytest.mark.parametrize("kind", ["npz", "compressed.npz", "csv", "csv.gz", "parquet", "arrow", "feather"])
def test_every_kind_of_file_is_read_alone_in_folders_and_by_patterns(kind: str, tmp_path: Path) -> None:
    for number, rows in enumerate((slice(0, 3), slice(3, 5))):
        part = {name: values[rows] for name, values in COLUMNS.items()}
        path = tmp_path / f"{number}.{kind}"
        if kind == "npz":
            np.savez(path, **part)
        elif kind == "compressed.npz":
            np.savez_compressed(path, **part)
        elif kind.startswith("csv"):
            text = "id,name\n" + "".join(f"{i},{name}\n" for i, name in zip(*part.values(), strict=True))
            path.write_bytes(gzip.compress(text.encode()) if kind == "csv.gz" else text.encode())
        elif kind == "parquet":
            pa.parquet.write_table(pa.table(part), path)
        else:
            pa.feather.write_feather(pa.table(part), path)
    (tmp_path / "README").write_text("no rows")
    first = {name: values[:3] for name, values in COLUMNS.items()}
    assert read(str(tmp_path / f"0.{kind}")).to_pydict() == first
    assert read(tmp_path / f"0.{kind}").to_pydict() == first
    for several in (tmp_path, str(tmp_path / f"*.{kind}"), sorted(tmp_path.glob(f"*.{kind}"))):
        assert read(several).to_pydict() == COLUMNS


def test_folders_named_after_a_value_are_a_column(tmp_path: Path) -> None:
    for year in (2025, 2026):
        (tmp_path / f"year={year}").mkdir()
        pa.parquet.write_table(pa.table({"id": [year % 10]}), tmp_path / f"year={year}" / "rows.parquet")
    assert read(tmp_path).to_pydict() == {"id": [5, 6], "year": [2025, 2026]}


def test_shapes_are_kept_from_arrays_and_archives(tmp_path: Path) -> None:
    images = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    np.savez(tmp_path / "a.npz", image=images, by_column=np.asfortranarray(images))
    for data in ({"image": images}, tmp_path / "a.npz"):
        table = read(data)
        for field in table.schema:
            assert field.type == pa.list_(pa.uint8(), 12)
            assert field.metadata == {SHAPE_KEY: b"[3, 4]"}
        for column in table.columns:
            np.testing.assert_array_equal(np.array(column.to_pylist()).reshape(2, 3, 4), images)


def test_nested_columns_become_structs_and_missing_fields_null() -> None:
    table = read(
        {
            "point": {"x": np.arange(2.0), "name": ["a", None]},
            "masked": np.ma.MaskedArray([1, 2], [False, True]),
            "day": np.array(["2026-01-02", "NaT"], "M8[D]"),
            "words": [["a"], None],
            "objects": np.array(["a", None], object),
            "nan": np.array([1.0, np.nan]),
        }
    )
    assert table.schema.field("point").type == pa.struct(
        [pa.field("x", pa.float64(), nullable=False), pa.field("name", pa.string())]
    )
    assert table.column("point").to_pylist() == [{"x": 0.0, "name": "a"}, {"x": 1.0, "name": None}]
    assert [table.column(name).null_count for name in ("masked", "day", "words", "objects", "nan")] == [1, 1, 1, 1, 0]
    assert table.schema.field("day").type == pa.date32()


def test_uuids_become_marked_text() -> None:
    numbers = [uuid.UUID(int=1), None, uuid.uuid4()]
    table = read(pa.table({"id": numbers}).slice(1))
    assert table.schema.field("id").metadata == {b"tensorflow-ignite.type": b"uuid"}
    assert table.column("id").to_pylist() == [None, str(numbers[2])]
    assert read({"id": numbers[:1]}).column("id").to_pylist() == [str(numbers[0])]


class Ragged:
    # Shaped as TensorFlow's ragged tensors.
    def __init__(self, values: Any, row_splits: list[int]) -> None:
        self.values = values
        self.row_splits = np.array(row_splits)


def test_ragged_tensors_become_lists_of_any_depth() -> None:
    inner = Ragged(np.arange(4.0), [0, 1, 1, 4])
    table = read({"a": inner, "b": Ragged(inner, [0, 2, 2, 3]), "c": Ragged(np.zeros((2, 1, 2)), [0, 1, 2, 2])})
    assert table.column("a").to_pylist() == [[0.0], [], [1.0, 2.0, 3.0]]
    assert table.column("b").to_pylist() == [[[0.0], []], [], [[1.0, 2.0, 3.0]]]
    assert table.column("c").to_pylist() == [[[[0.0, 0.0]]], [[[0.0, 0.0]]], []]


def test_pandas_frames_are_loaded_without_their_index() -> None:
    import pandas

    frame = pandas.DataFrame(
        {
            "id": [1, 2],
            "x": [1.0, np.nan],
            "name": ["a", None],
            "kind": pandas.Categorical(["u", "v"]),
            "at": pandas.to_datetime(["2026-01-02", None]),
            "maybe": pandas.array([1, None], "Int32"),
        },
        index=[7, 9],
    )
    table = read(frame)
    assert table.column_names == ["id", "x", "name", "kind", "at", "maybe"]
    assert table.select(["id", "name", "kind", "maybe"]).to_pydict() == {
        "id": [1, 2],
        "name": ["a", None],
        "kind": ["u", "v"],
        "maybe": [1, None],
    }
    assert table.column("x").null_count == 0
    assert table.column("at").null_count == 1
    assert read(iter([frame, frame])).num_rows == 4


def test_periods_of_pandas_are_refused_with_the_remedy() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"at": pandas.period_range("2020-01", periods=2, freq="M"), "x": [1, 2]})
    with pytest.raises(errors.UnsupportedTypeError, match=r"'at' is of periods of pandas.*to_timestamp"):
        read(frame)


def test_short_decimals_are_loaded_as_decimals() -> None:
    if not hasattr(pa, "decimal32"):
        pytest.skip("this version of pyarrow has no short decimals")
    for kind in (pa.decimal32(5, 2), pa.decimal64(12, 2)):
        found = read(pa.table({"a": pa.array([Decimal("1.10"), None], kind)}))
        assert found.schema.field("a").type == pa.decimal128(kind.precision, 2)
        assert found.column("a").to_pylist() == [Decimal("1.10"), None]


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"id": "int32"}, pa.int32()),
        ({"id": "float"}, pa.float64()),
        ({"id": "string"}, pa.string()),
        ({"id": np.float32}, pa.float32()),
        (pa.schema([("id", pa.string())]), pa.string()),
        ({"id": pa.field("id", pa.int16(), metadata={"a": "b"})}, pa.int16()),
    ],
)
def test_a_schema_casts_the_columns_that_it_names(schema: Any, kind: pa.DataType) -> None:
    table = read(COLUMNS, schema)
    assert table.schema.field("id").type == kind
    assert table.schema.field("name").type == pa.string()


def test_a_schema_reaches_into_lists_types_what_is_empty_reads_text_as_it_is_and_loses_nothing(tmp_path: Path) -> None:
    table = read({"v": np.ones((2, 3), np.uint8), "n": [None, None]}, {"v": np.float32, "n": pa.string()})
    assert table.schema.field("v").type == pa.list_(pa.float32(), 3)
    assert table.column("n").null_count == 2
    path = tmp_path / "a.csv"
    path.write_text("code,n\n007,1\n8,2\n")
    assert read(path, {"code": pa.string()}).to_pydict() == {"code": ["007", "8"], "n": [1, 2]}
    assert read(iter(()), pa.schema([("a", pa.int8())])).schema == pa.schema([("a", pa.int8())])
    with pytest.raises(errors.UnsupportedTypeError, match="column 'a' of type int64 cannot be loaded as int8"):
        read({"a": [300]}, {"a": "int8"})


def test_large_rows_come_in_batches_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "BATCH_BYTES", 1000)
    rows = np.arange(100 * 100, dtype=np.uint8).reshape(100, 100)
    np.savez(tmp_path / "a.npz", rows=rows)
    pa.parquet.write_table(read({"rows": rows}), tmp_path / "a.parquet")
    for data in ({"rows": rows}, tmp_path / "a.npz", tmp_path / "a.parquet", iter([{"rows": rows}])):
        opened = open_input(data)
        batches = list(opened.batches)
        assert max(batch.num_rows for batch in batches) <= 10
        assert sum(batch.num_rows for batch in batches) == 100


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int32(), pa.string()), pa.string_view()])
def test_columns_whose_parts_share_their_texts_come_in_few_batches(
    monkeypatch: pytest.MonkeyPatch, kind: pa.DataType
) -> None:
    monkeypatch.setattr(inputs, "BATCH_BYTES", 1000)
    texts = pa.array([f"text {number:030d}" for number in range(1000)])
    column = texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts.cast(kind)
    batches = list(open_input(pa.table({"x": column})).batches)
    assert len(batches) < 100
    assert pa.Table.from_batches(batches).column("x").to_pylist() == texts.to_pylist()


def test_rows_of_a_ragged_tensor_are_rows_of_lists() -> None:
    tf = pytest.importorskip("tensorflow")
    rows = tf.data.Dataset.from_tensor_slices({"r": tf.ragged.constant([[1], [2, 3], []])})
    for dataset in (rows, rows.batch(2)):
        assert read(dataset).to_pydict() == {"r": [[1], [2, 3], []]}


def test_vectors_of_unknown_length_are_batches_or_rows_as_their_dataset_was_made_or_an_error() -> None:
    tf = pytest.importorskip("tensorflow")
    lists: Any = [[0], [0, 1], [0, 1, 2]]
    rows = tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(lambda number: {"n": tf.range(number)})
    for unknown in (rows, rows.prefetch(1), rows.batch(1).flat_map(lambda batch: rows)):
        with pytest.raises(errors.InvalidRequestError, match=r"a row, or a batch.*batched=True or batched=False"):
            read(unknown)
    assert read(rows, batched=False).to_pydict() == {"n": lists}
    assert read(rows, batched=True).to_pydict() == {"n": [number for row in lists for number in row]}
    assert read(rows.ragged_batch(2)).to_pydict() == {"n": lists}
    assert read(rows.padded_batch(2).unbatch()).to_pydict() == {"n": [[0, 0], [0, 1], [0, 1, 2]]}
    numbers = tf.data.Dataset.range(5)
    batches = numbers.batch(2).map(lambda batch: 2 * batch, num_parallel_calls=2).cache().repeat(2).prefetch(1)
    assert read(batches, {"n": None}).to_pydict() == {"n": [0, 2, 4, 6, 8] * 2}
    pairs = tf.data.Dataset.zip((numbers.batch(2), numbers.batch(2)))
    assert read(pairs, {"a": None, "b": None}).num_rows == 5


TEXTS = pa.array(["a", "b", None, "a"])
CODES = TEXTS.dictionary_encode()
UUIDS = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef", None] * 2, pa.binary(16)))
PAIRS = [["a", "b"], [None, "a"]]
VIEWS = CODES.cast(pa.dictionary(pa.int8(), pa.string_view()))
KEYS = pa.array(list("klmn"))
IDS = ["30313233-3435-3637-3839-616263646566", None]
HIDDEN = pa.array([False, True])


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pa.ListArray.from_arrays([0, 2, 4], CODES), PAIRS),
        (pa.ListArray.from_arrays([0, 2, 4], VIEWS), PAIRS),
        (pa.ListArray.from_arrays([0, 2, 4], UUIDS), [IDS, IDS]),
        (pa.DictionaryArray.from_arrays(pa.array([2, 1]), UUIDS), IDS),
        (pa.FixedSizeListArray.from_arrays(CODES, 2, mask=HIDDEN), [["a", "b"], None]),
        (pa.StructArray.from_arrays([CODES, UUIDS], ["t", "u"])[2:], [{"t": None, "u": IDS[0]}, {"t": "a", "u": None}]),
        (pa.StructArray.from_arrays([CODES[:2]], ["t"], mask=HIDDEN), [{"t": "a"}, None]),
        (pa.ListViewArray.from_arrays([2, 0], [2, 1], TEXTS, mask=HIDDEN), [[None, "a"], None]),
        (pa.LargeListViewArray.from_arrays([2, 0], [2, 1], TEXTS)[1:], [["a"]]),
        (pa.MapArray.from_arrays([0, 2, 4], KEYS, CODES, mask=HIDDEN), [[("k", "a"), ("l", "b")], None]),
        (pa.MapArray.from_arrays([0, 2, 4], KEYS, CODES)[1:], [[("m", None), ("n", "a")]]),
        (pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"]), ["a", "a", "b"]),
        (pa.array([], pa.map_(pa.string(), pa.dictionary(pa.int8(), pa.string()))), []),
    ],
)
def test_variants_of_arrows_layout_at_any_depth_have_the_values_of_the_plain_types(
    column: pa.Array, values: list[Any]
) -> None:
    found = read(pa.table({"x": column}))
    found.validate(full=True)
    assert found.column("x").to_pylist() == values


def test_the_values_of_a_map_are_cast_if_nothing_is_lost() -> None:
    maps = pa.array([[("a", 1)], None, [("b", 300)]], pa.map_(pa.string(), pa.int64()))
    narrow = {"x": pa.map_(pa.string(), pa.int16())}
    assert read(pa.table({"x": maps[1:]}), narrow).to_pydict() == {"x": [None, [("b", 300)]]}
    with pytest.raises(errors.UnsupportedTypeError, match=r"300\)\] in row 2"):
        read(pa.table({"x": maps}), {"x": pa.map_(pa.string(), pa.int8())})


def test_categories_of_polars_in_lists_and_structs_are_texts() -> None:
    polars = pytest.importorskip("polars")
    values = [["a", "b"], None, [], ["a"]]
    for kind in (polars.Categorical, polars.Enum(["a", "b"])):
        frame = polars.DataFrame(
            {"x": values, "s": [{"f": "b"}] * 4}, {"x": polars.List(kind), "s": polars.Struct({"f": kind})}
        )
        assert read(frame).to_pydict() == {"x": values, "s": [{"f": "b"}] * 4}


def test_a_series_among_columns_keeps_nulls_and_large_integers() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    values = [1, None, 2**53 + 1]
    for series in (pandas.Series(values, dtype="Int64"), polars.Series(values)):
        found = read({"x": series})
        assert found.schema.field("x").type == pa.int64()
        assert found.to_pydict() == {"x": values}
    assert np.isnan(read({"x": pandas.Series([float("nan")])}).column("x")[0].as_py())
    sparse = pandas.Series(pandas.arrays.SparseArray([0, 0, 1]))
    assert read(pandas.DataFrame({"x": sparse})).to_pydict() == {"x": [0, 0, 1]}
    assert read({"x": polars.Series([[1, 2]], dtype=polars.Array(polars.Int8, 2))}).to_pydict() == {"x": [[1, 2]]}


def test_a_source_is_closed_when_its_reader_stops_early() -> None:
    closed = []

    def source() -> Iterator[dict[str, Any]]:
        try:
            while True:
                yield {"a": np.zeros(2)}
        finally:
            closed.append(True)

    opened = open_input(source())
    next(opened.batches)
    opened.batches.close()  # type: ignore[attr-defined]
    assert closed == [True]


DAY, NOON = datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 12)
ZONED = NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))


@pytest.mark.parametrize("is_object", [False, True], ids=["list", "objects"])
@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ([DAY, NOON], "date, datetime"),
        ([None, NOON, ZONED], "datetime, datetime with a zone"),
        ([ZONED.timetz()], "time with a zone"),
    ],
)
def test_dates_and_times_are_never_cut_to_days_nor_moved_by_a_zone(
    values: list[Any], kinds: str, is_object: bool
) -> None:
    with pytest.raises(errors.UnsupportedTypeError, match=f"column 'a' has values of the types {kinds}"):
        open_input({"a": np.array(values, object) if is_object else values})
    alike = [value for value in values if value is not None][:1] * 2
    if kinds != "time with a zone":
        assert next(open_input({"a": [None, *alike]}).batches)["a"].to_pylist() == [None, *alike]


@pytest.mark.parametrize(
    ("batches", "kind", "text"),
    [
        ([{"a": [1]}, {"a": [1.5]}], errors.InvalidRequestError, "type double in batch 1, and of int64 in the first"),
        ([{"a": [1]}, {"a": [1]}, {"b": [1]}], errors.InvalidRequestError, r"batch 2 has columns \['b'\]"),
        ([{"a": np.zeros((1, 2, 3))}, {"a": np.zeros((1, 3, 2))}], errors.InvalidRequestError, "shape in batch 1"),
        ([{"a": [1]}, {"a": 1}], errors.InvalidRequestError, "batch 1: column 'a' is a single value"),
        ([{"a": [1]}, 7], errors.InvalidRequestError, "batch 1 is a builtins.int"),
        ([{"a": [None]}], errors.UnsupportedTypeError, "None in each row"),
        ([], errors.InvalidRequestError, "no batch to load"),
        ({"a": []}, errors.UnsupportedTypeError, "None in each row, or there is none"),
        (7, errors.UnsupportedTypeError, "a builtins.int cannot be loaded"),
        (np.zeros(3), errors.UnsupportedTypeError, "numpy.ndarray cannot be loaded"),
        (pa.table([[1], [2]], ["a", "a"]), errors.InvalidRequestError, "two columns of one name"),
        ({}, errors.InvalidRequestError, "no column"),
        ({"": np.zeros(2)}, errors.InvalidRequestError, "name of a column"),
        ({"a": np.zeros(2), "b": np.zeros(3)}, errors.InvalidRequestError, r"\{'a': 2, 'b': 3\}"),
        ({"a": np.float32(1)}, errors.InvalidRequestError, "single value"),
        ({"a": "text"}, errors.InvalidRequestError, "single value"),
        ({"a": np.zeros((2, 0))}, errors.InvalidRequestError, "no elements"),
        ({"a": np.zeros(2, complex)}, errors.UnsupportedTypeError, "complex128"),
        ({"a": np.zeros(2, "m8[s]")}, errors.UnsupportedTypeError, "timedelta64"),
        ({"a": {}}, errors.InvalidRequestError, "struct needs a field"),
        ({"a": {"x": np.zeros(2), "y": np.zeros(1)}}, errors.InvalidRequestError, r"\{'a.x': 2, 'a.y': 1\}"),
        ({"a": [np.zeros((2, 2))]}, errors.InvalidRequestError, "np.stack"),
        ({"a": np.array([1, "x"], object)}, errors.UnsupportedTypeError, "int, str"),
        ({"a": [1, "x"]}, errors.UnsupportedTypeError, "column 'a' mixes"),
        ({"a": [2**63, 1]}, errors.UnsupportedTypeError, "column 'a' has an integer that no integer of 64 bits holds"),
        ({"a": [2**70]}, errors.UnsupportedTypeError, "column 'a' has an integer that no integer of 64 bits holds"),
        ({"a": np.zeros(2, "M8[h]")}, errors.UnsupportedTypeError, r"\.astype\('datetime64\[s\]'\)"),
    ],
)
def test_rows_that_no_cache_stores_are_refused_by_batch_and_column(
    batches: Any, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        read(iter(batches) if isinstance(batches, list) else batches)


def test_files_that_cannot_be_loaded_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (
        ("a.txt", "x"),
        ("bad.npz", "x"),
        ("bad.parquet", "x"),
        ("a.csv", "a\n1\n"),
        ("b.csv", "b\n1\n"),
    ):
        Path(name).write_text(content)
    Path("words.csv").write_text("\n".join(["a", *map(str, range(700_000)), "word"]))
    np.savez("objects.npz", a=np.array([{}], object))
    np.savez("single.npz", a=1)
    np.savez("uneven.npz", a=np.zeros(2), b=np.zeros(3))
    np.savez("good.npz", a=np.zeros(20))
    Path("short.npz").write_bytes(Path("good.npz").read_bytes().replace(b"(20,)", b"(99,)"))
    Path("folder").mkdir()
    for data, text in (
        ("none.csv", "there is no file 'none.csv'"),
        ("*.none", "there is no file"),
        ("folder", "there is no file 'folder'"),
        ("a.txt", "the format of 'a.txt' is not known; files end with .npz, .csv"),
        (["a.csv", "good.npz"], "two formats"),
        (["a.csv", "b.csv"], r"'b.csv' has columns \['b'\]"),
        ("bad.npz", "'bad.npz' cannot be read as npz"),
        ("bad.parquet", "bad.parquet cannot be read as parquet"),
        ("words.csv", "words.csv cannot be read as csv.*schema="),
        ("objects.npz", "Python objects"),
        ("single.npz", "a single value"),
        ("uneven.npz", r"differ in length: \{'a': 2, 'b': 3\}"),
        ("short.npz", "damaged"),
    ):
        with pytest.raises(errors.InvalidRequestError, match=text):
            read(data)


def test_an_empty_column_of_a_csv_file_is_text_unless_its_type_is_given(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n,note\n1,\n2,\n")
    assert open_input(path).schema.field("note").type == pa.string()
    assert "column 'note' is empty at the begin of each file" in caplog.text
    caplog.clear()
    found = open_input(path, {"note": "float64"})
    assert found.schema.field("note").type == pa.float64()
    assert [value for batch in found.batches for value in batch.column("note").to_pylist()] == [None, None]
    assert not caplog.text


@pytest.mark.parametrize(
    "array",
    [
        np.array([0, 255], np.uint8),
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(24, dtype=">i4").reshape(2, 3, 4),
        np.arange(48, dtype=np.int16).reshape(2, 2, 3, 4)[:, ::-1],
        np.array([True, False]),
        np.array([[True, False], [False, False]]),
        np.zeros((0, 5), np.float64),
    ],
)
def test_loaded_rows_come_back_with_type_and_shape(array: np.ndarray[Any, Any]) -> None:
    table = read({"c": array})
    batches = table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    (back,) = arrays_of(batches[0], columns_of(table.schema))
    assert back.dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        *((values, pa.string()) for values in (["a", "ä"], np.array(["a", "bcd"]), np.array(["a", "bcd"], object))),
        *([(np.array(["a", "bcd"], "T"), pa.string())] if np.__version__ >= "2" else []),
        ([b"a", b"\xff"], pa.binary()),
        ([1, 2], pa.int64()),
        ([[1.5], []], pa.list_(pa.float64())),
    ],
)
def test_lists_and_text_become_columns(values: Any, kind: pa.DataType) -> None:
    table = read({"c": values})
    assert table.schema.field("c").type == kind
    assert table.column("c").to_pylist() == list(values)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"if_exists": "overwrite"}, "if_exists='overwrite' is unknown"),
        ({"backups": -1}, "backups=-1"),
        ({"partitions": 0}, "partitions=0"),
        ({"key": "id"}, "key='id' is not a column"),
        ({"key": "a"}, "at least one column besides the key"),
        ({"affinity": "a"}, "affinity='a' and key=None"),
        ({"affinity": "a", "key": "a"}, "affinity='a' and key='a'"),
        ({"affinity": "b", "key": "a"}, "affinity='b' is not a column"),
        ({"schema": {"b": "int8"}}, "schema= names column 'b'"),
        ({"schema": {"a": "no type"}}, "is no type"),
    ],
)
def test_options_are_checked_before_any_call(options: Any, text: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match=text):
        load("c", {"a": np.zeros(2)}, address="localhost:1", **options)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (['a"b', "c"], r"""column 'a"b' has a double quote in its name.*sql=False \(--no-sql\)"""),
        (["\u017f", "s"], "columns '\u017f' and 's' have one name in upper case, 'S'"),
        (["ß", "ss"], "columns 'ß' and 'ss' have one name in upper case, 'SS'"),
        (["\u0131", "i"], "columns '\u0131' and 'i' have one name in upper case, 'I'"),
    ],
)
def test_names_that_no_query_can_use_are_refused_before_any_call(names: list[str], text: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match=text):
        load("c", {name: [1] for name in names}, address="127.0.0.1:1")
