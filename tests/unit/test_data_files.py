"""Files as people have them: CSV of any kind, JSON, TFRecord, URLs; and results of databases."""

from __future__ import annotations

import contextlib
import datetime
import gzip
import inspect
import json
import sqlite3
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.data.loading.inputs import open_input
from tensorflow_ignite.data.loading.load import load_rows
from tensorflow_ignite.v1 import data_pb2


def read(data: Any, schema: Any = None, **csv: Any) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """The columns, and what the caller should know of them."""
    opened = open_input(data, schema, csv=csv)
    table = pa.Table.from_batches(opened.batches, schema=opened.schema)
    return table.to_pydict(), opened.notes()


def write(folder: Path, name: str, text: str, encoding: str = "utf-8") -> str:
    """A file, compressed if its name says so."""
    content = text.encode(encoding)
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return str(path)


@pytest.mark.parametrize(
    ("name", "text", "csv", "columns"),
    [
        ("a.csv", 'id,text\n1,"a\nb"\n2,c\n', {}, {"id": [1, 2], "text": ["a\nb", "c"]}),
        ("a.csv", "\ufeffid,x\n1,2\n", {}, {"id": [1], "x": [2]}),
        ("a.csv", "id,x\r\n1,\r\n2, 3\r\n", {}, {"id": [1, 2], "x": [None, 3]}),
        ("a.tsv", "id\tx\n1\t0.5\n", {}, {"id": [1], "x": [0.5]}),
        ("a.tsv.gz", "id\tx\n1\t0.5\n", {}, {"id": [1], "x": [0.5]}),
        (
            "a.csv",
            "a;b\n1,5;x\n",
            {"delimiter": ";", "decimal_point": ","},
            {"a": [1.5], "b": ["x"]},
        ),
        (
            "a.csv",
            "a;b\n-;x\n1;NA\n",
            {"delimiter": ";", "null_values": ["-", "NA"]},
            {"a": [None, 1], "b": ["x", None]},
        ),
        ("a.csv", "1,x\n2,y\n", {"autogenerate_column_names": True}, {"f0": [1, 2], "f1": ["x", "y"]}),
        ("a.csv", "1,x\n2,y\n", {"column_names": ["n", "t"]}, {"n": [1, 2], "t": ["x", "y"]}),
        ("a.csv", "made by R\nid,x\n1,2\n", {"skip_rows": 1}, {"id": [1], "x": [2]}),
        ("a.csv", "id,'x'\n1,'a,b'\n", {"quote_char": "'"}, {"id": [1], "x": ["a,b"]}),
    ],
)
def test_csv_files_of_every_kind_are_read_as_they_are_written(
    tmp_path: Path, name: str, text: str, csv: dict[str, Any], columns: dict[str, list[Any]]
) -> None:
    assert read(write(tmp_path, name, text), **csv) == (columns, {})


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "latin-1"])
def test_csv_files_of_other_encodings_are_read_with_their_name_and_refused_without(
    tmp_path: Path, encoding: str
) -> None:
    path = write(tmp_path, "a.csv", "Größe,x\nÄpfel,1\n", encoding)
    assert read(path, encoding=encoding) == ({"Größe": ["Äpfel"], "x": [1]}, {})
    proposed = "utf-16" if encoding == "utf-16" else "cp1252"
    with pytest.raises(errors.InvalidRequestError, match=f"a.csv.* is not UTF-8 text.*--csv encoding='{proposed}'"):
        read(path)
    later = write(tmp_path, "later.csv", "id,x\n" + "1,y\n" * 1_100_000 + "2,Ä\n", "cp1252")
    with pytest.raises(errors.InvalidRequestError, match=r"later.csv.* is not UTF-8 text"):
        read(later)


def test_columns_without_a_name_get_one_that_a_note_names(tmp_path: Path) -> None:
    # As pandas and R write the labels of rows.
    path = write(tmp_path, "a.csv", '"","x",""\n"r1",5,1\n"r2",6,2\n')
    note = "has no name in the file"
    assert read(path) == (
        {"column_1": ["r1", "r2"], "x": [5, 6], "column_3": [1, 2]},
        {"column_1": note, "column_3": note},
    )
    with pytest.raises(errors.InvalidRequestError, match=r"c.csv' has columns \['column_1', 'y', 'column_3'\]"):
        read([path, write(tmp_path, "c.csv", '"","y",""\n"r1",5,1\n')])
    other = write(tmp_path, "b.csv", '"","x","column_1"\n"r1",5,1\n')
    assert read(other)[0] == {"column_1_": ["r1"], "x": [5], "column_1": [1]}


@pytest.mark.parametrize("rows", [0, 400_000])
def test_numbers_that_lose_zeros_or_a_plus_are_reported_wherever_they_stand(tmp_path: Path, rows: int) -> None:
    path = write(tmp_path, "a.csv", "zip,phone,x\n" + "10001,4.5,0.5\n" * rows + "00501,+4930,-0.5\n")
    columns, notes = read(path)
    assert (columns["zip"][-1], columns["phone"][-1], columns["x"][-1]) == (501, 4930, -0.5)
    assert notes == {
        "zip": "is a number, and loses characters: 00501 is 501; --schema zip=string keeps them",
        "phone": "is a number, and loses characters: +4930 is 4930.0; --schema phone=string keeps them",
    }
    assert read(path, {"zip": "string", "phone": "string"})[0]["zip"][-1] == "00501"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *[("1E+05", 1e5), ("10E-617", 0.0), ("-1e-400", 0.0), ("+5", 5.0), (" 7", 7.0), ("8 ", 8.0)],
        *[("1e309", float("inf")), ("-0", 0.0), ("1.", 1.0), (".5", 0.5)],
    ],
)
def test_unusual_spellings_of_a_number_are_that_number(tmp_path: Path, text: str, number: float) -> None:
    assert read(write(tmp_path, "a.csv", f"id,x\n0,1.5\n1,{text}\n"))[0]["x"] == [1.5, number]


@pytest.mark.parametrize(
    ("text", "csv", "schema", "error"),
    [
        ("a;b;c\n1;2;3\n", {}, None, r"its first line has 2 ';' and no ','.*--csv delimiter=';'"),
        ("a\tb\n1\t2\n", {}, None, r"its first line has 1 '\\t' and no ','.*--csv delimiter='\\t'"),
        ("a,b;c\n1;2\n", {}, None, "line 2 of .*a.csv has 1 columns, and the first line 2. .*has 1 ';': Say so"),
        ('a,b\n1,"x\ny"\n2\n', {}, None, "line 4 of .*a.csv has 1 columns, and the first line 2"),
        ("a,a\n1,2\n", {}, None, "its first line names two columns 'a'.*--csv names=a,b skip=1"),
        ("", {}, None, "it has no line"),
        ("a,b,c", {}, None, "a file has one line, without a line break"),
        ("id,qty\n" + "1,2\n" * 1_100_000 + "2,A17\n", {}, None, "'A17' in line 1100002 of .* is no int64.*'qty'"),
        ("id,qty\n" + "1,2\n" * 1_100_000 + "2,4.5\n", {}, None, "'4.5' in line 1100002.*--schema qty=float64"),
        ("id,qty\n1,2\n2,4.5\n", {}, {"qty": "int32"}, "'4.5' in line 3 of .* is no int32, which column 'qty'"),
        ('a,b\n"1,299.99",1\n', {}, {"a": "float64"}, "'1,299.99' in line 2.* column 'a'.*no separators of thousands"),
        ("a\n1\n", {"separator": ";"}, None, r"csv=\{'separator': ...\} is no option of CSV files"),
        ("a\n1\n", {"null_values": "NA"}, None, r"list of texts. Give 'null_values': \['NA'\]"),
        ("a\n1\n", {"delimiter": ";;"}, None, "cannot be used: .*a value that pyarrow.csv takes"),
        ("a\n1\n", {"encoding": "klingon"}, None, "cannot be used: .*klingon"),
    ],
)
def test_a_csv_file_that_cannot_be_read_is_refused_by_line_and_column_with_the_remedy(
    tmp_path: Path, text: str, csv: dict[str, Any], schema: Any, error: str
) -> None:
    with pytest.raises(errors.InvalidRequestError, match=error):
        read(write(tmp_path, "a.csv", text), schema, **csv)


def test_options_of_csv_are_refused_for_other_files(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidRequestError, match="is no CSV file but json"):
        read(write(tmp_path, "a.json", '{"a": 1}'), delimiter=";")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('id,t\n1,"abc\n2,x\n3,y\n', "a quote in line 2 or later is not closed.*--csv quote="),
        ("sep=;\na;b\n1;2\n", r"its first line is 'sep=;'.*delimiter=';' skip=1"),
        ("a;b\n" + "1;1,5\n" * 1_000_000 + "2;1.234\n", "'1.234' in line 1000002 .*'b'.*no separators of thousands"),
        ("a\n" + "1\n" * 2_200_000 + "x" * 900_000 + "\n", r"'x{80}…' in line 2200002"),
    ],
    ids=["quote", "Excel", "thousands", "long"],
)
def test_csv_files_whose_rows_would_be_lost_or_changed_are_refused(tmp_path: Path, text: str, error: str) -> None:
    csv = {"delimiter": ";", "decimal_point": ","} if text.startswith("a;b\n") else {}
    with pytest.raises(errors.InvalidRequestError, match=error):
        read(write(tmp_path, "a.csv", text), **csv)


def test_quotes_are_part_of_texts_if_the_caller_says_so_and_large_numbers_are_reported(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'id,t\n1,"abc\n2,x\n')
    assert read(path, quote_char=False)[0] == {"id": [1, 2], "t": ['"abc', "x"]}
    columns, notes = read(write(tmp_path, "b.csv", "n,h\n12345678901234567890,0x1F\n"))
    assert columns == {"n": [12345678901234567168.0], "h": [31]}
    assert set(notes) == {"n", "h"}


def test_headers_that_end_in_other_lines_are_refused_and_folders_are_columns_of_patterns_too(tmp_path: Path) -> None:
    first = write(tmp_path, "a.csv", "\n\n,x\nr0,0\n")
    with pytest.raises(errors.InvalidRequestError, match=r"end in line 1, and the names of the first file in line 3"):
        read([first, write(tmp_path, "b.csv", ",x\nr1,1\nr2,2\n")])
    for year, suffix, text in ((2025, "csv", "x\n1\n"), (2026, "csv", "x\n2\n")):
        (tmp_path / f"h/year={year}/.ipynb_checkpoints").mkdir(parents=True)
        write(tmp_path / f"h/year={year}", f"a.{suffix}", text)
        write(tmp_path / f"h/year={year}/.ipynb_checkpoints", "a-checkpoint.csv", text)
        write(tmp_path / f"h/year={year}", "a.json", json.dumps({"x": year - 2024}))
    expected = {"x": [1, 2], "year": [2025, 2026]}
    assert read(str(tmp_path / "h/year=*/*.csv"))[0] == expected
    assert read(str(tmp_path / "h/year=*/*.json"))[0] == expected
    for path in tmp_path.glob("h/*/a.json"):
        path.unlink()
    assert read(str(tmp_path / "h"))[0] == expected


def test_folders_that_are_links_are_read(tmp_path: Path) -> None:
    for name in ("rows", "elsewhere"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "a.csv", "x\n1\n")
    (tmp_path / "rows/b.csv").symlink_to(tmp_path / "rows/a.csv")
    (tmp_path / "rows/year=2026").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/again").symlink_to(tmp_path / "rows")
    (tmp_path / "rows/none.csv").symlink_to(tmp_path / "missing.csv")
    assert read(str(tmp_path / "rows"))[0] == {"x": [1, 1, 1], "year": [None, None, 2026]}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("decimal128(20, 1)", pa.decimal128(20, 1)),
        ("decimal128(38,0)", pa.decimal128(38, 0)),
        ("timestamp[s, UTC]", pa.timestamp("s", "UTC")),
        ("timestamp[us, tz=Europe/Berlin]", pa.timestamp("us", "Europe/Berlin")),
        ("string", pa.string()),
    ],
)
def test_types_have_the_names_that_are_printed(tmp_path: Path, name: str, kind: pa.DataType) -> None:
    text = "2026-01-02T00:00:00Z" if "timestamp" in name else "1234567890123456789"
    opened = open_input(write(tmp_path, "a.csv", f"x\n{text}\n"), {"x": name})
    assert next(opened.batches).schema.field("x").type == opened.schema.field("x").type == kind
    for wrong in ("decimal128(99, 0)", "decimal128(1)", "timestamp[h, UTC]"):
        with pytest.raises(errors.InvalidRequestError, match="is no type"):
            open_input(str(tmp_path / "a.csv"), {"x": wrong})


def test_a_folder_is_the_same_however_its_path_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("year=2025", "year=2026", "_temporary", ".hidden"):
        (tmp_path / f"rows/{folder}").mkdir(parents=True)
        write(tmp_path / f"rows/{folder}", "a.csv", f"x\n{folder[-1]}\n")
    monkeypatch.chdir(tmp_path / "rows")
    folders = (".", "./", "./.", "../rows", f"{tmp_path}//rows/", f"{tmp_path}/./rows", "file://.")
    for data in (*folders, "year=*/a.csv", "./year=*/*.csv", ["year=2025", "year=2026"]):
        assert read(data)[0] == {"x": [5, 6], "year": [2025, 2026]}, data


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "npz", "tfrecord"])
def test_folders_are_the_same_columns_of_files_of_every_format(tmp_path: Path, kind: str) -> None:
    names = ("zip=00501/word=x%20y", "zip=-7/word=__HIVE_DEFAULT_PARTITION__", "zip=10001/word=a=b")
    for number, name in enumerate(names):
        (tmp_path / name).mkdir(parents=True)
        path = tmp_path / name / f"rows.{kind}"
        if kind == "csv":
            path.write_text(f"id\n{number}\n")
        elif kind == "jsonl":
            path.write_text(f'{{"id": {number}}}\n')
        elif kind == "parquet":
            pa.parquet.write_table(pa.table({"id": [number]}), path)
        elif kind == "npz":
            np.savez(path, id=np.array([number]))
        else:
            tf = pytest.importorskip("tensorflow")
            feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
            example = tf.train.Example(features=tf.train.Features(feature={"id": feature}))
            with tf.io.TFRecordWriter(str(path)) as writer:
                writer.write(example.SerializeToString())
    schema = {"id": "int64"}
    columns, notes = read(tmp_path, schema)
    rows = zip(columns["id"], columns["zip"], columns["word"], strict=True)
    assert sorted(rows, key=str) == [(0, 501, "x y"), (1, -7, None), (2, 10001, "a=b")]
    assert notes == {"zip": "is a number, and loses characters: 00501 is 501; --schema zip=string keeps them"}
    columns, notes = read(tmp_path, {**schema, "zip": "string"})
    assert (sorted(columns["zip"]), notes) == (["-7", "00501", "10001"], {})
    assert set(read(tmp_path, {**schema, "zip": "int16"})[0]["zip"]) == {501, -7, 10001}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_column_that_files_and_folders_have_is_that_of_the_files(tmp_path: Path, kind: str) -> None:
    (tmp_path / "year=2026").mkdir()
    path = tmp_path / "year=2026" / f"rows.{kind}"
    if kind == "parquet":
        pa.parquet.write_table(pa.table({"x": [0.5], "year": [1999]}), path)
    else:
        path.write_text("x,year\n0.5,1999\n" if kind == "csv" else '{"x": 0.5, "year": 1999}\n')
    assert read(tmp_path)[0] == {"x": [0.5], "year": [1999]}


@pytest.mark.full
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_a_reader_that_waits_does_not_let_arrow_read_the_whole_file(tmp_path: Path, kind: str) -> None:
    from fsspec.implementations.local import LocalFileSystem

    path = tmp_path / f"a.{kind}"
    line = b"1," + b"x" * 998 + b"\n"
    if kind == "csv":
        # Arrow parses blocks of a CSV file ahead on another thread: 47 to 69 MB, by the speed of the two threads.
        path.write_bytes(b"id,x\n" + line * 200_000)
    else:
        noise = np.random.default_rng(0).integers(0, 256, (100_000, 1000), np.uint8)
        table = pa.table({"x": pa.FixedSizeListArray.from_arrays(noise.reshape(-1), 1000)})
        if kind == "parquet":
            pa.parquet.write_table(table, path, row_group_size=4000, compression="none", use_dictionary=False)
        else:
            pyarrow.feather.write_feather(table, str(path), compression="uncompressed", chunksize=4000)
    sizes: list[int] = []

    class Counting(LocalFileSystem):  # type: ignore[misc]
        """Counts the bytes that are read."""

        protocol = ("counting",)

        def _open(self, name: str, mode: str = "rb", **options: Any) -> Any:
            opened = super()._open(name, mode, **options)
            read = opened.f.read

            class File:
                def read(self, *size: int) -> bytes:
                    content: bytes = read(*size)
                    sizes.append(len(content))
                    return content

                def __getattr__(self, name: str) -> Any:
                    return getattr(opened, name)

                def __enter__(self) -> File:
                    return self

                def __exit__(self, *error: object) -> None:
                    opened.close()

            return File()

    import fsspec

    fsspec.register_implementation("counting", Counting, clobber=True)
    opened = open_input(f"counting://{path}")
    with contextlib.closing(opened.batches):  # type: ignore[type-var]
        next(opened.batches)
        before = -1
        while before != len(sizes):
            before = len(sizes)
            time.sleep(0.3)
        assert 0 < sum(sizes) < 0.6 * path.stat().st_size


def test_a_load_that_fails_closes_the_files_that_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("id,x\n1,2\n3,4\n")
    rows = open_input(str(tmp_path / "a.csv"))

    def put(address: str, command: Any, schema: pa.Schema, batches: Iterator[pa.RecordBatch], *_: object) -> None:
        next(batches)
        raise errors.InternalError("the node has left")

    monkeypatch.setattr("tensorflow_ignite.data.transport.flight.put", put)
    with pytest.raises(errors.InternalError) as caught:
        load_rows(data_pb2.LoadCommand(cache="a"), rows, address="127.0.0.1:1", progress=None)
    # Although the frames of the error still have the batches.
    assert caught.tb
    assert inspect.getgeneratorstate(rows.batches) == inspect.GEN_CLOSED  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a.csv.gz", "a.json.gz", "a.csv", "a.json"])
def test_files_that_are_not_what_their_name_says_are_refused(tmp_path: Path, name: str) -> None:
    whole = gzip.compress(b"id,x\n1,2\n" * 1000)
    for content in (b"id,x\n1,2\n", whole[:-20]) if name.endswith(".gz") else (whole,):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(errors.InvalidRequestError, match=f"{name} cannot be read as (csv|json)"):
            read(str(tmp_path / name))


def test_fields_of_json_are_never_dropped(tmp_path: Path) -> None:
    assert read(write(tmp_path, "one.json", '{"a": 1, "b": {"c": 2}}'))[0] == {"a": [1], "b": [{"c": 2}]}
    assert read(write(tmp_path, "pretty.json", '{\n "a": 1\n}\n{\n "a": 2\n}'))[0] == {"a": [1, 2]}
    assert read(write(tmp_path, "list.json", '\ufeff[{"a": 1}, {"a": 2, "b": "x"}]'))[0] == {
        "a": [1, 2],
        "b": [None, "x"],
    }
    late = write(tmp_path, "late.json", '{"a": 1}\n' * 1_000_000 + '{"a": 2, "b": "x"}\n')
    with pytest.raises(errors.InvalidRequestError, match=r"late.json cannot be read as json.*schema="):
        read(late)
    assert read(late, {"b": "string"})[0]["b"][-1] == "x"
    dates = write(tmp_path, "dates.json", '{"at": "2026-01-02"}\n{"at": "2026-01-02T03:04:05Z"}\n')
    assert read(dates, {"at": "string"})[0] == {"at": ["2026-01-02", "2026-01-02T03:04:05Z"]}
    other = write(tmp_path, "other.json", '{"a": 1, "z": 1}\n')
    with pytest.raises(errors.InvalidRequestError, match=r"other.json cannot be read as json"):
        read([write(tmp_path, "a.json", '{"a": 1}\n'), other])


def test_files_of_several_types_are_read_with_the_type_of_the_schema(tmp_path: Path) -> None:
    for number, values in enumerate(([1, 2], [0.5, None])):
        pa.parquet.write_table(pa.table({"x": values}), tmp_path / f"{number}.parquet")
    assert read(tmp_path, {"x": "float64"})[0] == {"x": [1.0, 2.0, 0.5, None]}


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.jsonl.gz", "a.json.gz"])
@pytest.mark.parametrize("is_list", [False, True])
def test_json_is_read_with_an_object_in_a_line_or_as_a_list(tmp_path: Path, name: str, is_list: bool) -> None:
    rows = [{"id": 1, "x": [1.5, 2.0], "o": {"a": "b"}}, {"id": 2, "x": [], "o": {"a": None}}]
    text = json.dumps(rows, indent=1) if is_list else "".join(json.dumps(row) + "\n" for row in rows)
    path = write(tmp_path, name, text)
    expected = {"id": [1, 2], "x": [[1.5, 2.0], []], "o": [{"a": "b"}, {"a": None}]}
    assert read(path)[0] == expected
    assert {name: 2 * values for name, values in expected.items()} == read([path, path])[0]


def test_json_that_is_damaged_is_refused_by_file(tmp_path: Path) -> None:
    # Python's json would take the last one of two fields, and infinity for a large number.
    twice, large = ('[{"a": 1, "a": 2}]', '{"a": 1, "a": 2}'), ('[{"a": 1e400}]', '{"a": 1e400}')
    for text in ('{"a": 1}\n{"a": \n', "[1, 2]", '[{"a": 1}', *twice, *large):
        with pytest.raises(errors.InvalidRequestError, match=r"a.json cannot be read as json"):
            read(write(tmp_path, "a.json", text))


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_urls_name_files_folders_and_patterns_of_any_file_system(tmp_path: Path, kind: str) -> None:
    import fsspec

    columns = {"id": [1, 2], "x": [0.5, 1.5]}
    memory = fsspec.filesystem("memory")
    for part in range(2):
        path = tmp_path / f"{part}.{kind}"
        if kind == "csv":
            path.write_text("id,x\n1,0.5\n2,1.5\n")
        elif kind == "parquet":
            pa.parquet.write_table(pa.table(columns), path)
        else:
            np.savez(path, **{name: np.array(values) for name, values in columns.items()})
        memory.put_file(str(path), f"/urls-{kind}/{part}.{kind}")
    try:
        assert read(f"memory://urls-{kind}/0.{kind}")[0] == columns
        for several in (f"memory://urls-{kind}", f"memory://urls-{kind}/*.{kind}"):
            assert read(several)[0] == {name: values * 2 for name, values in columns.items()}
        with pytest.raises(errors.InvalidRequestError, match="are in two places"):
            read([f"memory://urls-{kind}/0.{kind}", str(tmp_path / f"0.{kind}")])
        with pytest.raises(errors.InvalidRequestError, match=r"there is no file 'memory://urls/none.csv'"):
            read("memory://urls/none.csv")
    finally:
        memory.rm(f"/urls-{kind}", recursive=True)
    with pytest.raises(errors.InvalidRequestError, match=r"'nothing://a.csv' cannot be opened: Protocol not known"):
        read("nothing://a.csv")


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_arrays_of_an_archive_have_one_length(tmp_path: Path, scheme: str) -> None:
    np.savez(tmp_path / "a.npz", a=np.arange(3), b=np.arange(5))
    np.savez(tmp_path / "none.npz")
    with pytest.raises(errors.InvalidRequestError, match=r"differ in length: {'a': 3, 'b': 5}"):
        read(f"{scheme}{tmp_path}/a.npz")
    with pytest.raises(errors.InvalidRequestError, match=r"none.npz' has no array"):
        read(f"{scheme}{tmp_path}/none.npz")


def test_results_of_databases_are_rows(tmp_path: Path) -> None:
    with sqlite3.connect(":memory:") as connection:
        with pytest.raises(errors.InvalidRequestError, match=r"two columns of one name: id, id.*with AS"):
            read(connection.execute("SELECT 1 AS id, 2 AS id"))
        cursor = connection.execute("CREATE TABLE t(id INT, name TEXT)")
        with pytest.raises(errors.InvalidRequestError, match="its last statement was no query"):
            read(cursor)
        cursor.executemany("INSERT INTO t VALUES (?, ?)", [(number, f"n{number}") for number in range(5000)])
        cursor.execute("SELECT id, name FROM t ORDER BY id")
        assert read(cursor)[0] == {"id": list(range(5000)), "name": [f"n{number}" for number in range(5000)]}
        with pytest.raises(errors.InvalidRequestError, match="there is no batch to load"):
            read(cursor.execute("SELECT id, name FROM t WHERE id < 0"))
    connection.close()


class DictCursor:
    """As cursors that give dicts."""

    description = (("id", None), ("x", None))

    def __init__(self) -> None:
        self._pages = [[{"id": 1, "x": 0.5}, {"id": 2, "x": None}], []]

    def fetchmany(self, size: int) -> list[dict[str, Any]]:
        return self._pages.pop(0)


def test_rows_of_a_database_may_be_dicts() -> None:
    assert read(DictCursor())[0] == {"id": [1, 2], "x": [0.5, None]}


class AdbcCursor:
    """As cursors of ADBC are: it gives Arrow, and rows too."""

    description = (("id", None),)

    def fetchmany(self, size: int) -> list[tuple[int]]:
        raise AssertionError(size)

    def fetch_record_batch(self) -> pa.RecordBatchReader:
        return pa.table({"id": [1, 2]}).to_reader()


def test_results_that_are_arrow_stay_arrow() -> None:
    assert read(AdbcCursor())[0] == {"id": [1, 2]}


class _Rows:
    """As a datasets.Dataset."""

    __module__ = "datasets.arrow_dataset"

    def __init__(self, kind: str | None, columns: list[str]) -> None:
        self.format = {"type": kind, "columns": columns}

    def with_format(self, kind: str, columns: list[str]) -> _Rows:
        return _Rows(kind, columns)

    def iter(self, rows: int) -> Any:
        assert self.format["type"] == "arrow"
        yield pa.table({"a": [1, 2], "b": [3, 4], "late": pa.nulls(2)}).select(self.format["columns"])
        if "late" in self.format["columns"]:
            # What an IterableDataset does if the first rows of a column are null, and its type is not known.
            pa.table({"late": ["x"]}).cast(pa.schema({"late": pa.null()}))


class _Splits(dict[str, _Rows]):
    """As a datasets.DatasetDict."""

    __module__ = "datasets.dataset_dict"


def test_datasets_of_hugging_face_keep_their_columns_and_are_refused_where_they_give_other_values() -> None:
    assert read(_Rows("numpy", ["b"]))[0] == {"b": [3, 4]}
    with pytest.raises(errors.UnsupportedTypeError, match=r"with a transform .* cannot be loaded"):
        read(_Rows("custom", ["a", "b"]))
    with pytest.raises(errors.InvalidRequestError, match="the rows could not be read to their end: Unsupported cast"):
        read(_Rows(None, ["a", "late"]), schema={"late": pa.string()})
    with pytest.raises(errors.UnsupportedTypeError, match=r"several datasets: train, test\..*data\['train'\]"):
        read(_Splits(train=_Rows(None, ["a"]), test=_Rows(None, ["a"])))


def test_objects_in_a_frame_of_polars_are_refused() -> None:
    """Polars would give their addresses in memory."""
    polars = pytest.importorskip("polars")
    with pytest.raises(errors.UnsupportedTypeError, match="column 'x' has Python objects"):
        read(polars.DataFrame({"id": [1], "x": polars.Series([object()], dtype=polars.Object)}))


def test_categories_of_polars_and_large_integers_are_loaded_if_they_fit() -> None:
    words = pa.array(["a", "b"]).cast(pa.string_view())
    categories = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.uint32()), words)
    large = pa.array([1, None, 2**63 - 1], pa.uint64())
    assert read(pa.table({"c": categories, "n": large}))[0] == {"c": ["b", None, "a"], "n": [1, None, 2**63 - 1]}
    with pytest.raises(
        errors.UnsupportedTypeError, match=r"column 'n' of type uint64 .*9223372036854775808 not in range"
    ):
        read(pa.table({"n": pa.array([2**63], pa.uint64())}))


def test_tfrecord_files_need_a_schema_which_the_error_proposes(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(3):
            features = {
                "id": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=[number, number + 0.5])),
                "words": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a"] * number)),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    schema = {"id": pa.int64(), "x": pa.list_(pa.float32(), 2), "words": pa.list_(pa.string())}
    expected = {
        "id": [0, 1, 2],
        "x": [[0, 0.5], [1, 1.5], [2, 2.5]],
        "words": [[], ["a"], ["a", "a"]],
    }
    assert read(path, schema)[0] == expected
    Path(path + ".gz").write_bytes(gzip.compress(Path(path).read_bytes()))
    assert read(path + ".gz", schema)[0] == expected
    with pytest.raises(errors.InvalidRequestError) as error:
        read(path)
    lists = "'words': pyarrow.list_(pyarrow.binary()), 'x': pyarrow.list_(pyarrow.float32(), 2)"
    assert f"By its first records: schema={{'id': 'int64', {lists}}}" in str(error.value)
    with pytest.raises(errors.InvalidRequestError, match="cannot be read as tfrecord: Key: id"):
        read(path, {"id": "float32"})
    with pytest.raises(errors.InvalidRequestError, match=r"has the type timestamp\[ms\]"):
        read(path, {"id": pa.timestamp("ms")})
    Path(path).write_bytes(Path(path).read_bytes()[:-3])
    with pytest.raises(errors.InvalidRequestError, match="cannot be read as tfrecord: truncated record"):
        read(path, schema)


def test_the_proposed_schema_loads_features_that_some_records_lack_and_no_feature_is_left_out(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")
    number = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for features in ({"id": number, "x": number}, {"id": number}):
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    with pytest.raises(errors.InvalidRequestError, match=r"'id': 'int64', 'x': pyarrow.list_\(pyarrow.int64\(\)\)"):
        read(path)
    assert read(path, {"id": "int64", "x": pa.list_(pa.int64())})[0] == {"id": [7, 7], "x": [[7], []]}
    lists = tf.train.FeatureLists(feature_list={"words": tf.train.FeatureList(feature=[number])})
    context = tf.train.Features(feature={"id": number})
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(tf.train.SequenceExample(context=context, feature_lists=lists).SerializeToString())
    with pytest.raises(errors.InvalidRequestError, match=r"a.tfrecord has records of tf.train.SequenceExample"):
        read(path)


def test_types_come_from_the_first_csv_file_that_has_values(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, "a.csv", "id,x,none\n")
    write(tmp_path, "b.csv", "id,x,none\n1,,\n")
    write(tmp_path, "c.csv", "id,x,none\n2,0.5,\n")
    assert read(str(tmp_path))[0] == {"id": [1, 2], "x": [None, 0.5], "none": ["", ""]}
    assert "column 'none' is empty at the begin of each file" in caplog.text
    assert "'x'" not in caplog.text
    # A later value is checked as before.
    write(tmp_path, "d.csv", "id,x,none\nthree,1,\n")
    with pytest.raises(errors.InvalidRequestError, match=r"'three' in line 2 of .*d.csv is no int64"):
        read(str(tmp_path))


@pytest.mark.parametrize("kind", [pa.int64(), pa.float32(), pa.list_(pa.int8())])
@pytest.mark.parametrize("name", ["", "a.parquet"])
def test_a_number_that_is_neither_0_nor_1_is_no_truth_value(tmp_path: Path, kind: pa.DataType, name: str) -> None:
    def rows(*numbers: int | None) -> Any:
        values = [[number] for number in numbers] if pa.types.is_list(kind) else list(numbers)
        table = pa.table({"x": pa.array(values, kind)})
        if name:
            pyarrow.parquet.write_table(table, tmp_path / name)
        return str(tmp_path / name) if name else table

    found = read(rows(0, 1, None), {"x": np.bool_})[0]["x"]
    assert found == ([[False], [True], [None]] if pa.types.is_list(kind) else [False, True, None])
    with pytest.raises(errors.UnsupportedTypeError, match=r"cannot be loaded as .*bool.*neither 0 nor 1"):
        read(rows(0, 2), {"x": np.bool_})


class Prices:
    """A cursor whose decimal numbers need more digits in later rows."""

    description = (("price", None),)

    def __init__(self, *pages: list[str | None]) -> None:
        self._pages = [[(None if text is None else Decimal(text),) for text in page] for page in pages] + [[]]

    def fetchmany(self, size: int) -> list[tuple[Decimal | None]]:
        return self._pages.pop(0)


def test_decimal_numbers_of_a_database_may_become_longer_and_not_finer() -> None:
    pages: list[list[str | None]] = [["1.50", None], [None, None], ["123456.7"], ["-0.25"]]
    expected = [Decimal("1.50"), None, None, None, Decimal("123456.70"), Decimal("-0.25")]
    assert read(Prices(*pages))[0] == {"price": expected}
    finer: list[list[str | None]] = [["1.50"], ["1.505"]]
    with pytest.raises(
        errors.InvalidRequestError,
        match=r"'price' of the query has numbers with 3 digits.*schema=\{'price': pyarrow.decimal128\(38, 3\)\}",
    ):
        read(Prices(*finer))
    found = read(Prices(*finer), {"price": pa.decimal128(38, 3)})[0]
    assert found == {"price": [Decimal("1.500"), Decimal("1.505")]}
    assert read(Prices(*finer), {"price": pa.float64()})[0]["price"] == pytest.approx([1.5, 1.505])


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("9007199254740993", "9007199254740993 is 9007199254740992.0"),
        ("-9007199254740993", "-9007199254740993 is -9007199254740992.0"),
        ("12345678901234567.89", "12345678901234567.89 is 1.2345678901234568e+16"),
        ("0.12345678901234567890123", "0.12345678901234567890123 is 0.12345678901234568"),
        ("1e400", "1e400 is inf"),
        ("1" * 50, "1" * 50 + " is 1.1111111111111111e+49"),
        *[(text, None) for text in ("0.30000000000000004", "1.1000000000000000", "1234567890123456.0", "inf", "-0.5")],
        *[(text, None) for text in ("9007199254740992", "1e-400", "")],
    ],
)
def test_a_floating_point_number_that_loses_digits_is_reported(tmp_path: Path, text: str, note: str | None) -> None:
    _, notes = read(write(tmp_path, "a.csv", f"id,x\n0,1.5\n1,{text}\n2,\n"))
    if note is None:
        assert notes == {}
    else:
        assert notes == {"x": f"is a number, and loses characters: {note}; --schema x=string keeps them"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "id,x\n0,1.5\n1,{}\n"),
        ("a.jsonl", '{{"id": 0, "x": 1.5}}\n{{"id": 1, "x": {}}}\n'),
        ("a.json", '[{{"id": 0, "x": 1.5}}, {{"id": 1, "x": {}}}]'),
    ],
)
@pytest.mark.parametrize(("number", "kind"), [("1e39", "float32"), ("1e400", "float32"), ("1e400", "float64")])
def test_a_number_of_a_text_is_no_infinity_of_a_requested_type(
    tmp_path: Path, name: str, text: str, number: str, kind: str
) -> None:
    path = write(tmp_path, name, text.format(number))
    with pytest.raises(errors.TensorFlowIgniteError, match=r"1e(39|\+39|400).* in (row 1|line 3)|[Tt]oo (big|large)"):
        read(path, {"x": kind})
    assert read(write(tmp_path, name, text.format("1e38")), {"x": kind})[0]["x"] == pytest.approx([1.5, 1e38])


def test_infinities_of_a_csv_file_stay_if_their_type_is_given(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "id;x\n0; -inf\n1;0,5\n2;\n")
    found = read(path, {"x": "float32"}, delimiter=";", decimal_point=",")
    assert found == ({"id": [0, 1, 2], "x": [-float("inf"), 0.5, None]}, {})


def test_times_of_96_bits_are_those_of_any_year_or_are_refused(tmp_path: Path) -> None:
    path, years = str(tmp_path / "a.parquet"), [1, 2024, 9999]
    times = pa.array([datetime.datetime(year, 12, 31, 23, 59, 59, 1) for year in years], pa.timestamp("us"))
    table = pa.table({"t": times, "others": pa.nulls(3, pa.list_(pa.int8()))})
    pyarrow.parquet.write_table(table, path, use_deprecated_int96_timestamps=True)
    with pytest.raises(errors.InvalidRequestError, match=r"column 't' .* before 1677 .*--schema t=timestamp\[us\]"):
        read(path)
    assert read(path, {"t": "timestamp[us]"})[0]["t"] == times.to_pylist()
    pyarrow.parquet.write_table(table.slice(1, 1), path, use_deprecated_int96_timestamps=True)
    assert pa.array(read(path)[0]["t"]).cast(pa.timestamp("us")) == times[1:2]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)),
        ("a.csv", b"PAR1\x15\x04\xff\xfe" + bytes(9) + b"PAR1"),
    ],
)
def test_a_file_of_another_format_is_no_text_of_another_encoding(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(errors.InvalidRequestError, match=r"a.csv cannot be read as csv.*name of its format"):
        read(str(tmp_path / name))


def test_a_compressed_csv_file_whose_name_ends_in_upper_case_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "a.csv.GZ").write_bytes(gzip.compress(b"a\n1\n"))
    with pytest.raises(errors.InvalidRequestError, match=r"a.csv.GZ .*in lower case. Rename the file"):
        read(str(tmp_path / "a.csv.GZ"))


def test_the_line_of_a_text_that_is_no_truth_value_is_that_of_its_spaces(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "a,b\n" + "true,x\n" * 900_000 + " true,x\n")
    with pytest.raises(errors.InvalidRequestError, match="' true' in line 900002 of"):
        read(path)


def test_integers_of_json_that_lose_digits_beside_fractions_are_reported_and_kept_as_decimals(tmp_path: Path) -> None:
    rows = [{"x": 1.5, "n": 2**53 + 1, "o": {"y": 0.5}}, {"x": 2**53 + 1, "n": 1, "o": {"y": -(2**64) - 1}}]
    path = write(tmp_path, "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    columns, notes = read(path)
    assert columns["n"] == [2**53 + 1, 1]
    assert set(notes) == {"x", "y"}
    assert "9007199254740993 is 9007199254740992.0; schema={'x': pyarrow.decimal128(38, 0)}" in notes["x"]
    assert "-18446744073709551617 is -1.8446744073709552e+19" in notes["y"]
    columns, notes = read(path, {"x": pa.decimal128(38, 1)})
    assert columns["x"] == [Decimal("1.5"), Decimal(2**53 + 1)]
    assert set(notes) == {"y"}
    exact = write(tmp_path, "b.jsonl", '{"x": 1.5}\n{"x": 9007199254740992}\n{"x": null}\n')
    assert read(exact)[1] == {}


@pytest.mark.parametrize(
    ("text", "schema", "error"),
    [
        ('{"a": 1}\n{"a": 5.50}\n', {"a": "int64"}, r"couldn't parse:5.50 \(field 'a' in line 2\)"),
        ('{"a": 1}\n\n{"a": "x"}\n', None, r"\(field 'a' in line 3\)"),
        ('{"a": 1}\n' * 1_000_000 + '{"a": 2, "b": 3}\n', None, r"unexpected field \(field 'b' in line 1000001\)"),
        ('{"a": 1}\n{"a": \n', None, r"\(line 2\)"),
        ('{"a": true}\n{"a": 1}\n', None, r"from boolean to number .*\(field 'a' in line 2\)"),
        ('[{"a": 1, "b": 9223372036854775808}]', None, "as json: field 'b': .* too large"),
        ("[1, 2]\n[3]", None, "a.jsonl cannot be read as json"),
    ],
    ids=["number", "text", "field", "end", "truth", "large", "list"],
)
def test_an_error_of_json_names_the_field_and_the_line(tmp_path: Path, text: str, schema: Any, error: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match=error):
        read(write(tmp_path, "a.jsonl", text), schema)
