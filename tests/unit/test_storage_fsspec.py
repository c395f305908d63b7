"""The file system of fsspec against a file service on a real socket; first fsspec's own suites for file systems."""

from __future__ import annotations

import io
import os
import pickle
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import fsspec
import grpc
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from file_server import FileServer
from fsspec.implementations.local import LocalFileSystem
from fsspec.tests.abstract import AbstractFixtures
from fsspec.tests.abstract.copy import AbstractCopyTests
from fsspec.tests.abstract.get import AbstractGetTests
from fsspec.tests.abstract.open import AbstractOpenTests
from fsspec.tests.abstract.pipe import AbstractPipeTests
from fsspec.tests.abstract.put import AbstractPutTests

from tensorflow_ignite import errors
from tensorflow_ignite.storage.filesystem import IgniteFileSystem

NAMES = ["a b", "ünïcödé-文件", "50%25", "a#b", "a?b", "a*b", "[x]", "a:b,c", "~", "...", "-r", "\n", "a\\b", "COM1"]


@pytest.fixture
def node() -> Iterator[FileServer]:
    with FileServer() as server, FileServer(server.store):
        yield server


@pytest.fixture
def fs(node: FileServer) -> IgniteFileSystem:
    return IgniteFileSystem(node.address)


class _Fixtures(AbstractFixtures):
    @pytest.fixture(scope="class")
    @classmethod
    def local_fs(cls) -> LocalFileSystem:
        return LocalFileSystem(auto_mkdir=True)

    @pytest.fixture
    def fs(self) -> Iterator[IgniteFileSystem]:
        with FileServer() as server:
            yield IgniteFileSystem(server.address)

    @pytest.fixture
    def fs_path(self) -> str:
        return "/suite"


@pytest.mark.full
class TestCopy(AbstractCopyTests, _Fixtures):
    """Copies inside the cluster."""


@pytest.mark.full
class TestGet(AbstractGetTests, _Fixtures):
    """Copies out of the cluster."""


@pytest.mark.full
class TestPut(AbstractPutTests, _Fixtures):
    """Copies into the cluster."""


class TestOpen(AbstractOpenTests, _Fixtures):
    """Modes of open()."""


class TestPipe(AbstractPipeTests, _Fixtures):
    """Whole files at once."""


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_kept_as_it_is(fs: IgniteFileSystem, name: str) -> None:
    path = f"/names {name}/{name}"
    fs.pipe_file(path, name.encode())
    assert fs.ls(f"/names {name}", detail=False) == [path]
    assert fs.find("/") == [path]
    assert fs.cat_file(path) == name.encode()
    fs.mv(path, f"{path}2")
    fs.cp_file(f"{path}2", path)
    assert fs.cat_file(f"ignite:///names {name}/{name}") == name.encode()
    fs.rm(path)
    assert fs.ls(f"/names {name}", detail=False) == [f"{path}2"]


def test_a_name_that_is_there_is_not_a_pattern_for_rm(fs: IgniteFileSystem) -> None:
    for name in ("a*", "ab", "ac"):
        fs.pipe_file(f"/{name}", b"")
    fs.rm("/a*")
    assert fs.ls("/", detail=False) == ["/ab", "/ac"]
    fs.rm("/a*")
    assert fs.ls("/", detail=False) == []
    with pytest.raises(FileNotFoundError):
        fs.rm("/a*")


def test_a_with_block_that_raises_leaves_nothing(fs: IgniteFileSystem, node: FileServer) -> None:
    for mode, data in (("wb", b"x"), ("w", "x")):
        with pytest.raises(KeyError), fs.open("/half", mode) as file:  # noqa: PT012 what the block leaves is meant
            file.write(data * 10_000)
            raise KeyError
    assert not fs.exists("/half")
    assert not node.store.blocks
    assert not node.store.writers


@pytest.mark.parametrize("name", ["half", "half.gz"])
@pytest.mark.parametrize("mode", ["wb", "w"])
def test_a_block_of_fsspec_that_raises_keeps_the_file_before(node: FileServer, name: str, mode: str) -> None:
    url = f"ignite://{node.address}/{name}"

    def write(data: str, error: Exception | None) -> None:
        with fsspec.open(url, mode, compression="infer") as file:
            file.write(data if mode == "w" else data.encode())
            if error is not None:
                raise error

    with pytest.raises(KeyError):
        write("lost", KeyError())
    assert not node.store.blocks
    try:
        raise KeyError
    except KeyError:
        write("before", None)  # an exception that the block did not raise
    with pytest.raises(KeyError):
        write("lost", KeyError())
    with fsspec.open(url, "rt", compression="infer") as file:
        assert file.read() == "before"
    assert not node.store.writers


def test_a_writer_of_pandas_or_arrow_that_fails_keeps_the_file_before(node: FileServer, fs: IgniteFileSystem) -> None:
    rows = pa.table({"n": range(1000)})

    def by_pandas() -> None:
        pd.DataFrame({"text": ["a"] * 1000 + ["ä"]}).to_csv(f"ignite://{node.address}/a", encoding="ascii")

    def by_parquet() -> None:
        with pq.ParquetWriter("/a", rows.schema, filesystem=fs) as writer:
            writer.write_table(rows)
            raise KeyError

    def by_arrow() -> None:
        with pafs.PyFileSystem(pafs.FSSpecHandler(fs)).open_output_stream("/a") as file:
            file.write(b"lost")
            raise KeyError

    for write, error in ((by_pandas, UnicodeEncodeError), (by_parquet, KeyError), (by_arrow, KeyError)):
        fs.pipe_file("/a", b"before")
        with pytest.raises(error):
            write()
        assert fs.cat_file("/a") == b"before"
    assert not node.store.writers


def test_a_file_that_is_written_because_of_an_error_is_published(fs: IgniteFileSystem) -> None:
    kept = fs.open("/kept", "wb")

    class Report:
        def __enter__(self) -> None:
            pass

        def __exit__(self, *error: object) -> None:
            with fs.open("/report", "w") as file:
                file.write(repr(error[1]))

    with pytest.raises(KeyError), Report():
        raise KeyError
    assert fs.cat_file("/report") == b"KeyError()"
    try:
        kept.write(b"1")
        raise KeyError
    except KeyError:
        kept.close()
    assert fs.cat_file("/kept") == b"1"


@pytest.mark.parametrize("name", ["a.gz", "a.bz2", "a.xz", "a.zip"])
def test_a_compressed_file_is_published_when_it_is_closed(fs: IgniteFileSystem, node: FileServer, name: str) -> None:
    for mode, data in (("wb", b"x\n"), ("w", "y\n")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with fs.open(f"/{name}", mode, compression="infer") as file:
                file.write(data * 10_000)
                assert mode == "w" or not fs.exists(f"/{name}")
        with pytest.raises(KeyError), fs.open(f"/{name}", mode, compression="infer") as file:  # noqa: PT012 as above
            file.write(data)
            raise KeyError
        fs.open(f"/{name}", mode, compression="infer").write(data)  # never closed
        with fs.open(f"/{name}", mode.replace("w", "r"), compression="infer") as file:
            assert file.read() == data * 10_000
    with pytest.raises(ValueError, match="not supported"):
        fs.open("/b", "wb", compression="unknown")
    assert not fs.exists("/b")
    assert not node.store.writers


def test_a_forced_flush_publishes(fs: IgniteFileSystem) -> None:
    with fs.open("/a", "wb") as file:
        file.write(b"1")
        file.flush()
        assert not fs.exists("/a")
        file.flush(force=True)
        assert fs.cat_file("/a") == b"1"
        file.write(b"2")
    assert fs.cat_file("/a") == b"12"
    with fs.transaction, fs.open("/b", "wb") as file:
        file.write(b"1")
        file.flush(force=True)
        assert not fs.exists("/b")


def test_a_file_is_pickled_with_its_position_and_not_read_after_close(fs: IgniteFileSystem) -> None:
    fs.pipe_file("/a", bytes(range(100)))
    file = fs.open("/a")
    file.seek(50)
    for _ in range(2):
        file = pickle.loads(pickle.dumps(file))
        assert (file.tell(), file.loc, file.read(1)) == (50, 50, b"2")
        file.seek(50)
    file.read(1)
    file.close()
    file.close()
    for use in (file.read, lambda: file.seek(0), lambda: file.readinto(bytearray(1)), file.readline):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_an_unclosed_file_does_not_exist_and_a_warning_says_so(fs: IgniteFileSystem) -> None:
    file = fs.open("/lost", "wb")
    file.write(b"x")
    with pytest.warns(ResourceWarning, match="/lost was written, but not closed"):
        del file
    assert not fs.exists("/lost")


def test_a_file_is_appended_to_in_bytes_and_text(fs: IgniteFileSystem) -> None:
    with fs.open("/a", "ab") as file:
        file.write(b"one")
    with fs.open("/a", "ab") as file:
        assert file.tell() == 3
    with fs.open("/a", "a") as file:
        file.write("two")
    assert fs.cat_file("/a") == b"onetwo"
    with pytest.raises(ValueError, match="r, w, x or a"):
        fs.open("/a", "r+b")


def test_a_transaction_shows_its_files_at_its_end_or_never(fs: IgniteFileSystem, node: FileServer) -> None:
    with fs.transaction:
        fs.pipe_file("/t/1", b"one" * 5000)
        with fs.open("/t/2", "wb") as file:
            file.write(b"two")
        assert not fs.exists("/t/1")
    assert fs.cat(fs.find("/t")) == {"/t/1": b"one" * 5000, "/t/2": b"two"}
    with pytest.raises(KeyError), fs.transaction:  # noqa: PT012 what the block leaves is meant
        fs.pipe_file("/t/3", b"three")
        raise KeyError
    assert not fs.exists("/t/3")
    assert not node.store.writers


def test_reading_lines_ranges_and_positions(fs: IgniteFileSystem) -> None:
    lines = [f"{number}: {'x' * (number % 90)}\n".encode() for number in range(2000)]
    whole = b"".join(lines)
    fs.pipe_file("/lines", whole)
    with fs.open("/lines") as file:
        assert file.size == len(whole)
        assert list(file) == lines
        assert file.seek(-7, 2) == len(whole) - 7
        assert file.read() == whole[-7:]
        file.seek(5)
        assert file.read(20_000) == whole[5:20_005]
        assert file.tell() == 20_005
        buffer = bytearray(9000)
        assert file.readinto(buffer) == 9000
        assert buffer == whole[20_005:29_005]
        with pytest.raises(ValueError, match="before the start"):
            file.seek(-1)
    with fs.open("/lines", "r") as file:
        assert file.readlines() == [line.decode() for line in lines]
    assert fs.cat_file("/lines", -10, None) == whole[-10:]
    assert fs.cat_file("/lines", 10, 2) == b""
    assert fs.cat_ranges(["/lines", "/no", "/lines"], [0, 0, 100], [5, 5, 9000])[::2] == [whole[:5], whole[100:9000]]
    assert isinstance(fs.cat_ranges(["/no"], [0], [5])[0], FileNotFoundError)
    assert fs.head("/lines", 10) == whole[:10]
    assert fs.tail("/lines", 10) == whole[-10:]
    assert fs.read_block("/lines", 100, 500, delimiter=b"\n") in whole


def test_move_is_one_rename_and_makes_the_target_s_directories(fs: IgniteFileSystem, node: FileServer) -> None:
    for number in range(5):
        fs.pipe_file(f"/a/b/{number}", b"x")
    del node.calls[:]
    fs.mv("/a/b", "/c")
    assert node.calls.count("RenameFile") == 1
    assert "BeginWrite" not in node.calls
    assert fs.find("/c") == [f"/c/{number}" for number in range(5)]
    fs.mv("/c/0", "/x/y/z")
    fs.mv("/c/1", "/x/")
    fs.mv("/c/2", "/x")
    assert fs.glob("/c/?") == ["/c/3", "/c/4"]
    fs.mv("/c/*", "/x/y")
    assert fs.find("/x") == ["/x/1", "/x/2", "/x/y/3", "/x/y/4", "/x/y/z"]
    with pytest.raises(FileNotFoundError):
        fs.mv("/none", "/p/q")
    assert not fs.exists("/p")


def test_removing_a_tree_is_one_call(fs: IgniteFileSystem, node: FileServer) -> None:
    for number in range(5):
        fs.pipe_file(f"/a/{number}/x", b"x")
    with pytest.raises(OSError, match="not empty"):
        fs.rm("/a")
    with pytest.raises(OSError, match="not empty"):
        fs.rmdir("/a")
    del node.calls[:]
    fs.rm("/a", recursive=True)
    assert node.calls == ["RemoveFile"]
    assert fs.find("/") == []
    fs.mkdir("/e")
    fs.rmdir("/e")
    with pytest.raises(FileNotFoundError):
        fs.rm("/a")


def test_what_is_in_a_directory_that_was_removed_is_removed(fs: IgniteFileSystem) -> None:
    for files in ("/d/**", ["/d", "/d/e/f"], ["/d/e", "/d", "/d"]):
        fs.pipe({"/d/e/f": b"", "/d/g": b"", "/de": b""})
        fs.rm(files, recursive=True)
        assert fs.find("/", withdirs=True) == ["/", "/de"]


def test_existing_files_are_described(fs: IgniteFileSystem) -> None:
    fs.pipe_file("/d/f", b"12345")
    info = fs.info("/d/f")
    assert (info["name"], info["size"], info["type"]) == ("/d/f", 5, "file")
    assert fs.modified("/d/f").timestamp() == info["mtime"]
    assert fs.created("/d/f") <= fs.modified("/d/f")
    assert (fs.isdir("/d"), fs.isfile("/d"), fs.isdir("/d/f"), fs.isfile("/d/f")) == (True, False, False, True)
    assert (fs.isdir("/d/f/g"), fs.exists("/d/f/g"), fs.exists("/")) == (False, False, True)
    assert fs.ls("/d/f", detail=False) == ["/d/f"]
    assert fs.du("/") == 5
    assert fs.du("/", total=False) == {"/d/f": 5}
    before = fs.ukey("/d/f")
    fs.touch("/d/f", truncate=False)
    assert fs.cat_file("/d/f") == b"12345"
    assert fs.ukey("/d/f") != before
    fs.touch("/d/f")
    assert fs.cat_file("/d/f") == b""
    with pytest.raises(FileExistsError):
        fs.mkdir("/d")
    fs.makedirs("/d", exist_ok=True)
    with pytest.raises(NotADirectoryError):
        fs.pipe_file("/d/f/g", b"")
    with pytest.raises(IsADirectoryError):
        fs.pipe_file("/d", b"")
    with pytest.raises(IsADirectoryError):
        fs.open("/d")


def test_a_url_keeps_its_hosts_and_instances_are_one_for_each_address(node: FileServer) -> None:
    url = f"ignite://{node.address},other:7/a b/c%20d"
    fs, path = fsspec.url_to_fs(url)
    assert path == "/a b/c%20d"
    assert fs.unstrip_protocol(path) == url
    assert fsspec.url_to_fs(url)[0] is fs
    assert fsspec.url_to_fs("ignite:///a")[0] is not fs
    assert fsspec.url_to_fs("ignite:///a")[0].unstrip_protocol("/a") == "ignite:///a"
    for form in ("IGNITE:///a/b", "Ignite:////a//./b/", "ignite:///a/c/../b"):
        assert fs.unstrip_protocol(form) == f"ignite://{node.address},other:7/a/b"
    copy = pickle.loads(pickle.dumps(fs))
    assert copy is fs
    assert pickle.loads(pickle.dumps(fsspec.open(url))).path == path


def test_without_a_host_the_address_is_that_of_the_environment(
    node: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORFLOW_IGNITE_ADDRESS", node.address)
    fs = fsspec.filesystem("ignite")
    fs.pipe_file("ignite:///x", b"y")
    assert fsspec.filesystem("ignite", address=node.address).cat_file("/x") == b"y"
    with FileServer() as other:
        monkeypatch.setenv("TENSORFLOW_IGNITE_ADDRESS", other.address)
        assert not fs.exists("/x")


def test_a_cluster_that_does_not_answer_is_not_an_empty_one(fs: IgniteFileSystem, node: FileServer) -> None:
    fs.pipe_file("/a/x", b"")
    for method in ("exists", "isdir", "find"):
        for call in ("GetFile", "ListDirectory"):
            for _ in range(9):
                node.fail_next(call, grpc.StatusCode.UNAVAILABLE, "gone")
        with pytest.raises(errors.ConnectionFailedError):
            getattr(fs, method)("/a")
        node._faults.clear()


def test_pandas_reads_and_writes_by_url(node: FileServer) -> None:
    frame = pd.DataFrame({"id": range(1000), "name": [f"n{number}" for number in range(1000)]})
    frame.to_csv(f"ignite://{node.address}/frames/a.csv", index=False)
    frame.to_parquet(f"ignite://{node.address}/frames/a.parquet")
    frame.to_csv(f"ignite://{node.address}/frames/a.csv.gz", index=False)
    for name, read in (("a.csv", pd.read_csv), ("a.csv.gz", pd.read_csv), ("a.parquet", pd.read_parquet)):
        pd.testing.assert_frame_equal(read(f"ignite://{node.address}/frames/{name}"), frame)


def test_arrow_reads_and_writes_a_dataset(fs: IgniteFileSystem) -> None:
    table = pa.table({"part": [n % 3 for n in range(300)], "value": list(range(300))})
    arrow = pafs.PyFileSystem(pafs.FSSpecHandler(fs))
    pads.write_dataset(table, "/set", format="parquet", partitioning=["part"], filesystem=arrow)
    read = pads.dataset("/set", format="parquet", partitioning=["part"], filesystem=arrow).to_table()
    assert sorted(read["value"].to_pylist()) == list(range(300))
    info = arrow.get_file_info(pafs.FileSelector("/set", recursive=True))
    assert sum(one.type == pafs.FileType.File for one in info) == 3
    with arrow.open_input_file(next(one.path for one in info if one.is_file)) as file:
        assert file.read_at(4, 0) == b"PAR1"


def test_other_file_systems_of_fsspec_can_stand_before_it(fs: IgniteFileSystem, tmp_path: Any) -> None:
    data = os.urandom(50_000)
    fs.pipe_file("/big", data)
    url = fs.unstrip_protocol("/big")
    for protocol in ("blockcache", "filecache", "simplecache"):
        options = {protocol: {"cache_storage": str(tmp_path / protocol)}}
        with fsspec.open(f"{protocol}::{url}", "rb", **options) as file:
            file.seek(30_000)
            assert file.read(15_000) == data[30_000:45_000]
    with fs.open("/z.zip", "wb") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("inner", data)
    with fsspec.open(f"zip://inner::{fs.unstrip_protocol('/z.zip')}", "rb") as file:
        assert file.read() == data


def test_text_goes_through_a_buffer_of_python(fs: IgniteFileSystem) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fs.open("/t", "w", encoding="latin-1", newline="\r\n") as file:
            assert isinstance(file, io.TextIOWrapper)
            file.writelines(["a\n", "ü\n"])
    assert fs.cat_file("/t") == "a\r\nü\r\n".encode("latin-1")
    with fs.open("/t", "rt", encoding="latin-1") as file:
        assert file.read() == "a\nü\n"
