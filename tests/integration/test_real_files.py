"""Data files as people have them, in a real cluster: out of packages, and as pandas and R write them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import sklearn.datasets
from jobs import cli

import tensorflow_ignite as tfi
from local_nodes import read_at
from tensorflow_ignite.testing import LocalCluster

pytestmark = pytest.mark.full
FILES = Path(sklearn.datasets.__file__).with_name("data")
PARTITIONS = 8


def load(cluster: LocalCluster, cache: str, data: Any, **options: Any) -> pandas.DataFrame:
    """The rows of a cache after their load, in their order."""
    tfi.load(cache, data, partitions=PARTITIONS, if_exists="replace", address=cluster.address, **options)
    table = tfi.read_table(cache, key=True, options=read_at(cluster)).sort_by("_key")
    return table.drop_columns("_key").to_pandas()


def test_files_of_packages_come_back_as_their_library_reads_them(cluster: LocalCluster) -> None:
    digits = load(cluster, "digits_file", FILES / "digits.csv.gz", csv={"autogenerate_column_names": True})
    expected = sklearn.datasets.load_digits()
    np.testing.assert_array_equal(digits.to_numpy()[:, :-1], expected.data)
    np.testing.assert_array_equal(digits["f64"], expected.target)
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width", "kind"]
    iris = load(cluster, "iris_file", FILES / "iris.csv", csv={"column_names": names, "skip_rows": 1})
    np.testing.assert_array_equal(iris.to_numpy()[:, :-1], sklearn.datasets.load_iris().data)
    exercise = load(cluster, "exercise_file", FILES / "linnerud_exercise.csv", csv={"delimiter": " "})
    np.testing.assert_array_equal(exercise.to_numpy(), sklearn.datasets.load_linnerud().data)


def test_what_pandas_writes_by_default_is_loaded_with_names_that_sql_knows(
    cluster: LocalCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    frame = pandas.DataFrame({"ph.ecog": [0, 1, 2], "note": ["a\nb", 'say "x"', "ä"]}, index=["r1", "r2", "r3"])
    frame.to_csv(tmp_path / "lung.csv")
    loaded = load(cluster, "lung", tmp_path / "lung.csv")
    assert loaded.to_dict("list") == {"column_1": ["r1", "r2", "r3"], "ph_ecog": [0, 1, 2], "note": [*frame["note"]]}
    assert "column 'column_1' of cache lung has no name in the file" in caplog.text
    assert "column 'ph_ecog' of cache lung is ph.ecog in the data" in caplog.text
    chosen = tfi.read_table("lung", where="ph_ecog >= ?", parameters=[1], options=read_at(cluster))
    assert sorted(chosen["column_1"].to_pylist()) == ["r2", "r3"]
    # Also as a key, and in data that are no file.
    tfi.load("lung_keys", frame, key="ph.ecog", partitions=PARTITIONS, address=cluster.address)
    with pytest.raises(
        tfi.errors.InvalidRequestError, match=r"'a.b' would be stored as 'a_b', which is another column"
    ):
        tfi.load("lung_twice", {"a.b": [1], "a_b": [2]}, address=cluster.address)
    assert load(cluster, "lung_no_sql", frame, sql=False).columns.tolist() == ["ph.ecog", "note"]


def test_the_command_line_loads_files_of_other_countries_and_prints_what_it_has_stored(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    path = tmp_path / "preise.csv"
    path.write_text("Artikel;Preis;PLZ;Größe\nÄpfel;12,50;01069;-\nBirnen;1,5;80331;NA\n", encoding="cp1252")
    command = ["load", "preise", str(path), "--partitions", str(PARTITIONS)]
    refused = cli(*command, address=cluster.address)
    assert refused.returncode == 1
    assert "is not UTF-8 text" in refused.stderr
    options = shlex.split("--csv delimiter=';' decimal=, encoding=cp1252 nulls=NA,-")
    printed = cli(*command, *options, address=cluster.address)
    assert (printed.returncode, printed.stderr.splitlines()[1:]) == (0, [])
    assert "column 'Größe' is empty at the begin of each file" in printed.stderr
    assert printed.stdout.startswith("loaded 2 rows into cache preise: ")
    assert printed.stdout.splitlines()[1:] == [
        "  Artikel  string",
        "  Preis    double",
        "  PLZ      int64",
        "  Größe    string",
        "note: column PLZ is a number, and loses characters: 01069 is 1069; --schema PLZ=string keeps them",
    ]
    again = cli(
        *command, *options, "--schema", "PLZ=string", "--if-exists", "replace", "--json", address=cluster.address
    )
    figures = json.loads(again.stdout)
    assert (figures["columns"]["PLZ"], figures["notes"]) == ("string", {})
    table = tfi.read_table("preise", options=read_at(cluster)).sort_by("Artikel")
    assert table.sort_by("Preis").to_pydict() == {
        "Artikel": ["Birnen", "Äpfel"],
        "Preis": [1.5, 12.5],
        "PLZ": ["80331", "01069"],
        "Größe": [None, None],
    }
    for setting, error in (
        ("separator=;", "is not NAME=VALUE with one of the names delimiter, quote"),
        ("header=maybe", "is neither yes nor no"),
        ("skip=x", "is no number"),
    ):
        ran = cli(*command, "--csv", setting, address=cluster.address)
        assert ran.returncode == 2, ran.stderr
        assert error in ran.stderr
