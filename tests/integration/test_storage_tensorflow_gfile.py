"""TensorFlow's own functions for files, case by case: what is true of a local directory is true of ``ignite://``."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tensorflow_ignite  # noqa: F401  it is what makes the scheme known
from tensorflow_ignite.testing import LocalCluster

tf = pytest.importorskip("tensorflow")
file_io = pytest.importorskip("tensorflow.python.lib.io.file_io")
gfile = tf.io.gfile
_numbers = itertools.count()


@pytest.fixture(params=["local", "ignite"])
def root(request: pytest.FixtureRequest, cluster: LocalCluster, tmp_path: Path) -> str:
    """An empty directory; the promise of each test is tried on a local one first."""
    if request.param == "local":
        return str(tmp_path)
    # A name of its own; the same as the local one's, so that texts can be compared.
    path = f"ignite://{cluster.address}/gfile/{next(_numbers)}-{tmp_path.name}"
    gfile.makedirs(path)
    return path


def put(path: str, content: str | bytes = "content") -> str:
    with gfile.GFile(path, "wb" if isinstance(content, bytes) else "w") as file:
        file.write(content)
    return path


def get(path: str) -> str:
    with gfile.GFile(path, "r") as file:
        text: str = file.read()
    return text


def test_written_text_and_bytes_are_read_back_by_gfile(root: str) -> None:
    path = put(f"{root}/Größe 大小", "🛁 tub\nend")
    assert gfile.exists(path)
    with gfile.GFile(path) as file:
        assert file.readline() == "🛁 tub\n"
        assert file.tell() == 9
        assert file.read() == "end"
    content = bytes(range(256)) * 3
    with gfile.GFile(put(f"{root}/bytes", content), "rb") as file:
        assert file.read() == content
    empty = put(f"{root}/empty", "")
    assert gfile.stat(empty).length == 0
    with gfile.GFile(empty) as file:
        assert file.read() == ""
        assert file.readline() == ""
        assert list(file) == []


@pytest.mark.full
def test_writing_replaces_and_appending_makes_a_file_and_goes_on(root: str) -> None:
    path = f"{root}/file"
    with gfile.GFile(path, "a") as file:
        file.write("first")
        assert file.tell() == 5
    for mode, text, whole in (("w", "begin\n", "begin\n"), ("a", "a1\n", "begin\na1\n"), ("a", "a2\n", None)):
        with gfile.GFile(path, mode) as file:
            file.write(text)
        assert get(path) == (whole or "begin\na1\na2\n")
    put(path, "new")
    assert get(path) == "new"
    # A file that was opened to be replaced, and not written, is not touched.
    with gfile.GFile(path, "w"):
        pass
    assert get(path) == "new"


@pytest.mark.full
def test_flushed_bytes_can_be_read_while_writing_goes_on(root: str) -> None:
    path = f"{root}/file"
    with gfile.GFile(path, "w") as writer:
        writer.write("one")
        writer.flush()
        assert get(path) == "one"
        writer.write("two")
        writer.flush()
        assert get(path) == "onetwo"
        writer.write("three")
    assert get(path) == "onetwothree"
    # Through one object, too.
    with gfile.GFile(path, "w+") as file:
        file.write("12345")
        file.flush()
        assert file.read() == "12345"
        file.seek(1)
        assert file.read(2) == "23"
    with gfile.GFile(path, "a+") as file:
        file.write("67890")
        file.flush()
        assert file.read() == "1234567890"
    # What is not closed is written when it is collected.
    file = gfile.GFile(path, "w")
    file.write("whole")
    del file
    assert get(path) == "whole"


@pytest.mark.full
def test_lines_and_pieces_are_read_from_any_position(root: str) -> None:
    path = put(f"{root}/file", "testing1\ntesting2\ntesting3\n\ntesting5")
    lines = ["testing1\n", "testing2\n", "testing3\n", "\n", "testing5"]
    with gfile.GFile(path) as file:
        assert [file.readline() for _ in range(6)] == [*lines, ""]
    with gfile.GFile(path) as file:
        assert file.readlines() == lines
    with gfile.GFile(path) as file:
        assert list(file) == lines
    with gfile.GFile(path) as file:
        assert file.size() == 36
        assert file.read(6) == "testin"
        assert file.tell() == 6
        assert file.read(1000) == "g1\ntesting2\ntesting3\n\ntesting5"
        assert file.read() == ""
        file.seek(18)
        assert file.readline() == "testing3\n"
        file.seek(-1, whence=1)
        assert file.read(1) == "\n"
        file.seek(0, whence=2)
        assert file.read() == ""
        file.seek(-8, whence=2)
        assert file.read() == "testing5"
        file.seek(offset=0, whence=0)
        assert file.readline() == "testing1\n"
        with pytest.raises(tf.errors.InvalidArgumentError):
            file.seek(0, whence=3)
        with pytest.raises(tf.errors.OutOfRangeError):
            file.seek(1000)
        with pytest.raises(tf.errors.InvalidArgumentError):
            file.seek(-1)


@pytest.mark.full
def test_a_missing_file_is_not_found(root: str) -> None:
    missing = f"{root}/missing"
    assert not gfile.exists(missing)
    assert not gfile.isdir(missing)
    calls: list[Callable[[], Any]] = [
        lambda: get(missing),
        lambda: gfile.stat(missing),
        lambda: gfile.remove(missing),
        lambda: gfile.rmtree(missing),
        lambda: gfile.listdir(missing),
        lambda: gfile.rename(missing, f"{root}/other"),
        lambda: gfile.copy(missing, f"{root}/other"),
        lambda: gfile.mkdir(f"{missing}/below"),
        lambda: gfile.rename(put(f"{root}/file"), f"{missing}/file"),
    ]
    for call in calls:
        with pytest.raises(tf.errors.NotFoundError):
            call()
    assert gfile.listdir(root) == ["file"]


@pytest.mark.full
def test_nothing_is_below_a_file(root: str) -> None:
    below = put(f"{root}/file") + "/below"
    assert not gfile.isdir(below)
    with pytest.raises(tf.errors.FailedPreconditionError):
        gfile.stat(below)
    with pytest.raises(tf.errors.FailedPreconditionError):
        put(below)
    with pytest.raises(tf.errors.FailedPreconditionError):
        gfile.mkdir(below)


@pytest.mark.full
def test_files_and_directories_have_a_kind_a_length_and_a_time(root: str) -> None:
    path = put(f"{root}/file", "testing")
    statistics = gfile.stat(path)
    assert statistics.length == 7
    assert not statistics.is_directory
    assert statistics.mtime_nsec > 1_600_000_000 * 10**9
    assert gfile.stat(root).is_directory
    put(path, "again")
    assert gfile.stat(path).mtime_nsec >= statistics.mtime_nsec
    assert gfile.isdir(root)
    assert gfile.isdir(f"{root}/")
    assert not gfile.isdir(path)
    assert gfile.exists(f"{root}//file")
    assert gfile.exists(f"{root}/./x/../file") or not root.startswith("ignite")


@pytest.mark.full
def test_listing_gives_names(root: str) -> None:
    for name in ("b", "a", "Größe", "two words", "50%", "%20", "a#b?c=d"):
        put(f"{root}/{name}")
    gfile.mkdir(f"{root}/directory")
    names = ["%20", "50%", "Größe", "a", "a#b?c=d", "b", "directory", "two words"]
    assert sorted(name.rstrip("/") for name in gfile.listdir(root)) == names
    assert [gfile.exists(f"{root}/{name}") for name in names] == [True] * len(names)
    assert get(f"{root}/%20") == "content"
    assert not gfile.exists(f"{root}/ ")
    with pytest.raises(tf.errors.NotFoundError):
        gfile.listdir(f"{root}/a")


PATTERNS = [
    ("file*.txt", ["file1.txt", "file2.txt"]),
    ("file[13].*", ["file1.txt"]),
    ("file[^13].txt", ["file2.txt"]),
    ("file[1-9].txt", ["file1.txt", "file2.txt"]),
    ("*", ["a(b)", "a*b", "acb", "below", "file1.txt", "file2.txt", "two words"]),
    (r"a\*b", ["a*b"]),
    ("a[*]b", ["a*b"]),
    ("a(b)", ["a(b)"]),
    ("*/*.txt", ["below/deep.txt"]),
    ("file1.txt", ["file1.txt"]),
    ("missing", []),
    ("two w*", ["two words"]),
]


@pytest.mark.full
def test_patterns_stand_for_paths(root: str) -> None:
    for name in ("file1.txt", "file2.txt", "a*b", "acb", "a(b)", "two words"):
        put(f"{root}/{name}")
    gfile.mkdir(f"{root}/below")
    put(f"{root}/below/deep.txt")
    found = {pattern: gfile.glob(f"{root}/{pattern}") for pattern, _ in PATTERNS}
    assert {pattern: [path[len(root) + 1 :] for path in sorted(paths)] for pattern, paths in found.items()} == {
        pattern: sorted(names) for pattern, names in PATTERNS
    }
    assert sorted(gfile.glob([f"{root}/file1*", f"{root}/file2*"])) == [f"{root}/file1.txt", f"{root}/file2.txt"]


@pytest.mark.full
def test_directories_are_made_one_by_one_or_at_once(root: str) -> None:
    gfile.mkdir(f"{root}/one")
    gfile.mkdir(f"{root}/one")  # TensorFlow's mkdir does not mind
    gfile.makedirs(f"{root}/a/b/c")
    gfile.makedirs(f"{root}/a/b/c")
    assert gfile.isdir(f"{root}/a/b/c")
    put(f"{root}/file")
    for make in (gfile.makedirs, gfile.mkdir):
        with pytest.raises((tf.errors.AlreadyExistsError, tf.errors.FailedPreconditionError)):
            make(f"{root}/file/below")
    with pytest.raises(tf.errors.FailedPreconditionError):
        gfile.makedirs(f"{root}/file")


@pytest.mark.full
def test_files_and_whole_directories_are_removed(root: str) -> None:
    gfile.makedirs(f"{root}/all/deep/deeper")
    for name in ("all/file", "all/deep/file", "stays"):
        put(f"{root}/{name}")
    gfile.remove(f"{root}/all/file")
    assert not gfile.exists(f"{root}/all/file")
    with pytest.raises(tf.errors.OpError):
        gfile.remove(root)
    gfile.rmtree(f"{root}/all")
    assert gfile.listdir(root) == ["stays"]


@pytest.mark.full
def test_a_file_is_renamed_over_another_only_on_request(root: str) -> None:
    source, target = put(f"{root}/source", "new"), put(f"{root}/target", "old")
    with pytest.raises(tf.errors.AlreadyExistsError):
        gfile.rename(source, target)
    assert (get(source), get(target)) == ("new", "old")
    gfile.rename(source, target, overwrite=True)
    assert not gfile.exists(source)
    assert get(target) == "new"


def test_a_directory_is_renamed_with_all_that_is_in_it_and_replaces_none_in_use(root: str) -> None:
    gfile.makedirs(f"{root}/a/b")
    put(f"{root}/a/b/file", "deep")
    gfile.rename(f"{root}/a", f"{root}/z")
    assert get(f"{root}/z/b/file") == "deep"
    assert not gfile.exists(f"{root}/a")
    gfile.makedirs(f"{root}/a")
    with pytest.raises(tf.errors.OpError):
        gfile.rename(f"{root}/a", f"{root}/z", overwrite=True)
    assert gfile.isdir(f"{root}/z/b")


@pytest.mark.full
def test_a_file_is_copied_over_another_only_on_request_and_in_both_directions(root: str, tmp_path: Path) -> None:
    content = os.urandom(5_000_001)
    source, target = put(f"{root}/source", content), put(f"{root}/target", "old")
    with pytest.raises(tf.errors.AlreadyExistsError):
        gfile.copy(source, target)
    assert get(target) == "old"
    gfile.copy(source, target, overwrite=True)
    for path in (source, target):
        with gfile.GFile(path, "rb") as file:
            assert file.read() == content
    gfile.copy(put(f"{root}/empty", ""), f"{root}/copy")
    assert gfile.stat(f"{root}/copy").length == 0
    outside = tmp_path / "outside"
    gfile.copy(source, str(outside))
    assert outside.read_bytes() == content
    gfile.copy(str(outside), target, overwrite=True)
    with gfile.GFile(target, "rb") as file:
        assert file.read() == content


def test_a_file_is_written_whole_by_a_rename(root: str) -> None:
    path = f"{root}/file"
    file_io.atomic_write_string_to_file(path, "one")
    file_io.atomic_write_string_to_file(path, "two")
    assert get(path) == "two"
    assert gfile.listdir(root) == ["file"]
    assert file_io.has_atomic_move(path)


@pytest.mark.full
def test_the_root_is_a_directory_under_each_of_its_names_and_hosts_are_not_dropped(cluster: LocalCluster) -> None:
    for url in (f"ignite://{cluster.address}", f"ignite://{cluster.address}/"):
        assert gfile.isdir(url)
        assert gfile.exists(url)
    gfile.makedirs(f"ignite://{cluster.address}/of-the-root")
    assert "of-the-root" in gfile.listdir(f"ignite://{cluster.address}/")
    assert f"ignite://{cluster.address}/of-the-root" in gfile.glob(f"ignite://{cluster.address}/*")
    # Nothing is served there: were the host dropped, the cluster of the environment would answer.
    with pytest.raises(tf.errors.UnavailableError, match=r"no node answers at 127\.0\.0\.1:9"):
        gfile.stat("ignite://127.0.0.1:9/")
